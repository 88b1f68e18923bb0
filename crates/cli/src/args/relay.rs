//! What may be typed after `narrows relay`.

use super::OutputArguments;
use super::value::parse_block;
use clap::{Args, ValueEnum};
use narrows_model::Bytes;
use narrows_model::relay::{ForwardMode, PUBLISHED_SIZES, RelaySweep, RelayTransport};
use std::path::PathBuf;

/// The name of all sweeps together.
const ALL: &str = "all";

#[derive(Debug, Args)]
pub(crate) struct RelayArguments {
    /// Roles whose buffer is shrunk while the others keep the largest size: client, server or both with two nodes;
    /// client-3, server-3, proxy, client+proxy, client+server, proxy+server or all-3 with a proxy; `all` for all of
    /// these
    #[arg(long, default_value = ALL, value_name = "SWEEP,..", value_delimiter = ',', value_parser = parse_sweep)]
    pub(crate) sweep: Vec<SweepChoice>,
    /// Bytes of each trial: a multiple of every buffer size of the client
    #[arg(long, default_value = "48MiB", value_name = "SIZE", value_parser = parse_block)]
    pub(crate) bytes: Bytes,
    /// Buffer sizes to try; roles that are not shrunk use the largest; the default is
    /// 4096,2048,1024,512,256,128,64,48,32 bytes
    #[arg(long, value_name = "SIZE,..", value_delimiter = ',', value_parser = parse_block)]
    pub(crate) sizes: Vec<Bytes>,
    /// Repetitions of every buffer size of a sweep
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Sockets between the roles
    #[arg(long, default_value = "tcp", value_name = "tcp|unix", value_enum)]
    pub(crate) transport: Transport,
    /// Send small segments immediately (`TCP_NODELAY`); without it the kernel coalesces them, as published
    #[arg(long)]
    pub(crate) no_delay: bool,
    /// Send buffer of every socket (`SO_SNDBUF`); the default is the kernel's automatic size
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) send_buffer: Option<Bytes>,
    /// Receive buffer of every socket (`SO_RCVBUF`); the default is the kernel's automatic size
    #[arg(long, value_name = "SIZE", value_parser = parse_block)]
    pub(crate) receive_buffer: Option<Bytes>,
    /// Reads of server and proxy wait until their buffer is full (`MSG_WAITALL`), so that their number is bytes / buffer;
    /// without it a read returns what TCP has delivered, as published
    #[arg(long)]
    pub(crate) wait_all: bool,
    /// How the proxy forwards bytes: through a buffer, a pipe in the kernel, or io_uring; the default is copy, as
    /// published
    #[arg(long, value_name = "copy|splice|uring", value_enum)]
    pub(crate) proxy_mode: Option<RelayProxyMode>,
    /// Generate content that depends on its position, and compare every byte at the server; costs CPU time at both ends
    #[arg(long)]
    pub(crate) verify: bool,
    /// The `narrows serve` that acts as the server; the default is a process on this machine
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) server: Option<String>,
    /// The `narrows proxy` that acts as the proxy; the default is a process on this machine
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) proxy: Option<String>,
    /// File with the token of --server and --proxy
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Seed of the order of points; the default is a new one, which is recorded
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// One word of `--sweep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SweepChoice {
    All,
    One(RelaySweep),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    Tcp,
    Unix,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RelayProxyMode {
    Copy,
    Splice,
    Uring,
}

impl RelayArguments {
    /// The sweeps that are named.
    pub(crate) fn sweeps(&self) -> Vec<RelaySweep> {
        let named = self.sweep.iter().flat_map(|word| match word {
            SweepChoice::All => RelaySweep::ALL.to_vec(),
            SweepChoice::One(sweep) => vec![*sweep],
        });
        named.collect()
    }

    /// The sizes that are named, or the published ones.
    pub(crate) fn sizes(&self) -> Vec<Bytes> {
        if self.sizes.is_empty() { PUBLISHED_SIZES.to_vec() } else { self.sizes.clone() }
    }
}

impl From<Transport> for RelayTransport {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Tcp => Self::Tcp,
            Transport::Unix => Self::Unix,
        }
    }
}

impl From<RelayProxyMode> for ForwardMode {
    fn from(mode: RelayProxyMode) -> Self {
        match mode {
            RelayProxyMode::Copy => Self::Copy,
            RelayProxyMode::Splice => Self::Splice,
            RelayProxyMode::Uring => Self::Uring,
        }
    }
}

fn parse_sweep(text: &str) -> Result<SweepChoice, String> {
    if text == ALL {
        return Ok(SweepChoice::All);
    }
    let names = || RelaySweep::ALL.iter().map(|sweep| sweep.name()).chain([ALL]);
    RelaySweep::from_name(text).map(SweepChoice::One).ok_or_else(|| {
        let meant = narrows_study::nearest(&text.to_lowercase(), names());
        let meant = meant.map_or_else(String::new, |name| format!("; did you mean \"{name}\"?"));
        format!("there is no such sweep; allowed are {}{meant}", names().collect::<Vec<_>>().join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{CliArguments, CliCommand};
    use super::*;
    use clap::Parser;

    fn parsed(words: &[&str]) -> Result<RelayArguments, String> {
        let words = ["narrows", "relay"].iter().chain(words);
        match CliArguments::try_parse_from(words).map_err(|error| error.to_string())?.command {
            CliCommand::Relay(relay) => Ok(*relay),
            _ => unreachable!("relay was asked for"),
        }
    }

    #[test]
    fn relay_without_words_is_the_published_experiment() {
        let relay = parsed(&[]).unwrap();
        assert_eq!(relay.sweeps(), RelaySweep::ALL);
        assert_eq!((relay.sizes(), relay.bytes), (PUBLISHED_SIZES.to_vec(), Bytes(48 << 20)));
    }

    #[test]
    fn every_sweep_can_be_named() {
        for sweep in RelaySweep::ALL {
            assert_eq!(parsed(&["--sweep", sweep.name()]).unwrap().sweeps(), [sweep]);
        }
        let named = parsed(&["--sweep", "proxy,client+proxy"]).unwrap().sweeps();
        assert_eq!(named, [RelaySweep::Proxy, RelaySweep::ClientProxy]);
    }

    #[test]
    fn a_sweep_that_there_is_not_is_refused_with_the_nearest_name() {
        let said = parsed(&["--sweep", "clinet-3"]).unwrap_err();
        assert!(said.contains("did you mean \"client-3\"?"), "{said}");
    }
}
