//! The same load over more connections: whether a connection, and not what all of them share, limits the path.

use super::connections;
use super::gain::RateGain;
use crate::facts::reads;
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Target, Workload};

/// What the same load did over more connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtraConnection<'a> {
    pub cell: &'a CellSummary,
    /// Its rate over that with fewer connections.
    pub gain: RateGain,
    /// Connections of the two.
    counts: [f64; 2],
}

impl ExtraConnection<'_> {
    /// Whether the path is faster with them, by more than chance explains.
    pub(crate) fn helps(self) -> bool {
        self.gain.is_real()
    }

    /// Whether the path is as fast without them.
    pub(crate) fn adds_nothing(self) -> bool {
        self.gain.is_none()
    }

    /// The comparison in words.
    pub(crate) fn text(self) -> String {
        let [few, many] = self.counts;
        let (id, ratio) = (&self.cell.id, self.gain.ratio);
        if many - few <= 1.0 {
            return format!("{id}: one more connection gives {ratio:.2} times the rate");
        }
        format!("{id}: {many:.0} connections in the place of {few:.0} give {ratio:.2} times the rate")
    }
}

/// The same load over one more connection; `None` where that was not measured. A worker at an endpoint is a connection.
pub(crate) fn one_more_connection<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
) -> Option<ExtraConnection<'v>> {
    let is_one_more = |other: &CellSummary| {
        other.clients == cell.clients && other.requested.workers == cell.requested.workers.saturating_add(1)
    };
    over_more(view, cell, is_one_more)
}

/// The same, else over the fewest more; each client has connections of its own.
pub(crate) fn more_connections<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
) -> Option<ExtraConnection<'v>> {
    one_more_connection(view, cell).or_else(|| over_more(view, cell, |_| true))
}

fn over_more<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
    is_asked_for: impl Fn(&CellSummary) -> bool,
) -> Option<ExtraConnection<'v>> {
    let is_more = |other: &&CellSummary| {
        other.cut == Cut::Path
            && matches!(other.target.form(), Target::Tcp { .. })
            && reads(other.op) == reads(cell.op)
            && (other.block_bytes, other.requested.queue_depth)
                == (cell.block_bytes, cell.requested.queue_depth)
            && connections(other) > connections(cell)
            && is_asked_for(other)
    };
    let more = view.summary.cells.iter().filter(is_more);
    let found = more.min_by(|a, b| connections(a).total_cmp(&connections(b)))?;
    let counts = [connections(cell), connections(found)];
    Some(ExtraConnection { cell: found, gain: RateGain::between(cell, found)?, counts })
}

/// Whether the same load over twice as many connections or more, or half as many, moves about as much: what all of them
/// share limits it, and none of them by itself.
pub(crate) fn shares_one_rate(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let is_alike = |other: &&CellSummary| {
        let (workers, clients) = (cell.requested.workers, cell.requested.clients);
        other.cut == cell.cut
            && other.target == cell.target
            && Workload { workers, clients, ..other.requested.clone() } == cell.requested
    };
    view.summary.cells.iter().filter(is_alike).any(|other| {
        let (few, many) = if connections(other) < connections(cell) { (other, cell) } else { (cell, other) };
        let times = connections(many) / connections(few).max(1.0);
        let gain = RateGain::between(few, many).filter(|_| times >= 2.0);
        gain.is_some_and(|gain| gain.ratio + gain.noise_ratio < 1.0 + (times - 1.0) / 2.0)
    })
}
