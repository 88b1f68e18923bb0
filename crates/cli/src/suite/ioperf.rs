//! `narrows suite ioperf`: from what was typed to the table and the verdict, as a pipeline of values.

use super::refused;
use crate::args::{CheckArguments, FlushCall, IoperfArguments, IoperfRow, OutputArguments};
use crate::check::{self, Prepared};
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, PathFound, Terms, Undertaking, Watch};
use narrows_model::{Bytes, Plan, Target};
use narrows_suites::ioperf::{Flush, Request, RowKind, plan};

/// Time that the plan of the check may take whose cuts are measured: all of them, on any path.
const CUTS_SECONDS: f64 = 3600.0;

/// Runs the suite.
pub(super) fn run(
    arguments: &IoperfArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let terms = Terms { output: &arguments.output, command, console };
    let watch = Watch::start(console)?;
    let mut request = request(arguments);
    check_request(&request)?;
    check_folder(arguments)?;
    let mut prepared = check::prepare(&check_of(arguments), &watch, console)?;
    let plan = planned(arguments, &mut request, &prepared)?;
    if arguments.output.plan {
        terms.print_plan(&plan)?;
        return Ok(Exit::Done);
    }
    terms.announce(&plan, prepared.place.inventory());
    let undertaking = Undertaking {
        plan: &plan,
        inventory: prepared.place.inventory(),
        devices: prepared.place.device_names(),
        token: prepared.token(),
        servers: prepared.server.as_mut().map(check::CheckServer::servers),
        further: None,
        launchers: Vec::new(),
    };
    let ran = measurement::run(undertaking, &watch, terms)?;
    drop(prepared);
    measurement::conclude(ran, terms)
}

/// What was typed, as a request; the machine is still to be looked at.
fn request(arguments: &IoperfArguments) -> Request {
    let usual: &[IoperfRow] = if arguments.processes > 1 {
        &[IoperfRow::Run, IoperfRow::One, IoperfRow::Many]
    } else {
        &[IoperfRow::Run]
    };
    let asked = if arguments.rows.is_empty() { usual } else { &arguments.rows };
    let is_asked = |kind: &RowKind| asked.iter().any(|row| kind_of(*row) == *kind);
    Request {
        buffer_kb: arguments.buffer,
        count: arguments.count,
        passes: arguments.passes,
        processes: arguments.processes,
        rows: RowKind::ALL.into_iter().filter(is_asked).collect(),
        flush: match arguments.flush {
            FlushCall::Fflush => Flush::Fflush,
            FlushCall::Fdatasync => Flush::Fdatasync,
            FlushCall::Fsync => Flush::Fsync,
        },
        // The machine's name is known with its inventory.
        tag: arguments.tag.clone().unwrap_or_else(|| "host".to_owned()),
        csv: arguments.csv,
        has_cuts: !arguments.no_verdict,
        memory: None,
        free: None,
    }
}

fn kind_of(row: IoperfRow) -> RowKind {
    match row {
        IoperfRow::Run => RowKind::Run,
        IoperfRow::One => RowKind::OneProcess,
        IoperfRow::Many => RowKind::Processes,
    }
}

fn check_request(request: &Request) -> Result<(), Failure> {
    let problems = request.problems();
    if problems.is_empty() { Ok(()) } else { Err(refused(&problems)) }
}

fn check_folder(arguments: &IoperfArguments) -> Result<(), Failure> {
    match measurement::examine(&arguments.dir)? {
        PathFound::Folder => Ok(()),
        PathFound::File { .. } => Err(Failure::bad_input(format!(
            "{} is a file; give the folder in which the suite makes files of its own",
            arguments.dir.display()
        ))),
    }
}

/// The check of the same folder, whose cuts lie under the tests.
fn check_of(arguments: &IoperfArguments) -> CheckArguments {
    let buffer = Bytes(arguments.buffer.saturating_mul(1024));
    CheckArguments {
        target: Target::File { path: arguments.dir.clone() },
        server: arguments.server.clone(),
        token_file: arguments.token_file.clone(),
        seconds: CUTS_SECONDS,
        cell_seconds: Some(arguments.cell_seconds),
        trials: 1,
        seed: arguments.seed,
        block: vec![buffer],
        depth: vec![1],
        op: Vec::new(),
        max_rate: None,
        deep: false,
        output: OutputArguments {
            plan: arguments.output.plan,
            json: arguments.output.json,
            detail: arguments.output.detail,
            out: arguments.output.out.clone(),
            quiet: arguments.output.quiet,
        },
    }
}

fn planned(arguments: &IoperfArguments, request: &mut Request, prepared: &Prepared) -> Result<Plan, Failure> {
    let inventory = prepared.place.inventory();
    let host = &inventory.host;
    if arguments.tag.is_none() {
        request.tag = tag_of(&host.hostname);
    }
    request.memory = host.memory_limit_bytes.or(host.memory_bytes);
    request.free = inventory.path.as_ref().and_then(|path| path.free_bytes);
    let path = prepared.place.own_folder().unwrap_or(&arguments.dir).to_path_buf();
    plan(request, &Target::File { path }, prepared.plan.clone()).map_err(|problems| refused(&problems))
}

/// A host's name as a tag; one that is none is called `host`.
fn tag_of(hostname: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_row = ["1PV", "NPV"].iter().any(|row| hostname.starts_with(row));
    let sound = hostname.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && hostname.len() <= 64
        && hostname.chars().all(plain);
    if sound && !is_row {
        hostname.to_owned()
    } else {
        format!("host-{}", hostname.replace(|letter| !plain(letter), "-")).chars().take(64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::tag_of;

    #[test]
    fn a_host_whose_name_is_no_tag_gets_one() {
        assert_eq!(tag_of("rcas6001.example"), "rcas6001.example");
        assert_eq!((tag_of("12ab"), tag_of("a b")), ("host-12ab".to_owned(), "host-a-b".to_owned()));
        assert_eq!(tag_of(&"x".repeat(100)).len(), 64);
    }
}
