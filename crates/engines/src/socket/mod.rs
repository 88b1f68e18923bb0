//! TCP sockets of engines: connecting and waiting within a deadline, transfers, and what the kernel reports.
//!
//! Not here: any protocol.

mod data_socket;
mod facts;
mod waits;

pub(crate) use data_socket::{DataSocket, LONG_NS, WaitMode};
pub(crate) use facts::connection_facts;
pub use facts::{ConnectionLocality, tcp_counters};
pub(crate) use waits::{SOCKETS_MAX, SocketWaits, Waited, poll_socket, wait_for_any};
