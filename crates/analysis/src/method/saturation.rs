//! Where the rate of a load stops growing with the number in flight: the knee of its line over depth, workers or
//! clients, as a study sweeps them and `check` measures some of them.
//!
//! Not here: what follows for a segment, which is the rules' to say.

use super::gain::RateGain;
use crate::summary::laws;
use crate::text;
use crate::thresholds::GAIN_RATIO;
use crate::view::SummaryView;
use narrows_model::Workload;
use narrows_model::summary::{CellSummary, Saturation, SaturationState};
use narrows_stats::saturation::DOUBLING_MIN;

/// A setting by which more is asked for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadSetting {
    Depth,
    Workers,
    Clients,
}

impl LoadSetting {
    /// What deepens one queue first; a synchronous engine has workers for that. More clients are more of everything.
    const ALL: [LoadSetting; 3] = [LoadSetting::Depth, LoadSetting::Workers, LoadSetting::Clients];

    fn value_in(self, load: &Workload) -> u32 {
        match self {
            LoadSetting::Depth => load.queue_depth,
            LoadSetting::Workers => load.workers,
            LoadSetting::Clients => load.clients,
        }
    }

    fn set(self, load: &mut Workload, value: u32) {
        match self {
            LoadSetting::Depth => load.queue_depth = value,
            LoadSetting::Workers => load.workers = value,
            LoadSetting::Clients => load.clients = value,
        }
    }

    fn name(self) -> &'static str {
        match self {
            LoadSetting::Depth => "depth",
            LoadSetting::Workers => "workers",
            LoadSetting::Clients => "clients",
        }
    }

    /// A value of it in words: `depth 8`, `1 client`.
    fn at(self, value: u32) -> String {
        match (self, value) {
            (LoadSetting::Depth, _) => format!("depth {value}"),
            (_, 1) => format!("1 {}", self.name().trim_end_matches('s')),
            _ => format!("{value} {}", self.name()),
        }
    }
}

/// Which clients a load is compared with, where it has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ComparedHosts {
    /// Those of the same hosts: clients on other hosts have a link, CPUs and a memory of their own besides.
    Same,
    /// All.
    Any,
}

/// One load with more and more in flight, along one setting.
#[derive(Debug)]
pub(crate) struct LoadLine<'v> {
    knob: LoadSetting,
    /// By rising number in flight; two or more.
    cells: Vec<&'v CellSummary>,
    law: Saturation,
}

impl<'v> LoadLine<'v> {
    /// Whether the rate stops growing within the line; `None` where its uncertainty, or a wide last step, leaves that
    /// open.
    pub(crate) fn is_saturated(&self) -> Option<bool> {
        match self.law.state {
            SaturationState::Reached => Some(true),
            SaturationState::NotReached => Some(false),
            SaturationState::Undecided => None,
        }
    }

    /// The cell from which more adds nothing, or the one with the most in flight where the rate still grows.
    pub(crate) fn best(&self) -> Option<&'v CellSummary> {
        let Some(knee) = self.law.knee_in_flight else { return self.cells.last().copied() };
        self.cells.iter().copied().find(|cell| laws::in_flight(cell) >= knee)
    }

    /// What the last doubling did, and where the line saturates: `doubling the depth 16 -> 32 added 1.2 %, saturated from
    /// depth 8 on`.
    pub(crate) fn text(&self) -> String {
        let value = |cell: &CellSummary| self.knob.value_in(&cell.requested);
        let step = self.last_doubling().map_or((0, 0), |(from, to)| (value(from), value(to)));
        let doubling = if step.1 == step.0.saturating_mul(2) { "doubling" } else { "each doubling of" };
        let gain = self.law.last_doubling_gain_ratio;
        let verb = match self.is_saturated() {
            _ if gain < 0.0 => "cost",
            Some(false) => "still added",
            _ => "added",
        };
        let (knob, size) = (self.knob.name(), text::percent(gain.abs()));
        let step = format!("{doubling} the {knob} {} -> {} {verb} {size}", step.0, step.1);
        match self.best().filter(|_| self.is_saturated() == Some(true)) {
            Some(knee) => format!("{step}, saturated from {} on", self.knob.at(value(knee))),
            None => step,
        }
    }

    /// The last cell that is a doubling or more before the very last, and that one: the law has such.
    fn last_doubling(&self) -> Option<(&'v CellSummary, &'v CellSummary)> {
        let last = *self.cells.last()?;
        let far = |cell: &&CellSummary| laws::in_flight(last) >= laws::in_flight(cell) * DOUBLING_MIN;
        Some((self.cells.iter().copied().rev().find(far)?, last))
    }
}

/// The line of `cell` that decides whether more in flight on the same hosts helps, else one that leaves it open; `None` where
/// no line doubles what is in flight, and for a load that something else than the number in flight bounds.
pub(crate) fn line<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<LoadLine<'v>> {
    let mut lines: Vec<LoadLine<'v>> =
        LoadSetting::ALL.iter().filter_map(|knob| along(view, cell, *knob, ComparedHosts::Same)).collect();
    let decided = lines.iter().position(|line| line.is_saturated().is_some());
    (!lines.is_empty()).then(|| lines.swap_remove(decided.unwrap_or(0)))
}

/// Whether more in flight than `cell` has gets clearly more: at the knee of its load, or, where it has the most in flight
/// and the rate still grows, by what the last doubling added. Any line that decides may say so.
pub(crate) fn grows(view: &SummaryView<'_>, cell: &CellSummary, hosts: ComparedHosts) -> bool {
    let on_line = |line: LoadLine<'_>| {
        let saturated = line.is_saturated()?;
        let best = line.best().filter(|best| laws::in_flight(best) > laws::in_flight(cell));
        Some(match best {
            Some(best) => RateGain::between(cell, best)?.is_real(),
            // That it adds at all is sure: the law has weighed the errors.
            None => !saturated && 1.0 + line.law.last_doubling_gain_ratio >= GAIN_RATIO,
        })
    };
    let lines = LoadSetting::ALL.iter().filter_map(|knob| along(view, cell, *knob, hosts));
    lines.filter_map(on_line).any(|grows| grows)
}

/// Whether the lines of `cell` leave it open whether more in flight helps.
pub(crate) fn is_open(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    line(view, cell).is_none_or(|line| line.is_saturated().is_none())
}

fn along<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
    knob: LoadSetting,
    hosts: ComparedHosts,
) -> Option<LoadLine<'v>> {
    let mut cells = alike(view, cell, &[knob], hosts);
    cells.retain(|other| laws::is_unbounded(other) && other.rate_bytes_per_s.is_some());
    cells.sort_by(|a, b| laws::in_flight(a).total_cmp(&laws::in_flight(b)));
    let law = laws::saturation(&cells, laws::in_flight, view.summary.seed)?;
    Some(LoadLine { knob, cells, law })
}

/// The cells of the same cut and load on the same hosts with any number in flight, by whichever setting.
pub(crate) fn same_load<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Vec<&'v CellSummary> {
    alike(view, cell, &LoadSetting::ALL, ComparedHosts::Same)
}

/// The cells of the same cut whose load differs from that of `cell` in these settings alone, itself included.
fn alike<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
    free: &[LoadSetting],
    hosts: ComparedHosts,
) -> Vec<&'v CellSummary> {
    let host_count = |cell: &CellSummary| view.hosts_of_clients(cell.clients).len();
    let own_host_count = host_count(cell);
    let same = |other: &&CellSummary| {
        let settings = |cell: &CellSummary| (cell.cut, cell.op, cell.block_bytes);
        let near = settings(other) == settings(cell);
        near && other.target == cell.target
            && other.more_targets == cell.more_targets
            && freed(other, cell, free) == cell.requested
            && (hosts == ComparedHosts::Any || host_count(other) == own_host_count)
    };
    view.summary.cells.iter().filter(same).collect()
}

/// The load of `other` with the settings of `cell` that are free. Clients that refine a check share the bytes of its
/// file; those of a study have theirs each.
fn freed(other: &CellSummary, cell: &CellSummary, free: &[LoadSetting]) -> Workload {
    let mut load = other.requested.clone();
    for knob in free {
        knob.set(&mut load, knob.value_in(&cell.requested));
    }
    if free.contains(&LoadSetting::Clients) && cell.factors.is_empty() {
        load.file_bytes = cell.requested.file_bytes;
    }
    load
}
