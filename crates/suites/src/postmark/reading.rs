//! Remarks on the figures, and what the report does not show: latency of each kind, CPU, how a run ended.

use super::figures::{PostmarkEnd, PostmarkOutcome, cell_of, elapsed_s, outcome};
use super::plan::PostmarkPhase;
use super::request::Request;
use crate::process_cpu::SHARE_MAX;
use narrows_analysis::{BUSY_RATIO, SHORT_RUN_S};
use narrows_model::quantity::{self as text, amount};
use narrows_model::summary::{CellSummary, LatencySummary};
use narrows_model::units::ratio;
use narrows_model::{Op, Summary, Target};

/// The sentences on a run of `request`.
pub(super) fn reading(request: &Request, summary: &Summary) -> Vec<String> {
    let outcome = outcome(summary, &request.settings);
    let phases = PostmarkPhase::ALL.map(|phase| (phase, cell_of(summary, phase)));
    let measured: Vec<(PostmarkPhase, &CellSummary)> =
        phases.into_iter().filter_map(|(phase, cell)| Some((phase, cell?))).collect();
    let mut all: Vec<String> = ended(&outcome, request).into_iter().collect();
    let is_on_server = measured.iter().any(|(_, cell)| matches!(cell.target, Target::Scheme { .. }));
    all.extend(in_memory(request, is_on_server));
    all.extend(short(&measured));
    all.extend(measured.iter().filter_map(|(phase, cell)| latencies(*phase, cell)));
    all.extend(busy(&measured));
    all
}

fn ended(outcome: &PostmarkOutcome, request: &Request) -> Option<String> {
    let tally = &outcome.tally;
    match outcome.end {
        PostmarkEnd::Whole => None,
        PostmarkEnd::OutOfFiles => Some(format!(
            "out of files after {} of {} transactions, so there was nothing left to delete afterwards and there is no \
             report, as with the original: raise the number of files, lower that of transactions, or raise the bias \
             of creation above that of deletion",
            tally.created_mixed + tally.deleted_mixed,
            request.settings.transactions
        )),
        PostmarkEnd::Broken(phase) => {
            Some(format!("{} was not completed: there is no report of a partial run", phase_words(phase)))
        }
    }
}

fn phase_words(phase: PostmarkPhase) -> &'static str {
    match phase {
        PostmarkPhase::Create => "creation alone",
        PostmarkPhase::Transactions => "transactions",
        PostmarkPhase::Delete => "deletion alone",
    }
}

/// What is known of where reads are answered from: this machine caches nothing of objects on a server.
fn in_memory(request: &Request, is_on_server: bool) -> Option<String> {
    if is_on_server {
        return Some(
            "data is read shortly after it was written, and may come from the server's memory".to_owned(),
        );
    }
    let memory = request.memory.filter(|memory| request.set_bytes() < *memory)?;
    Some(format!(
        "{} of files at the start are less than the {} of memory: data is read shortly after it was written, and may \
         come from this machine's page cache",
        amount(request.set_bytes()),
        amount(memory)
    ))
}

/// Phases that are too short for their rates to be any.
fn short(measured: &[(PostmarkPhase, &CellSummary)]) -> Option<String> {
    let short = measured.iter().filter(|(_, cell)| elapsed_s(cell) < SHORT_RUN_S);
    let each: Vec<String> = short
        .map(|(phase, cell)| format!("{} {}", phase_words(*phase), text::seconds(elapsed_s(cell))))
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "too short to be a rate, under {SHORT_RUN_S} s, where the original would print 1 second: {}; give more files for \
             creation and deletion, more transactions for the rest",
            each.join(", ")
        )
    })
}

/// Median and 99th percentile of each kind of a phase.
fn latencies(phase: PostmarkPhase, cell: &CellSummary) -> Option<String> {
    let sentence = |name: &str, latency: &LatencySummary| {
        let (p50, p99) = latency.p50.zip(latency.p99)?;
        let seconds = |ns: u64| text::seconds(ns as f64 / 1e9);
        Some(format!("{name} p50 {}, p99 {}", seconds(p50), seconds(p99)))
    };
    let mut each: Vec<String> =
        cell.kinds.iter().filter_map(|kind| sentence(kind_words(kind.op), &kind.latency_ns)).collect();
    if each.is_empty() {
        let ops = cell.requested.ops();
        let only =
            ops.first().filter(|_| phase == PostmarkPhase::Transactions).map(|share| kind_words(share.op));
        each.extend(sentence(only.unwrap_or("a file"), &cell.latency_ns));
    }
    (!each.is_empty()).then(|| format!("{}: {}", phase_words(phase), each.join("; ")))
}

/// A kind as the report calls it.
fn kind_words(op: Op) -> &'static str {
    match op {
        Op::Put => "create",
        Op::Get => "read",
        other => other.name(),
    }
}

/// CPU time of the process over the time of each phase.
fn busy(measured: &[(PostmarkPhase, &CellSummary)]) -> Option<String> {
    let share = |cell: &CellSummary| {
        let cpu: f64 = cell.per_client.iter().map(|client| client.user_s + client.system_s).sum();
        // What a process does before and after a phase counts too: of a very short one it is more than all of its time.
        ratio(cpu, elapsed_s(cell)).filter(|share| *share <= SHARE_MAX)
    };
    let shares: Vec<(PostmarkPhase, f64)> =
        measured.iter().filter_map(|(phase, cell)| Some((*phase, share(cell)?))).collect();
    let each: Vec<String> = shares
        .iter()
        .map(|(phase, share)| format!("{} {}", phase_words(*phase), text::percent(*share)))
        .collect();
    let work = shares.iter().find(|(phase, _)| *phase == PostmarkPhase::Transactions);
    let limits = work.is_some_and(|(_, share)| *share >= BUSY_RATIO);
    let verdict = if limits { ": the process and the kernel take the time, and nothing waits" } else { "" };
    (!each.is_empty()).then(|| format!("a CPU was busy with {}{verdict}", each.join(", ")))
}
