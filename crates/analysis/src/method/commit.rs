//! The time of the commit of writes, and whether it limits many of them.

use super::{is_single, protocol};
use crate::facts::offered_load::is_delivered;
use crate::facts::{reads, time_per_op_s};
use crate::thresholds::{FULL_RATIO, GAIN_RATIO};
use crate::verdict::Stance;
use crate::view::SummaryView;
use narrows_model::Cut;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::Acknowledgement;

/// From this gain of early writes on the commit takes four tenths of the device's time or more; below it, moving the bytes
/// clearly takes more.
const COMMIT_GAIN_RATIO: f64 = 1.7;

/// The same writes acknowledged early; `None` for what does not wait for a commit. By a storage protocol a write waits for it
/// that must be durable; its commit is compared with an endpoint's storage where there is one beside the server.
pub(crate) fn early<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    let by_protocol = || view.server().is_some() && view.speaks_protocol() && protocol::is_durable_each(cell);
    let late = cell.requested.acknowledgement == Acknowledgement::Late || by_protocol();
    let waits = !reads(cell.op) && late;
    let found = view.ceiling(Cut::EarlyPath, cell).filter(|found| found.same_settings && waits)?;
    (!is_delivered(found.cell)).then_some(found.cell)
}

/// The part of the time of one write at a time that its commit takes at least, in seconds; `None` where it is not known.
///
/// With N the network, W the device's write and F the flush: the path takes N + W + F, the server alone W + F, and an
/// early write max(N, W), because the client continues while the device writes. Their difference is F where W >= N,
/// else less.
pub(crate) fn part_s(view: &SummaryView<'_>, cell: &CellSummary) -> Option<f64> {
    let early_s = time_per_op_s(early(view, cell)?)?;
    let alone = view.ceiling(Cut::ServerStorage, cell).filter(|found| found.same_settings)?;
    Some((time_per_op_s(alone.cell)?.min(time_per_op_s(cell)?) - early_s).max(0.0))
}

/// What an early acknowledgement gains many writes in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EarlyGain {
    /// Rate of early writes over that of the late ones.
    pub ratio: f64,
    /// Rate over that of the server's own durable writes; 1 where these were not measured.
    pub load: f64,
}

impl EarlyGain {
    /// The gain of `cell` by `early`.
    pub(crate) fn new(view: &SummaryView<'_>, cell: &CellSummary, early: &CellSummary) -> Option<Self> {
        let (late, rate) = (cell.rate_bytes_per_s?.0, early.rate_bytes_per_s?.0);
        let durable = view.ceiling(Cut::ServerStorage, cell).filter(|found| found.same_settings);
        let load = durable.and_then(|found| ratio(late, found.bytes_per_s)).map_or(1.0, |load| load.min(1.0));
        Some(Self { ratio: ratio(rate, late)?, load })
    }

    /// What the gain shows of the commit; `None` where something in front of it limits, or the difference is too small.
    pub(crate) fn stance(self) -> Option<Stance> {
        match self.ratio {
            gain if gain < GAIN_RATIO => Some(Stance::Clears),
            gain if gain >= COMMIT_GAIN_RATIO && self.load >= FULL_RATIO => Some(Stance::Limits),
            _ => None,
        }
    }
}

/// Whether the commit limits many writes in flight, so that the rate of the server's durable writes is the commit's and
/// not the device's.
pub(crate) fn is_limiting(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let gain = || EarlyGain::new(view, cell, early(view, cell)?);
    !is_single(cell) && gain().and_then(EarlyGain::stance) == Some(Stance::Limits)
}
