//! The end of a run: its record finished, its verdict shown, its exit code.

use super::{FinishedRun, OutputContext};
use crate::diagnose::{native, print_summary, reading, summary_of};
use crate::exit::{CommandFailure, Exit, verdict_of};
use narrows_model::Summary;
use narrows_model::event::EndReason;
use narrows_record::Writer;

/// Finishes the record of `finished` and shows its verdict, which is read from the record and nothing else.
///
/// # Errors
/// When the record cannot be read again, stdout cannot be written, or nothing was measured.
pub(crate) fn conclude(finished: FinishedRun, context: OutputContext<'_>) -> Result<Exit, CommandFailure> {
    conclude_with(finished, context, &mut |_, text| context.console.result(text))
}

/// The same for a suite: `print` writes its native output.
///
/// # Errors
/// When the record cannot be read again, the output cannot be written, or nothing was measured.
pub(crate) fn conclude_with(
    finished: FinishedRun,
    context: OutputContext<'_>,
    print: &mut dyn FnMut(&Summary, &str) -> Result<(), CommandFailure>,
) -> Result<Exit, CommandFailure> {
    finish(finished, context, &mut |summary| match native(summary).filter(|_| !context.output.json) {
        // Who reads a suite's output as that of its original finds nothing else there.
        Some(text) => {
            print(summary, &text)?;
            context.console.say(&reading(summary, &context.style()));
            Ok(())
        }
        None => print_summary(summary, context.output.json, &context.style(), context.console),
    })
}

/// Finishes the record of `finished`; `show` shows what it says, read from it and nothing else.
///
/// # Errors
/// When the record cannot be read again, `show` fails, or nothing was measured.
pub(crate) fn finish(
    finished: FinishedRun,
    context: OutputContext<'_>,
    show: &mut dyn FnMut(&Summary) -> Result<(), CommandFailure>,
) -> Result<Exit, CommandFailure> {
    let FinishedRun { mut writer, mut reason } = finished;
    // Whole files are written next: into the folder that was made, wherever it is.
    let was_moved = report_moved(&writer, context);
    let record = writer.record().map_err(|error| CommandFailure::could_not_run(error.to_string()))?;
    let summary = summary_of(&record)?;
    if let Err(error) = writer.write_summary(&summary).and_then(|()| writer.finish(reason)) {
        // The events are there, and all else follows from them.
        context.console.say(&format!("narrows: {error}"));
        reason = EndReason::Failed;
    }
    show(&summary)?;
    let is_moved = was_moved || report_moved(&writer, context);
    if !is_moved {
        context.console.say(&format!("record: {}", writer.dir().display()));
    }
    let exit = verdict_of(&summary, reason)?;
    Ok(if is_moved { Exit::Untrustworthy } else { exit })
}

/// Says so if the path of the record leads elsewhere by now, and returns whether it does.
fn report_moved(writer: &Writer, context: OutputContext<'_>) -> bool {
    let Some(moved) = writer.moved() else { return false };
    context.console.say(&format!("narrows: {moved}"));
    true
}
