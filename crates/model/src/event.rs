//! What a run reports while it runs, in order: the only thing that `run` passes to the record.

mod read;

use crate::cell::{Cell, CellId};
use crate::counters::CounterSample;
use crate::inventory::Inventory;
use crate::plan::SkippedCell;
use crate::relay::RelayTrial;
use crate::server::ServerFacts;
use crate::trial::{IntervalSample, TrialOutput};
use crate::units::Nanos;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Files are made, caches brought to the asked state.
    Prepare,
    /// Load whose completions are not counted.
    WarmUp,
    /// Load whose completions count.
    Measure,
    /// What is in flight is drained.
    CoolDown,
    /// What the run made is removed.
    CleanUp,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// All cells ran.
    Finished,
    /// The user asked to stop.
    Interrupted,
    /// The time budget was used up.
    BudgetSpent,
    /// The target or the server failed.
    Failed,
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    RunStarted {
        /// Reading of the load's monotonic clock.
        at_ns: Nanos,
    },
    /// An endpoint answered.
    ServerConnected {
        /// What it reported about itself.
        server: Box<ServerFacts>,
        /// Its inventory, path facts of its store included.
        inventory: Box<Inventory>,
    },
    /// A proxy on the way answered.
    ProxyConnected {
        /// What it reported about itself.
        proxy: Box<ServerFacts>,
        /// Its inventory.
        inventory: Box<Inventory>,
    },
    /// The metrics of a server on which nothing of ours runs were read for the first time.
    MetricsConnected {
        /// Where they are.
        url: String,
    },
    /// The server's counters of one trial were not read; the trial has figures without them.
    MetricsMissed {
        /// The cell.
        cell: CellId,
        /// The repetition, from 0.
        trial: u32,
        /// Why.
        reason: String,
    },
    /// Cells were added to the plan.
    PlanExtended {
        /// The new cells.
        cells: Vec<Cell>,
        /// New skips.
        skipped: Vec<SkippedCell>,
    },
    /// A phase of a trial began.
    PhaseStarted {
        /// The cell.
        cell: CellId,
        /// The repetition, from 0.
        trial: u32,
        /// The phase.
        phase: Phase,
        /// When, on the load's monotonic clock.
        at_ns: Nanos,
    },
    /// A worker's interval ended.
    Interval(Box<IntervalSample>),
    /// Counters were read.
    Counters(Box<CounterSample>),
    /// A repetition ended.
    TrialFinished(Box<TrialOutput>),
    /// A repetition of a point of the buffer experiment ended.
    RelayTrialFinished(Box<RelayTrial>),
    /// A cell was left out.
    CellSkipped(SkippedCell),
    /// A cell could not be run or went on no further.
    CellFailed {
        /// The cell.
        cell: CellId,
        /// What happened, where, what to do.
        message: String,
    },
    /// A cell is measured once more, from its first repetition on: the better one of both measurements counts.
    CellRepeated {
        /// The cell.
        cell: CellId,
        /// Why one measurement does not suffice.
        reason: String,
    },
    /// The run ended.
    RunFinished {
        /// When, on the load's monotonic clock.
        at_ns: Nanos,
        /// Why.
        reason: EndReason,
        /// What ended it before its plan, for people: a peer that was lost, a test folder that was replaced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
}
