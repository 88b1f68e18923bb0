//! One request at a time waits for the device.

use super::judge::{self, Shown};
use super::{Rule, Stance, Verdict};
use crate::view::{View, reads, time_per_op_s};
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-latency-bound",
    slug: "device_latency",
    segment: Segment::DeviceLatency,
    title: "one request at a time waits for the device",
    definition: "With one request in flight, the time that the device alone takes for such a request, without the \
                 time that its bytes need at its best rate, without CPU and without the commit of a write, is half of the time or more. Where no larger \
                 block or depth was faster the two times are one, and the whole device is named.",
    formula: "T(device alone) - block / best device rate - CPU - commit >= half of the time of one request, one in flight",
    source: "Hockney's law T = a + b / B; a is judged here, b / B by device-bandwidth-full",
    example: "4 KiB reads one at a time from a magnetic disk: 6.02 ms of 6.31 ms (95 %)",
    how_to_measure: "load the device alone with one small request at a time, past the page cache",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let single = judge::is_single(cell) && !judge::is_cached(cell);
    let ceiling = view.device_ceiling(cell).filter(|found| found.same_settings && single)?;
    if super::offered_load::is_held(ceiling.cell) {
        return None; // The time between its requests is the cap's, not the device's.
    }
    let alone_s = time_per_op_s(ceiling.cell)?;
    let ops = ceiling.cell.ops_per_s?.0 * ceiling.cell.elapsed_s.last_done;
    let cpu_s: f64 = ceiling.cell.cpu.values().map(judge::cpu_and_throttled_s).sum::<f64>() / ops;
    let others_s = cpu_s + super::server_commit::part_s(view, cell).unwrap_or(0.0);
    let command = super::device_bandwidth::command(view);
    let shown = Shown { counter: "time of the device alone, one in flight", command: &command };
    let share = judge::device_share(cell);
    let Some(best) = streaming(view, ceiling.cell) else {
        let part_s = (alone_s - others_s).max(0.0) * share;
        let what = "the device's whole time for a request, latency and bytes not told apart,";
        let whole = judge::time_share(Segment::Device, cell, part_s, what, shown)?;
        return (whole.stance == Stance::Limits).then_some(whole);
    };
    let transfer_s = cell.block_bytes.as_f64() / best;
    let part_s = (alone_s - transfer_s - others_s).max(0.0) * share;
    judge::time_share(RULE.segment, cell, part_s, "the device's time for a request", shown)
}

/// A gain from a larger block or more requests that is no noise.
const FASTER_RATIO: f64 = 1.10;

/// The device's best rate, where a larger block or more requests in flight than `single` were faster, or a smaller block
/// no slower; else `None`: then the time of a request's bytes cannot be told from its fixed time.
pub(super) fn streaming(view: &View<'_>, single: &CellSummary) -> Option<f64> {
    let best = view.best_of(single.cut, single)?;
    let rate = single.rate_bytes_per_s?.0;
    // A smaller block as fast as this one shows that bytes are what costs: this rate is the best one then.
    let smaller = |cell: &&CellSummary| {
        cell.cut == single.cut && reads(cell.op) == reads(single.op) && cell.block_bytes < single.block_bytes
    };
    let as_fast = |cell: &CellSummary| cell.rate_bytes_per_s.is_some_and(|own| own.0 * FASTER_RATIO >= rate);
    let levelled = || view.summary.cells.iter().filter(smaller).any(as_fast);
    (best >= rate * FASTER_RATIO || levelled()).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};

    #[test]
    fn single_requests_to_a_magnetic_disk_wait_for_it() {
        assert_eq!(named(&builtin("slow-disk"), "small synchronous")[0], Segment::DeviceLatency);
    }

    #[test]
    fn one_block_at_one_depth_does_not_tell_latency_from_bandwidth() {
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
