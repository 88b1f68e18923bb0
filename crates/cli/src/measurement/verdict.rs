//! The end of a run: its record finished, its verdict shown, its exit code.

use super::{Ran, Terms};
use crate::diagnose::{native, print_summary, reading, summary_of};
use crate::exit::{Exit, Failure};
use narrows_model::event::EndReason;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Summary};
use narrows_record::Record;

/// Finishes the record of `ran` and shows its verdict, which is read from the record and nothing else.
///
/// # Errors
/// When the record cannot be read again, stdout cannot be written, or nothing was measured.
pub(crate) fn conclude(ran: Ran, terms: Terms<'_>) -> Result<Exit, Failure> {
    conclude_by(ran, terms, &mut |_, text| terms.console.result(text))
}

/// The same, of a suite whose native output `tell` takes to where it belongs.
///
/// # Errors
/// When the record cannot be read again, the output cannot be written, or nothing was measured.
pub(crate) fn conclude_by(
    ran: Ran,
    terms: Terms<'_>,
    tell: &mut dyn FnMut(&Summary, &str) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let Ran { mut writer, mut reason } = ran;
    let dir = writer.dir().to_path_buf();
    let record = Record::open(&dir).map_err(|error| Failure::could_not_run(error.to_string()))?;
    let summary = summary_of(&record)?;
    if let Err(error) = writer.write_summary(&summary).and_then(|()| writer.finish(reason)) {
        // The events are there, and all else follows from them.
        terms.console.say(&format!("narrows: {error}"));
        reason = EndReason::Failed;
    }
    match native(&summary).filter(|_| !terms.output.json) {
        // Who reads a suite's output as that of its original finds nothing else there.
        Some(text) => {
            tell(&summary, &text)?;
            terms.console.say(&reading(&summary, &terms.style()));
        }
        None => print_summary(&summary, terms.output.json, &terms.style(), terms.console)?,
    }
    terms.console.say(&format!("record: {}", dir.display()));
    verdict_of(&summary, reason)
}

/// Whether nothing was measured: for a study, no cell of what it asked for has completed an operation; for the buffer
/// experiment, no trial is whole.
fn is_empty(summary: &Summary) -> bool {
    if let Some(relay) = &summary.relay {
        return relay.points.iter().all(|point| point.trial_count == 0);
    }
    let asked_for = |cell: &&CellSummary| summary.study.is_none() || cell.cut == Cut::Path;
    !summary.cells.iter().filter(asked_for).any(|cell| summary.study.is_none() || cell.ops_per_s.is_some())
}

/// Whether the figures can be trusted as a whole; the same for a run and for its record.
///
/// # Errors
/// When nothing was measured.
pub(crate) fn verdict_of(summary: &Summary, reason: EndReason) -> Result<Exit, Failure> {
    if is_empty(summary) {
        return Err(Failure::could_not_run(nothing_measured(summary)));
    }
    let lost = summary.cells.iter().any(|cell| !cell.errors.is_empty());
    let broken = matches!(reason, EndReason::Failed | EndReason::Interrupted);
    let doubtful = !summary.doubts.is_empty() || summary.generator.limited || lost;
    Ok(if doubtful || broken || !summary.complete { Exit::Untrustworthy } else { Exit::Done })
}

fn nothing_measured(summary: &Summary) -> String {
    let mut points = summary.relay.iter().flat_map(|relay| &relay.points);
    let first = points.find_map(|point| Some((&point.cell, point.problems.first()?)));
    if let Some((cell, problem)) = first {
        return format!("nothing could be measured: {cell}: {problem}");
    }
    match summary.failed.iter().chain(&summary.skipped).next() {
        Some(first) => format!("nothing could be measured: {}: {}", first.cell, first.reason),
        None => "nothing was measured before the stop".to_owned(),
    }
}
