//! `narrows suite bonnie`: from what was typed to the tables and the verdict, as a pipeline of values.

use super::on_folder::{self, OnFolder, Room};
use super::refused;
use crate::args::{BonnieArguments, BonnieEdition};
use crate::check::Prepared;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, Terms, Watch};
use narrows_model::{Bytes, Plan, Target};
use narrows_study::Problem;
use narrows_suites::bonnie::{self, CHAR_MIB, Edition, Request, SizeWord, plan};
use narrows_suites::machine_name;

/// Time of each cut, in seconds.
const CUT_SECONDS: f64 = 1.0;
/// Bytes of a block, and seeks, where none are given.
const CHUNK: Bytes = Bytes(8192);
const SEEKS: u64 = 8192;

/// Runs the suite.
pub(super) fn run(
    arguments: &BonnieArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, Failure> {
    let terms = Terms { output: &arguments.output, command, console };
    let watch = Watch::start(console)?;
    let mut request = request(arguments).map_err(|problems| refused(&problems))?;
    let folder = OnFolder {
        dir: &arguments.dir,
        cuts: &arguments.cuts,
        cell_seconds: CUT_SECONDS,
        seed: arguments.seed,
        block: request.chunk,
    };
    let mut prepared = folder.prepare(&arguments.output, &watch, console)?;
    let plan = planned(arguments, &mut request, &folder, &prepared)?;
    let Some(ran) = on_folder::run(&plan, &mut prepared, &watch, terms)? else { return Ok(Exit::Done) };
    drop(prepared);
    measurement::conclude(ran, terms)
}

/// What was typed, as a request; the machine is still to be looked at.
fn request(arguments: &BonnieArguments) -> Result<Request, Vec<Problem>> {
    let mut problems = letters(arguments);
    let size = kept(arguments.file_size.as_deref().map(bonnie::size).transpose(), &mut problems).flatten();
    let files = kept(bonnie::files(&arguments.files), &mut problems).unwrap_or_default();
    let char_mib = match arguments.fast.as_deref() {
        None => Some(CHAR_MIB),
        Some("") => None,
        Some(text) => kept(bonnie::chars(text), &mut problems),
    };
    let SizeWord { chunk, seeks, seekers, .. } = size.unwrap_or_default();
    let request = Request {
        edition: match arguments.edition {
            BonnieEdition::Old => Edition::V1_03,
            BonnieEdition::New => Edition::V2_00,
        },
        file_mib: size.map(|size| size.file_mib),
        chunk: chunk.unwrap_or(CHUNK),
        seeks: seeks.unwrap_or(SEEKS),
        seekers,
        files,
        char_mib,
        syncs_each: arguments.unbuffered,
        direct: arguments.direct,
        runs: arguments.runs,
        processes: arguments.processes.map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX)),
        // The machine's name is known with its inventory.
        name: arguments.name.clone().unwrap_or_else(|| machine_name::NAMELESS.to_owned()),
        csv_alone: arguments.csv_alone,
        ram_mib: arguments.ram,
        has_cuts: !arguments.cuts.no_verdict,
        memory: None,
        free: None,
    };
    if problems.is_empty() {
        problems = request.typed_problems();
    }
    if problems.is_empty() { Ok(request) } else { Err(problems) }
}

/// What was read, or `None` and one more problem.
fn kept<T>(read: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|problem| problems.push(problem)).ok()
}

/// Letters of bonnie++ that mean something else here, or nothing.
fn letters(arguments: &BonnieArguments) -> Vec<Problem> {
    let mut all = Vec::new();
    let mut wrong =
        |key, found: &str, allowed: &str, hint: &str| all.push(Problem::new(key, found, allowed, hint));
    if let Some(value) = &arguments.concurrency {
        wrong(
            "-c",
            value,
            "-p N",
            "-p starts N processes that begin each phase together, with a line of CSV each",
        );
    }
    if let Some(value) = &arguments.random_file {
        wrong("-Z", value, "-z N", "random numbers come from a seed: -z 7 repeats a run");
    }
    if let Some(value) = &arguments.group {
        wrong(
            "-g",
            value,
            "nothing",
            "the group is that of the user who runs narrows: sg GROUP -c 'narrows ...'",
        );
    }
    if let Some(count) = arguments.processes.filter(|count| *count < 1) {
        let hint = "there are no semaphores to remove: -p N starts N processes itself, which begin each phase together";
        wrong("-p", &count.to_string(), "1 to 256", hint);
    }
    match arguments.together.as_deref() {
        None => {}
        Some("s") if arguments.processes.is_some() => {}
        Some("s") => {
            wrong("-y", "no -p", "-y with -p N", "-p N starts N processes, which begin each phase together");
        }
        Some(other) => wrong("-y", other, "s", "no prompt is waited for: -p N starts N processes by itself"),
    }
    if let Some(user) = &arguments.user
        && !is_current(user)
    {
        let hint = format!(
            "narrows changes to no other user: leave -u out, or run sudo -u {} narrows ...",
            user.split(':').next().unwrap_or_default().escape_default()
        );
        wrong("-u", &user.escape_default().to_string(), "the user who runs narrows", &hint);
    }
    if arguments.edition == BonnieEdition::Old
        && arguments.fast.as_deref().is_some_and(|size| !size.is_empty())
    {
        wrong(
            "-f",
            "a size with --edition 1.03",
            "-f alone",
            "in 1.03 characters are the whole file; leave the size out",
        );
    }
    all
}

/// Whether `-u USER[:GROUP]` is who runs this program.
fn is_current(user: &str) -> bool {
    let (name, group) = user.split_once(':').map_or((user, None), |(name, group)| (name, Some(group)));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let own = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().nth(1));
    let named = |path: &str, word: &str, id: Option<&str>| {
        let table = std::fs::read_to_string(path).unwrap_or_default();
        let mut lines = table.lines().map(|line| line.split(':').collect::<Vec<_>>());
        id == Some(word) || lines.any(|line| line.first() == Some(&word) && line.get(2).copied() == id)
    };
    named("/etc/passwd", name, own("Uid:"))
        && group.is_none_or(|group| named("/etc/group", group, own("Gid:")))
}

fn planned(
    arguments: &BonnieArguments,
    request: &mut Request,
    folder: &OnFolder<'_>,
    prepared: &Prepared,
) -> Result<Plan, Failure> {
    if arguments.name.is_none() {
        request.name = machine_name::of_host(&prepared.place.inventory().host.hostname);
    }
    let Room { memory, free } = Room::of(prepared);
    (request.memory, request.free) = (memory, free);
    let target = Target::File { path: folder.own(prepared) };
    plan(request, &target, prepared.plan.clone()).map_err(|problems| refused(&problems))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_user_is_known_by_name_and_number() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let uid =
            status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1)).unwrap();
        assert!(is_current(uid));
        assert!(
            !is_current("nobody-like-this")
                && !is_current("4294967294")
                && !is_current(&format!("{uid}:no-group"))
        );
    }
}
