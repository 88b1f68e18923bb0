//! What must be read before every figure: data lost, a run cut short, a load generator at its end.

use super::units::{counted, counted_len};
use narrows_model::fault::{ErrorCount, merge_errors};
use narrows_model::quantity::amount;
use narrows_model::summary::DoubtCode;
use narrows_model::verification::{DATA_MISMATCH, Mismatch};
use narrows_model::{Bytes, Op, Summary};

/// One line each, without indent; empty for a run that is whole.
pub(crate) fn lines(summary: &Summary) -> Vec<String> {
    let found =
        [data_wrong(summary), data_lost(summary), failed(summary), incomplete(summary), generator(summary)];
    found.into_iter().flatten().chain(doubts(summary)).collect()
}

/// Doubts that no other line reports.
fn doubts(summary: &Summary) -> impl Iterator<Item = String> {
    summary.doubts.iter().filter_map(|doubt| {
        let head = match doubt.code {
            DoubtCode::SteadyNotReached => "NOT STEADY",
            DoubtCode::IntervalNotReached => "INTERVAL TOO WIDE",
            DoubtCode::LittleLawViolated => "DO NOT USE",
            DoubtCode::DataMismatch
            | DoubtCode::Incomplete
            | DoubtCode::OperationsFailed
            | DoubtCode::GeneratorLimited => return None,
        };
        Some(format!("{head}: {}", doubt.text))
    })
}

/// Data that is not what was written: nothing is worse.
fn data_wrong(summary: &Summary) -> Option<String> {
    let cells = summary.cells.iter().filter_map(|cell| Some((cell, cell.verification.as_ref()?)));
    let wrong: Vec<_> = cells.filter(|(_, found)| found.mismatch_count > 0).collect();
    let (cell, found) = wrong.first()?;
    let place = found.mismatches.first().map(Mismatch::describe_location).unwrap_or_default();
    let bytes = wrong.iter().fold(Bytes(0), |sum, (_, found)| sum.saturating_add(found.wrong_bytes));
    let places = wrong.iter().map(|(_, found)| found.mismatch_count).fold(0, u64::saturating_add);
    Some(format!(
        "WRONG DATA: {} with {} in {}, not what was written. First: {}: {place}.",
        counted(places, "place"),
        amount(bytes),
        counted_len(wrong.len(), "cell"),
        cell.id
    ))
}

fn data_lost(summary: &Summary) -> Option<String> {
    let lost = |error: &&ErrorCount| error.errno != DATA_MISMATCH;
    let mut errors: Vec<ErrorCount> = Vec::new();
    for cell in &summary.cells {
        let own: Vec<ErrorCount> = cell.errors.iter().filter(lost).cloned().collect();
        merge_errors(&mut errors, &own);
    }
    let first = errors.first()?;
    let cell_count = summary.cells.iter().filter(|cell| cell.errors.iter().any(|error| lost(&error))).count();
    let total = errors.iter().map(|error| error.count).fold(0, u64::saturating_add);
    let each: Vec<String> = errors
        .iter()
        .map(|error| format!("{} {} {}", error.op, error.errno, counted(error.count, "time")))
        .collect();
    Some(format!(
        "{}: {} failed in {} ({}). First: {}. Figures of these cells count only completed operations.",
        if errors.iter().any(|error| is_of_data(error.op)) { "DATA LOST" } else { "OPERATIONS FAILED" },
        counted(total, "request"),
        counted_len(cell_count, "cell"),
        each.join(", "),
        first.first_message.trim_end_matches('.')
    ))
}

/// Whether data is not where it was to be when such an operation fails.
fn is_of_data(op: Op) -> bool {
    !matches!(op, Op::Read | Op::Receive | Op::Get | Op::Stat | Op::Delete | Op::Rename | Op::Meta)
}

fn failed(summary: &Summary) -> Option<String> {
    let first = summary.failed.first()?;
    Some(format!(
        "FAILED: {} could not be measured. First: {}: {}.",
        counted_len(summary.failed.len(), unit(summary)),
        first.cell,
        first.reason.trim_end_matches('.')
    ))
}

/// What is measured: points in the buffer experiment, cells else.
pub(super) fn unit(summary: &Summary) -> &'static str {
    if summary.relay.is_some() { "point" } else { "cell" }
}

/// Trials of points with a figure that are no results: `1 of 3 trials failed`.
fn trials_failed(summary: &Summary) -> Option<String> {
    let points = summary.relay.iter().flat_map(|relay| &relay.points);
    let partly = points.filter(|point| point.is_measured() && !point.problems.is_empty());
    let (failed, made) = partly.fold((0, 0), |(failed, made), point| {
        (failed + point.problems.len(), made + point.problems.len() as u64 + point.trial_count)
    });
    (failed > 0).then(|| format!("{failed} of {} failed", counted(made, "trial")))
}

fn incomplete(summary: &Summary) -> Option<String> {
    if summary.complete {
        return None;
    }
    let failed = |id: &str| summary.failed.iter().any(|cell| cell.cell.0 == id);
    let cut_short = summary.cells.iter().filter(|cell| !failed(&cell.id));
    let short = cut_short.filter(|cell| cell.flags.iter().any(|flag| flag == "incomplete")).count();
    let mut missing = Vec::new();
    if !summary.failed.is_empty() {
        missing.push(format!("{} failed", counted_len(summary.failed.len(), unit(summary))));
    }
    if short > 0 {
        missing.push(format!("{} cut short", counted_len(short, "cell")));
    }
    if !summary.skipped.is_empty() {
        missing.push(format!("{} left out", counted_len(summary.skipped.len(), unit(summary))));
    }
    missing.extend(trials_failed(summary));
    let missing = if missing.is_empty() { "it ended early".to_owned() } else { missing.join(", ") };
    // A cell that it ended in is reported with it already.
    let by = summary.ended_by.as_ref().filter(|by| summary.failed.iter().all(|cell| cell.reason != **by));
    let by = by.map(|by| format!(" It was ended by this: {}.", by.trim_end_matches('.'))).unwrap_or_default();
    Some(format!("INCOMPLETE: the run did not measure everything planned ({missing}).{by}"))
}

fn generator(summary: &Summary) -> Option<String> {
    if !summary.generator.limited {
        return None;
    }
    let reach = summary.generator.headroom_ratio.map_or_else(
        || "was at its own limit".to_owned(),
        |ratio| format!("reached only {ratio:.2} times the measured rate, at least 1.25 is needed"),
    );
    Some(format!(
        "NOT TRUSTWORTHY: the load generator {reach}. Cells marked generator_limited show narrows' own speed."
    ))
}
