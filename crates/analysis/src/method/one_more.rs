//! The same load over one more connection: whether a connection, and not what all of them share, limits the path.

use super::connections;
use super::gain::RateGain;
use crate::facts::reads;
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Target, Workload};

/// What the same load did over one more connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExtraConnection<'a> {
    pub cell: &'a CellSummary,
    /// Its rate over that with one connection less.
    pub gain: RateGain,
}

impl ExtraConnection<'_> {
    /// Whether the path is faster with it, by more than chance explains.
    pub(crate) fn helps(self) -> bool {
        self.gain.is_real()
    }

    /// Whether the path is as fast without it.
    pub(crate) fn adds_nothing(self) -> bool {
        self.gain.is_none()
    }

    /// The comparison in words.
    pub(crate) fn text(self) -> String {
        format!("{}: one more connection gives {:.2} times the rate", self.cell.id, self.gain.ratio)
    }
}

/// The same load over one more connection; `None` where that was not measured. A worker at an endpoint is a connection.
pub(crate) fn one_more_connection<'v>(
    view: &SummaryView<'v>,
    cell: &CellSummary,
) -> Option<ExtraConnection<'v>> {
    let load = &cell.requested;
    let more = |other: &&CellSummary| {
        let wanted = &other.requested;
        other.cut == Cut::Path
            && matches!(other.target.form(), Target::Tcp { .. })
            && reads(other.op) == reads(cell.op)
            && (other.block_bytes, wanted.queue_depth, other.clients)
                == (cell.block_bytes, load.queue_depth, cell.clients)
            && wanted.workers == load.workers.saturating_add(1)
    };
    let found = view.summary.cells.iter().find(more)?;
    Some(ExtraConnection { cell: found, gain: RateGain::between(cell, found)? })
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
