//! What may be typed after `narrows proxy`.

use super::value::{parse_block, positive_seconds};
use clap::{ArgAction, Args, ValueEnum};
use narrows_model::Bytes;
use narrows_model::relay::ForwardMode;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ProxyArguments {
    /// Address and port to listen at; any other than loopback needs --token-file or --open. Port 0 selects a free one
    #[arg(long, default_value = "127.0.0.1:7301", value_name = "ADDR:PORT")]
    pub(crate) listen: SocketAddr,
    /// Destination of every connection; a name is resolved once, at the start
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) to: String,
    /// How bytes are forwarded
    #[arg(long, value_enum, default_value = "splice", value_name = "MODE")]
    pub(crate) mode: ProxyMode,
    /// Bytes of one read, up to 64MiB; a connection has two such buffers (io_uring: four)
    #[arg(long, default_value = "128KiB", value_name = "SIZE", value_parser = parse_block)]
    pub(crate) buffer: Bytes,
    /// Send small segments immediately (`TCP_NODELAY`); with `=false` the kernel coalesces them
    #[arg(long, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true,
          action = ArgAction::Set, value_name = "true|false")]
    pub(crate) no_delay: bool,
    /// Send buffer of every socket (`SO_SNDBUF`); the default is the kernel's automatic size
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) send_buffer: Option<Bytes>,
    /// Receive buffer of every socket (`SO_RCVBUF`); the default is the kernel's automatic size
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) receive_buffer: Option<Bytes>,
    /// Maximum number of connections; a further one replaces one whose client sent nothing for 30 s, or is refused
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) max_connections: u32,
    /// Time after which an idle connection is reset, in seconds
    #[arg(long, default_value_t = 3600.0, value_name = "N", value_parser = positive_seconds)]
    pub(crate) idle_seconds: f64,
    /// File with the token of clients that may query the proxy itself; forwarded connections are not checked
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Listen beyond loopback without a token; the proxy itself then answers no queries
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) open: bool,
}

/// How a proxy moves bytes, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProxyMode {
    /// Through a buffer: read, write
    Copy,
    /// Through a pipe in the kernel (splice)
    Splice,
    /// Through io_uring
    Uring,
}

impl From<ProxyMode> for ForwardMode {
    fn from(mode: ProxyMode) -> Self {
        match mode {
            ProxyMode::Copy => ForwardMode::Copy,
            ProxyMode::Splice => ForwardMode::Splice,
            ProxyMode::Uring => ForwardMode::Uring,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{CliArguments, CliCommand};
    use clap::Parser;

    fn no_delay(words: &[&str]) -> bool {
        let all = ["narrows", "proxy", "--to", "h:1"].iter().chain(words);
        let CliCommand::Proxy(proxy) = CliArguments::parse_from(all).command else { unreachable!() };
        proxy.no_delay
    }

    #[test]
    fn small_pieces_are_sent_at_once_unless_that_is_denied() {
        assert!(no_delay(&[]) && no_delay(&["--no-delay"]) && !no_delay(&["--no-delay=false"]));
    }

    #[test]
    fn what_is_no_size_number_or_mode_is_refused() {
        for words in [
            ["--buffer", "0"],
            ["--buffer", "x"],
            ["--mode", "fast"],
            ["--max-connections", "0"],
            ["--idle-seconds", "0"],
            ["--listen", "somewhere"],
        ] {
            let all = ["narrows", "proxy", "--to", "h:1", words[0], words[1]];
            assert!(CliArguments::try_parse_from(all).is_err(), "{words:?}");
        }
        assert!(CliArguments::try_parse_from(["narrows", "proxy"]).is_err(), "nowhere to go");
    }
}
