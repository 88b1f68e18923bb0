//! `narrows diagnose`: the verdict of a record, from the record alone.

use crate::args::DiagnoseArguments;
use crate::check::verdict_of;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use narrows_analysis::{RunFacts, Summarizer, conclude};
use narrows_model::Summary;
use narrows_model::event::EndReason;
use narrows_record::Record;
use narrows_report::text::Style;

/// Runs the command.
pub(crate) fn run(arguments: &DiagnoseArguments, console: &Console) -> Result<Exit, Failure> {
    let record = Record::open(&arguments.record)?;
    let summary = summary_of(&record)?;
    for damage in record.damage().iter().take(5) {
        console.say(&format!("narrows: the record is damaged: {damage}"));
    }
    let style =
        Style { width: console.width(), colour: console.colour, unicode: false, detail: arguments.detail };
    print_summary(&summary, arguments.json, &style, console)?;
    Ok(verdict_of(&summary, record.manifest().complete.unwrap_or(EndReason::Interrupted)))
}

/// The summary of what a record holds, verdict included.
///
/// # Errors
/// When the record cannot be read.
pub(crate) fn summary_of(record: &Record) -> Result<Summary, Failure> {
    let manifest = record.manifest();
    let facts = RunFacts {
        narrows_version: manifest.narrows_version.clone(),
        started_at: manifest.started_at.clone(),
        command: manifest.command.clone(),
    };
    let mut summarizer = Summarizer::new(facts, record.plan(), record.inventory());
    for event in record.timeline()? {
        summarizer.event(&event?);
    }
    Ok(conclude(summarizer.finish()))
}

/// Prints a summary as text or JSON.
///
/// # Errors
/// When stdout cannot be written.
pub(crate) fn print_summary(
    summary: &Summary,
    json: bool,
    style: &Style,
    console: &Console,
) -> Result<(), Failure> {
    let text = if json {
        narrows_report::json::summary(summary)
    } else {
        narrows_report::text::verdict(summary, style)
    };
    console.result(&text)
}
