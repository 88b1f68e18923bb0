//! TCP sockets of engines: connecting and waiting within a deadline, transfers, and what the kernel reports.
//!
//! Not here: any protocol.

mod data_socket;
mod facts;
mod waits;

pub(crate) use data_socket::{DataSocket, LONG_NS, WaitMode};
pub use facts::{ConnectionLocality, connection_facts, counters_of, tcp_counters};
pub(crate) use waits::{SOCKETS_MAX, poll_socket, wait_for_any};
pub use waits::{SocketWaits, Waited};
