//! The endpoint's protocol as conversations without I/O: frames, hello, control messages, data requests; and those
//! of NFSv3 and iSCSI.
//!
//! Bytes that arrived are passed in, messages and bytes to send are returned; sockets, clocks, threads and randomness are the
//! caller's. Whatever a peer sends, nothing panics, and memory is bounded by what has arrived or was agreed.
//! Deliberately absent: encryption. The token proves who speaks at the hello; what follows is neither hidden nor
//! signed, so an endpoint beyond a trusted network needs a tunnel.
#![forbid(unsafe_code)]

pub mod control;
pub mod error;
pub mod first_bytes;
pub mod frame;
mod greeting;
pub mod hello;
#[cfg(test)]
mod hostile_memory;
pub mod iscsi;
pub mod nfs;
pub mod open;
pub mod refuse;
pub mod relay;
pub mod reply;
pub mod request;
pub mod token;

pub use error::{Error, ErrorKind, Refusal, Result};
