//! Writes wait until they are durable: the commit limits, not the device's bandwidth or latency.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::reads;
use crate::method::commit::{self, EarlyGain};
use crate::method::{self, EvidenceSource, device};
use crate::summary::{DEVICE_FLUSH_COUNT, DEVICE_FLUSH_S};
use crate::text;
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "commit-bound",
    slug: "server_commit",
    segment: Segment::ServerCommit,
    title: "writes wait until the server has made them durable",
    definition: "The path's writes are acknowledged when they are durable. The same writes acknowledged on arrival, \
                 which reach the same device, are 1.7 times as fast or more: the path waits mostly for the commit (flushes, the \
                 journal), not for the device's bandwidth. With one request in flight, the time of the commit is the \
                 difference between durable and early acknowledged writes at the server: less where the network hides \
                 it.",
    formula: "many in flight: rate with early acknowledgement >= 1.7 x rate, and rate >= 0.9 x durable writes of the \
              server alone; one in flight: T(server alone, durable) - T(early) >= half of the time of one request",
    source: "Substitution of one stage (asymptotic bounds, Denning and Buzen 1978); flushes in /proc/diskstats, kernel \
             documentation admin-guide/iostats",
    example: "4 KiB writes one at a time: 3.9 ms of 4.2 ms (93 %) are saved by acknowledging on arrival; 240 flushes \
              of 3.8 ms each",
    how_to_measure: Some(
        "compare early with late acknowledgement of the same writes: check an endpoint's disk \
                     (tcp://HOST:PORT/disk, or --server self) with writes",
    ),
    how_to_write: None,
    run,
};

/// From this gain of early writes on the commit takes half of the device's time.
const CLEAR_GAIN_RATIO: f64 = 2.0;

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    if reads(cell.op) {
        return reading(view, cell);
    }
    let early = commit::early(view, cell)?;
    let command = device::command(view);
    let shown =
        EvidenceSource { counter: "rate with early and with late acknowledgement", command: &command };
    let verdict = if method::is_single(cell) {
        let what = "making a write durable";
        method::time_share(RULE.segment, cell, commit::part_s(view, cell)?, what, shown)?
    } else {
        evaluate_many(view, cell, early, shown)?
    };
    Some(match flushes_text(cell) {
        Some(text) => verdict.with_evidence(text, "flushes of the device (/proc/diskstats)", shown.command),
        None => verdict,
    })
}

/// Reads wait for no commit; said only where writes were tried.
fn reading(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let tried = view.summary.cells.iter().any(|other| other.cut == Cut::EarlyPath);
    tried.then(|| {
        let text = format!("{}: reads wait for no commit", cell.id);
        let verdict = SegmentVerdict::new(RULE.segment, &cell.id, Stance::Clears, Basis::State, 0.0);
        verdict.with_evidence(text, "the operation", "")
    })
}

/// Evaluates many writes in flight by what an early acknowledgement gains.
fn evaluate_many(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    early: &CellSummary,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let gain = EarlyGain::new(view, cell, early)?;
    let stance = gain.stance()?;
    let text = format!(
        "{} moves {}; acknowledged on arrival the same writes move {} ({:.2} times)",
        cell.id,
        text::storage_rate(cell.rate_bytes_per_s?.0),
        text::storage_rate(early.rate_bytes_per_s?.0),
        gain.ratio,
    );
    let load = if stance == Stance::Limits { gain.load } else { 1.0 - 1.0 / gain.ratio.max(1.0) };
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    let verdict = verdict
        .without_used()
        .with_load_error(method::joint_error(cell, early))
        .unsure_if(gain.ratio < CLEAR_GAIN_RATIO)
        .with_relief_gain(Some(gain.ratio).filter(|gain| *gain > 1.0));
    Some(verdict.with_evidence(text, shown.counter, shown.command))
}

fn flushes_text(cell: &CellSummary) -> Option<String> {
    let count = method::metric(cell, DEVICE_FLUSH_COUNT)?;
    let each_s = ratio(method::metric(cell, DEVICE_FLUSH_S)?, count)?;
    Some(format!("{}: {count:.0} flushes of the device, {} each", cell.id, text::seconds(each_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{checked, cleared, found, machine, named};

    #[test]
    fn writes_that_wait_for_slow_flushes_are_named_so_and_reads_are_not() {
        let summary = checked(&machine("slow-commit"));
        for load in ["bulk write", "synchronous write", "random write"] {
            assert_eq!(named(&summary, load)[0], Segment::ServerCommit, "{load}");
        }
        assert_eq!(named(&summary, "bulk read"), [Segment::DeviceBandwidth]);
        let is_bulk_write = |entry: &&narrows_model::Limiting| entry.regime.starts_with("bulk write");
        let entry = summary.diagnosis.limiting.iter().find(is_bulk_write).unwrap();
        assert!(entry.evidence.iter().any(|evidence| evidence.text.contains("flushes of the device, 4")));
    }

    #[test]
    fn writes_that_are_durable_at_once_clear_the_commit() {
        let summary = checked(&machine("quick-commit"));
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::ServerCommit));
    }

    #[test]
    fn without_early_writes_to_compare_with_nothing_is_said_of_the_commit() {
        let mut summary = checked(&machine("slow-commit"));
        summary.cells.retain(|cell| cell.cut != Cut::EarlyPath);
        let diagnosis = crate::diagnose(&summary);
        assert!(!diagnosis.findings.iter().any(|finding| finding.code == RULE.code));
        assert!(!diagnosis.exonerated.iter().any(|entry| entry.segment == Segment::ServerCommit));
    }

    #[test]
    fn an_endpoint_beside_a_protocols_server_separates_the_commit_from_the_device() {
        use crate::testing::by_protocol::{named, spoken, with_endpoint};
        // The storage of the endpoint is as slow as the path: its device, or the flush of that.
        let slow = spoken(|cell| cell.arrival(4.0).early(10.0));
        assert_eq!(named(&slow, "synchronous write"), [Segment::ServerCommit, Segment::Device]);
        assert_eq!(named(&with_endpoint(slow, 1.02), "synchronous write")[0], Segment::ServerCommit);
        let waiting = spoken(|cell| cell.arrival(4.0).early(1.02));
        assert_eq!(named(&with_endpoint(waiting, 1.02), "synchronous write"), [Segment::DeviceLatency]);
    }
}
