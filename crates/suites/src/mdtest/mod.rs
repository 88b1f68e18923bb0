//! mdtest (Lawrence Livermore and Los Alamos laboratories; as in IOR 4): creation, stat, reading and removal of many files
//! and folders by all ranks at once, in a folder of each rank or in one for all, or spread over a tree of folders.
//!
//! A tree (`-z`, `-b`) is a set of folders of its own in the model: two phases more make it before the items and remove it
//! after them, and the items of both kinds are sets in the same tree. Its folders are numbered level by level, as the
//! original's; items follow the numbers of their folders, so that the original's order in creation and removal (depth first)
//! is the one thing that differs. Rank 0 alone makes one tree for all; with `-u` each rank makes its own.
//!
//! `letters` are the options of the original that are refused, each with its reason. Deliberately absent: starting anything.

mod arguments;
mod figures;
mod import;
mod letters;
mod native;
mod plan;
mod reading;
mod request;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod testing;

pub use arguments::Arguments;
pub(crate) use import::IMPORTER;
pub(crate) use plan::workload as phase_workload;
pub use request::{MdtestPhase, Request};

use crate::SuiteStart;
use crate::folder::{OnFolder, PreparedFolder, SuiteMachine};
use crate::suite::{ArgumentError, IsUser, Suite, SuiteEntry, to_source};
use narrows_model::plan::SuiteSource;
use narrows_model::workload::ObjectKind;
use narrows_model::{Bytes, Plan, Summary};
use narrows_study::Problem;

/// The name on the command line.
pub const NAME: &str = "mdtest";

/// The suite.
pub const ENTRY: SuiteEntry = SuiteEntry::new::<Request>(
    NAME,
    "mdtest: files and folders created, stat, read and removed by several processes or MPI ranks, in one folder or one each",
    "mdtest by Morrone, Loewe, McLarty (LLNL) and Kroiss (LANL), as in IOR 4.1",
)
.with_hosts();

/// Blocks of cuts are whole pages, which direct access needs too.
const CUT_BLOCK_STEP: u64 = 4096;
/// A phase under this many seconds is mostly its beginning and its end.
const SHORT_S: f64 = 1.0;

/// A line of the table: what is done to items of one kind, or to the folders of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MdtestTest {
    /// Its name in records.
    name: &'static str,
    /// Its name in the table.
    title: &'static str,
    kind: ObjectKind,
    phase: MdtestPhase,
    /// Whether it is about the folders of the tree, and not about items.
    is_of_tree: bool,
}

/// All of them, in the order of an iteration.
static TESTS: [MdtestTest; 9] = [
    test_of_tree("tree_create", "Tree creation", MdtestPhase::Create),
    test("dir_create", "Directory creation", ObjectKind::Folder, MdtestPhase::Create),
    test("dir_stat", "Directory stat", ObjectKind::Folder, MdtestPhase::Stat),
    test("dir_remove", "Directory removal", ObjectKind::Folder, MdtestPhase::Remove),
    test("file_create", "File creation", ObjectKind::File, MdtestPhase::Create),
    test("file_stat", "File stat", ObjectKind::File, MdtestPhase::Stat),
    test("file_read", "File read", ObjectKind::File, MdtestPhase::Read),
    test("file_remove", "File removal", ObjectKind::File, MdtestPhase::Remove),
    test_of_tree("tree_remove", "Tree removal", MdtestPhase::Remove),
];

const fn test(name: &'static str, title: &'static str, kind: ObjectKind, phase: MdtestPhase) -> MdtestTest {
    MdtestTest { name, title, kind, phase, is_of_tree: false }
}

const fn test_of_tree(name: &'static str, title: &'static str, phase: MdtestPhase) -> MdtestTest {
    MdtestTest { name, title, kind: ObjectKind::Folder, phase, is_of_tree: true }
}

/// The name of an iteration, from 1, in records.
fn iteration_name(iteration: u32) -> String {
    format!("iteration{iteration}")
}

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

    fn native(&self, summary: &Summary) -> String {
        native::native(self, summary)
    }

    fn reading(&self, summary: &Summary) -> Vec<String> {
        reading::reading(self, summary)
    }
}

impl OnFolder for Request {
    fn cut_block_bytes(&self) -> Bytes {
        Bytes(self.write_bytes.0.max(1).next_multiple_of(CUT_BLOCK_STEP))
    }

    fn learn(&mut self, machine: &dyn SuiteMachine) {
        (self.memory, self.free) = (machine.memory_bytes(), machine.free_bytes());
        self.ranks = self.ranks.or_else(|| Some(machine.usual_clients()));
        self.host_ranks = machine.ranks_of_host(self.ranks());
    }
}
