//! `narrows import`: another tool's native output becomes an observation file.
//!
//! Not here: reading the formats, which is `record`'s.

use crate::args::{ALL_SECTIONS, ImportArguments};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::written;
use narrows_model::observation::Claim;
use narrows_record::import::{Completion, Import, Local, import, importer};
use std::io::Write;
use std::path::Path;

/// How far the two sides of a claim may lie apart: the printed one is rounded.
const CLAIM_TOLERANCE_RATIO: f64 = 0.01;

/// Runs the command.
pub(crate) fn run(arguments: &ImportArguments, console: &Console) -> Result<Exit, Failure> {
    let found = written::read_bytes(&arguments.file, written::IMPORT)?;
    let made = import(&found.bytes, &found.name, importer(&arguments.format), &completion(arguments))
        .map_err(|problems| {
            Failure::bad_input(format!("this cannot be imported:\n\n{}", problems.render()))
        })?;
    let text = made.to_text();
    // What is written must be read: a claim that is no arithmetic is found here.
    narrows_study::observations::parse(&whole(&made, &text), "the observations").map_err(|problems| {
        Failure::bad_input(format!("these observations could not be read again:\n\n{}", problems.render()))
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

fn keep(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::bad_input(format!(
            "{} exists, and nothing is overwritten; name another file",
            path.display()
        )),
        std::io::ErrorKind::NotFound => {
            Failure::bad_input(format!("write {}: its folder does not exist", path.display()))
        }
        _ => Failure::could_not_run(format!("write {}: {error}", path.display())),
    };
    let mut file = std::fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

fn completion(arguments: &ImportArguments) -> Completion {
    let local = match &arguments.local {
        None => Local::None,
        Some(sections) if sections.iter().any(|section| section == ALL_SECTIONS) => Local::All,
        Some(sections) => Local::Sections(sections.clone()),
    };
    let claim = |(left, right): &(String, f64)| Claim {
        text: format!("{left} = {right}"),
        left: left.clone(),
        // Who reads the file computes it.
        left_value: *right,
        right: *right,
        tolerance_ratio: CLAIM_TOLERANCE_RATIO,
    };
    Completion {
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
