//! A study expanded: ordered cells, the load they put on, what is left out and why.

use crate::cell::{Cell, CellId, Cut, FactorValue};
use crate::factor::Factor;
use crate::relay::RelayPlan;
use crate::segment::Segment;
use crate::target::Target;
use crate::units::{Bytes, Nanos, round_to_u64};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Who talks to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// One machine, no server.
    Local,
    /// A client and a server.
    ClientServer,
    /// A client, a proxy and a server.
    ClientProxyServer,
    /// Nodes that are clients alone and nodes that are servers alone, each client at all servers.
    OneToMany,
    /// Nodes that are client and server, each client at all servers.
    ManyToMany,
}

/// A cell that is not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SkippedCell {
    /// The cell.
    pub cell: CellId,
    /// Why, for people.
    pub reason: String,
}

impl SkippedCell {
    /// What is in the reason of a cell for which the file system has too little room, before what there is.
    pub const FREE_SPACE: &str = "a quarter of the free space is ";
    /// What is in the reason of a cell for which the file that was named is too small, before its size.
    pub const FILE_SIZE: &str = "the file has ";
    /// The reason of a cell that a run which was stopped did not come to.
    pub const NOT_REACHED: &str = "the run ended before this cell was reached";

    /// How the reason of a cell begins for which the whole time is too short.
    const PAST_BUDGET: &str = "past the budget";

    /// The reason of a cell for which a budget of `budget_s` seconds is too short, where `needed_s` suffice for everything.
    #[must_use]
    pub fn past_budget(budget_s: f64, needed_s: u64) -> String {
        format!("{} of {budget_s} s; --seconds {needed_s} measures everything", Self::PAST_BUDGET)
    }

    /// Whether the whole time was too short for it.
    #[must_use]
    pub fn is_past_budget(&self) -> bool {
        self.reason.starts_with(Self::PAST_BUDGET)
    }

    /// The seconds that suffice for everything, where its reason states them.
    #[must_use]
    pub fn sufficient_s(&self) -> Option<u64> {
        let (_, after) = self.reason.split_once("--seconds ")?;
        after.strip_suffix(" measures everything")?.parse().ok()
    }

    /// The block size of a cell of the path for which there is too little room; `None` for any other.
    #[must_use]
    pub fn block_without_room(&self) -> Option<Bytes> {
        let mut parts = self.cell.0.split('/');
        let is_of_path = parts.next() == Some(Cut::Path.name());
        let lacks_room = [Self::FREE_SPACE, Self::FILE_SIZE].iter().any(|text| self.reason.contains(text));
        let block = parts.nth(1).filter(|_| is_of_path && lacks_room)?;
        crate::quantity::parse_size(block).ok()
    }
}

/// The load that a plan puts on, stated before it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct LoadStatement {
    /// Time that all cells take, preparation excluded.
    pub planned_ns: Nanos,
    /// Bytes of files and objects that are written before cells visit them; fewer on a path that is too slow for them.
    #[serde(default)]
    pub prefill_bytes: Bytes,
    /// Longest time that takes, on a path that has by then what each load needs at least.
    #[serde(default)]
    pub prefill_ns_max: Nanos,
    /// Most bytes of files that exist at once.
    pub file_bytes_max: Bytes,
    /// Most bytes written, where a bound is set; `None` is bounded by time and rate alone.
    pub write_bytes_max: Option<Bytes>,
    /// Places where files are made, as text: folder on the client, store of the endpoint.
    pub touches: Vec<String>,
    /// Most requests in flight at once.
    pub in_flight_max: u64,
    /// Cap on the rate; `None` is unlimited.
    pub max_bytes_per_s: Option<u64>,
}

/// A study expanded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Plan {
    /// Schema of the plan, `narrows.plan/1`.
    pub schema: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// What the path leads to.
    pub target: Target,
    /// Who talks to whom.
    pub topology: Topology,
    /// Segments of this path, from the application to the device.
    pub segments: Vec<Segment>,
    /// Cells in the order in which they run.
    pub cells: Vec<Cell>,
    /// Cells left out, and why.
    pub skipped: Vec<SkippedCell>,
    /// The load.
    pub load: LoadStatement,
    /// Time for the whole command; cells past it are dropped in the planned order.
    pub budget_ns: Nanos,
    /// Time between samples.
    pub interval_ns: Nanos,
    /// The study file that the plan comes from; `None` for a command that plans by itself.
    #[serde(default)]
    pub study: Option<StudySource>,
    /// The buffer experiment, of `narrows relay` alone; its points are there and not among the cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelayPlan>,
    /// The classic benchmark that planned the cells; `None` where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteSource>,
    /// The conditions under which the run fails, as they were typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail_if: Vec<String>,
}

/// The classic benchmark that a plan comes from. Its cells have the factors [`SUITE_TEST`] and [`SUITE_PHASE`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct SuiteSource {
    /// Its name, as on the command line.
    pub name: String,
    /// Whether cuts of the path are measured beside its tests; missing where `options` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_cuts: Option<bool>,
    /// The suite's request, in the form that the suite gives it; null where `options` has it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub request: Value,
    /// The request in records of versions before `request`: words and numbers by names of the suite's choice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, FactorValue>,
}

impl SuiteSource {
    /// The suite `name` with its request.
    #[must_use]
    pub fn new(name: &str, has_cuts: bool, request: Value) -> Self {
        Self { name: name.to_owned(), has_cuts: Some(has_cuts), request, options: BTreeMap::new() }
    }

    /// Whether cuts of the path are measured beside its tests.
    #[must_use]
    pub fn has_cuts(&self) -> bool {
        self.has_cuts.unwrap_or_else(|| self.text("cuts").is_none_or(|cuts| cuts != "none"))
    }

    /// The old option of this name as a whole number; `None` where it is missing or no number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.options.get(name) {
            Some(FactorValue::Number(number)) => Some(round_to_u64(*number)),
            _ => None,
        }
    }

    /// The old option of this name as text; `None` where it is missing.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        self.options.get(name).map(ToString::to_string)
    }
}

/// The factor that names the test of a suite which a cell belongs to.
pub const SUITE_TEST: &str = "test";
/// The factor that names the phase of that test.
pub const SUITE_PHASE: &str = "phase";

/// A study file as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct StudySource {
    /// Its name, as it was given.
    pub name: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Its whole text.
    pub text: String,
    /// What it varies, in the order of the sweep: the last one changes from each point to the next.
    #[serde(default)]
    pub factors: Vec<Factor>,
}

impl StudySource {
    /// The name of the study that `narrows scale` makes itself.
    pub const OF_SCALE: &str = "narrows scale";

    /// Whether a person wrote the study, so that there is a file to change.
    #[must_use]
    pub fn is_a_file(&self) -> bool {
        self.name != Self::OF_SCALE
    }
}

/// Longest time for which one file or object is written before it is visited, once it is large enough to be used at all.
/// On a slow path it is smaller, and the record says how large.
pub const PREFILL_NS_MAX: Nanos = Nanos(2_500_000_000);

/// Schema of plans written by this version.
pub const PLAN_SCHEMA: &str = "narrows.plan/1";
