//! What became of the thresholds that a run was asked to check.

use super::Interval;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a figure compares with the condition under which a run fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThresholdState {
    /// The condition does not hold, for the whole interval where one is known.
    Passed,
    /// The condition holds, for the whole interval where one is known.
    Failed,
    /// The interval includes the threshold.
    Undecided,
    /// No figure is there to be compared.
    NotMeasured,
}

/// One condition compared with the figure of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ThresholdOutcome {
    /// The condition, as it was typed.
    pub condition: String,
    /// What became of it.
    pub state: ThresholdState,
    /// The cell that was compared; `None` where none was measured.
    pub cell: Option<String>,
    /// The figure that was compared; `None` where there is none.
    pub value: Option<f64>,
    /// The interval of that figure; `None` where none is known, so that the figure itself was compared.
    pub interval: Option<Interval>,
    /// The value of the condition.
    pub limit: f64,
    /// Unit of figure, interval and limit: `bytes/s`, `ops/s` or `ns`.
    pub unit: String,
}
