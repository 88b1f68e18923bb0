//! `narrows suite ioperf`: from what was typed to the table and the verdict, as a pipeline of values.

use super::on_folder::{self, OnFolder, Room};
use super::refused;
use crate::args::{FlushCall, IoperfArguments, IoperfRow};
use crate::check::Prepared;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, Terms, Watch};
use narrows_model::{Bytes, Plan, Target};
use narrows_suites::ioperf::{Flush, Request, RowKind, plan};
use narrows_suites::machine_name;

/// Time of each cut, in seconds.
const CUT_SECONDS: f64 = 1.0;

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
    let folder = OnFolder {
        dir: &arguments.dir,
        cuts: &arguments.cuts,
        cell_seconds: CUT_SECONDS,
        seed: arguments.seed,
        block: Bytes(arguments.buffer.saturating_mul(1024)),
    };
    let mut prepared = folder.prepare(&arguments.output, &watch, console)?;
    let plan = planned(arguments, &mut request, &folder, &prepared)?;
    let Some(ran) = on_folder::run(&plan, &mut prepared, &watch, terms)? else { return Ok(Exit::Done) };
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
        tag: arguments.tag.clone().unwrap_or_else(|| machine_name::NAMELESS.to_owned()),
        csv: arguments.csv,
        has_cuts: !arguments.cuts.no_verdict,
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

fn planned(
    arguments: &IoperfArguments,
    request: &mut Request,
    folder: &OnFolder<'_>,
    prepared: &Prepared,
) -> Result<Plan, Failure> {
    if arguments.tag.is_none() {
        request.tag = tag_of(&prepared.place.inventory().host.hostname);
    }
    let Room { memory, free } = Room::of(prepared);
    (request.memory, request.free) = (memory, free);
    let target = Target::File { path: folder.own(prepared) };
    plan(request, &target, prepared.plan.clone()).map_err(|problems| refused(&problems))
}

/// A host's name as a tag: rows of several processes begin with NPV.
fn tag_of(hostname: &str) -> String {
    if hostname.starts_with(RowKind::Processes.name()) {
        return machine_name::of_host(&format!("-{hostname}"));
    }
    machine_name::of_host(hostname)
}

#[cfg(test)]
mod tests {
    use super::tag_of;

    #[test]
    fn a_host_whose_name_is_no_tag_gets_one() {
        assert_eq!(tag_of("rcas6001.example"), "rcas6001.example");
        assert_eq!((tag_of("12ab"), tag_of("NPV7")), ("host-12ab".to_owned(), "host--NPV7".to_owned()));
    }
}
