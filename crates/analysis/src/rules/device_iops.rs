//! The device's operations a second are full, not its bandwidth.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::device::{self, Bound};
use crate::method::{self, EvidenceSource, commit, group_limit};
use crate::text;
use crate::thresholds::{BEYOND_RATIO, DOMINANT_RATIO, FULL_RATIO};
use crate::view::{CutCeiling, SummaryView};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-iops-full",
    slug: "device_iops",
    segment: Segment::DeviceIops,
    title: "the device's operations per second are full",
    definition: "With many requests in flight the path reaches nearly as many operations per second as the device \
                 alone at the same operation and block, and the device takes about as long for other block sizes: its \
                 limit is operations, not bytes. Through a page cache the device's own operations are compared. Where \
                 no other block size was measured the two are not distinguished. Past the page cache of a \
                 device here nothing is reported where the load's threads waited for a CPU for half of the time or more. \
                 A limit in operations that the control group of the load, or of the endpoint, sets for the device is \
                 named where the load reaches it.",
    formula: "rate >= 0.9 x rate of the device alone, and a >= half of T(b) = a + b / B there, from the smallest and the \
              largest block with as many requests in flight; or 0.9 to 1.15 x the limit of the control group",
    source: "Hockney's law T = a + b / B; utilisation law, Denning and Buzen (1978)",
    example: "4 KiB reads at 498 op/s where the device alone does 500 op/s, and 499 op/s with 64 KiB",
    how_to_measure: Some(
        "load the device alone with small blocks at depth, past the page cache, and with larger ones",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    if let Some(limited) = group_limit::reached(view, cell) {
        return Some(limited).filter(|verdict| verdict.segment == RULE.segment);
    }
    if method::is_single(cell) || method::is_cached(cell) {
        return None;
    }
    let ceiling = device::ceiling(view, cell)?;
    let command = device::command(view);
    let shown =
        EvidenceSource { counter: "operations of the device alone (/proc/diskstats)", command: &command };
    let bound = device::bound(view, ceiling.cell)?;
    if ceiling.raised {
        return merged(cell, ceiling, bound, shown);
    }
    if commit::is_limiting(view, cell) {
        // The device alone was loaded with durable writes: it is their flushes that it ran out of.
        return None;
    }
    if bound == Bound::Operations {
        if ceiling.cell.cut == Cut::LocalDevice && waits_for_cpu(cell) {
            return None; // Nor would the device alone, which was loaded by the same threads, have been its limit.
        }
        let verdict = method::evaluate_cell_rate(RULE.segment, cell, ceiling, text::storage_rate, shown)?;
        let gain = method::relief(view, cell, &[Cut::NetworkStream, Cut::ServerMemory, Cut::MemoryCopy]);
        let verdict = verdict.with_relief_gain(gain);
        return Some(verdict.with_evidence(blocks_text(view, ceiling.cell)?, shown.counter, shown.command));
    }
    if bound == Bound::Either {
        return None; // The rule of the bandwidth names the whole device.
    }
    cleared(view, cell, ceiling, shown)
}

/// Whether the load's threads were ready to run for most of the time, and waited for a CPU.
fn waits_for_cpu(cell: &CellSummary) -> bool {
    let waiting = cell.time_shares.as_ref().and_then(|shares| shares.cpu_wait_ratio);
    waiting.is_some_and(|share| share >= DOMINANT_RATIO)
}

/// Evaluates a path whose requests a cache may merge by the operations that the device itself counted.
fn merged(
    cell: &CellSummary,
    ceiling: CutCeiling<'_>,
    bound: Bound,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let (rate, most) = (device::ops_per_s(cell)?, device::ops_per_s(ceiling.cell)?);
    let load = ratio(rate, most).filter(|load| *load <= BEYOND_RATIO)?;
    let stance = match bound {
        _ if load < FULL_RATIO => Stance::Clears,
        Bound::Operations => Stance::Limits,
        Bound::Bytes | Bound::Either => return None,
    };
    let text = format!(
        "{}: the device reached {}, {} of the {} that it reaches alone at the same settings",
        cell.id,
        text::op_rate(rate),
        text::percent(load),
        text::op_rate(most),
    );
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    let verdict = verdict.with_load_error(method::joint_error(cell, ceiling.cell));
    method::unless_cut_was_limited(verdict.with_evidence(text, shown.counter, shown.command), ceiling)
}

/// Cleared where the device alone does far more operations a second of another size.
fn cleared(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    ceiling: CutCeiling<'_>,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let most = device::same_load(view, ceiling.cell)
        .filter_map(|other| Some(other.ops_per_s?.0))
        .reduce(f64::max)?;
    let ops = cell.ops_per_s?.0;
    let load = ratio(ops, most).filter(|load| *load < FULL_RATIO)?;
    let text = format!(
        "{} reaches {}, {} of the {} that {} reached at its best block",
        cell.id,
        text::op_rate(ops),
        text::percent(load),
        text::op_rate(most),
        ceiling.cell.cut.name(),
    );
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Clears, Basis::Utilisation, load);
    Some(verdict.with_load_error(method::error_ratio(cell)).with_evidence(text, shown.counter, shown.command))
}

fn blocks_text(view: &SummaryView<'_>, alone: &CellSummary) -> Option<String> {
    let (small, large) = device::extremes(view, alone)?;
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
    use narrows_model::summary::TimeShares;

    #[test]
    fn a_device_limited_to_so_many_operations_is_named_for_small_requests_and_not_its_bandwidth() {
        let summary = checked(&machine("capped-iops"));
        let small = named(&summary, "random");
        assert!(
            !small.is_empty() && small.iter().all(|segment| *segment == Segment::DeviceIops),
            "{small:?}"
        );
        assert!(!found(&summary, "device-bandwidth-full"));
    }

    #[test]
    fn threads_that_mostly_wait_for_a_cpu_show_no_limit_of_the_device() {
        let found_with = |cut: Cut, waiting: f64| {
            let mut summary = checked(&machine("capped-iops"));
            for cell in &mut summary.cells {
                if matches!(cell.cut, Cut::LocalDevice | Cut::ServerStorage) {
                    cell.cut = cut;
                }
                let shares = TimeShares { cpu_wait_ratio: Some(waiting), ..TimeShares::default() };
                cell.time_shares = Some(shares);
            }
            summary.diagnosis = crate::diagnose(&summary);
            found(&summary, RULE.code)
        };
        assert!(found_with(Cut::LocalDevice, 0.2) && !found_with(Cut::LocalDevice, 0.6));
        assert!(found_with(Cut::ServerStorage, 0.6), "a server's threads loaded its device");
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
