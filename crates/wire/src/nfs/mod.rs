//! ONC RPC over TCP, the port mapper, MOUNT and NFSv3 as functions on bytes (design 0021).
//!
//! Calls are appended to memory of the caller; replies are read where they arrived. Nothing that a server sends panics
//! or makes anything be allocated that did not arrive, and a record is no longer than its reader allows. Deliberately
//! absent: sockets, retransmission, NFSv4, locks (NLM), and every call that the engine `nfs` does not make.
//!
//! # Source
//! RFC 5531 (RPC), RFC 4506 (XDR), RFC 1833 (port mapper, version 2), RFC 1813 (NFSv3 and MOUNT version 3).

pub mod attributes;
pub mod block;
pub mod calls;
pub mod mount;
pub mod procedure;
pub mod record;
pub mod results;
pub mod rpc;
pub mod status;
pub mod xdr;

#[cfg(test)]
mod tests;

pub use procedure::Procedure;
pub use status::Status;
