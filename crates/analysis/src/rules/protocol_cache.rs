//! A server on which nothing of ours runs serves reads from its memory: the device behind it was not measured.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::facts::reads;
use crate::method::protocol;
use crate::text;
use crate::thresholds::{FREE_RATIO, INFERRED_CONFIDENCE};
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "protocol-cache-served",
    slug: "cache_served",
    segment: Segment::ServerCache,
    title: "the whole set is read nearly as fast as the same few blocks",
    definition: "A storage protocol is spoken to a server on which nothing of ours runs. Reads of the whole set are \
                 nearly as fast as reads of the same few blocks, which the server has in its memory, the last of them in the \
                 caches of its CPU: it serves both there, and the device behind was not measured. It is named as the limit only where neither network, client nor \
                 server is. A device as fast as the server's memory would look the same.",
    formula: "rate of reads >= 0.7 x rate of hot blocks at the same settings",
    source: "Traeger et al., ACM Transactions on Storage 4 (2008), on cached benchmarks",
    example: "4 KiB reads of 256 MiB at 21 400 op/s, of the same 4 MiB at 21 900 op/s",
    how_to_measure: Some(
        "check an existing file that is larger than the server's memory, or was not read for long: \
         nfs://HOST/EXPORT/FILE",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    if !cases.view().is_some_and(SummaryView::speaks_protocol) {
        return Vec::new();
    }
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let hot = protocol::hot(view, cell).filter(|_| reads(cell.op))?;
    let (rate, memory) = (cell.rate_bytes_per_s?.0, hot.rate_bytes_per_s?.0);
    let share = ratio(rate, memory).filter(|share| *share >= FREE_RATIO)?;
    let text = format!(
        "{}: the whole set is read at {}, {} of the {} of the same few blocks: the device was not measured, unless it is \
         as fast as the server's memory",
        cell.id,
        text::storage_rate(rate),
        text::percent(share),
        text::storage_rate(memory),
    );
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::State, 1.0);
    let verdict = verdict.with_tier(Tier::Served).with_confidence_max(INFERRED_CONFIDENCE);
    Some(verdict.with_evidence(text, "rate of hot blocks", ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_protocol::spoken;
    use crate::testing::found;

    #[test]
    fn a_set_read_as_fast_as_a_few_blocks_is_said_to_be_cached_and_a_slower_one_is_not() {
        assert!(found(&spoken(|cell| cell.arrival(4.0)), RULE.code));
        assert!(!found(&spoken(|cell| cell.arrival(4.0).hot(5.0)), RULE.code));
    }
}
