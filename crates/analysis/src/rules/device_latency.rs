//! One request at a time waits for the device.

use super::{Rule, SegmentVerdict, Stance};
use crate::case::{Cases, cpu_and_throttled_s};
use crate::facts::offered_load::is_delivered;
use crate::facts::time_per_op_s;
use crate::method::{self, EvidenceSource, commit, device, group_limit};
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-latency-bound",
    slug: "device_latency",
    segment: Segment::DeviceLatency,
    title: "one request at a time waits for the device",
    definition: "With one request in flight, the time that the device alone takes for such a request, without the \
                 time that its bytes need at its best rate, without CPU and without the commit of a write, is half of \
                 the time or more. Where no larger block or depth was faster the two times cannot be separated, and \
                 the whole device is named. Of a load that reaches the limit of its control group nothing is reported: the \
                 rules on the device's bandwidth and operations name that.",
    formula: "T(device alone) - block / best device rate - CPU - commit >= half of the time of one request, one in flight",
    source: "Hockney's law T = a + b / B; a is evaluated here, b / B by device-bandwidth-full",
    example: "4 KiB reads one at a time from a magnetic disk: 6.02 ms of 6.31 ms (95 %)",
    how_to_measure: Some("load the device alone with one small request at a time, past the page cache"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let single = method::is_single(cell) && !method::is_cached(cell);
    let ceiling = view.device_ceiling(cell).filter(|found| found.same_settings && single)?;
    if group_limit::reached(view, cell).is_some() {
        return None; // Most of a request's time is the limit's, which the rules on bandwidth and operations name.
    }
    if is_delivered(ceiling.cell) {
        return None; // The time between its requests is the cap's, not the device's.
    }
    let alone_s = time_per_op_s(ceiling.cell)?;
    let ops = ceiling.cell.ops_per_s?.0 * ceiling.cell.elapsed_s.last_done;
    let cpu_s: f64 = ceiling.cell.cpu.values().map(cpu_and_throttled_s).sum::<f64>() / ops;
    let others_s = cpu_s + commit::part_s(view, cell).unwrap_or(0.0);
    let command = device::command(view);
    let shown = EvidenceSource { counter: "time of the device alone, one in flight", command: &command };
    let share = method::device_share(cell);
    let Some(best) = device::streaming(view, ceiling.cell) else {
        let part_s = (alone_s - others_s).max(0.0) * share;
        let what = "the device's whole time for a request, latency and transfer not distinguished,";
        let whole = method::time_share(Segment::Device, cell, part_s, what, shown)?;
        return (whole.stance == Stance::Limits).then_some(whole);
    };
    let transfer_s = cell.block_bytes.as_f64() / best;
    let part_s = (alone_s - transfer_s - others_s).max(0.0) * share;
    method::time_share(RULE.segment, cell, part_s, "the device's time for a request", shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};

    #[test]
    fn single_requests_to_a_magnetic_disk_wait_for_it() {
        assert_eq!(named(&builtin("slow-disk"), "single")[0], Segment::DeviceLatency);
    }

    #[test]
    fn one_block_at_one_depth_does_not_report_latency_from_bandwidth() {
        for disk in ["slow-disk", "fast-disk"] {
            let mut summary = builtin(disk);
            summary.cells.retain(|cell| cell.block_bytes.0 == 4096 && cell.in_flight.configured == 1);
            let diagnosis = crate::diagnose(&summary);
            let parts = [Segment::DeviceLatency, Segment::DeviceBandwidth];
            assert!(!diagnosis.limiting.iter().any(|entry| parts.contains(&entry.segment)), "{disk}");
            let whole = diagnosis.limiting.iter().any(|entry| entry.segment == Segment::Device);
            assert_eq!(whole, disk == "slow-disk");
            assert!(
                !diagnosis.exonerated.iter().any(|entry| entry.segment == Segment::DeviceLatency),
                "{disk}"
            );
        }
    }

    #[test]
    fn far_from_the_server_the_device_is_cleared() {
        let summary = builtin("wan-10ms");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::DeviceLatency));
    }
}
