//! Hosts on which a remote shell starts the clients of a load: what runs there, their clocks, and whether they answer.
//!
//! A connection to each host lasts as long as the run; clients have connections of their own. Not here: how clients are
//! supervised, which is the coordinator's, and which hosts there are, which the command says.

mod clock;
mod connected;
mod connection;
mod last_words;
mod launcher;
mod shell_output;

pub use connected::{ClientHosts, HostProblem, HostProblemKind};
pub use launcher::HostLauncher;

pub(crate) use clock::HostClock;
pub(crate) use last_words::LastWords;
