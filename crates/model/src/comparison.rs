//! Two sides, each of one or more runs: the JSON document `narrows.comparison/1`, what `narrows compare A B --json` prints.
//!
//! Every ratio is B over A. Not here: how it is made, which is `analysis`'.

use crate::cell::Cut;
use crate::counters::Role;
use crate::segment::Segment;
use crate::summary::{Doubt, Interval};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema of comparisons written by this version.
pub const COMPARISON_SCHEMA: &str = "narrows.comparison/1";

/// Whether B is better than A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B is better: the difference is more than chance, and measured beyond the margin.
    Better,
    /// B is worse: the difference is more than chance, and measured beyond the margin.
    Worse,
    /// Neither is shown; see `within_margin` for whether a difference that matters is ruled out.
    Undecided,
}

impl Verdict {
    /// The name as in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Undecided => "undecided",
        }
    }

    /// The verdict on A against B where this is that on B against A.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            Verdict::Undecided => Verdict::Undecided,
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FigureId {
    /// Bytes a second; more is better.
    RateBytesPerS,
    /// Operations a second, of loads that move no bytes; more is better.
    OpsPerS,
    /// Median response time in nanoseconds; less is better.
    LatencyNsP50,
    /// 99th percentile of the response time in nanoseconds; less is better.
    LatencyNsP99,
    /// CPU seconds of a role a byte; less is better.
    CpuSPerByte,
    /// CPU seconds of a role an operation, of loads that move no bytes; less is better.
    CpuSPerOp,
}

impl FigureId {
    /// Whether more of it is better.
    #[must_use]
    pub fn more_is_better(self) -> bool {
        matches!(self, FigureId::RateBytesPerS | FigureId::OpsPerS)
    }
}

/// How it is known by how much a figure differs from run to run with nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpreadSource {
    /// From three runs or more of each side.
    Runs,
    /// From the runs of both sides and of the noise record together.
    Pooled,
    /// Assumed: there are too few runs.
    Assumed,
}

/// The variation of a figure from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RunSpread {
    /// How it is known.
    pub source: SpreadSource,
    /// Standard deviation of one run, over the figure.
    pub deviation_ratio: f64,
}

/// One figure of a cell on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ComparedFigure {
    /// What it is.
    pub id: FigureId,
    /// Whose CPU; `None` for other figures.
    pub role: Option<Role>,
    /// In A: of several runs the geometric mean.
    pub a: f64,
    /// In B: of several runs the geometric mean.
    pub b: f64,
    /// B over A.
    pub ratio: f64,
    /// Interval of the ratio, of this figure alone; `None` where it is not known how the figure varies.
    pub interval: Option<Interval>,
    /// Probability of a ratio as far from 1 if there were no difference, adjusted for the other figures of its family by
    /// Holm's method; `None` without an interval.
    pub p_value_adjusted: Option<f64>,
    /// The variation from run to run behind the interval; `None` without one.
    pub spread: Option<RunSpread>,
    /// Runs a side with which an undecided figure would probably be decided; `None` where it is decided, or where more than
    /// 10 000 would be needed.
    pub runs_needed: Option<u64>,
    /// Whether it is among the figures that decide the whole: rates of the path, and response times where the load sets the
    /// rate.
    pub decides: bool,
    /// The verdict; undecided without an interval.
    pub verdict: Verdict,
    /// Whether the whole interval is within the margin, so that a difference beyond it is ruled out.
    pub within_margin: bool,
    /// Why there is no interval; `None` where there is one.
    pub no_interval_because: Option<String>,
}

/// Something that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Difference {
    /// What, for people.
    pub what: String,
    /// In A.
    pub a: String,
    /// In B.
    pub b: String,
}

/// The runs of one side that a cell is compared from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CellRuns {
    /// Runs that its figures are from.
    pub used_count: u64,
    /// Runs left out, since other programs disturbed the cell and at least three other runs remain.
    pub left_out_count: u64,
    /// Runs among those used in which other programs disturbed the cell: then it has a verdict only where both sides have
    /// such runs, and three runs or more.
    pub disturbed_count: u64,
}

/// A cell that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ComparedCell {
    /// Its name in A.
    pub cell_a: String,
    /// Its name in B.
    pub cell_b: String,
    /// Where the path is cut; `None` for a point of the buffer experiment.
    pub cut: Option<Cut>,
    /// Verdict of the figures that decide, or of the rate where none does.
    pub verdict: Verdict,
    /// Whether all of those are within the margin.
    pub within_margin: bool,
    /// The runs of A behind it.
    pub runs_a: CellRuns,
    /// The runs of B behind it.
    pub runs_b: CellRuns,
    /// The figures that both have; the rate first.
    pub figures: Vec<ComparedFigure>,
    /// Codes of what must be known to read the figures of A, of any run that is used.
    pub flags_a: Vec<String>,
    /// The same of B.
    pub flags_b: Vec<String>,
    /// What is not the same in its load, or in what was granted.
    pub differences: Vec<Difference>,
    /// What limits it in A; `None` where the evidence does not say.
    pub limiting_a: Option<Segment>,
    /// What limits it in B; `None` where the evidence does not say.
    pub limiting_b: Option<Segment>,
}

/// A cell that has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct UnpairedCell {
    /// Its name.
    pub cell: String,
    /// Why it has none, for people.
    pub reason: String,
}

/// What limits one kind of load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RegimeLimit {
    /// The load, as the diagnosis names it.
    pub regime: String,
    /// The segments that limit it.
    pub segments: Vec<Segment>,
}

impl RegimeLimit {
    /// The names of the load in one direction: two, where one verdict is on reads and writes.
    #[must_use]
    pub fn loads(&self) -> Vec<String> {
        const BOTH: [(&str, [&str; 2]); 2] = [
            ("one-at-a-time read and durable write (", ["one-at-a-time read (", "synchronous write ("]),
            (" read and write (", [" read (", " write ("]),
        ];
        let both = BOTH.iter().find(|(both, _)| self.regime.contains(both));
        match both {
            Some((both, each)) => each.iter().map(|one| self.regime.replacen(both, one, 1)).collect(),
            None => vec![self.regime.clone()],
        }
    }
}

/// The diagnoses side by side.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct LimitsCompared {
    /// Whether both name the same segments for the loads that both have a verdict on, of which there is one at least.
    pub same: bool,
    /// What limits in A.
    pub a: Vec<RegimeLimit>,
    /// What limits in B.
    pub b: Vec<RegimeLimit>,
}

/// A run that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ComparedRun {
    /// Its record, as it was named.
    pub record: String,
    /// Version of narrows that measured.
    pub narrows_version: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Command line.
    pub command: Vec<String>,
    /// What the path leads to.
    pub target: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Whether everything planned was measured, and the record is whole.
    pub complete: bool,
    /// Whether the load generator was the limit.
    pub generator_limited: bool,
    /// Reasons not to rely on the run; empty where it can be.
    pub doubts: Vec<Doubt>,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ComparedSide {
    /// The record, or the folder of records, as it was named.
    pub record: String,
    /// Its runs, the earliest first.
    pub runs: Vec<ComparedRun>,
}

/// How many cells of the path have which verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct VerdictCounts {
    /// Better in B.
    pub better_count: u64,
    /// Worse in B.
    pub worse_count: u64,
    /// No difference beyond the margin.
    pub within_margin_count: u64,
    /// Not known.
    pub undecided_count: u64,
}

/// Two sides side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Comparison {
    /// Always [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// Version of narrows that compared.
    pub narrows_version: String,
    /// The side that is compared with.
    pub a: ComparedSide,
    /// The side that is evaluated.
    pub b: ComparedSide,
    /// The runs that only show how much runs differ; `None` where none were given.
    pub noise: Option<ComparedSide>,
    /// The margin: ratios from 1/(1 + margin) to 1 + margin do not matter.
    pub margin_ratio: f64,
    /// Level of every interval, and of all verdicts of a family together.
    pub level: f64,
    /// The verdict: that of the cells of the path which differ, where they all differ in one direction.
    pub verdict: Verdict,
    /// The cells of the path, counted.
    pub counts: VerdictCounts,
    /// What is not the same around the load: machines, paths, versions; of the first run of each side.
    pub differences: Vec<Difference>,
    /// What must be known before any ratio, for people.
    pub remarks: Vec<String>,
    /// Cells that both have, in the order of A.
    pub cells: Vec<ComparedCell>,
    /// Cells that A alone has.
    pub only_in_a: Vec<UnpairedCell>,
    /// Cells that B alone has.
    pub only_in_b: Vec<UnpairedCell>,
    /// The diagnoses, of the first run of each side.
    pub limits: LimitsCompared,
}
