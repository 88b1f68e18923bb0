//! The engine contract, the clock it is timed by, and one folder per engine.
//!
//! An engine issues requests against one target and reports their completions; it knows nothing of workloads,
//! phases or statistics. `run` drives every engine through the same contract, from `null` to a network store.
//! Deliberately absent: any async runtime, and any substitution of what was asked for by something else.
#![forbid(unsafe_code)]

pub mod clock;
pub mod contract;
pub mod endpoint;
pub mod error;
mod files;
pub mod mmap;
pub mod null;
pub mod objects;
pub mod page_cache {
    //! The page cache of files that are open: what a server does for those of its sessions.
    pub use crate::files::{COLD_RESIDENT_RATIO_MAX, Dummy, drop_pages, resident_ratio, sync};
}
pub mod psync;
pub mod registry;
pub mod request;
pub mod sim;
mod slots;
pub mod stdio;
pub mod stop;
pub mod stripe;
pub mod uring;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;

pub use clock::{Clock, MonotonicClock, Tick, VirtualClock};
pub use contract::{Engine, EngineFactory, OpenSpec, ProtocolCounters, WorkerContext};
pub use error::{EngineError, ErrorKind};
pub use registry::{ENGINES, EngineFacts, EngineRegistry};
pub use request::{Completion, Completions, Request, Slot};
pub use stop::{StopFlag, StopRequest};
