//! `narrows compare`: two sides of one or more runs, from their records alone.

use crate::args::CompareArguments;
use crate::compare_figures;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::sides::{OpenSide, Side, check_distinct, combined};
use narrows_analysis::{ComparisonBasis, compare};
use narrows_model::Comparison;
use narrows_report::text::Style;
use std::path::{Path, PathBuf};

/// Cells without a counterpart that an error names.
const CELLS_NAMED: usize = 3;

/// Runs the command.
pub(crate) fn run(arguments: &CompareArguments, console: &Console) -> Result<Exit, CommandFailure> {
    if compare_figures::is_asked(arguments) {
        return compare_figures::run(arguments, console);
    }
    let paths: Vec<&Path> = [Some(&arguments.a), Some(&arguments.b), arguments.noise.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    let opened = open(&paths)?;
    check_distinct(&opened)?;
    let sides = read(&opened, console)?;
    let [a, b, noise @ ..] = sides.as_slice() else {
        return Err(CommandFailure::could_not_run("the records could not be opened"));
    };
    let is_single = noise.first().is_some_and(|side| side.runs.len() < 2);
    if let Some(folder) = arguments.noise.as_ref().filter(|_| is_single) {
        return Err(CommandFailure::bad_input(format!(
            "--noise {}: one run does not show how much runs differ; name a folder with two or more, such as that of \
             `narrows noise`",
            folder.display(),
        )));
    }
    let basis = ComparisonBasis { margin_ratio: arguments.margin, noise: noise.first().map(Side::compared) };
    let found = compare(a.compared(), b.compared(), basis, env!("CARGO_PKG_VERSION"));
    if found.cells.is_empty() {
        return Err(CommandFailure::bad_input(nothing_in_common(&found)));
    }
    let text = match (a.runs.first(), b.runs.first()) {
        (Some(first_a), Some(first_b)) if !arguments.json => narrows_report::text::comparison(
            &found,
            &first_a.run.summary,
            &first_b.run.summary,
            &style(arguments, console),
        ),
        _ => narrows_report::json::comparison(&found),
    };
    console.result(&text)?;
    Ok(match found.counts.worse_count {
        _ if sides.iter().any(|side| side.is_doubtful) => Exit::Untrustworthy,
        1.. if arguments.fail_if_worse => Exit::Crossed,
        _ => Exit::Done,
    })
}

fn style(arguments: &CompareArguments, console: &Console) -> Style {
    Style { width: console.width(), colour: console.colour, unicode: false, detail: arguments.detail }
}

/// The records of all sides; problems with any are reported together.
fn open(paths: &[&Path]) -> Result<Vec<OpenSide>, CommandFailure> {
    combined(paths.iter().map(|path| OpenSide::open(path)))
}

/// The runs of all sides; problems that make any unusable are reported together.
fn read(sides: &[OpenSide], console: &Console) -> Result<Vec<Side>, CommandFailure> {
    combined(sides.iter().map(|side| side.read(console)))
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
