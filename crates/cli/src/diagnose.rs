//! `narrows diagnose`: the verdict of a record, from the record alone, or of observations from their file.

use crate::args::DiagnoseArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit, verdict_of};
use crate::input;
use crate::record_events::{facts_of, say_damage, take_events};
use crate::sides::OpenSide;
use narrows_analysis::{Summarizer, conclude, diagnosis_document};
use narrows_model::Summary;
use narrows_model::event::EndReason;
use narrows_record::{DamageList, ErrorKind, Record, RecordError};
use narrows_report::text::Style;
use std::path::Path;

/// What a record gives back.
struct RecordReading {
    summary: Summary,
    damage: DamageList,
}

/// Runs the command.
pub(crate) fn run(arguments: &DiagnoseArguments, console: &Console) -> Result<Exit, CommandFailure> {
    if is_observations(&arguments.subject) {
        return observations(arguments, console);
    }
    let record = match Record::open(&arguments.subject) {
        Ok(record) => record,
        Err(error) if error.kind() == ErrorKind::NotARecord => return several(arguments, error, console),
        Err(error) => return Err(error.into()),
    };
    let summary = read_record(&record, console)?;
    print_summary(&summary, arguments.json, &style(arguments, console), console)?;
    verdict_of(&summary, record.manifest().complete.unwrap_or(EndReason::Interrupted))
}

/// A folder of records: how much its runs differ, as `narrows noise` reported; `error` for any other folder.
fn several(
    arguments: &DiagnoseArguments,
    error: RecordError,
    console: &Console,
) -> Result<Exit, CommandFailure> {
    let Some(opened) = OpenSide::inside(&arguments.subject)? else { return Err(error.into()) };
    let side = opened.read(console)?;
    side.print_noise(arguments.json, &style(arguments, console), console)?;
    Ok(if side.is_doubtful { Exit::Untrustworthy } else { Exit::Done })
}

/// Whether `path` is that of observations: stdin, a file, or the name of one. A record is a folder.
fn is_observations(path: &Path) -> bool {
    let is_toml = path.extension().is_some_and(|ending| ending == "toml");
    input::is_stdin(path) || path.is_file() || (is_toml && !path.is_dir())
}

/// Observations are evaluated and not measured: whatever they show, the command is done.
fn observations(arguments: &DiagnoseArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let found = input::read(&arguments.subject, input::OBSERVATIONS)?;
    let observations = narrows_study::observations::parse(&found.text, &found.name).map_err(|problems| {
        CommandFailure::bad_input(format!(
            "these observations cannot be read:\n\n{}{}",
            problems.render(),
            what_is_read(&arguments.subject)
        ))
    })?;
    let document = diagnosis_document(&observations, env!("CARGO_PKG_VERSION"));
    let text = if arguments.json {
        narrows_report::json::diagnosis(&document)
    } else {
        narrows_report::text::observations(&document, &style(arguments, console))
    };
    console.result(&text)?;
    Ok(Exit::Done)
}

/// What to name instead, where a file does not look like observations at all.
fn what_is_read(path: &Path) -> &'static str {
    if path.extension().is_some_and(|ending| ending == "toml") || input::is_stdin(path) {
        return "every key of observations is in docs/reference/observations.md";
    }
    "a file is read as observations, in TOML; a record is a folder: name the folder that a run of narrows wrote"
}

fn style(arguments: &DiagnoseArguments, console: &Console) -> Style {
    Style { width: console.width(), colour: console.colour, unicode: false, detail: arguments.detail }
}

/// The summary of a record, incomplete where the record is damaged, which is said.
///
/// # Errors
/// When the record cannot be read.
pub(crate) fn read_record(record: &Record, console: &Console) -> Result<Summary, CommandFailure> {
    let RecordReading { mut summary, damage } = read(record)?;
    say_damage("the record", &damage, console);
    summary.complete &= damage.is_empty();
    Ok(summary)
}

/// The summary of a record, verdict included.
///
/// # Errors
/// When the record cannot be read.
pub(crate) fn summary_of(record: &Record) -> Result<Summary, CommandFailure> {
    read(record).map(|reading| reading.summary)
}

fn read(record: &Record) -> Result<RecordReading, CommandFailure> {
    let mut summarizer = Summarizer::new(facts_of(record), record.plan(), record.inventory());
    let damage = take_events(record, &mut |event| summarizer.event(event))?;
    Ok(RecordReading { summary: narrows_suites::with_metrics(conclude(summarizer.finish())), damage })
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
) -> Result<(), CommandFailure> {
    let text = if json {
        narrows_report::json::summary(summary)
    } else {
        native(summary).map_or_else(String::new, |text| text + "\n") + &reading(summary, style)
    };
    console.result(&text)
}

/// The native output of the suite that `summary` is of, as programs read it; `None` where it is of none.
pub(crate) fn native(summary: &Summary) -> Option<String> {
    narrows_suites::entry_of(summary)?.native(summary)
}

/// A summary in words: for a suite the remarks on its figures, then the results and the verdict.
pub(crate) fn reading(summary: &Summary, style: &Style) -> String {
    let suite = narrows_suites::entry_of(summary);
    let sentences = suite.map(|suite| suite.reading(summary)).unwrap_or_default();
    let mut text = String::new();
    for sentence in &sentences {
        // A table is not wrapped.
        if sentence.ends_with('\n') {
            text.extend([sentence, "\n"]);
        } else {
            text.extend(["- ", sentence, "\n"]);
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &narrows_report::text::results(summary, style)
}
