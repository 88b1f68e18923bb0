//! Memory copies on the client are the limit.

use super::{Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::{self, EvidenceSource};
use crate::text;
use crate::thresholds::THROTTLED_RATIO;
use crate::view::{CutCeiling, SummaryView};
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "memory-copy-bound",
    slug: "client_memory",
    segment: Segment::ClientMemory,
    title: "memory copies on the client are the limit",
    definition: "The path moves nearly as much as the same number of client workers that only copy each block once, \
                 between a buffer and memory beyond the caches. The CPUs that copy are full then too: copying fills \
                 them, unless a quota throttles them. A path that copies from a cache, or more than once, is not \
                 evaluated.",
    formula: "0.9 x rate of one copy a block with as many workers <= rate <= 1.03 x (or two standard errors above it)",
    source: "Roofline for I/O: the lowest roof at a block size limits; McCalpin's STREAM for the copy as a roof",
    example: "reads of 1 MiB from a file system in memory at 8.90 GiB/s where one copy reaches 9.40 GiB/s: 95 %",
    how_to_measure: Some(
        "`narrows check` measures the cut memory-copy; in a study, add \"memory_copy\" to `cuts`",
    ),
    how_to_write: None,
    run,
};

/// Above what a full CPU is measured at: 1.00 to 1.02, since its time is read a little after its window ends.
const ABOVE_CPU_RATIO: f64 = 1.05;

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let ceiling = view.ceiling(Cut::MemoryCopy, cell)?;
    let copy = copying(ceiling.cell);
    let ceiling = CutCeiling { cell: &copy, ..ceiling };
    let shown = EvidenceSource {
        counter: "rate of one copy a block",
        command: "perf stat -e cycles,cache-misses -a sleep 1",
    };
    let verdict = method::evaluate_cell_rate(RULE.segment, cell, ceiling, text::storage_rate, shown)?;
    // Before the CPU: it shows what fills that CPU.
    let limits = verdict.stance == Stance::Limits;
    Some(if limits { SegmentVerdict { load_ratio: ABOVE_CPU_RATIO, ..verdict } } else { verdict })
}

/// The cut without the CPUs that it filled: a copy is work of a CPU, and its rate is nonetheless the memory's. Not so
/// where a quota throttled the CPU for a tenth of the time.
fn copying(cut: &CellSummary) -> CellSummary {
    let most_s = cut.elapsed_s.last_done * THROTTLED_RATIO;
    let mut copy = cut.clone();
    copy.cpu.retain(|_, cpu| cpu.throttled_s.is_some_and(|throttled_s| throttled_s >= most_s));
    copy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, checked, cleared, found, machine, named};
    use crate::thresholds::CPU_FULL_RATIO;
    use narrows_model::sim_profile::{SimProfile, StationLaw};
    use narrows_model::{BytesPerSec, Nanos, Summary};

    /// A machine whose storage is as fast as its memory is slow: one copy of each block is all that takes time.
    fn bound_by_copies() -> SimProfile {
        let law = |bytes_per_s: f64, parallel: u32| StationLaw {
            per_op_ns: Nanos(100),
            bytes_per_s: Some(BytesPerSec(bytes_per_s)),
            parallel,
            variation: 0.1,
            ..StationLaw::default()
        };
        SimProfile { client_cpu: law(1e9, 1), device: law(1e12, 64), ..machine("local-ssd") }
    }

    fn client_cpu_is_full(summary: &Summary) -> bool {
        let bulk = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd1/w16/c1").unwrap();
        bulk.cpu.values().any(|cpu| cpu.busy_ratio >= CPU_FULL_RATIO)
    }

    #[test]
    fn a_path_as_slow_as_one_copy_is_named_before_the_cpu_that_copies() {
        let summary = checked(&bound_by_copies());
        assert!(client_cpu_is_full(&summary));
        assert_eq!(named(&summary, "bulk")[0], Segment::ClientMemory, "{:#?}", summary.diagnosis.limiting);
    }

    #[test]
    fn a_cpu_that_is_measured_a_little_above_full_comes_after_the_copy_that_fills_it() {
        let mut summary = checked(&bound_by_copies());
        for cpu in summary.cells.iter_mut().flat_map(|cell| cell.cpu.values_mut()) {
            if cpu.busy_ratio >= CPU_FULL_RATIO {
                cpu.busy_ratio = 1.02;
            }
        }
        let limiting = crate::diagnose(&summary).limiting;
        let first = limiting.iter().find(|entry| entry.regime.starts_with("bulk")).unwrap();
        assert_eq!(first.segment, Segment::ClientMemory, "{limiting:#?}");
    }

    #[test]
    fn a_cpu_that_is_full_of_other_work_than_copies_is_not_put_down_to_memory() {
        let busy = bound_by_copies();
        let client_cpu = StationLaw { per_op_ns: Nanos(3_000_000), ..busy.client_cpu.clone() };
        let summary = checked(&SimProfile { client_cpu, ..busy });
        assert!(client_cpu_is_full(&summary));
        assert_eq!(named(&summary, "bulk")[0], Segment::ClientCpu, "{:#?}", summary.diagnosis.limiting);
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ClientMemory));
    }

    #[test]
    fn copies_that_a_quota_slows_leave_it_to_the_cpu() {
        let summary = checked(&machine("weak-client"));
        assert!(summary.cells.iter().any(|cell| cell.cut == Cut::MemoryCopy));
        assert!(!found(&summary, RULE.code), "{:#?}", summary.diagnosis.findings);
    }

    #[test]
    fn memory_far_above_the_path_is_cleared_on_this_machine_and_over_a_network() {
        for name in ["local-ssd", "gigabit-nfs"] {
            let summary = builtin(name);
            assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ClientMemory), "{name}");
        }
    }
}
