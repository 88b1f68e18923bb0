//! The device's operations a second are full, not its bandwidth.

use super::judge::{self, Shown};
use super::{Basis, Rule, Stance, Verdict};
use crate::summary::DEVICE_OP_COUNT;
use crate::text;
use crate::view::{Ceiling, View, reads, time_per_op_s};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// From this share of a request's time at the device that does not depend on its size operations are what it runs out
/// of; between a half and this, bytes cost nearly as much.
const OPERATIONS_RATIO: f64 = 2.0 / 3.0;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-iops-full",
    slug: "device_iops",
    segment: Segment::DeviceIops,
    title: "the device's operations a second are full",
    definition: "With many requests in flight the path does nearly as many operations a second as the device alone at \
                 the same operation and block, and the device takes about as long for other block sizes: operations \
                 are what it runs out of, not bytes. Through a page cache the device's own operations are compared. Where no other block was measured the two are not told apart.",
    formula: "rate >= 0.9 x rate of the device alone, and a >= 2/3 of T(b) = a + b / B there, from the smallest and the \
              largest block with as many requests in flight",
    source: "Hockney's law T = a + b / B; utilisation law, Denning and Buzen (1978)",
    example: "4 KiB reads at 498 op/s where the device alone does 500 op/s, and 499 op/s with 64 KiB",
    how_to_measure: "load the device alone with small blocks at depth, past the page cache, and with larger ones",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    if judge::is_single(cell) || judge::is_cached(cell) {
        return None;
    }
    let ceiling = super::device_bandwidth::ceiling(view, cell)?;
    let command = super::device_bandwidth::command(view);
    let shown = Shown { counter: "operations of the device alone (/proc/diskstats)", command: &command };
    let bound = bound(view, ceiling.cell)?;
    if ceiling.raised {
        return merged(cell, ceiling, bound, shown);
    }
    if super::server_commit::holds(view, cell) {
        // The device alone was loaded with durable writes: it is their flushes that it ran out of.
        return None;
    }
    if bound == Bound::Operations {
        let verdict = judge::against_ceiling(RULE.segment, cell, ceiling, text::storage_rate, shown)?;
        let gain = judge::relief(view, cell, &[Cut::NetworkStream, Cut::ServerMemory, Cut::MemoryCopy]);
        let verdict = verdict.gains(gain);
        return Some(verdict.because(blocks_text(view, ceiling.cell)?, shown.counter, shown.command));
    }
    cleared(view, cell, ceiling, shown)
}

/// Judges a path whose requests a cache may merge by the operations that the device itself counted.
fn merged(cell: &CellSummary, ceiling: Ceiling<'_>, bound: Bound, shown: Shown<'_>) -> Option<Verdict> {
    let ops = |cell: &CellSummary| ratio(judge::metric(cell, DEVICE_OP_COUNT)?, cell.elapsed_s.last_done);
    let (rate, most) = (ops(cell)?, ops(ceiling.cell)?);
    let load = ratio(rate, most).filter(|load| *load <= judge::BEYOND_RATIO)?;
    let stance = match bound {
        _ if load < judge::FULL_RATIO => Stance::Clears,
        Bound::Operations => Stance::Limits,
        Bound::Bytes => return None,
    };
    let text = format!(
        "{}: the device did {}, {} of the {} that it does alone at the same settings",
        cell.id,
        text::op_rate(rate),
        text::percent(load),
        text::op_rate(most),
    );
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    let verdict = verdict.within(judge::joint_error(cell, ceiling.cell));
    judge::convicting(verdict.because(text, shown.counter, shown.command), ceiling)
}

/// Cleared where the device alone does far more operations a second of another size.
fn cleared(view: &View<'_>, cell: &CellSummary, ceiling: Ceiling<'_>, shown: Shown<'_>) -> Option<Verdict> {
    let most = same_load(view, ceiling.cell).filter_map(|other| Some(other.ops_per_s?.0)).reduce(f64::max)?;
    let ops = cell.ops_per_s?.0;
    let load = ratio(ops, most).filter(|load| *load < judge::FULL_RATIO)?;
    let text = format!(
        "{} does {}, {} of the {} that {} did at its best block",
        cell.id,
        text::op_rate(ops),
        text::percent(load),
        text::op_rate(most),
        ceiling.cell.cut.name(),
    );
    let verdict = Verdict::on(RULE.segment, &cell.id, Stance::Clears, Basis::Utilisation, load);
    Some(verdict.within(judge::error_ratio(cell)).because(text, shown.counter, shown.command))
}

/// What a device runs out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    /// Operations, whatever their size.
    Operations,
    /// Bytes.
    Bytes,
}

/// What the device runs out of under the load of `alone`, a cell of the device alone; `None` where no other block was
/// measured with as many requests in flight.
pub(super) fn bound(view: &View<'_>, alone: &CellSummary) -> Option<Bound> {
    let (small, large) = extremes(view, alone)?;
    let (small_s, large_s) = (time_per_op_s(small)?, time_per_op_s(large)?);
    let more_bytes = large.block_bytes.as_f64() - small.block_bytes.as_f64();
    let s_per_byte = ratio((large_s - small_s).max(0.0), more_bytes)?;
    let fixed_s = (small_s - s_per_byte * small.block_bytes.as_f64()).max(0.0);
    let share = ratio(fixed_s, time_per_op_s(alone)?)?;
    Some(if share >= OPERATIONS_RATIO { Bound::Operations } else { Bound::Bytes })
}

/// The smallest and the largest block of the same cut, direction and requests in flight.
fn extremes<'v>(view: &View<'v>, alone: &CellSummary) -> Option<(&'v CellSummary, &'v CellSummary)> {
    let small = same_load(view, alone).min_by_key(|other| other.block_bytes)?;
    let large = same_load(view, alone).max_by_key(|other| other.block_bytes)?;
    (small.block_bytes < large.block_bytes).then_some((small, large))
}

fn same_load<'v>(view: &View<'v>, alone: &CellSummary) -> impl Iterator<Item = &'v CellSummary> {
    let (cut, read, in_flight) = (alone.cut, reads(alone.op), alone.in_flight.configured);
    let same = move |other: &&CellSummary| {
        (other.cut, reads(other.op), other.in_flight.configured) == (cut, read, in_flight)
            && other.ops_per_s.is_some()
            && !super::offered_load::is_held(other)
    };
    view.summary.cells.iter().filter(same)
}

fn blocks_text(view: &View<'_>, alone: &CellSummary) -> Option<String> {
    let (small, large) = extremes(view, alone)?;
    Some(format!(
        "{} does {} of {} and {} of {}",
        alone.cut.name(),
        text::op_rate(small.ops_per_s?.0),
        small.block_bytes,
        text::op_rate(large.ops_per_s?.0),
        large.block_bytes,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{checked, cleared, found, machine, named};

    #[test]
    fn a_device_held_to_so_many_operations_is_named_for_small_requests_and_not_its_bandwidth() {
        let summary = checked(&machine("capped-iops"));
        let small = named(&summary, "small parallel");
        assert!(
            !small.is_empty() && small.iter().all(|segment| *segment == Segment::DeviceIops),
            "{small:?}"
        );
        assert!(!found(&summary, "device-bandwidth-full"));
    }

    #[test]
    fn one_block_alone_names_the_device_and_neither_of_the_two() {
        let mut summary = checked(&machine("capped-iops"));
        summary.cells.retain(|cell| cell.block_bytes.0 == 4096 && cell.in_flight.configured == 16);
        let diagnosis = crate::diagnose(&summary);
        assert!(diagnosis.limiting.iter().all(|entry| entry.segment == Segment::Device), "{diagnosis:?}");
    }

    #[test]
    fn a_device_with_operations_to_spare_is_cleared() {
        let summary = checked(&machine("gigabit-nfs"));
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::DeviceIops));
    }
}
