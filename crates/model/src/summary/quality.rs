//! How far figures can be relied on: what was cut off, whether they were steady, what doubt is left.

use super::TrialSummary;
use crate::repeat::Repeat;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The start of a measured window that is left out of the steady flag, by MSER-5 on its interval series.
///
/// The rate and its interval are those of the whole window: its first part belongs to what the application would see, and
/// rates of cells must add up to their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct WarmUpCut {
    /// Seconds that were cut off, summed over the trials.
    pub dropped_s: f64,
    /// Seconds that were left, summed over the trials.
    pub kept_s: f64,
    /// Mean rate of what was left over that of the whole, minus 1: what the warm-up cost.
    pub rate_change_ratio: f64,
    /// Whether the series settles in the first half of every window; if not, the window is too short.
    pub settled: bool,
}

/// How far the last rounds spread and drift, by which the SNIA rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Steadiness {
    /// Rounds in the window: parts of the measured window, or trials where there are as many as the rule asks for.
    pub round_count: u64,
    /// Whether the rounds are trials.
    pub of_trials: bool,
    /// (largest - smallest) / mean; at most 0.20 where steady.
    pub range_ratio: f64,
    /// Rise or fall of the fitted line over the mean; at most 0.10 where steady.
    pub drift_ratio: f64,
}

/// Whether the repetitions reached what they were made for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RepeatOutcome {
    /// The rule by which the cell was repeated.
    pub rule: Repeat,
    /// Whole trials that were made.
    pub trial_count: u64,
    /// The most that were allowed.
    pub trials_max: u64,
    /// Half of the width of the interval of the mean rate over that mean, at the rule's level (95 % where it has none);
    /// `None` below two trials. Of the steady window where one was asked for and reached.
    pub half_width_ratio: Option<f64>,
    /// The rounds before a steady window that was asked for and reached, in their order; the cell's figures are those of
    /// the rounds of the window alone. Empty in all other cells.
    #[serde(default)]
    pub trials_before: Vec<TrialSummary>,
    /// Whether the rule was met; `None` where the number of trials is fixed.
    pub reached: Option<bool>,
}

/// Which figure of a cell is a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MixedFigure {
    /// The rate over time, in bytes a second.
    RateBytesPerS,
    /// The response time of single operations, in nanoseconds.
    LatencyNs,
}

/// A figure that has more than one mode: its mean describes none of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Mixture {
    /// The figure, which gives the unit of the modes.
    pub figure: MixedFigure,
    /// The probability that values with a single mode are as far from one as these (Hartigan's dip test); for latencies,
    /// of a sample of them.
    pub p_value: f64,
    /// The modes, by rising centre; two or more.
    pub modes: Vec<Mode>,
}

/// One mode of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Mode {
    /// Its position: the median of its values, in the figure's unit.
    pub centre: f64,
    /// Share of all values, 0 to 1.
    pub share_ratio: f64,
}

/// A reason not to rely on a run: with one or more of them the command ends with code 4.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Doubt {
    /// What is wrong, as a code.
    pub code: DoubtCode,
    /// Cells that it concerns, in the order of the run; empty where it is the whole run.
    pub cells: Vec<String>,
    /// One sentence for a reader: what is wrong and what to do about it.
    pub text: String,
}

/// What makes a run untrustworthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DoubtCode {
    /// What was read is not what was written.
    DataMismatch,
    /// Something planned is missing, or the run was cut off.
    Incomplete,
    /// Operations failed: what was measured is partly failure.
    OperationsFailed,
    /// The load generator was near its own limit.
    GeneratorLimited,
    /// Little's law is broken: the load generator's own count is wrong.
    LittleLawViolated,
    /// A steady state was asked for and not reached.
    SteadyNotReached,
    /// An interval was asked for and is still wider.
    IntervalNotReached,
}
