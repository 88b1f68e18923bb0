//! Runs a plan: prepares files, starts clients and their workers together, measures a window, drains, reports.
//!
//! A run takes a [`narrows_model::Plan`] and streams [`narrows_model::Event`]s into a sink; it evaluates nothing. Load
//! comes from worker threads, of this process or of client processes that it starts. Deliberately absent: statistics on
//! what was measured, files of its own, text for people beyond errors.
#![deny(unsafe_code)]

pub mod assignment;
mod block_tracing;
mod caches;
mod client_counters;
pub mod client_failure;
pub mod client_process;
pub mod coordinator;
pub mod error;
pub mod execute;
mod gather;
mod group;
mod host_identity;
pub mod hosts;
pub mod link;
mod object_kinds;
mod overrun;
mod pace;
mod path_connections;
pub mod peer_monitor;
pub mod prepare;
mod recorder;
pub mod relay;
mod repetition;
mod server_metrics;
mod servers;
pub mod site;
mod time_share;
mod trial;
mod verify;
mod window;
mod workable;
mod worker;

pub use client_counters::{ClientCounters, CountersElsewhere};
pub use coordinator::{Coordinator, HostCoordinator, ProcessCoordinator, ThreadCoordinator};
pub use error::{RunError, RunErrorKind};
pub use execute::{RunOutput, clean_up, clean_up_within, execute, run_cell, run_cell_within};
pub use gather::merge_outputs;
pub use host_identity::HostIdentity;
pub use link::{CounterSource, NoCounters, OptionalServer, ServerLink, StoredObjects};
pub use narrows_engines::stop::{self, StopFlag, StopRequest};
pub use overrun::Overruns;
pub use path_connections::PathPeers;
pub use peer_monitor::{PeerLoss, PeerMonitor};
pub use prepare::PreparedObjects;
pub use server_metrics::{ServerMetrics, ServerReading};
pub use servers::{Servers, store_free_bytes};
pub use site::CellSite;
