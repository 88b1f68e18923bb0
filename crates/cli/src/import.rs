//! `narrows import`: another tool's native output becomes an observation file.
//!
//! Not here: reading the formats, which is `suites`'.

use crate::args::{ALL_SECTIONS, ImportArguments};
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::input;
use narrows_model::observation::Claim;
use narrows_suites::import::{Import, ImportOptions, LocalResults, import, importer};
use std::io::Write;
use std::path::Path;

/// How far the two sides of a claim may be apart: the printed one is rounded.
const CLAIM_TOLERANCE_RATIO: f64 = 0.01;

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments, console: &Console) -> Result<Exit, CommandFailure> {
    let found = input::read_bytes(&arguments.file, input::IMPORT)?;
    let made = import(&found.bytes, &found.name, importer(&arguments.format), &completion(arguments))
        .map_err(|problems| {
            CommandFailure::bad_input(format!("this cannot be imported:\n\n{}", problems.render()))
        })?;
    let text = narrows_record::observations_text(&made.observations, &made.comments());
    // What is written must be read: a claim that is no arithmetic is found here.
    narrows_study::observations::parse(&whole(&made, &text), "the observations").map_err(|problems| {
        CommandFailure::bad_input(format!(
            "these observations could not be read again:\n\n{}",
            problems.render()
        ))
    })?;
    match &arguments.out {
        Some(path) => keep(path, &text)?,
        None => console.result(&text)?,
    }
    say(&made, arguments, console);
    Ok(Exit::Done)
}

/// The text as it will be read: ceilings alone wait for the observations that they are for.
fn whole(made: &Import, text: &str) -> String {
    let alone = made.observations.observations.is_empty();
    let stand_in = if alone { "\n[[observation]]\nid = \"one\"\n" } else { "" };
    format!("{text}{stand_in}")
}

fn say(made: &Import, arguments: &ImportArguments, console: &Console) {
    let figures = &made.observations;
    let (count, ceilings) = (figures.observations.len(), figures.ceilings.len());
    let to = arguments.out.as_ref().map(|path| format!(" in {}", path.display())).unwrap_or_default();
    console.say(&format!("narrows: {count} observations and {ceilings} ceilings of {}{to}", made.format));
    for remark in made.remarks.iter().chain(&made.missing) {
        console.say(&format!("  {remark}"));
    }
    let next = arguments.out.as_ref().map_or_else(
        || "pipe this into `narrows diagnose -`".to_owned(),
        |path| format!("narrows diagnose {}", path.display()),
    );
    console.say(&format!("  the verdict: {next}"));
}

fn keep(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => CommandFailure::bad_input(format!(
            "{} exists and is not overwritten; name another file",
            path.display()
        )),
        std::io::ErrorKind::NotFound => {
            CommandFailure::bad_input(format!("write {}: its folder does not exist", path.display()))
        }
        _ => CommandFailure::could_not_run(format!("write {}: {error}", path.display())),
    };
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(narrows_model::printable::lines(text).as_bytes()).map_err(failed)
}

fn completion(arguments: &ImportArguments) -> ImportOptions {
    let local = match &arguments.local {
        None => LocalResults::None,
        Some(sections) if sections.iter().any(|section| section == ALL_SECTIONS) => LocalResults::All,
        Some(sections) => LocalResults::Sections(sections.clone()),
    };
    let claim = |(left, right): &(String, f64)| Claim {
        text: format!("{left} = {right}"),
        left: left.clone(),
        // Who reads the file computes it.
        left_value: *right,
        right: *right,
        tolerance_ratio: CLAIM_TOLERANCE_RATIO,
    };
    ImportOptions {
        title: arguments.title.clone(),
        source: arguments.source.clone(),
        client_memory: arguments.memory,
        server_memory: arguments.server_memory,
        network: arguments.network,
        local,
        sections: arguments.section.clone(),
        block: arguments.block,
        processes: arguments.processes,
        device_count: arguments.as_device,
        claims: arguments.claim.iter().map(claim).collect(),
    }
}
