//! What may be typed after `narrows serve`.

use super::value::{parse_block, positive_seconds};
use clap::{Args, ValueEnum};
use narrows_model::Bytes;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What comes first on a machine that serves and runs clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServePriority {
    /// The clients that run here: serving gets about a tenth of a CPU that they want too (nice value 10)
    Client,
    /// Whoever is ready: the scheduler decides
    Equal,
    /// What is served to others (nice value -10, which needs the right to it)
    Server,
}

impl ServePriority {
    /// The nice value that it asks for; `None` leaves that of the shell.
    pub(crate) fn niceness(self) -> Option<i32> {
        match self {
            ServePriority::Client => Some(10),
            ServePriority::Equal => None,
            ServePriority::Server => Some(-10),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Address and port to listen at; any other than loopback needs --token-file. Port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:7300", value_name = "ADDR:PORT")]
    pub(crate) listen: SocketAddr,
    /// Folder below which the disk store lies; without it only memory is served
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// File that holds the token that clients must prove to have
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Most bytes that the disk stores of all clients hold together; their memory stores hold as many, and 1GiB at most
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = parse_block)]
    pub(crate) max_bytes: Bytes,
    /// Most connections at once; further ones wait until one ends
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) max_connections: u32,
    /// Longest life of a connection, and so of a client's session, in seconds
    #[arg(long, default_value_t = 3600.0, value_name = "N", value_parser = positive_seconds)]
    pub(crate) max_seconds: f64,
    /// Most requests of all disk stores worked on at once; without it all that clients have in flight
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(crate) disk_threads: Option<u32>,
    /// What comes first on a machine that also runs clients: their work, or what is served to others
    #[arg(long, default_value = "equal", value_name = "ROLE")]
    pub(crate) priority: ServePriority,
    /// End when stdin ends
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
    /// Take the token from the first line of stdin
    #[arg(long, hide = true, conflicts_with = "token_file")]
    pub(crate) token_from_stdin: bool,
}
