//! `cargo xtask lab kills`: checks and servers killed at random moments. Each record must be readable afterwards, each
//! folder that was left named by the next run and removed by `narrows clean`, and nothing else changed.

use super::surroundings::Surroundings;
use crate::perf::target_folder;
use crate::process::RunningProgram;
use crate::workspace::{Workspace, cargo};
use crate::{TaskOutcome, output};
use anyhow::{Context, bail};
use narrows_sys::clock::wait_ns;
use narrows_sys::process::affinity;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// A command that has not ended after so many seconds is a fault.
const END_S: u64 = 30;
/// Every fifth kill falls into the first moments, in which folders and records come to be.
const BEGINNING_NS: u64 = 15_000_000;

/// After so long a folder without a word in its marker is known to be left.
const UNFINISHED_NS: u64 = 2_200_000_000;

/// A time of last change that no running command can have left, in seconds of the epoch.
const LONG_AGO_S: u64 = 1_000_000_000;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KillsRequest {
    checks: u32,
    serves: u32,
    seed: u64,
}

impl KillsRequest {
    /// Reads the options.
    ///
    /// # Errors
    /// Why they are refused.
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut request = Self { checks: 500, serves: 200, seed: 7 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            let number = value.parse::<u64>().map_err(|_| format!("{word} takes a number, not {value}"))?;
            let count = || u32::try_from(number).map_err(|_| format!("{word} {value} is too many"));
            match *word {
                "--checks" => request.checks = count()?,
                "--serves" => request.serves = count()?,
                "--seed" => request.seed = number,
                _ => return Err(format!("kills has no option {word}")),
            }
        }
        Ok(request)
    }
}

/// What a number of kills came to.
#[derive(Debug, Default)]
struct Tally {
    kills: u32,
    /// The program had ended before.
    ended_before: u32,
    no_record: u32,
    nothing_measured: u32,
    partly_measured: u32,
    whole: u32,
    folders_left: usize,
    /// Records that had not got their names yet.
    records_left: usize,
    /// What should not have been.
    misses: Vec<String>,
}

impl Tally {
    /// Kills a program, and counts that.
    fn kill(&mut self, program: &mut RunningProgram) -> anyhow::Result<()> {
        self.kills += 1;
        if !program.kill()? {
            self.ended_before += 1;
        }
        Ok(())
    }

    fn line(&self, what: &str) -> String {
        format!(
            "{what:<7} {:>5} kills ({} after the end): {} without a record yet, {} records with nothing measured, {} with \
             some cells, {} whole; {} folders left, named and removed; {} unfinished records left and removed; {} misses",
            self.kills,
            self.ended_before,
            self.no_record,
            self.nothing_measured,
            self.partly_measured,
            self.whole,
            self.folders_left,
            self.records_left,
            self.misses.len()
        )
    }
}

/// Runs the campaign.
///
/// # Errors
/// A build that fails, a folder that cannot be made, a program that cannot be started.
pub(super) fn run(request: KillsRequest) -> anyhow::Result<TaskOutcome> {
    let workspace = Workspace::load()?;
    let words = ["build", "--release", "--locked", "--quiet"];
    if !cargo(&workspace.root, &words).status().context("could not start cargo build")?.success() {
        bail!("cargo {} failed", words.join(" "));
    }
    let narrows = target_folder(&workspace).join("release/narrows");
    let scratch = tempfile::Builder::new().prefix("kills-").tempdir_in(target_folder(&workspace))?;
    let site = |name: &str, seed| {
        let folder = scratch.path().join(name);
        fs::create_dir(&folder)?;
        KillSite::new(&folder, narrows.clone(), seed)
    };
    let (mut of_checks, mut of_servers) = (site("checks", request.seed)?, site("servers", request.seed ^ 1)?);
    let (checks, serves) = std::thread::scope(|scope| {
        let serves = scope.spawn(|| of_servers.kill_servers(request.serves));
        let checks = of_checks.kill_checks(request.checks);
        (
            checks,
            serves.join().unwrap_or_else(|_| Err(anyhow::Error::msg("the thread of the servers failed"))),
        )
    });
    let (checks, serves) = (checks?, serves?);
    output::line(&checks.line("check"));
    output::line(&serves.line("serve"));
    let misses: Vec<&String> = checks.misses.iter().chain(&serves.misses).collect();
    for miss in &misses {
        output::line(miss);
    }
    Ok(if misses.is_empty() { TaskOutcome::Healthy } else { TaskOutcome::ProblemsFound })
}

/// Where programs are killed.
struct KillSite {
    folder: PathBuf,
    target: PathBuf,
    root: PathBuf,
    narrows: PathBuf,
    cpus: Vec<usize>,
    random: u64,
    before: Surroundings,
}

impl KillSite {
    fn new(folder: &Path, narrows: PathBuf, seed: u64) -> anyhow::Result<Self> {
        let (target, root) = (folder.join("target"), folder.join("root"));
        for place in [&target, &root] {
            fs::create_dir(place)?;
            Surroundings::plant(place)?;
        }
        let before = Surroundings::read(&[&target, &root], &|_| false)?;
        Ok(Self { folder: folder.to_owned(), target, root, narrows, cpus: affinity()?, random: seed, before })
    }

    /// Kills `count` checks of a folder.
    fn kill_checks(&mut self, count: u32) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let usual_ns = self.length_of_a_check("target")?;
        for number in 0..count {
            let record = format!("record-check-{number}");
            let mut check = self.start("check", &check_words("target", &record))?;
            let _ = wait_ns(self.moment_ns(number, usual_ns));
            tally.kill(&mut check)?;
            drop(check);
            self.look_at_record(&record, &mut tally)?;
            self.look_at_unfinished_records(&mut tally)?;
            let next = ["check", "target", "--plan"];
            self.look_at_leftovers("target", &next, &mut tally)?;
        }
        Ok(tally)
    }

    /// Kills `count` servers of a folder while a check loads them.
    fn kill_servers(&mut self, count: u32) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let serve_words = ["serve", "--listen", "127.0.0.1:0", "--root", "root"];
        let mut usual_ns = None;
        for number in 0..count {
            let mut server = self.start("serve", &serve_words)?;
            let address =
                server.until(|said| said.trim().strip_prefix("listening on ").map(str::to_owned))?;
            let target = format!("tcp://{address}/disk");
            let usual_ns = match usual_ns {
                Some(usual_ns) => usual_ns,
                None => *usual_ns.insert(self.length_of_a_check(&target)?),
            };
            let record = format!("record-serve-{number}");
            let check = self.start("check", &check_words(&target, &record))?;
            let _ = wait_ns(self.moment_ns(number, usual_ns));
            tally.kill(&mut server)?;
            drop(server);
            let ended = check.finish(END_S, |_, _| {})?;
            // 0: it had ended before.
            if !matches!(ended.code, Some(0 | 3 | 4)) || ended.stderr.contains("panicked") {
                tally
                    .misses
                    .push(format!("{record}: the check ended with {:?}: {}", ended.code, ended.stderr));
            }
            self.look_at_record(&record, &mut tally)?;
            self.look_at_unfinished_records(&mut tally)?;
            let next = [&serve_words[..], &["--until-stdin-ends"]].concat();
            self.look_at_leftovers("root", &next, &mut tally)?;
        }
        Ok(tally)
    }

    /// How long a check lasts that is not killed.
    fn length_of_a_check(&self, target: &str) -> anyhow::Result<u64> {
        let ended = self.start("check", &check_words(target, "record-whole"))?.finish(END_S, |_, _| {})?;
        ended.printed(&[0, 4])?;
        fs::remove_dir_all(self.folder.join("record-whole"))?;
        Ok(u64::try_from(Duration::from_secs_f64(ended.elapsed_s).as_nanos())?)
    }

    /// The time until kill `number` of a program that lasts `usual_ns`.
    fn moment_ns(&mut self, number: u32, usual_ns: u64) -> u64 {
        // splitmix64: https://prng.di.unimi.it/splitmix64.c
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let length_ns = if number.is_multiple_of(5) { BEGINNING_NS } else { usual_ns };
        (mixed ^ (mixed >> 31)) % length_ns.max(1)
    }

    fn start(&self, name: &str, words: &[&str]) -> anyhow::Result<RunningProgram> {
        let mut command = Command::new(&self.narrows);
        command.args(words).current_dir(&self.folder);
        RunningProgram::start(&self.folder, name, &mut command, &self.cpus)
    }

    /// What a command that must end with one of `codes` says on stderr and stdout.
    fn run(&self, name: &str, words: &[&str], codes: &[i32], tally: &mut Tally) -> anyhow::Result<String> {
        let ended = self.start(name, words)?.finish(END_S, |_, _| {})?;
        let said = format!("{}{}", ended.stderr, ended.stdout);
        let is_expected = ended.code.is_some_and(|code| codes.contains(&code));
        if !is_expected || said.contains("panicked") {
            tally.misses.push(format!("narrows {} ended with {:?}: {said}", words.join(" "), ended.code));
        }
        Ok(said)
    }

    /// A record is not there yet, or `narrows diagnose` reads it.
    fn look_at_record(&self, record: &str, tally: &mut Tally) -> anyhow::Result<()> {
        let path = self.folder.join(record);
        if !path.exists() {
            tally.no_record += 1;
            return Ok(());
        }
        let ended = self.start("diagnose", &["diagnose", record])?.finish(END_S, |_, _| {})?;
        match ended.code {
            Some(0) => tally.whole += 1,
            Some(3) => tally.nothing_measured += 1,
            Some(4) => tally.partly_measured += 1,
            // The folder was made and nothing is in it yet.
            Some(2) if fs::read_dir(&path)?.next().is_none() => tally.no_record += 1,
            code => tally.misses.push(format!("{record}: diagnose ended with {code:?}: {}", ended.stderr)),
        }
        if ended.stderr.contains("panicked") {
            tally.misses.push(format!("{record}: diagnose panicked: {}", ended.stderr));
        }
        fs::remove_dir_all(path)?;
        Ok(())
    }

    /// Records that were killed before they got their names are removed by `narrows clean`, once a minute has passed.
    fn look_at_unfinished_records(&self, tally: &mut Tally) -> anyhow::Result<()> {
        let left = unfinished_records(&self.folder)?;
        if left.is_empty() {
            return Ok(());
        }
        tally.records_left += left.len();
        for path in &left {
            let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(LONG_AGO_S);
            fs::File::open(path)?.set_modified(long_ago)?;
        }
        let said = self.run("clean", &["clean", "--remove", "."], &[0], tally)?;
        for path in left.iter().filter(|path| path.exists()) {
            tally.misses.push(format!("{} was left and clean does not remove it: {said}", path.display()));
        }
        Ok(())
    }

    /// What was left in `place` is named by the command `next`, removed by `narrows clean`, and all else is as before.
    fn look_at_leftovers(&self, place: &str, next: &[&str], tally: &mut Tally) -> anyhow::Result<()> {
        let now = || Surroundings::read(&[&self.target, &self.root], &|_| false);
        let is_folder = |path: &&PathBuf| path.is_dir() && path.parent() == Some(&self.folder.join(place));
        let changed = self.before.changes(&now()?);
        let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let left: Vec<String> = changed.iter().filter(is_folder).filter_map(name).collect();
        tally.folders_left += left.len();
        let mut said = self.run("next", next, &[0], tally)?;
        if left.iter().any(|name| !said.contains(name)) {
            // One that was killed while it was made may still be in the making, for all that others know.
            let _ = wait_ns(UNFINISHED_NS);
            said = self.run("next", next, &[0], tally)?;
        }
        for name in left.iter().filter(|name| !said.contains(*name)) {
            tally.misses.push(format!("{place}/{name} was left and the next run does not name it: {said}"));
        }
        self.run("clean", &["clean", "--remove", place], &[0], tally)?;
        for path in self.before.changes(&now()?) {
            tally.misses.push(format!("{} is not as it was", path.display()));
        }
        Ok(())
    }
}

/// The records in `folder` that have not got their names: `.NAME.ID.partial`.
fn unfinished_records(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(".partial")) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn check_words<'a>(target: &'a str, record: &'a str) -> Vec<&'a str> {
    let words =
        ["check", target, "--out", record, "--seconds", "4", "--cell-seconds", "0.1", "--block", "4KiB"];
    [&words[..], &["--depth", "1", "--op", "write", "--quiet"]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_without_their_names_are_found_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            [".record-check-1.0123456789abcdef.partial", "record-check-1", ".narrows-0123456789abcdef"]
        {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let found = unfinished_records(folder.path()).unwrap();
        assert_eq!(found, [folder.path().join(".record-check-1.0123456789abcdef.partial")]);
    }

    #[test]
    fn options_are_numbers_and_known() {
        let parsed = KillsRequest::parse(&["--checks", "3", "--seed", "9"]);
        assert_eq!(parsed, Ok(KillsRequest { checks: 3, serves: 200, seed: 9 }));
        for words in [&["--checks"][..], &["--checks", "x"], &["--kills", "3"], &["--serves", "99999999999"]]
        {
            assert!(KillsRequest::parse(words).is_err(), "{words:?}");
        }
    }
}
