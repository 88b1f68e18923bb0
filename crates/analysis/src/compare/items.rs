//! What of a side can be compared: the cells of its runs, or the points of the buffer experiment, each as what identifies
//! it and its figures, run by run.

use super::MeasuredRun;
use super::estimates::{self, EstimatedFigure};
use super::load::{self, Condition};
use crate::facts::flags;
use narrows_model::comparison::CellRuns;
use narrows_model::summary::{CellSummary, RelayPointSummary, RelaySummary};
use narrows_model::{Bytes, Cut, Segment};

/// What one run says of a cell or point.
#[derive(Debug, Clone)]
pub(super) struct ItemRun {
    /// Its figures, the rate first.
    pub(super) figures: Vec<EstimatedFigure>,
    /// Codes of what must be known.
    pub(super) flags: Vec<String>,
    /// What limits it.
    pub(super) limiting: Option<Segment>,
    /// Whether other programs disturbed it.
    pub(super) is_disturbed: bool,
}

/// A cell or point of one side, as its first run has it, with the figures of every run.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// Its name.
    pub(super) id: &'a str,
    /// Where the path is cut; `None` for a point.
    pub(super) cut: Option<Cut>,
    /// What makes it the same work as another, as named settings.
    pub(super) work: Vec<(&'static str, String)>,
    /// What distinguishes items of the same work in one run.
    pub(super) place: String,
    /// What may differ between two of the same work, and must be reported.
    pub(super) conditions: Vec<Condition>,
    /// Its runs: one at least.
    pub(super) runs: Vec<ItemRun>,
    /// Whether the load sets the rate, so that response times show how it performs.
    pub(super) rate_is_given: bool,
}

impl Item<'_> {
    /// What makes it the same work as another, as one text.
    pub(super) fn key(&self) -> String {
        let settings: Vec<String> = self.work.iter().map(|(name, value)| format!("{name}={value}")).collect();
        settings.join("\n")
    }

    /// Whether it is a load of the whole path.
    pub(super) fn is_of_path(&self) -> bool {
        self.cut.is_none_or(|cut| cut == Cut::Path)
    }
}

/// Runs that must remain so that disturbed ones are left out, and from which a side shows by itself how much runs differ.
pub(super) const RUNS_MIN: usize = 3;

impl Item<'_> {
    /// The runs that its figures are from: without disturbed ones, where enough others remain.
    pub(super) fn used_runs(&self) -> Vec<&ItemRun> {
        let undisturbed: Vec<&ItemRun> = self.runs.iter().filter(|run| !run.is_disturbed).collect();
        if undisturbed.len() >= RUNS_MIN { undisturbed } else { self.runs.iter().collect() }
    }

    /// How many runs it is compared from.
    pub(super) fn cell_runs(&self) -> CellRuns {
        let used = self.used_runs();
        let disturbed_count = used.iter().filter(|run| run.is_disturbed).count() as u64;
        let used_count = used.len() as u64;
        CellRuns { used_count, left_out_count: self.runs.len() as u64 - used_count, disturbed_count }
    }

    /// The segment that limits it in every run that is used; `None` where they differ, or one does not say.
    pub(super) fn limiting(&self) -> Option<Segment> {
        let used = self.used_runs();
        let first = used.first()?.limiting?;
        used.iter().all(|run| run.limiting == Some(first)).then_some(first)
    }

    /// The flags of all runs that are used.
    pub(super) fn flags(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for flag in self.used_runs().into_iter().flat_map(|run| &run.flags) {
            if !all.contains(flag) {
                all.push(flag.clone());
            }
        }
        all
    }
}

/// Whether what other programs did to the runs may be the difference between the sides: unless both sides have such runs, and
/// enough of them to show it as variation.
pub(super) fn is_blocked(a: CellRuns, b: CellRuns) -> bool {
    let has_enough = a.used_count.min(b.used_count) >= RUNS_MIN as u64;
    let is_in_both = a.disturbed_count > 0 && b.disturbed_count > 0;
    a.disturbed_count + b.disturbed_count > 0 && !(is_in_both && has_enough)
}

/// Everything of `run` that can be compared, in the order of the run.
pub(super) fn items(run: &MeasuredRun) -> Vec<Item<'_>> {
    let cells = run.summary.cells.iter().map(|cell| of_cell(cell, run));
    let relay = run.summary.relay.iter();
    let points = relay.flat_map(|relay| relay.points.iter().map(move |point| of_point(point, relay, run)));
    cells.chain(points).collect()
}

fn of_cell<'a>(cell: &'a CellSummary, run: &MeasuredRun) -> Item<'a> {
    let asked = &cell.requested;
    Item {
        id: &cell.id,
        cut: Some(cell.cut),
        work: load::work(cell),
        place: format!("{:?} {} {:?}", cell.factors, cell.target, cell.more_targets),
        conditions: load::conditions(cell),
        runs: vec![ItemRun {
            figures: estimates::of_cell(cell, run),
            flags: cell.flags.clone(),
            limiting: cell.limiting,
            is_disturbed: flags::has(cell, flags::FOREIGN_LOAD),
        }],
        rate_is_given: cell.offered_ops_per_s.is_some()
            || asked.max_bytes_per_s.is_some()
            || asked.max_ops_per_s.is_some(),
    }
}

fn of_point<'a>(point: &'a RelayPointSummary, relay: &RelaySummary, run: &MeasuredRun) -> Item<'a> {
    let buffers = point.buffers;
    let proxy = buffers.proxy.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string());
    Item {
        id: &point.cell.0,
        cut: None,
        work: vec![
            ("bytes", relay.total.to_string()),
            ("client buffer", buffers.client.to_string()),
            ("proxy buffer", proxy),
            ("server buffer", buffers.server.to_string()),
            ("forwarding", load::debug_word(&relay.forward)),
        ],
        place: point.sweep.name().to_owned(),
        conditions: vec![
            Condition::exact("data verified", load::yes_no(relay.verify)),
            Condition::exact("transport", load::debug_word(&relay.sockets.transport)),
            Condition::exact("no delay", load::yes_no(relay.sockets.no_delay)),
            Condition::exact("send buffer", buffer(relay.sockets.send_buffer)),
            Condition::exact("receive buffer", buffer(relay.sockets.receive_buffer)),
        ],
        runs: vec![ItemRun {
            figures: estimates::of_point(point, run),
            flags: Vec::new(),
            limiting: None,
            is_disturbed: false,
        }],
        rate_is_given: false,
    }
}

fn buffer(asked: Option<Bytes>) -> String {
    asked.map_or_else(|| "the kernel's".to_owned(), |bytes| bytes.to_string())
}
