//! What may be typed after `narrows serve`.

use super::value::{parse_block, positive_seconds};
use clap::Args;
use narrows_model::Bytes;
use narrows_suites::jovian::ServePriority;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The nice value that a priority asks for; `None` leaves that of the shell.
pub(crate) fn niceness(priority: ServePriority) -> Option<i32> {
    match priority {
        ServePriority::Client => Some(10),
        ServePriority::Equal => None,
        ServePriority::Server => Some(-10),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Address and port to listen at; any other than loopback needs --token-file. Port 0 selects a free one
    #[arg(long, default_value = "127.0.0.1:7300", value_name = "ADDR:PORT")]
    pub(crate) listen: SocketAddr,
    /// Folder of the disk store; without it only memory is served
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// File with the token that clients must know
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Maximum total size of the disk stores of all clients; their memory stores have the same limit, at most 1GiB
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = parse_block)]
    pub(crate) max_bytes: Bytes,
    /// Maximum number of connections; further ones wait until one ends
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) max_connections: u32,
    /// Maximum lifetime of a connection, and thus of a client's session, in seconds
    #[arg(long, default_value_t = 3600.0, value_name = "N", value_parser = positive_seconds)]
    pub(crate) max_seconds: f64,
    /// Maximum number of requests processed at once by all disk stores; the default is all that clients have in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) disk_threads: Option<u32>,
    /// Priority on a machine that also runs clients: the clients' work, or serving others
    #[arg(long, default_value = "equal", value_name = "ROLE")]
    pub(crate) priority: ServePriority,
    /// Exit when stdin ends
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
    /// Read the token from the first line of stdin
    #[arg(long, hide = true, conflicts_with = "token_file")]
    pub(crate) token_from_stdin: bool,
}
