//! One request at a time waits for the device.

use super::judge::{self, Shown};
use super::{Rule, Verdict};
use crate::view::{View, time_per_op_s};
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "device-latency-bound",
    slug: "device_latency",
    segment: Segment::DeviceLatency,
    title: "one request at a time waits for the device",
    definition: "With one request in flight, the time that the device alone takes for such a request, without the \
                 time that its bytes need at its best rate and without CPU, is half of the time or more.",
    formula: "T(device alone) - block / best device rate - CPU >= half of the time of one request, one in flight",
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
    let transfer_s = cell.block_bytes.as_f64() / view.best_of(ceiling.cell.cut, cell)?;
    let ops = ceiling.cell.ops_per_s?.0 * ceiling.cell.elapsed_s.last_done;
    let cpu_s: f64 = ceiling.cell.cpu.values().map(judge::cpu_and_throttled_s).sum::<f64>() / ops;
    let part_s = (alone_s - transfer_s - cpu_s).max(0.0) * judge::device_share(cell);
    let command = super::device_bandwidth::command(view);
    let shown = Shown { counter: "time of the device alone, one in flight", command: &command };
    judge::time_share(RULE.segment, cell, part_s, "the device's time for a request", shown)
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
    fn far_from_the_server_the_device_is_cleared() {
        let summary = builtin("wan-10ms");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::DeviceLatency));
    }
}
