//! What may be typed after `narrows suite bonnie`, and the request that it makes: the letters of bonnie++, and long
//! options of narrows.

use super::problems::{FILE_MIB_MAX, RUNS_MAX};
use super::request::{CHAR_MIB, Edition, Request};
use super::typed::{self, SizeWord};
use crate::arguments::{CutArguments, one_of};
use crate::client_hosts::SuiteHosts;
use crate::folder::FolderRun;
use crate::suite::IsUser;
use clap::Args;
use narrows_model::Bytes;
use narrows_model::typed::whole;
use narrows_study::Problem;
use std::path::PathBuf;

/// Bytes of a block, and seeks, where none are given.
const CHUNK: Bytes = Bytes(8192);
const SEEKS: u64 = 8192;

/// What may be typed.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct Arguments {
    /// Folder on any mounted file system; the suite creates a subfolder for its files
    #[arg(short = 'd', default_value = ".", value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Size of the file in MiB (with g in GiB), bytes of a block (8192), seeks (8192) and processes that seek (5;
    /// edition 1.03: 3); the default is twice the memory; 0 skips the phases of one file
    #[arg(short = 's', value_name = "MiB[:CHUNK[:SEEKS[:SEEKERS]]]", allow_hyphen_values = true)]
    pub(super) file_size: Option<String>,
    /// Files to create in multiples of 1024, maximum (0) and minimum (0) bytes of each, directories for them (0: one),
    /// bytes of a call (8192); 0 skips the phases of many files
    #[arg(
        short = 'n',
        default_value = "16",
        value_name = "N[:MAX[:MIN[:DIRS[:CHUNK]]]]",
        allow_hyphen_values = true
    )]
    pub(super) files: String,
    /// Memory in MiB, of which the file must have at least twice the size; the default is this machine's; 0 allows any
    /// size
    #[arg(short = 'r', value_name = "MiB", allow_negative_numbers = true, value_parser = whole(0, FILE_MIB_MAX))]
    pub(super) ram: Option<u64>,
    /// Number of runs of all phases, each with a line of CSV
    #[arg(short = 'x', default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, RUNS_MAX))]
    pub(super) runs: u32,
    /// The machine's name in the output; the default is this host's name
    #[arg(short = 'm', value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Skip the character phases; with a number they transfer that many MiB (only edition 2.00); the default is 20 MiB
    /// (edition 1.03: the whole file)
    #[arg(short = 'f', value_name = "MiB", num_args = 0..=1, default_missing_value = "")]
    pub(super) fast: Option<String>,
    /// No write buffering: every write, and every file created or deleted, is made durable before the next
    #[arg(short = 'b')]
    pub(super) unbuffered: bool,
    /// Read and write blocks past the page cache (`O_DIRECT`)
    #[arg(short = 'D')]
    pub(super) direct: bool,
    /// Only CSV on stdout; the tables are printed on stderr
    #[arg(short = 'q')]
    pub(super) csv_alone: bool,
    /// Processes on this machine (with --hosts on each host) that start each phase together, each with its own file and a
    /// line of CSV; the default is 1
    #[arg(short = 'p', value_name = "N", allow_hyphen_values = true)]
    pub(super) processes: Option<i64>,
    /// Start each phase together, which the processes of -p and of --hosts always do
    #[arg(short = 'y', value_name = "s", num_args = 0..=1, default_missing_value = "s")]
    pub(super) together: Option<String>,
    /// User to run as, which must be the one that runs narrows
    #[arg(short = 'u', value_name = "USER[:GROUP]")]
    pub(super) user: Option<String>,
    /// Seed of all random choices; the default is a new one, which is recorded
    #[arg(short = 'z', long, value_name = "N")]
    pub(super) seed: Option<u64>,
    #[arg(short = 'g', hide = true, value_name = "GROUP")]
    pub(super) group: Option<String>,
    #[arg(short = 'c', hide = true, value_name = "N")]
    pub(super) concurrency: Option<String>,
    #[arg(short = 'Z', hide = true, value_name = "FILE")]
    pub(super) random_file: Option<String>,
    /// Which bonnie++: 1.03 with putc and getc over the whole file, 3 processes that seek and 27 fields of CSV; or 2.00
    /// with
    /// a write and a read for each character, 5 that seek, 50 fields and latencies
    #[arg(long, default_value = "2.00", value_name = "1.03|2.00", value_parser = one_of(&Edition::ALL, Edition::name))]
    pub(super) edition: Edition,
    #[command(flatten)]
    pub(super) cuts: CutArguments,
}

impl Arguments {
    /// The run that they ask for.
    ///
    /// # Errors
    /// All that is wrong with them, whatever the machine is.
    pub(super) fn run(self, is_user: IsUser<'_>) -> Result<FolderRun, Vec<Problem>> {
        let request = self.request(is_user)?;
        Ok(FolderRun { request: Box::new(request), dir: self.dir, cuts: self.cuts, seed: self.seed })
    }

    fn request(&self, is_user: IsUser<'_>) -> Result<Request, Vec<Problem>> {
        let mut problems = self.refused(is_user);
        let size =
            or_problem(self.file_size.as_deref().map(typed::size).transpose(), &mut problems).flatten();
        let files = or_problem(typed::files(&self.files), &mut problems).unwrap_or_default();
        let char_mib = match self.fast.as_deref() {
            None => Some(CHAR_MIB),
            Some("") => None,
            Some(text) => or_problem(typed::chars(text), &mut problems),
        };
        let SizeWord { chunk, seeks, seekers, .. } = size.unwrap_or_default();
        let request = Request {
            edition: self.edition,
            file_mib: size.map(|size| size.file_mib),
            chunk: chunk.unwrap_or(CHUNK),
            seeks: seeks.unwrap_or(SEEKS),
            seekers,
            files,
            char_mib,
            syncs_each: self.unbuffered,
            direct: self.direct,
            runs: self.runs,
            processes: self.processes.map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX)),
            name: self.name.clone(),
            csv_alone: self.csv_alone,
            hosts: SuiteHosts::default(),
            ram_mib: self.ram,
            has_cuts: !self.cuts.no_verdict,
            memory: None,
            free: None,
        };
        if problems.is_empty() {
            problems = request.typed_problems();
        }
        if problems.is_empty() { Ok(request) } else { Err(problems) }
    }

    /// Letters of bonnie++ that are refused, or have another meaning here.
    fn refused(&self, is_user: IsUser<'_>) -> Vec<Problem> {
        let mut all = Vec::new();
        let mut wrong =
            |key, found: &str, allowed: &str, hint: &str| all.push(Problem::new(key, found, allowed, hint));
        if let Some(value) = &self.concurrency {
            wrong(
                "-c",
                value,
                "-p N",
                "-p starts N processes that start each phase together, with a line of CSV each",
            );
        }
        if let Some(value) = &self.random_file {
            wrong("-Z", value, "-z N", "random numbers come from a seed: -z 7 repeats a run");
        }
        if let Some(value) = &self.group {
            wrong(
                "-g",
                value,
                "nothing",
                "narrows runs with the group of its user: sg GROUP -c 'narrows ...'",
            );
        }
        if let Some(count) = self.processes.filter(|count| *count < 1) {
            let hint = "there are no semaphores to remove: -p N starts N processes itself, which start each phase \
                together";
            wrong("-p", &count.to_string(), "1 to 256", hint);
        }
        match self.together.as_deref() {
            None => {}
            Some("s") if self.processes.is_some() => {}
            Some("s") => {
                wrong(
                    "-y",
                    "no -p",
                    "-y with -p N",
                    "-p N starts N processes, which start each phase together",
                );
            }
            Some(other) => {
                wrong("-y", other, "s", "there is no prompt: -p N starts N processes by itself");
            }
        }
        if let Some(user) = &self.user
            && !is_user(user)
        {
            let hint = format!(
                "narrows does not change the user: omit -u, or run sudo -u {} narrows ...",
                user.split(':').next().unwrap_or_default().escape_default()
            );
            wrong("-u", &user.escape_default().to_string(), "the user who runs narrows", &hint);
        }
        if self.edition == Edition::V1_03 && self.fast.as_deref().is_some_and(|size| !size.is_empty()) {
            wrong(
                "-f",
                "a size with --edition 1.03",
                "-f alone",
                "in 1.03 the character phases use the whole file; omit the size",
            );
        }
        all
    }
}

/// What was read, or `None` and one more problem.
fn or_problem<T>(read: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    read.map_err(|problem| problems.push(problem)).ok()
}
