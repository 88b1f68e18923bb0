//! `narrows compare` where a side is no record: an observation file, or the output of another tool, beside another or the
//! records of a suite.
//!
//! Not here: records of two sides, which have runs to compare.

use crate::args::CompareArguments;
use crate::console::Console;
use crate::diagnose::{native, summary_of};
use crate::exit::{CommandFailure, Exit};
use crate::input;
use crate::sides::{OpenSide, check_distinct, combined};
use narrows_analysis::{NamedFigures, compare_figures, mean_figures};
use narrows_model::figures::{FigureComparison, FigureSide};
use narrows_model::quantity::amount;
use narrows_model::{Inventory, Observations};
use narrows_record::Record;
use narrows_report::text::Style;
use narrows_suites::import::{ImportOptions, import, importer};
use std::path::Path;

/// Whether one of the sides is a file.
pub(crate) fn is_asked(arguments: &CompareArguments) -> bool {
    arguments.a.is_file() || arguments.b.is_file()
}

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments, console: &Console) -> Result<Exit, CommandFailure> {
    if arguments.fail_if_worse || arguments.noise.is_some() {
        return Err(CommandFailure::bad_input(
            "--fail-if-worse and --noise need runs on both sides: a file has the figures of one, and nothing is called \
             worse; omit them",
        ));
    }
    let (a, b) = (side(&arguments.a, console), side(&arguments.b, console));
    let failed: Vec<CommandFailure> =
        [&a, &b].iter().filter_map(|side| failure(side.as_ref().err())).collect();
    CommandFailure::combine(&failed)?;
    let found = compare_figures(&a?, &b?, env!("CARGO_PKG_VERSION"));
    if found.rows.is_empty() {
        return Err(CommandFailure::bad_input(nothing_in_common(&found)));
    }
    let style =
        Style { width: console.width(), colour: console.colour, unicode: false, detail: arguments.detail };
    let text = if arguments.json {
        narrows_report::json::figures(&found)
    } else {
        narrows_report::text::figures(&found, &style)
    };
    console.result(&text)?;
    Ok(Exit::Done)
}

fn failure(failed: Option<&CommandFailure>) -> Option<CommandFailure> {
    failed.map(|failed| CommandFailure::bad_input(failed.message()))
}

fn side(path: &Path, console: &Console) -> Result<NamedFigures, CommandFailure> {
    if !path.is_file() {
        return of_records(path);
    }
    let name = path.display().to_string();
    if path.extension().is_some_and(|extension| extension == "toml") {
        let found = input::read(path, input::OBSERVATIONS)?;
        let observations =
            narrows_study::observations::parse(&found.text, &found.name).map_err(|problems| {
                CommandFailure::bad_input(format!("{name} cannot be read:\n\n{}", problems.render()))
            })?;
        return Ok(named(name, "an observation file", observations, None));
    }
    let found = input::read_bytes(path, input::IMPORT)?;
    let made = import(&found.bytes, &found.name, None, &ImportOptions::default()).map_err(|problems| {
        CommandFailure::bad_input(format!("{name} cannot be imported:\n\n{}", problems.render()))
    })?;
    for remark in &made.remarks {
        console.say(&format!("{name}: {remark}"));
    }
    Ok(named(name, &format!("output of {}", made.format), made.observations, Some(1)))
}

fn named(name: String, kind: &str, observations: Observations, run_count: Option<u64>) -> NamedFigures {
    let side = FigureSide {
        name,
        kind: kind.to_owned(),
        title: observations.title.clone(),
        known: observations.source.iter().cloned().collect(),
        run_count,
    };
    NamedFigures { side, observations }
}

/// The figures of the records at `path`: of one, or the means of a folder of them.
fn of_records(path: &Path) -> Result<NamedFigures, CommandFailure> {
    let opened = OpenSide::open(path)?;
    check_distinct(std::slice::from_ref(&opened))?;
    let each = opened.records().iter().map(|(path, record)| of_record(path, record));
    let runs = combined(each)?;
    mean_figures(&path.display().to_string(), runs).map_err(CommandFailure::bad_input)
}

/// The figures of a suite's record, read from the native output that it prints.
fn of_record(path: &Path, record: &Record) -> Result<NamedFigures, CommandFailure> {
    let name = path.display().to_string();
    let summary = summary_of(record)?;
    let format = summary.suite.as_ref().map(|suite| suite.name.clone()).unwrap_or_default();
    let Some((text, importer)) = native(&summary).zip(importer(&format)) else {
        return Err(CommandFailure::bad_input(format!(
            "{name} is no record of a suite whose figures other tools have (bonnie, ioperf, iozone, mdtest, postmark): a file can be \
             compared with the record of the same suite, and a record of {} with another record",
            if format.is_empty() { "a check or a study" } else { &format }
        )));
    };
    let made =
        import(text.as_bytes(), &name, Some(importer), &ImportOptions::default()).map_err(|problems| {
            CommandFailure::could_not_run(format!(
                "the figures of {name} cannot be read from its own output:\n\n{}",
                problems.render()
            ))
        })?;
    let mut figures = named(name, &format!("record of the suite {format}"), made.observations, Some(1));
    figures.side.known.extend(machine(record.inventory()));
    figures.side.known.push(summary.command.join(" "));
    Ok(figures)
}

/// What a record knows of its machine.
fn machine(inventory: &Inventory) -> Vec<String> {
    let host = &inventory.host;
    let kernel = host.kernel_release.as_ref().map(|release| format!("Linux {release}"));
    let memory = host.memory_bytes.map(|bytes| format!("{} of memory", amount(bytes)));
    let cpus = format!(
        "{} CPUs{}",
        host.online_cpus,
        host.cpu_model.as_ref().map_or_else(String::new, |model| format!(" ({model})"))
    );
    [Some(format!("host {}", host.hostname)), Some(cpus), memory, kernel].into_iter().flatten().collect()
}

/// Why no figure could be paired, by the first names of each side.
fn nothing_in_common(found: &FigureComparison) -> String {
    let first = |names: &[String]| names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    format!(
        "{} and {} have no figure in common: {} here, {} there; give outputs of the same benchmark with the same options",
        found.a.name,
        found.b.name,
        first(&found.only_in_a),
        first(&found.only_in_b)
    )
}
