//! Jovian-2 (University of Maryland, 1996): peer-to-peer parallel I/O, striped over the disks of all serving nodes.
//!
//! Each client writes a constant number of bytes, caches are emptied, and it reads them back; configurations are `local`,
//! `cX-sY` (clients, servers) and `pp-N` (every node both). Deliberately absent: starting servers, which is the command's.

mod figures;
mod label;
mod native;
mod options;
mod plan;
mod reading;
mod request;
mod studies;
#[cfg(test)]
mod testing;

pub use label::{Label, labels};
pub use plan::plan;
pub use request::{Flush, PUBLISHED_BYTES, PUBLISHED_UNIT, Request};
pub use studies::Studies;

use crate::Suite;

/// The name on the command line.
pub const NAME: &str = "jovian";

/// The suite.
pub const SUITE: Suite = Suite {
    name: NAME,
    title: "peer-to-peer parallel I/O: rates of local, one-to-many and many-to-many nodes, and how they scale",
    source: "Jovian-2, University of Maryland, 1996",
    native: native::native,
    reading: reading::reading,
    metrics: figures::metrics,
};
