//! The proxy of `narrows proxy`: forwards what arrives at its address to another one, and back.
//!
//! Every connection has two threads, one a direction, that block in [`crate::forward`]: the bulk of one connection
//! costs two system calls a buffer, and nobody asks the kernel what is ready. A connection has two buffers (or pipes)
//! and two stacks; where its reader is slow, its sender is stopped by TCP. Connections that begin with a hello of
//! purpose *proxy* are answered here (`control`); all others pass untouched. Deliberately absent: TLS, more than one
//! address to forward to, and passing the client's identity to B.

mod address;
mod connect;
mod control;
mod full;
mod journal;
mod options;
mod pair;
mod pairs;
mod peer_kind;
mod refusal;
mod run;
mod serve;
mod shared;

pub use options::ProxyOptions;
pub use pairs::ProxyTotals;
pub use run::Proxy;
