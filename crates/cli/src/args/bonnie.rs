//! What may be typed after `narrows suite bonnie`: the letters of bonnie++, and long options of narrows.

use super::value::whole;
use super::{OutputArguments, SuiteCutArguments};
use clap::{Args, ValueEnum};
use narrows_suites::bonnie::{FILE_MIB_MAX, RUNS_MAX};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct BonnieArguments {
    /// Folder of any mounted file system, in which the suite makes a folder of its own for its files
    #[arg(short = 'd', default_value = ".", value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Size of the file in MiB (with g in GiB), bytes of a block (8192), seeks (8192) and processes that seek (5; edition
    /// 1.03: 3); without it twice the memory; 0 leaves the phases of data out
    #[arg(short = 's', value_name = "MiB[:CHUNK[:SEEKS[:SEEKERS]]]", allow_hyphen_values = true)]
    pub(crate) file_size: Option<String>,
    /// Files to make in multiples of 1024, most (0) and least (0) bytes of each, directories that they lie in (0: one),
    /// bytes of a call (8192); 0 leaves the phases of files out
    #[arg(
        short = 'n',
        default_value = "16",
        value_name = "N[:MAX[:MIN[:DIRS[:CHUNK]]]]",
        allow_hyphen_values = true
    )]
    pub(crate) files: String,
    /// Memory whose double the file must have at least, in MiB; without it this machine's; 0 lets any size pass
    #[arg(short = 'r', value_name = "MiB", allow_negative_numbers = true, value_parser = whole(0, FILE_MIB_MAX))]
    pub(crate) ram: Option<u64>,
    /// Times that all phases are run, each with a line of CSV
    #[arg(short = 'x', default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, RUNS_MAX))]
    pub(crate) runs: u32,
    /// The machine's name in the output; without it this host's
    #[arg(short = 'm', value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Leave the phases of characters out; with a number they move so many MiB (edition 2.00 alone); without it 20 MiB
    /// (edition 1.03: the whole file)
    #[arg(short = 'f', value_name = "MiB", num_args = 0..=1, default_missing_value = "")]
    pub(crate) fast: Option<String>,
    /// No write buffering: every write, and every file made or deleted, is made durable before the next
    #[arg(short = 'b')]
    pub(crate) unbuffered: bool,
    /// Read and write blocks past the page cache (`O_DIRECT`)
    #[arg(short = 'D')]
    pub(crate) direct: bool,
    /// CSV alone on stdout; the tables go to stderr
    #[arg(short = 'q')]
    pub(crate) csv_alone: bool,
    /// Processes on this machine that begin each phase together, each with a file of its own and a line of CSV; without it 1
    #[arg(short = 'p', value_name = "N", allow_hyphen_values = true)]
    pub(crate) processes: Option<i64>,
    /// Begin each phase together, which the processes of -p always do
    #[arg(short = 'y', value_name = "s", num_args = 0..=1, default_missing_value = "s")]
    pub(crate) together: Option<String>,
    /// User to run as, which must be the one that runs narrows
    #[arg(short = 'u', value_name = "USER[:GROUP]")]
    pub(crate) user: Option<String>,
    /// Seed of every random choice; without it a new one is drawn and recorded
    #[arg(short = 'z', long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[arg(short = 'g', hide = true, value_name = "GROUP")]
    pub(crate) group: Option<String>,
    #[arg(short = 'c', hide = true, value_name = "N")]
    pub(crate) concurrency: Option<String>,
    #[arg(short = 'Z', hide = true, value_name = "FILE")]
    pub(crate) random_file: Option<String>,
    /// Which bonnie++: 1.03 with putc and getc over the whole file, 3 processes that seek and 27 fields of CSV; or 2.00 with
    /// a write and a read for each character, 5 that seek, 50 fields and latencies
    #[arg(long, default_value = "2.00", value_name = "1.03|2.00", value_enum)]
    pub(crate) edition: BonnieEdition,
    #[command(flatten)]
    pub(crate) cuts: SuiteCutArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// A version whose behaviour and output are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BonnieEdition {
    #[value(name = "1.03")]
    Old,
    #[value(name = "2.00")]
    New,
}
