//! How much runs of one path differ with nothing changed: the JSON document `narrows.noise/1`, what `narrows noise --json`
//! prints.
//!
//! Not here: how it is computed, which is `analysis`'.

use crate::comparison::{CellRuns, ComparedSide, FigureId};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema of noise documents written by this version.
pub const NOISE_SCHEMA: &str = "narrows.noise/1";

/// The smallest difference that a number of runs a side shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SmallestDifference {
    /// Runs of each side.
    pub run_count: u32,
    /// The difference, over the figure: 0.05 for B 5 % above A.
    pub difference_ratio: f64,
}

/// The runs that a difference needs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RunsNeeded {
    /// The difference, over the figure.
    pub difference_ratio: f64,
    /// Runs of each side; `None` beyond 10 000.
    pub run_count: Option<u32>,
}

/// The noise of the rate of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct LoadNoise {
    /// Its cell.
    pub cell: String,
    /// What rate it is.
    pub id: FigureId,
    /// The runs behind it.
    pub runs: CellRuns,
    /// Geometric mean over the runs.
    pub mean: f64,
    /// The least of a run.
    pub least: f64,
    /// The most of a run.
    pub most: f64,
    /// Standard deviation of one run, over the mean; `None` of a single run.
    pub deviation_ratio: Option<f64>,
    /// Smallest differences that are found with a probability of 80 %.
    pub smallest: Vec<SmallestDifference>,
    /// The runs with which differences are found with a probability of 80 %.
    pub needed: Vec<RunsNeeded>,
}

/// How much runs of one path differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Noise {
    /// Always [`NOISE_SCHEMA`].
    pub schema: String,
    /// Version of narrows that computed it.
    pub narrows_version: String,
    /// The runs.
    pub side: ComparedSide,
    /// The loads of the whole path, in the order of the first run; of runs without any, all cells.
    pub loads: Vec<LoadNoise>,
    /// What must be known before the figures are used, for people.
    pub remarks: Vec<String>,
}
