//! What stands out in the figures, and what the report does not tell: latency of each kind, CPU, how a run ended.

use super::SHORT_S;
use super::figures::{End, Outcome, cell_of, elapsed_s, outcome};
use super::options::Options;
use super::plan::Phase;
use narrows_analysis::text::{self, amount};
use narrows_model::summary::{CellSummary, LatencySummary};
use narrows_model::units::ratio;
use narrows_model::{Op, Summary};

/// From this share of the time on the process's own CPU time is what limits it.
const BUSY_RATIO: f64 = 0.8;

/// The sentences on a run; none where `summary` is of another suite.
pub(super) fn reading(summary: &Summary) -> Vec<String> {
    let Some(options) = summary.suite.as_ref().and_then(Options::of) else { return Vec::new() };
    let outcome = outcome(summary, &options);
    let phases = Phase::ALL.map(|phase| (phase, cell_of(summary, phase)));
    let measured: Vec<(Phase, &CellSummary)> =
        phases.into_iter().filter_map(|(phase, cell)| Some((phase, cell?))).collect();
    let mut all: Vec<String> = ended(&outcome, &options).into_iter().collect();
    all.extend(in_memory(&options));
    all.extend(short(&measured));
    all.extend(measured.iter().filter_map(|(phase, cell)| latencies(*phase, cell)));
    all.extend(busy(&measured));
    all
}

fn ended(outcome: &Outcome, options: &Options) -> Option<String> {
    let tally = &outcome.tally;
    match outcome.end {
        End::Whole => None,
        End::OutOfFiles => Some(format!(
            "out of files after {} of {} transactions, so that nothing was left to delete behind them and there is no report, as \
             with the original: set the number of files higher, that of \
             transactions lower, or the bias of creating above that of deleting",
            tally.created_mixed + tally.deleted_mixed,
            options.transactions
        )),
        End::Broken(phase) => Some(format!(
            "{} was not done to its end: there is no report of a part of a run",
            phase_words(phase)
        )),
    }
}

fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Create => "creation alone",
        Phase::Transactions => "transactions",
        Phase::Delete => "deletion alone",
    }
}

fn in_memory(options: &Options) -> Option<String> {
    let memory = options.memory.filter(|memory| options.set_bytes < *memory)?;
    Some(format!(
        "{} of files at the start are less than the {} of memory: what is read was written just before, and may come from \
         this machine's page cache",
        amount(options.set_bytes),
        amount(memory)
    ))
}

/// Phases that are too short for their rates to be any.
fn short(measured: &[(Phase, &CellSummary)]) -> Option<String> {
    let short = measured.iter().filter(|(_, cell)| elapsed_s(cell) < SHORT_S);
    let each: Vec<String> = short
        .map(|(phase, cell)| format!("{} {}", phase_words(*phase), text::seconds(elapsed_s(cell))))
        .collect();
    (!each.is_empty()).then(|| {
        format!(
            "too short to be a rate, under {SHORT_S} s, where the original would print 1 second: {}; give more files for \
             creation and deletion, more transactions for the rest",
            each.join(", ")
        )
    })
}

/// Median and 99th percentile of each kind of a phase.
fn latencies(phase: Phase, cell: &CellSummary) -> Option<String> {
    let told = |name: &str, latency: &LatencySummary| {
        let (p50, p99) = latency.p50.zip(latency.p99)?;
        let seconds = |ns: u64| text::seconds(ns as f64 / 1e9);
        Some(format!("{name} p50 {}, p99 {}", seconds(p50), seconds(p99)))
    };
    let mut each: Vec<String> =
        cell.kinds.iter().filter_map(|kind| told(kind_words(kind.op), &kind.latency_ns)).collect();
    if each.is_empty() {
        let ops = cell.requested.ops();
        let only = ops.first().filter(|_| phase == Phase::Transactions).map(|share| kind_words(share.op));
        each.extend(told(only.unwrap_or("a file"), &cell.latency_ns));
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
fn busy(measured: &[(Phase, &CellSummary)]) -> Option<String> {
    let share = |cell: &CellSummary| {
        let cpu: f64 = cell.per_client.iter().map(|client| client.user_s + client.system_s).sum();
        ratio(cpu, elapsed_s(cell))
    };
    let shares: Vec<(Phase, f64)> =
        measured.iter().filter_map(|(phase, cell)| Some((*phase, share(cell)?))).collect();
    let each: Vec<String> = shares
        .iter()
        .map(|(phase, share)| format!("{} {}", phase_words(*phase), text::percent(*share)))
        .collect();
    let work = shares.iter().find(|(phase, _)| *phase == Phase::Transactions);
    let limits = work.is_some_and(|(_, share)| *share >= BUSY_RATIO);
    let verdict = if limits { ": the process and its kernel take the time, and nothing waits" } else { "" };
    (!each.is_empty()).then(|| format!("a CPU was busy with {}{verdict}", each.join(", ")))
}
