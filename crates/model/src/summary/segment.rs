//! What is known of one segment, and how far each load used it.
//!
//! Not here: what is limiting or cleared, which is of the diagnosis.

use super::{CurvePoint, Interval, SegmentFit};
use crate::segment::Segment;
use crate::units::{BytesPerSec, OpsPerSec};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of one segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SegmentSummary {
    /// The segment.
    pub id: Segment,
    /// Whether it was measured.
    pub measured: bool,
    /// The highest rate that it sustained.
    pub ceiling_bytes_per_s: Option<BytesPerSec>,
    /// The most operations that it sustained.
    pub ceiling_ops_per_s: Option<OpsPerSec>,
    /// Interval of the ceiling in bytes.
    pub interval: Option<Interval>,
    /// How the ceiling is known: which cut, counter or declaration.
    pub source: Option<String>,
    /// How full the path made it: under the load that `uses` has first. Without one, of a segment that is neither named nor
    /// cleared, the share of the ceiling at the settings of the path's fastest cell that both were measured at.
    pub utilisation_ratio: Option<f64>,
    /// How far each load used it, as its verdict says: the load that it limits first, else the one that used it most.
    #[serde(default)]
    pub uses: Vec<SegmentUse>,
    /// The ceiling over the grid.
    pub curve: Vec<CurvePoint>,
    /// Its law at depth 1; `None` where it does not fit.
    pub fit: Option<SegmentFit>,
    /// Whether the ceiling binds: doubling the block and doubling the requests in flight both add under 3 %. A ceiling
    /// that does not bind is a lower bound. `None` where too little was measured to know.
    pub binds: Option<bool>,
    /// Why it binds, does not, or is undecided; `None` without a ceiling.
    pub binds_because: Option<String>,
}

/// How far one load used a segment: the one number behind the verdict's statement and the bar of the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SegmentUse {
    /// The cell of the path, which is of one load in one direction.
    pub cell: String,
    /// The share; above 1 where the path exceeded a measured ceiling by no more than noise.
    pub used_ratio: f64,
    /// What it is a share of.
    pub of: UsedOf,
}

/// What a use is a share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UsedOf {
    /// What the segment sustains.
    Capacity,
    /// The time of the load's requests, or of its threads.
    Time,
}

impl SegmentSummary {
    /// A segment of which nothing is known.
    #[must_use]
    pub fn unmeasured(id: Segment) -> Self {
        Self {
            id,
            measured: false,
            ceiling_bytes_per_s: None,
            ceiling_ops_per_s: None,
            interval: None,
            source: None,
            utilisation_ratio: None,
            uses: Vec::new(),
            curve: Vec::new(),
            fit: None,
            binds: None,
            binds_because: None,
        }
    }
}
