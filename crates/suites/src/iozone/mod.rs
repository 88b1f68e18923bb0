//! IOzone (William Norcott and Don Capps, from 1991 on): tests of one file over records and file sizes, and of several processes.
//!
//! Test 0 makes a file and the others access it by their own calls and in their own order; auto mode does so for a surface
//! of record and file sizes, throughput mode for processes that start together. Deliberately absent: the original's options
//! that narrows has of its own (engines, think times, latencies), which are refused with what to take.

mod arguments;
mod columns;
mod figures;
mod heading;
mod import;
mod legacy;
mod letter_line;
mod letters;
mod native;
mod options;
mod plan;
mod problems;
mod reading;
mod request;
mod sheet;
mod size;
#[cfg(test)]
mod summary_tests;
mod surface;
#[cfg(test)]
mod testing;
mod throughput;
mod words;

pub use arguments::Arguments;
pub(crate) use import::IMPORTER;
pub use request::Request;

use crate::SuiteStart;
use crate::client_hosts::SuiteHosts;
use crate::folder::{OnFolder, OutputFile, OutputTextFn, PreparedFolder, SuiteMachine};
use crate::host_list::{HostList, HostPlacement};
use crate::host_rates::LinkCeiling;
use crate::suite::{ArgumentError, IsUser, Suite, SuiteEntry, request_of, to_source};
use narrows_model::plan::SuiteSource;
use narrows_model::{Bytes, Plan, Summary};
use narrows_study::Problem;
use std::fmt::Write;
use std::path::PathBuf;
use surface::SurfaceMarks;

/// The name on the command line.
pub const NAME: &str = "iozone";

/// The suite.
pub const ENTRY: SuiteEntry = SuiteEntry::new::<Request>(
    NAME,
    "IOzone: one file over record and file sizes, or several processes; its short options (-a, -i 0, -g 4m, -t 4) and \
     long options together",
    "IOzone 3, William Norcott and Don Capps",
)
.with_hosts()
.with_after_help(letters_help)
.with_letters(letters::split_letters);

/// Time of each cut in seconds: short, as the tests beside it are.
const CUT_SECONDS: f64 = 0.25;
/// Largest block of the cuts: a larger record is moved in such parts by every layer below.
const CUT_BLOCK_MAX: Bytes = Bytes(1 << 20);

impl Suite for Request {
    type Arguments = Arguments;
    type Prepared = PreparedFolder;

    fn parse(arguments: Arguments, _: IsUser<'_>) -> Result<SuiteStart, ArgumentError> {
        arguments.run().map(SuiteStart::Folder).map_err(ArgumentError::Problems)
    }

    fn problems(&self) -> Vec<Problem> {
        self.problems()
    }

    fn plan(&self, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
        plan::plan(self, folder)
    }

    fn source(&self) -> SuiteSource {
        to_source(NAME, self.has_cuts, self)
    }

    fn from_options(options: &SuiteSource) -> Option<Self> {
        legacy::request(options)
    }

    fn native(&self, summary: &Summary) -> String {
        native::native(self, summary)
    }

    fn reading(&self, summary: &Summary) -> Vec<String> {
        let points = figures::points(summary);
        let mut all = reading::sentences(&points, self, &SurfaceMarks::from_summary(summary));
        all.extend(reading::of_hosts(&points, self, LinkCeiling::new(None, &summary.segments)));
        all
    }
}

impl OnFolder for Request {
    fn cut_block_bytes(&self) -> Bytes {
        self.record_bytes_max().min(CUT_BLOCK_MAX)
    }

    fn cut_seconds(&self) -> f64 {
        CUT_SECONDS
    }

    fn on_hosts(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        self.set_hosts(hosts)
    }

    fn host_list(&self) -> Option<HostList> {
        Some(HostList {
            option: "-+m",
            path: PathBuf::from(self.options.host_list.as_ref()?),
            processes: usize::try_from(self.options.processes?).unwrap_or(usize::MAX),
        })
    }

    fn place(&mut self, placement: &HostPlacement) {
        let name = |folder: &PathBuf| folder.to_string_lossy().into_owned();
        self.options.names = placement.folders.iter().map(name).collect();
    }

    fn learn(&mut self, machine: &dyn SuiteMachine) {
        self.free = machine.free_bytes();
        self.cpu_cache = machine.cpu_cache_bytes();
        self.cpu_cache_line = machine.cpu_cache_line_bytes();
        self.direct_alignment = self.options.direct.then(|| machine.direct_alignment_bytes());
    }

    fn file_names(&self) -> &[String] {
        &self.options.names
    }

    fn mount(&self) -> Option<&str> {
        self.options.cold_mount.as_deref()
    }

    fn keeps_files(&self) -> bool {
        self.options.keeps
    }

    fn output_files(&self) -> Result<Vec<OutputFile>, String> {
        const SHEET: &str = "the spreadsheet as CSV, which is text and not the binary file of IOzone";
        if self.is_throughput() && self.surface_svg.is_some() {
            return Err(
                "--surface-svg: several processes (-t, -l, -u) have no surface of sizes to draw; omit them, or use \
                 --surface-csv, which lists their figures"
                    .to_owned(),
            );
        }
        let all: [(_, Option<PathBuf>, _, OutputTextFn); 3] = [
            ("-b", self.options.sheet_file.as_ref().map(PathBuf::from), SHEET, sheet::csv),
            ("--surface-csv", self.surface_csv.clone(), "every figure as CSV", surface::csv),
            ("--surface-svg", self.surface_svg.clone(), "the picture of the surfaces as SVG", surface::svg),
        ];
        let given = all
            .into_iter()
            .filter_map(|(option, path, what, text)| Some(OutputFile { option, path: path?, what, text }));
        Ok(given.collect())
    }
}

/// The request of the run that `summary` is of; `None` where it is of another suite.
fn recorded(summary: &Summary) -> Option<Request> {
    summary.suite.as_ref().filter(|source| source.name == NAME).and_then(request_of)
}

/// The letters with what they mean, a line each.
fn letters_help() -> String {
    let mut out = "IOzone's letters:\n".to_owned();
    // Writing into a string cannot fail.
    for (name, meaning) in letters::FLAGS {
        let _ = writeln!(out, "  {name:<11} {meaning}");
    }
    for (name, value, meaning) in letters::VALUES.iter().chain([&letters::NAMES]) {
        let _ = writeln!(out, "  {:<11} {meaning}", format!("{name} {value}"));
    }
    out
}
