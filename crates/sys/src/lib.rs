//! Safe wrappers over every unsafe call and every bare system call that narrows makes.
//!
//! Each module wraps one kind of call: clocks, buffers, files, processes, TCP counters. All of them are Linux only. The
//! crate knows nothing of targets, engines or plans, starts no thread, keeps no state beyond what its values own (but
//! for the handler that mapped files need), and never decides policy: a call that the kernel refuses is an [`Error`] or
//! an [`SysErrno`], never a silent fall-back.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod access;
pub mod buffer;
pub mod clock;
#[cfg(feature = "counting-alloc")]
pub mod counting_alloc;
#[cfg(feature = "denied-calls")]
pub mod denied_calls;
pub mod entropy;
mod error;
pub mod file;
pub mod interval_timer;
pub mod mapping;
pub mod memory;
pub mod niceness;
pub mod output;
pub mod process;
mod racy_copy;
pub mod return_stack;
pub mod ring;
pub mod signals;
pub mod stdio;
pub mod tcp_diag;
pub mod tcp_info;
#[cfg(feature = "testing")]
pub mod testing;
pub mod trace_folder;
pub mod tracepoint;

pub use error::{Error, ErrorKind, Result, SysErrno};
