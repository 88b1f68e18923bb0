//! Writes wait until they are durable: the commit limits, not the device's bandwidth or latency.

use super::judge::{self, Shown};
use super::{Basis, Rule, Stance, Verdict};
use crate::summary::{DEVICE_FLUSH_COUNT, DEVICE_FLUSH_S};
use crate::text;
use crate::view::{View, reads, time_per_op_s};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::workload::Acknowledgement;
use narrows_model::{Cut, Segment};

/// From this gain by an early acknowledgement the commit holds many writes back: a full device would be as slow
/// without it, and cuts repeat within a tenth.
const GAIN_RATIO: f64 = 1.25;
/// Below this gain it does not.
const NO_GAIN_RATIO: f64 = 1.10;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "commit-bound",
    slug: "server_commit",
    segment: Segment::ServerCommit,
    title: "writes wait until the server has made them durable",
    definition: "The path's writes are acknowledged when they are durable. The same writes acknowledged on arrival, \
                 which the same device must take all the same, are clearly faster: what the path waits for is the \
                 commit (flushes, the journal), not the device's bandwidth. One at a time, the commit is what the \
                 server's own durable writes take beyond the early ones: less than that where the network hides it.",
    formula: "many in flight: rate with early acknowledgement >= 1.25 x rate, and rate >= 0.9 x durable writes of the \
              server alone; one in flight: T(server alone, durable) - T(early) >= half of the time of one request",
    source: "Substitution of one stage (asymptotic bounds, Denning and Buzen 1978); flushes in /proc/diskstats, kernel \
             documentation admin-guide/iostats",
    example: "4 KiB writes one at a time: 3.9 ms of 4.2 ms (93 %) go when they are acknowledged on arrival; 240 flushes \
              of 3.8 ms each",
    how_to_measure: "compare early with late acknowledgement of the same writes: check an endpoint's disk \
                     (tcp://HOST:PORT/disk, or --server self) with writes",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    if reads(cell.op) {
        return reading(view, cell);
    }
    let early = early(view, cell)?;
    let command = super::device_bandwidth::command(view);
    let shown = Shown { counter: "rate with early and with late acknowledgement", command: &command };
    let verdict = if judge::is_single(cell) {
        let what = "making a write durable";
        judge::time_share(RULE.segment, cell, part_s(view, cell)?, what, shown)?
    } else {
        many(view, cell, early, shown)?
    };
    Some(match flushes_text(cell) {
        Some(text) => verdict.because(text, "flushes of the device (/proc/diskstats)", shown.command),
        None => verdict,
    })
}

/// Reads wait for no commit; said only where writes were tried.
fn reading(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let tried = view.summary.cells.iter().any(|other| other.cut == Cut::EarlyPath);
    tried.then(|| {
        let text = format!("{}: reads wait for no commit", cell.id);
        let verdict = Verdict::on(RULE.segment, &cell.id, Stance::Clears, Basis::State, 0.0);
        verdict.because(text, "the operation", "")
    })
}

/// Judges many writes in flight by what an early acknowledgement gains.
fn many(view: &View<'_>, cell: &CellSummary, early: &CellSummary, shown: Shown<'_>) -> Option<Verdict> {
    let (late, rate) = (cell.rate_bytes_per_s?.0, early.rate_bytes_per_s?.0);
    let gain = ratio(rate, late)?;
    let durable = view.ceiling(Cut::ServerStorage, cell).filter(|found| found.same_settings);
    let load = durable.and_then(|found| ratio(late, found.bytes_per_s)).map_or(1.0, |load| load.min(1.0));
    let stance = match gain {
        gain if gain < NO_GAIN_RATIO => Stance::Clears,
        gain if gain >= GAIN_RATIO && load >= judge::FULL_RATIO => Stance::Limits,
        _ => return None, // Something in front of the commit, or too small a difference to tell.
    };
    let text = format!(
        "{} moves {}; acknowledged on arrival the same writes move {} ({gain:.2} times)",
        cell.id,
        text::storage_rate(late),
        text::storage_rate(rate),
    );
    let load = if stance == Stance::Limits { load } else { (1.0 - 1.0 / gain.max(1.0)).max(0.0) };
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    let verdict =
        verdict.within(judge::joint_error(cell, early)).gains(Some(gain).filter(|gain| *gain > 1.0));
    Some(verdict.because(text, shown.counter, shown.command))
}

/// The same writes acknowledged early; `None` for what does not wait for a commit.
fn early<'v>(view: &View<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    let late = !reads(cell.op) && cell.requested.acknowledgement == Acknowledgement::Late;
    let found = view.ceiling(Cut::EarlyPath, cell).filter(|found| found.same_settings && late)?;
    (!super::offered_load::is_held(found.cell)).then_some(found.cell)
}

/// The part of the time of one write at a time that its commit takes at least, in seconds; `None` where it is not known.
///
/// With N the network, W the device's write and F the flush: the path takes N + W + F, the server alone W + F, and an
/// early write max(N, W), because the client goes on while the device writes. Their difference is F where W >= N, else
/// less.
pub(super) fn part_s(view: &View<'_>, cell: &CellSummary) -> Option<f64> {
    let early_s = time_per_op_s(early(view, cell)?)?;
    let alone = view.ceiling(Cut::ServerStorage, cell).filter(|found| found.same_settings)?;
    Some((time_per_op_s(alone.cell)?.min(time_per_op_s(cell)?) - early_s).max(0.0))
}

/// Whether the commit holds many writes back, so that the rate of the server's durable writes is the commit's and not the
/// device's.
pub(super) fn holds(view: &View<'_>, cell: &CellSummary) -> bool {
    !judge::is_single(cell) && judge(view, cell).is_some_and(|verdict| verdict.stance == Stance::Limits)
}

fn flushes_text(cell: &CellSummary) -> Option<String> {
    let count = judge::metric(cell, DEVICE_FLUSH_COUNT)?;
    let each_s = ratio(judge::metric(cell, DEVICE_FLUSH_S)?, count)?;
    Some(format!("{}: {count:.0} flushes of the device, {} each", cell.id, text::seconds(each_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{checked, cleared, found, machine, named};

    #[test]
    fn writes_that_wait_for_slow_flushes_are_named_so_and_reads_are_not() {
        let summary = checked(&machine("slow-commit"));
        for load in ["bulk write", "small synchronous write", "small parallel write"] {
            assert_eq!(named(&summary, load)[0], Segment::ServerCommit, "{load}");
        }
        assert_eq!(named(&summary, "bulk read"), [Segment::DeviceBandwidth]);
        let told = |entry: &&narrows_model::Limiting| entry.regime.starts_with("bulk write");
        let entry = summary.diagnosis.limiting.iter().find(told).unwrap();
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
}
