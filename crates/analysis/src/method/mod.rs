//! The evaluations that several rules share: a rate against a ceiling, a part of a request's time, a CPU against its
//! capacity, what more in flight or one more connection gains, what a call costs.
//!
//! Rules use these and never each other. Not here: which segment is blamed for it, which is the rule's to say.

pub(crate) mod cache;
pub(crate) mod calls;
pub(crate) mod ceiling;
pub(crate) mod commit;
pub(crate) mod confirmation;
pub(crate) mod cpu;
pub(crate) mod curve;
pub(crate) mod device;
pub(crate) mod export;
pub(crate) mod gain;
pub(crate) mod given;
pub(crate) mod group_limit;
pub(crate) mod loss;
pub(crate) mod network;
pub(crate) mod one_more;
pub(crate) mod past_cache;
pub(crate) mod protocol;
pub(crate) mod proxy;
pub(crate) mod saturation;
pub(crate) mod scope;
pub(crate) mod server_parts;
pub(crate) mod shares;
pub(crate) mod think;
pub(crate) mod time;
pub(crate) mod window;

pub(crate) use crate::case::{error_ratio, joint_error};
pub(crate) use ceiling::{
    SegmentRate, evaluate_cell_rate, evaluate_segment_rate, relief, relief_of, unless_cut_was_limited,
};
pub(crate) use time::time_share;

use crate::case::Case;
use crate::facts::flags::{IN_FLIGHT_BELOW, IN_FLIGHT_MIN_RATIO, LITTLE_LAW_VIOLATED};
use crate::facts::offered_load::is_delivered;
use crate::thresholds::DOMINANT_RATIO;
use crate::verdict::SegmentVerdict;
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::SyncPolicy;

/// Whether the cell has one request in flight, so that time is attributed instead of rates compared.
pub(crate) fn is_single(cell: &CellSummary) -> bool {
    cell.in_flight.configured == 1
}

/// What a statement rests on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvidenceSource<'a> {
    pub counter: &'a str,
    pub command: &'a str,
}

/// The host of the server as a command needs it.
pub(crate) fn server_host(view: &SummaryView<'_>) -> String {
    let address = view.server().map(|server| server.address.as_str());
    address.and_then(|text| text.rsplit_once(':')).map_or("SERVER", |(host, _)| host).to_owned()
}

/// Whether as many requests were in flight as were asked for, by Little's law; `None` where that is not known. A cap
/// that limited the rate keeps them out, and so does the schedule of an open loop, whose depth is only the most;
/// nothing else is in flight during the sync at a trial's end.
pub(crate) fn reached_depth(cell: &CellSummary) -> Option<bool> {
    let measured = cell.in_flight.measured?;
    let scheduled = cell.offered_ops_per_s.is_some();
    let synced = cell.requested.sync == SyncPolicy::AtEnd;
    let below = measured < cell.in_flight.configured as f64 * IN_FLIGHT_MIN_RATIO;
    if ((scheduled || synced) && below) || (!scheduled && is_delivered(cell)) {
        return Some(false);
    }
    Some(!cell.flags.iter().any(|flag| flag == IN_FLIGHT_BELOW || flag == LITTLE_LAW_VIOLATED))
}

/// The connections of a load: a worker at an endpoint has one of its own.
pub(crate) fn connections(cell: &CellSummary) -> f64 {
    f64::from(cell.requested.workers) * f64::from(cell.clients)
}

/// A metric of a cell; `None` where it was not measured.
pub(crate) fn metric(cell: &CellSummary, id: &str) -> Option<f64> {
    cell.metrics.iter().find(|metric| metric.id == id).map(|metric| metric.value)
}

/// Share of a cell's bytes that reached the device, 1 where they are not counted: the others cost it nothing.
pub(crate) fn device_share(cell: &CellSummary) -> f64 {
    device_ratio(cell).unwrap_or(1.0).min(1.0)
}

/// The device's bytes over the application's, above 1 where it read ahead or wrote besides: 1 where the two counts differ by
/// no more than what is in flight at once, `None` where the device's are not counted.
pub(crate) fn device_ratio(cell: &CellSummary) -> Option<f64> {
    let (application, device) = (cell.bytes.application.as_f64(), cell.bytes.device?.as_f64());
    let is_same = application > 0.0 && (application - device).abs() <= in_flight_bytes(cell);
    if is_same { Some(1.0) } else { ratio(device, application) }
}

/// Bytes of a cell that may be missing in one of two counts of them, the application's and the device's: requests in flight
/// when a window begins or ends are in the one and not yet in the other, all of them where a throttle lets a whole queue
/// pass at once. Of several windows the root of their number times that, as each differs either way.
fn in_flight_bytes(cell: &CellSummary) -> f64 {
    /// Above this share of all bytes a count says too little of its window to excuse what a cache may have served.
    const MOST: f64 = 0.2;
    let windows = cell.trials.len().max(1) as f64;
    let at_once = cell.in_flight.configured as f64 * cell.block_bytes.as_f64();
    (at_once * windows.sqrt()).min(cell.bytes.application.as_f64() * MOST)
}

/// Whether less than half of a cell's bytes reached the wire or the device: its load never got there.
pub(crate) fn is_cached(cell: &CellSummary) -> bool {
    let application = cell.bytes.application.as_f64();
    [cell.bytes.wire, cell.bytes.device]
        .into_iter()
        .flatten()
        .filter_map(|bytes| ratio(bytes.as_f64(), application))
        .any(|carried| carried < DOMINANT_RATIO)
}

/// The note on a cell with several targets on one device: what they move together shows nothing of a bus.
pub(crate) fn one_device(cell: &CellSummary, device: &str) -> SegmentVerdict {
    let text = format!(
        "{}: several of its targets are on the same device ({device}), so their combined rate says nothing about a bus",
        cell.id
    );
    SegmentVerdict::note(Segment::DeviceBus, &cell.id, Severity::Info).with_evidence(
        text,
        "inventory",
        "lsblk",
    )
}

/// Warnings on cases that have something in common, the first few with their figures.
pub(crate) fn notes<'c, 'a: 'c>(
    cases: impl Iterator<Item = &'c Case<'a>>,
    counter: &str,
    describe: impl Fn(&Case<'a>) -> String,
) -> Vec<SegmentVerdict> {
    const DESCRIBED_MAX: usize = 3;
    let note = |(index, case): (usize, &'c Case<'a>)| {
        let note = SegmentVerdict::note(Segment::Unknown, case.id, Severity::Warning);
        if index < DESCRIBED_MAX { note.with_evidence(describe(case), counter, "") } else { note }
    };
    cases.enumerate().map(note).collect()
}

#[cfg(test)]
mod tests;
