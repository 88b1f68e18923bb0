//! What the path to a folder is made of, and the counters of its machine.
//!
//! Two modules: [`inventory`] reads facts once, [`counters`] reads cumulative counters again and again. Both read
//! `/proc` and `/sys` below a [`Root`], so that a recorded tree of another machine is read by the same code as the
//! running one. What cannot be read stays `None` and is listed for people; nothing is guessed.
//! [`RequestTracer`] counts what the running kernel's tracepoints report of block requests.
//!
//! Not here: the clock (times are passed in), any judgement of the facts (`analysis`), and TCP counters (`run`).
#![forbid(unsafe_code)]

mod block_device;
mod block_trace;
mod cgroup;
pub mod counters;
mod error;
mod fuse;
pub mod inventory;
mod mounts;
mod parse;
mod root;
mod sockets;
mod unknown;

pub use block_device::{DeviceState, block_device};
pub use block_trace::{RequestTraceError, RequestTracer};
pub use counters::with_descendants;
pub use error::{ProbeError, ProbeErrorKind, Result};
pub use fuse::fuse_daemon;
pub use root::Root;
pub use sockets::{all_socket_inodes, socket_inodes};
