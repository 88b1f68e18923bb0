//! `narrows diagnose`: the verdict of a record, from the record alone.

use crate::args::DiagnoseArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::verdict_of;
use narrows_analysis::{RunFacts, Summarizer, conclude};
use narrows_model::Summary;
use narrows_model::event::EndReason;
use narrows_record::{Damage, DamageKind, Record};
use narrows_report::text::Style;

/// Places of damage that are told one by one.
const DAMAGE_SHOWN_MAX: usize = 5;

/// What a record gives back.
struct Reading {
    summary: Summary,
    damage: Vec<Damage>,
}

/// Runs the command.
pub(crate) fn run(arguments: &DiagnoseArguments, console: &Console) -> Result<Exit, Failure> {
    let record = Record::open(&arguments.record)?;
    let Reading { mut summary, damage } = read(&record)?;
    for damage in damage.iter().take(DAMAGE_SHOWN_MAX) {
        console.say(&format!("narrows: the record is damaged: {damage}"));
    }
    if damage.len() > DAMAGE_SHOWN_MAX {
        console.say(&format!("narrows: and {} places more", damage.len() - DAMAGE_SHOWN_MAX));
    }
    summary.complete &= damage.is_empty();
    let style =
        Style { width: console.width(), colour: console.colour, unicode: false, detail: arguments.detail };
    print_summary(&summary, arguments.json, &style, console)?;
    verdict_of(&summary, record.manifest().complete.unwrap_or(EndReason::Interrupted))
}

/// The summary of what a record holds, verdict included.
///
/// # Errors
/// When the record cannot be read.
pub(crate) fn summary_of(record: &Record) -> Result<Summary, Failure> {
    read(record).map(|reading| reading.summary)
}

fn read(record: &Record) -> Result<Reading, Failure> {
    let manifest = record.manifest();
    let facts = RunFacts {
        narrows_version: manifest.narrows_version.clone(),
        started_at: manifest.started_at.clone(),
        command: manifest.command.clone(),
    };
    let mut summarizer = Summarizer::new(facts, record.plan(), record.inventory());
    let mut timeline = record.timeline()?;
    for event in &mut timeline {
        summarizer.event(&event?);
    }
    let missing = record.damage().iter().filter(|damage| damage.kind == DamageKind::FileMissing);
    let damage = missing.cloned().chain(timeline.damage()).collect();
    Ok(Reading { summary: conclude(summarizer.finish()), damage })
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
        narrows_report::text::results(summary, style)
    };
    console.result(&text)
}
