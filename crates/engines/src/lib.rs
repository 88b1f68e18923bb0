//! The engine contract, the clock it is timed by, and one folder per engine.
//!
//! An engine issues requests against one target and reports their completions; it knows nothing of workloads,
//! phases or statistics. `run` drives every engine through the same contract, from `null` to a network store.
//! Deliberately absent: any async runtime, and any substitution of what was asked for by something else.
#![forbid(unsafe_code)]

pub mod arrivals;
mod block;
pub mod block_devices {
    //! Block devices of this machine: what one is, and the part of it that a run may write.
    pub use crate::block::{device_number, know_device, known_device, room};
    pub use crate::device_region::{DeviceFailure, DeviceRegion};
}
pub mod clock;
mod connections;
pub mod contract;
mod device_region;
pub mod endpoint;
pub mod error;
mod files;
mod flights;
pub mod host_lookup;
pub mod own_folders {
    //! The folders that this process has made, as what they were when they were made, and those of earlier processes.
    pub use crate::files::{
        ConfinedFolder, MARKER, MarkedFolder, NamedFolder, OwnFolder, OwnerProcess, OwnerState, PREFIX,
        RemoteRemover, add_own_folder, find_replaced, first_replaced, forget_remote, is_kept, keep_disks,
        lock_making, named_folders, note_problem, note_remote, own_folder, own_folder_paths,
        remove_own_folders, stop_making_folders, take_problems, uncleared_disks,
    };
}
pub mod iscsi;
mod marker;
pub mod mmap;
pub mod nfs;
pub mod null;
pub mod objects;
pub mod page_cache {
    //! The page cache of files that are open: what a server does for those of its sessions.
    pub use crate::files::{COLD_RESIDENT_RATIO_MAX, DummyFile, drop_pages, resident_ratio, sync};
}
mod procedure_counts;
pub mod psync;
mod region;
pub mod registry;
pub mod request;
pub mod sim;
mod slots;
pub mod socket;
pub mod stdio;
pub mod stop;
pub mod stripe;
pub mod sync_count {
    //! When a sync is due after writes, and how long each took by itself.
    pub use crate::files::SyncCount;
}
pub mod uring;
// new engine: module

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;

pub use clock::{Clock, MonotonicClock, Tick, VirtualClock};
pub use contract::{
    Engine, EngineFactory, OpenSpec, OwnPlace, PlaceFound, PlaceRequest, ProtocolCounters, WorkerContext,
};
pub use error::{EngineError, ErrorKind};
pub use region::{MARK_BYTES_MAX, RegionNeed, mark_nonce};
pub use registry::EngineRegistry;
pub use request::{Completions, IoCompletion, IoRequest, Slot};
pub use stop::{StopFlag, StopRequest};
