//! bonnie++ (Coker; versions 1.03 and 2.00): one file written, rewritten and read, random seeks in it, then many files
//! made, looked at and deleted.
//!
//! `typed` reads the values of its letters, `plan` makes its phases, `text` and `csv` are its native output.
//! Deliberately absent: links in place of files, and starting anything, here or on other machines, which is the command's.

mod arguments;
mod csv;
mod figures;
mod import;
mod layout;
mod legacy;
mod native;
mod plan;
mod problems;
mod reading;
mod request;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod testing;
mod text;
mod typed;
mod words;

pub use arguments::Arguments;
pub(crate) use import::IMPORTER;
pub use request::{BonnieFiles, Edition, Request};

use crate::SuiteStart;
use crate::client_hosts::SuiteHosts;
use crate::folder::{ObjectSupport, OnFolder, PreparedFolder, SuiteMachine};
use crate::machine_name;
use crate::suite::{ArgumentError, IsUser, Suite, SuiteEntry, to_source};
use narrows_model::plan::SuiteSource;
use narrows_model::{Bytes, Op, Plan, Summary};
use narrows_study::Problem;

/// The name on the command line.
pub const NAME: &str = "bonnie";

/// The suite.
pub const ENTRY: SuiteEntry = SuiteEntry::new::<Request>(
    NAME,
    "bonnie++: a file by characters and blocks, rewritten, random seeks; then many files created, stat and deleted",
    "bonnie++ by Russell Coker, versions 1.03 and 2.00; its phases of data by Tim Bray",
)
.with_hosts();

impl Suite for Request {
    type Arguments = Arguments;
    type Prepared = PreparedFolder;

    fn parse(arguments: Arguments, is_user: IsUser<'_>) -> Result<SuiteStart, ArgumentError> {
        arguments.run(is_user).map(SuiteStart::Folder).map_err(ArgumentError::Problems)
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
        reading::reading(self, summary)
    }
}

impl OnFolder for Request {
    fn cut_block_bytes(&self) -> Bytes {
        self.chunk
    }

    fn object_support(&self) -> ObjectSupport {
        if self.file_mib == Some(0) {
            return ObjectSupport::Yes;
        }
        ObjectSupport::NotSo(
            "the phases of data are calls on an open file, and a server is called for whole files; give -s 0, which \
             leaves them out, or mount it and give the mount point",
        )
    }

    fn on_hosts(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        self.set_hosts(hosts)
    }

    fn plans_by_memory(&self) -> bool {
        self.ram_mib.is_none() && self.file_mib != Some(0)
    }

    fn learn(&mut self, machine: &dyn SuiteMachine) {
        self.name.get_or_insert_with(|| machine_name::of_host(machine.hostname()));
        (self.memory, self.free) = (machine.memory_bytes(), machine.free_bytes());
    }
}

/// Rates of data are in KiB.
const KIB: f64 = 1024.0;
const MIB: u64 = 1 << 20;
/// Shorter phases have no figure in the output of the original, in both versions.
const SHORT_S: f64 = 0.5;
/// Of this many seeks the block of the last one is written back.
const SEEKS_WRITTEN_BACK_EVERY: u32 = 10;

/// What a phase does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PhaseAction {
    /// Moves the file byte by byte.
    Characters(Op),
    /// Moves it block by block.
    Blocks(Op),
    /// Reads each block and writes it back.
    Rewrite,
    /// Reads blocks at random places.
    Seeks,
    /// Does something with every one of many files.
    Files(Op, NameOrder),
}

/// Whether the names of files follow the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameOrder {
    Sequential,
    Random,
}

impl PhaseAction {
    /// Blocks written back for each that is read, as so many reads for one of them; `None` without any.
    fn write_back_every(self) -> Option<u32> {
        match self {
            Self::Rewrite => Some(1),
            Self::Seeks => Some(SEEKS_WRITTEN_BACK_EVERY),
            _ => None,
        }
    }

    /// Whether its rate is in KiB.
    fn moves_data(self) -> bool {
        matches!(self, Self::Characters(_) | Self::Blocks(_) | Self::Rewrite)
    }
}

/// One of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BonniePhase {
    /// Its name, as the columns of the CSV of 2.00 have it.
    name: &'static str,
    /// The same in words.
    words: &'static str,
    action: PhaseAction,
}

const fn phase(name: &'static str, words: &'static str, does: PhaseAction) -> BonniePhase {
    BonniePhase { name, words, action: does }
}

/// How many of the phases move data.
const DATA_PHASES: usize = 6;

/// The phases in their order.
const PHASES: [BonniePhase; 12] = [
    phase("putc", "writing characters", PhaseAction::Characters(Op::Write)),
    phase("put_block", "writing blocks", PhaseAction::Blocks(Op::Write)),
    phase("rewrite", "rewriting", PhaseAction::Rewrite),
    phase("getc", "reading characters", PhaseAction::Characters(Op::Read)),
    phase("get_block", "reading blocks", PhaseAction::Blocks(Op::Read)),
    phase("seeks", "random seeks", PhaseAction::Seeks),
    phase("seq_create", "creating in order", PhaseAction::Files(Op::Put, NameOrder::Sequential)),
    phase("seq_stat", "stat in order", PhaseAction::Files(Op::Stat, NameOrder::Sequential)),
    phase("seq_del", "deleting in order", PhaseAction::Files(Op::Delete, NameOrder::Sequential)),
    phase("ran_create", "creating at random", PhaseAction::Files(Op::Put, NameOrder::Random)),
    phase("ran_stat", "stat at random", PhaseAction::Files(Op::Stat, NameOrder::Random)),
    phase("ran_del", "deleting at random", PhaseAction::Files(Op::Delete, NameOrder::Random)),
];
