//! What of a run can be compared: its cells, or the points of the buffer experiment, each as what identifies it and its
//! figures.

use super::MeasuredRun;
use super::estimates::{self, EstimatedFigure};
use super::load::{self, Condition};
use narrows_model::summary::{CellSummary, RelayPointSummary, RelaySummary};
use narrows_model::{Bytes, Cut, Segment};

/// A cell or point of one run.
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
    /// Its figures, the rate first.
    pub(super) figures: Vec<EstimatedFigure>,
    /// Codes of what must be known.
    pub(super) flags: Vec<String>,
    /// What limits it.
    pub(super) limiting: Option<Segment>,
    /// Whether the load sets the rate, so that response times show how it performs.
    pub(super) rate_is_given: bool,
    /// Repetitions.
    pub(super) trial_count: u64,
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
        figures: estimates::of_cell(cell, run),
        flags: cell.flags.clone(),
        limiting: cell.limiting,
        rate_is_given: cell.offered_ops_per_s.is_some()
            || asked.max_bytes_per_s.is_some()
            || asked.max_ops_per_s.is_some(),
        trial_count: cell.trials.len() as u64,
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
        figures: estimates::of_point(point, run),
        flags: Vec::new(),
        limiting: None,
        rate_is_given: false,
        trial_count: point.trial_count,
    }
}

fn buffer(asked: Option<Bytes>) -> String {
    asked.map_or_else(|| "the kernel's".to_owned(), |bytes| bytes.to_string())
}
