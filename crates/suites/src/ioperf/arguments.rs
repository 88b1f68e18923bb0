//! What may be typed after `narrows suite ioperf`, and the request that it makes.

use super::request::{
    BUFFER_KB_MAX, COUNT_MAX, FlushCall, PASSES_MAX, PROCESSES_MAX, PUBLISHED_BUFFER_KB, PUBLISHED_COUNT,
    Request, RowKind,
};
use crate::arguments::{CutArguments, one_of};
use crate::client_hosts::SuiteHosts;
use crate::folder::FolderRun;
use clap::Args;
use narrows_model::BytesPerSec;
use narrows_model::quantity::parse_rate;
use narrows_model::typed::whole;
use narrows_study::Problem;
use std::path::PathBuf;

/// What may be typed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Folder on any mounted file system; the suite creates a subfolder for its files
    #[arg(default_value = ".", value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Size of an I/O in KB of 1024 bytes: the size of one fwrite or fread
    #[arg(long, default_value_t = PUBLISHED_BUFFER_KB, value_name = "KB", allow_negative_numbers = true, value_parser = whole(1, BUFFER_KB_MAX))]
    pub(super) buffer: u64,
    /// I/Os of each test and process; its file is this many times the buffer
    #[arg(long, default_value_t = PUBLISHED_COUNT, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, COUNT_MAX))]
    pub(super) count: u64,
    /// Repetitions of each test; its figures are all bytes over all the time
    #[arg(long, default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, PASSES_MAX))]
    pub(super) passes: u32,
    /// Processes of the row NPV, which start each test together, each with its own file; with --hosts on each host; the
    /// default is 1, and the ranks of an MPI job on several hosts
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, PROCESSES_MAX))]
    pub(super) processes: Option<u32>,
    /// Rows to measure: a plain run, one process below the driver, --processes of them; the default is run, and all
    /// three
    /// from 2 processes on; with --hosts, and with ranks on several hosts, 1PV, on the first host, and NPV
    #[arg(long, value_name = "run,1PV,NPV", value_delimiter = ',', value_parser = one_of(&RowKind::ALL, RowKind::name), ignore_case = true)]
    pub(super) rows: Vec<RowKind>,
    /// Call after every I/O that writes: each fwrite, and each --buffer KB of putc
    #[arg(long, default_value = "fflush", value_name = "fflush|fdatasync|fsync", value_parser = one_of(&FlushCall::ALL, FlushCall::name))]
    pub(super) flush: FlushCall,
    /// Name of the rows in the table; the default is this host's name
    #[arg(long, value_name = "TAG")]
    pub(super) tag: Option<String>,
    /// Print the table as CSV, with the same figures
    #[arg(long)]
    pub(super) csv: bool,
    /// Rate of the link that all hosts share, such as 1Gbit/s, for the column network-saturated; without it that column has
    /// what --server HOST:PORT measures
    #[arg(long, value_name = "RATE", value_parser = link)]
    pub(super) link: Option<BytesPerSec>,
    #[command(flatten)]
    pub(super) cuts: CutArguments,
    /// Seed of all random choices; the default is a new one, which is recorded
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

/// Reads the rate of a link.
fn link(text: &str) -> Result<BytesPerSec, String> {
    parse_rate(text).ok_or_else(|| format!("`{text}` is not a rate, such as 100Mbit/s or 12MB/s"))
}

impl Arguments {
    /// The run that they ask for.
    ///
    /// # Errors
    /// All that is wrong with them, whatever the machine is.
    pub(super) fn run(self) -> Result<FolderRun, Vec<Problem>> {
        let request = self.request();
        let problems = request.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(FolderRun { request: Box::new(request), dir: self.dir, cuts: self.cuts, seed: self.seed })
    }

    fn request(&self) -> Request {
        let processes = self.processes.unwrap_or(1);
        let usual: &[RowKind] = if processes > 1 { &RowKind::ALL } else { &[RowKind::Run] };
        let asked = if self.rows.is_empty() { usual } else { &self.rows };
        Request {
            buffer_kb: self.buffer,
            count: self.count,
            passes: self.passes,
            processes,
            rows: RowKind::ALL.into_iter().filter(|kind| asked.contains(kind)).collect(),
            flush: self.flush,
            tag: self.tag.clone(),
            csv: self.csv,
            hosts: SuiteHosts::default(),
            has_rows: !self.rows.is_empty(),
            typed_processes: self.processes,
            ranks: None,
            link: self.link,
            has_cuts: !self.cuts.no_verdict,
            memory: None,
            free: None,
        }
    }
}
