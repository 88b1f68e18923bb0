//! Writes to a server on which nothing of ours runs wait until they are durable, asked for or not.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::{reads, time_per_op_s};
use crate::method::{self, EvidenceSource, protocol};
use crate::text;
use crate::thresholds::INFERRED_CONFIDENCE;
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "protocol-commit-bound",
    slug: "server_commit",
    segment: Segment::ServerCommit,
    title: "writes wait until the server has made them durable, by its protocol",
    definition: "A storage protocol is spoken to a server on which nothing of ours runs. A write that must be durable \
                 takes at least twice the time of the same write that need not be: the rest is the commit, or the device \
                 that it ends at, which is named beside it. Where writes that need not be durable already take at least \
                 twice the time of reads of the same few blocks, and the wire has room, the server makes each of them \
                 durable though nobody asked for it, or its file system is slow to take writes.",
    formula: "one in flight: (T(durable) - T(unstable)) / T(durable) >= 0.5; else (T(unstable, hot) - T(read, hot)) / T \
              >= 0.5, T(unstable, hot) >= 0.5 x T, wire not full",
    source: "RFC 1813, section 3.3.7, on the stability of WRITE; SBC-3, section 5, on FUA; substitution of one stage (Denning and Buzen 1978)",
    example: "4 KiB FILE_SYNC writes one at a time: 4.1 ms, UNSTABLE 0.2 ms: 95 %",
    how_to_measure: Some("check nfs://HOST/EXPORT/PATH or iscsi://HOST/IQN/LUN with writes (--op write)"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    if !cases.view().is_some_and(SummaryView::speaks_protocol) {
        return Vec::new();
    }
    cases.evaluate_cells(|view, cell| {
        if reads(cell.op) { None } else { forced(view, cell).or_else(|| asked_for(view, cell)) }
    })
}

/// What durability costs a write that asks for it.
fn asked_for(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let early = protocol::early(view, cell).filter(|_| protocol::is_durable_each(cell))?;
    let part_s = (time_per_op_s(cell)? - time_per_op_s(early)?).max(0.0);
    let probe = view.probe()?;
    let counter = format!("{} against {} writes", probe.durable, probe.early);
    let shown = EvidenceSource { counter: &counter, command: probe.server_command };
    let verdict = method::time_share(RULE.segment, cell, part_s, "making a write durable", shown)?;
    Some(verdict.with_confidence_max(INFERRED_CONFIDENCE))
}

/// What durability costs writes that do not ask for it.
fn forced(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    if !protocol::is_slow_to_write(view, cell) {
        return None;
    }
    let (hot, read) = (protocol::hot(view, cell)?, protocol::hot_reads(view, cell)?);
    let (whole_s, hot_s, read_s) = (time_per_op_s(cell)?, time_per_op_s(hot)?, time_per_op_s(read)?);
    let share = ((hot_s - read_s) / whole_s).clamp(0.0, 1.0);
    let text = format!(
        "{}: a write that need not be durable takes {}, a read of the same blocks {}: the server makes each write durable, \
         or its file system is slow to take it",
        hot.id,
        text::seconds(hot_s),
        text::seconds(read_s),
    );
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::TimeShare, share);
    let verdict =
        verdict.with_confidence_max(INFERRED_CONFIDENCE).with_load_error(method::joint_error(cell, hot));
    let probe = view.probe()?;
    let counter = format!("{} writes and reads of hot blocks", probe.early);
    Some(verdict.with_evidence(text, &counter, probe.server_command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_protocol::{named, spoken};

    #[test]
    fn durable_writes_much_slower_than_unstable_ones_name_the_commit_or_the_device() {
        let slow = spoken(|cell| cell.arrival(4.0).early(10.0));
        assert_eq!(named(&slow, "synchronous write"), [Segment::ServerCommit, Segment::Device]);
    }

    #[test]
    fn unstable_writes_much_slower_than_reads_name_the_commit() {
        let forced = spoken(|cell| cell.arrival(4.0).hot_writes(0.1).writes(0.1));
        assert_eq!(named(&forced, "bulk write")[0], Segment::ServerCommit);
        let quick = spoken(|cell| cell.arrival(4.0));
        assert!(!named(&quick, "bulk write").contains(&Segment::ServerCommit));
    }
}
