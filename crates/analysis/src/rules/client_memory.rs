//! Memory copies on the client are the limit.

use super::judge::{self, Shown};
use super::{Rule, Verdict};
use crate::text;
use crate::view::View;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "memory-copy-bound",
    slug: "client_memory",
    segment: Segment::ClientMemory,
    title: "memory copies on the client are the limit",
    definition: "The path moves nearly what the client moves when it only copies each block once in memory.",
    formula: "rate >= 0.9 x rate of one copy a block with the same settings",
    source: "Roofline for I/O: the lowest roof at a block size limits; McCalpin's STREAM for the copy as a roof",
    example: "cached reads of 1 MiB at 8.90 GiB/s where one copy reaches 9.40 GiB/s: 95 %",
    how_to_measure: "compare the memory-copy cut with the path at the same block size",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    let shown =
        Shown { counter: "rate of one copy a block", command: "perf stat -e cycles,cache-misses -a sleep 1" };
    let judged = view.regimes().iter().filter_map(|regime| {
        let ceiling = view.ceiling(Cut::MemoryCopy, regime.cell)?;
        judge::against_ceiling(RULE.segment, regime.cell, ceiling, text::storage_rate, shown)
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found};
    use narrows_model::{BytesPerSec, Summary};

    /// A path at 0.97 of what one copy of each block reaches, no CPU counted, and a device that is faster still.
    fn bound_by_copies() -> Summary {
        let mut summary = builtin("local-ssd");
        for cell in &mut summary.cells {
            let rate = match cell.cut {
                Cut::Path => 970e6,
                Cut::MemoryCopy => 1_000e6,
                _ => 5_000e6,
            };
            cell.rate_bytes_per_s = Some(BytesPerSec(rate));
            cell.cpu.clear();
        }
        summary
    }

    #[test]
    fn a_path_as_slow_as_one_copy_is_named_first() {
        assert_eq!(crate::diagnose(&bound_by_copies()).limiting[0].segment, Segment::ClientMemory);
    }

    #[test]
    fn memory_far_above_the_path_is_cleared() {
        let summary = builtin("local-ssd");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ClientMemory));
    }
}
