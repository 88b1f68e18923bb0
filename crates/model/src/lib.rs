//! The values that travel along narrows' flow: units, targets, workloads, plans, events, counters,
//! inventories, summaries and diagnoses.
//!
//! Every stage of the flow takes some of these values and returns others, so that each can be saved and read
//! again. Deliberately absent: measurement, statistics, files, clocks, threads and any text for people beyond
//! error messages and the registries' titles.
#![forbid(unsafe_code)]

pub mod capabilities;
pub mod cell;
pub mod change;
pub mod client_host;
pub mod collective;
pub mod comparison;
pub mod costs;
pub mod counters;
pub mod diagnosis;
pub mod effective;
pub mod engine;
pub mod event;
pub mod extrapolation;
pub mod factor;
pub mod fault;
pub mod figures;
pub mod inventory;
mod io_limits;
pub mod json;
pub mod located;
pub mod nfs_mount;
pub mod noise;
pub mod observation;
pub mod plan;
pub mod printable;
pub mod quantity;
pub mod rank;
pub mod relay;
pub mod repeat;
pub mod rpc;
#[cfg(feature = "schemas")]
pub mod schema;
pub mod segment;
pub mod server;
pub mod sim_profile;
pub mod sink;
pub mod summary;
pub mod target;
pub mod trial;
pub mod typed;
pub mod units;
pub mod verification;
pub mod workload;

pub use capabilities::Capabilities;
pub use cell::{Cell, CellId, Cut, Site, Stop};
pub use comparison::Comparison;
pub use counters::{CounterSample, Role};
pub use diagnosis::{Diagnosis, Exonerated, Finding, Limiting, NotMeasured, Relation};
pub use effective::Effective;
pub use engine::EngineId;
pub use event::Event;
pub use inventory::Inventory;
pub use io_limits::IoLimits;
pub use json::Json;
pub use narrows_histogram::Histogram;
pub use noise::Noise;
pub use observation::{Observation, Observations};
pub use plan::Plan;
pub use quantity::size;
pub use repeat::Repeat;
pub use rpc::RpcCounters;
pub use segment::Segment;
pub use sink::{Sink, SinkError};
pub use summary::Summary;
pub use target::iscsi::{ChapFile, IscsiAddress};
pub use target::nfs::NfsAddress;
pub use target::s3::S3Address;
pub use target::{Layer, Target, Via};
pub use trial::TrialOutput;
pub use units::{Bytes, BytesPerSec, Nanos, OpsPerSec, Ratio};
pub use workload::{Op, Workload};
