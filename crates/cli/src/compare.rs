//! `narrows compare`: two runs side by side, from their records alone.

use crate::args::CompareArguments;
use crate::console::Console;
use crate::diagnose::{facts_of, say_damage, take_events};
use crate::exit::{CommandFailure, Exit, verdict_of};
use narrows_analysis::{ComparisonSide, MeasuredRun, RunReader, compare};
use narrows_model::event::EndReason;
use narrows_model::{Comparison, Summary};
use narrows_record::Record;
use narrows_report::text::Style;
use std::path::Path;

/// Cells without a counterpart that an error names.
const CELLS_NAMED: usize = 3;

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let [a, b] = open([&arguments.a, &arguments.b])?;
    if a.manifest().record_id == b.manifest().record_id {
        return Err(CommandFailure::bad_input(format!(
            "{} and {} are records of the same run; name the records of two runs",
            arguments.a.display(),
            arguments.b.display()
        )));
    }
    let (run_a, run_b) = (read(&a, &arguments.a, console)?, read(&b, &arguments.b, console)?);
    let doubtful =
        doubtful([trust(&run_a.summary, &a, &arguments.a), trust(&run_b.summary, &b, &arguments.b)])?;
    let (name_a, name_b) = (arguments.a.display().to_string(), arguments.b.display().to_string());
    let sides =
        [ComparisonSide { name: &name_a, run: &run_a }, ComparisonSide { name: &name_b, run: &run_b }];
    let found = compare(sides[0], sides[1], arguments.margin, env!("CARGO_PKG_VERSION"));
    if found.cells.is_empty() {
        return Err(CommandFailure::bad_input(nothing_in_common(&found)));
    }
    let text = if arguments.json {
        narrows_report::json::comparison(&found)
    } else {
        narrows_report::text::comparison(&found, &run_a.summary, &run_b.summary, &style(arguments, console))
    };
    console.result(&text)?;
    Ok(match found.counts.worse_count {
        _ if doubtful => Exit::Untrustworthy,
        1.. if arguments.fail_if_worse => Exit::Crossed,
        _ => Exit::Done,
    })
}

fn style(arguments: &CompareArguments, console: &Console) -> Style {
    Style { width: console.width(), colour: console.colour, unicode: false, detail: arguments.detail }
}

/// Both records; problems with either are reported together.
fn open(paths: [&Path; 2]) -> Result<[Record; 2], CommandFailure> {
    let [a, b] = paths.map(open_one);
    match (a, b) {
        (Ok(a), Ok(b)) => Ok([a, b]),
        (a, b) => {
            let failed: Vec<CommandFailure> = [a.err(), b.err()].into_iter().flatten().collect();
            CommandFailure::combine(&failed)?;
            Err(CommandFailure::could_not_run("the records could not be opened"))
        }
    }
}

fn open_one(path: &Path) -> Result<Record, CommandFailure> {
    if path.is_file() {
        return Err(CommandFailure::bad_input(format!(
            "{} is a file, but a record is a folder; name the folder that a run of narrows wrote",
            path.display()
        )));
    }
    Ok(Record::open(path)?)
}

fn read(record: &Record, path: &Path, console: &Console) -> Result<MeasuredRun, CommandFailure> {
    let mut reader = RunReader::new(facts_of(record), record.plan(), record.inventory());
    let damage = take_events(record, &mut |event| reader.event(event))?;
    say_damage(&path.display().to_string(), &damage, console);
    let mut run = reader.finish();
    run.summary.complete &= damage.is_empty();
    Ok(run)
}

/// Whether the run can be relied on, as its own command said.
fn trust(summary: &Summary, record: &Record, path: &Path) -> Result<Exit, CommandFailure> {
    let reason = record.manifest().complete.unwrap_or(EndReason::Interrupted);
    verdict_of(summary, reason).map_err(|failure| {
        CommandFailure::could_not_run(format!("{}: {}", path.display(), failure.message()))
    })
}

/// Whether either run cannot be relied on; problems that make either unusable are reported together.
fn doubtful(runs: [Result<Exit, CommandFailure>; 2]) -> Result<bool, CommandFailure> {
    let (ends, failed): (Vec<_>, Vec<_>) = runs.into_iter().partition(Result::is_ok);
    let failed: Vec<CommandFailure> = failed.into_iter().filter_map(Result::err).collect();
    CommandFailure::combine(&failed)?;
    Ok(ends.into_iter().flatten().any(|end| end == Exit::Untrustworthy))
}

/// Why nothing could be paired, by the first cells of each.
fn nothing_in_common(found: &Comparison) -> String {
    let mut lines = vec![format!(
        "{} and {} have no load in common: {} cells here, {} there, and no two are the same work (same operation, block, \
         order, depth, clients, cut, engine, test of a suite)",
        found.a.record,
        found.b.record,
        found.only_in_a.len(),
        found.only_in_b.len()
    )];
    let named = found.only_in_a.iter().take(CELLS_NAMED);
    lines.extend(named.map(|cell| format!("  {}: {}", cell.cell, cell.reason)));
    lines.push("run the same command, or the same study, for both".to_owned());
    lines.join("\n")
}
