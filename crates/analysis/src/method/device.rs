//! The device alone: its ceiling, what it runs out of, its best rate.

use super::{device_ratio, device_share, metric};
use crate::facts::offered_load::is_delivered;
use crate::facts::{reads, time_per_op_s};
use crate::summary::DEVICE_OP_COUNT;
use crate::thresholds::{DOMINANT_RATIO, FULL_RATIO, GAIN_RATIO};
use crate::view::{CutCeiling, SummaryView};
use narrows_model::Cut;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, ForeignResource};
use narrows_model::units::ratio;

/// From this share of its bytes at the device a cut measured the device: below it, a cache or a buffer was in use.
const AGREE_RATIO: f64 = 0.75;

/// From this share of a larger block's time that does not depend on its size, bytes are not what costs most.
const OPERATIONS_RATIO: f64 = 2.0 / 3.0;

/// The rate of the device alone, where its own counters agree that it was the device.
pub(crate) fn ceiling<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<CutCeiling<'v>> {
    view.device_ceiling(cell).filter(|found| device_share(found.cell) >= AGREE_RATIO)
}

/// The command that shows the device's counters, with its name where it is known.
pub(crate) fn command(view: &SummaryView<'_>) -> String {
    let owner = if view.server().is_some() { Role::Server } else { Role::Client };
    let host = view.summary.hosts.iter().find(|host| host.roles.contains(&owner));
    let name = host.and_then(|host| host.inventory.path.as_ref()).and_then(|path| path.devices.first());
    match name {
        Some(device) => format!("grep '{} ' /proc/diskstats; iostat -x 1 {}", device.name, device.name),
        None => "cat /proc/diskstats; iostat -x 1".to_owned(),
    }
}

/// What a device runs out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Operations, whatever their size.
    Operations,
    /// Bytes.
    Bytes,
    /// One of the two: small blocks show a fixed time of at least half of this block's, but also more operations a second
    /// than it reaches.
    Either,
}

/// What the device runs out of under the load of `alone`, a cell of the device alone; `None` where no other block was
/// measured with as many requests in flight.
pub(crate) fn bound(view: &SummaryView<'_>, alone: &CellSummary) -> Option<Bound> {
    let share = fixed_time_ratio(view, alone)?;
    let (small, _) = extremes(view, alone)?;
    let reached = ratio(time_per_op_s(small)?, time_per_op_s(alone)?)?;
    Some(match share {
        share if share < DOMINANT_RATIO => Bound::Bytes,
        // Time that grows with the block may come on top of the fixed time, or run beside it and be the longer of the two.
        _ if reached < FULL_RATIO && alone.block_bytes > small.block_bytes => {
            if share < OPERATIONS_RATIO {
                Bound::Bytes
            } else {
                Bound::Either
            }
        }
        _ => Bound::Operations,
    })
}

/// The share of a request's time at the device that does not depend on its size, by T = a + b / B.
pub(crate) fn fixed_time_ratio(view: &SummaryView<'_>, alone: &CellSummary) -> Option<f64> {
    let (small, large) = extremes(view, alone)?;
    let (small_s, large_s) = (time_per_op_s(small)?, time_per_op_s(large)?);
    let more_bytes = large.block_bytes.as_f64() - small.block_bytes.as_f64();
    let s_per_byte = ratio((large_s - small_s).max(0.0), more_bytes)?;
    let fixed_s = (small_s - s_per_byte * small.block_bytes.as_f64()).max(0.0);
    ratio(fixed_s, time_per_op_s(alone)?)
}

/// The smallest and the largest block of the same cut, direction and requests in flight.
pub(crate) fn extremes<'v>(
    view: &SummaryView<'v>,
    alone: &CellSummary,
) -> Option<(&'v CellSummary, &'v CellSummary)> {
    let small = same_load(view, alone).min_by_key(|other| other.block_bytes)?;
    let large = same_load(view, alone).max_by_key(|other| other.block_bytes)?;
    (small.block_bytes < large.block_bytes).then_some((small, large))
}

pub(crate) fn same_load<'v>(
    view: &SummaryView<'v>,
    alone: &CellSummary,
) -> impl Iterator<Item = &'v CellSummary> {
    let (cut, read, in_flight) = (alone.cut, reads(alone.op), alone.in_flight.configured);
    let same = move |other: &&CellSummary| {
        (other.cut, reads(other.op), other.in_flight.configured) == (cut, read, in_flight)
            && other.ops_per_s.is_some()
            && !is_delivered(other)
    };
    view.summary.cells.iter().filter(same)
}

/// Whether nobody else used the device under a load.
pub(crate) fn has_device_alone(cell: &CellSummary) -> bool {
    cell.foreign_transfers.iter().all(|transfer| transfer.resource != ForeignResource::Disk)
}

/// Operations a second that the device itself counted under a load.
pub(crate) fn ops_per_s(cell: &CellSummary) -> Option<f64> {
    ratio(metric(cell, DEVICE_OP_COUNT)?, cell.elapsed_s.last_done)
}

/// Bytes a second that the device moved under a load: what was read ahead or written besides counts, unless others used it too.
pub(crate) fn moved_bytes_per_s(cell: &CellSummary) -> Option<f64> {
    let counted = device_ratio(cell).filter(|_| has_device_alone(cell));
    cell.rate_bytes_per_s.map(|rate| rate.0 * counted.unwrap_or_else(|| device_share(cell)))
}

/// The most that the device moved under any other load of the path in the direction of `cell`, bytes a second.
pub(crate) fn best_on_path(view: &SummaryView<'_>, cell: &CellSummary) -> Option<f64> {
    let is_alike = |other: &&CellSummary| {
        other.cut == Cut::Path
            && reads(other.op) == reads(cell.op)
            && other.id != cell.id
            && (&other.target, &other.more_targets) == (&cell.target, &cell.more_targets)
    };
    let moved = view.summary.cells.iter().filter(is_alike).filter_map(moved_bytes_per_s);
    moved.max_by(f64::total_cmp)
}

/// The device's best rate, where a larger block or more requests in flight than `single` were faster, or a smaller
/// block no slower; else `None`: then the time of a request's bytes cannot be separated from its fixed time.
pub(crate) fn streaming(view: &SummaryView<'_>, single: &CellSummary) -> Option<f64> {
    let best = view.best_of(single.cut, single)?;
    let rate = single.rate_bytes_per_s?.0;
    // A smaller block as fast as this one shows that bytes are what costs: this rate is the best one then.
    let smaller = |cell: &&CellSummary| {
        cell.cut == single.cut && reads(cell.op) == reads(single.op) && cell.block_bytes < single.block_bytes
    };
    let as_fast = |cell: &CellSummary| cell.rate_bytes_per_s.is_some_and(|own| own.0 * GAIN_RATIO >= rate);
    let levelled = || view.summary.cells.iter().filter(smaller).any(as_fast);
    (best >= rate * GAIN_RATIO || levelled()).then_some(best)
}
