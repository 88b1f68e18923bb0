//! The phases of IO500 in its order, with its score: IOR's easy and hard pattern, mdtest's easy and hard one, and a find, by all
//! ranks at once.
//!
//! A run of ours, and no submission: phases end with their counts, not with the stonewall of 300 seconds. Deliberately
//! absent: the files that the original writes, its extended phases, an importer, and starting anything.

mod arguments;
mod figures;
mod native;
mod plan;
mod reading;
mod request;
mod score;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod testing;

pub use arguments::Arguments;
pub use request::Request;

use crate::SuiteStart;
use crate::folder::{OnFolder, PreparedFolder, SuiteMachine};
use crate::mdtest::MdtestPhase;
use crate::suite::{ArgumentError, IsUser, Suite, SuiteEntry, to_source};
use narrows_model::plan::SuiteSource;
use narrows_model::{Bytes, Op, Plan, Summary};
use narrows_study::Problem;

/// The name on the command line.
pub const NAME: &str = "io500";

/// The suite.
pub const ENTRY: SuiteEntry = SuiteEntry::new::<Request>(
    NAME,
    "io500: the phases of IO500 (IOR and mdtest easy and hard, find) by several processes or MPI ranks, with its score; no \
     submission",
    "IO500 by Kunkel, Lofstead, Bent and Markomanolis, phases and score as in its versions since SC20",
)
.with_hosts();

/// Blocks of cuts are whole pages, which direct access needs too.
const CUT_BLOCK_STEP: u64 = 4096;
/// Bytes of a transfer of ior-hard.
const TRANSFER_HARD: Bytes = Bytes(47_008);
/// Bytes of a file of mdtest-hard.
const FILE_HARD: Bytes = Bytes(3901);
/// A valid run of IO500 writes for so many seconds in each phase that writes.
const STONEWALL_S: f64 = 300.0;
/// A phase under this many seconds is mostly its beginning and its end.
const SHORT_S: f64 = 1.0;

/// One of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Io500Phase {
    /// Its name, as the original prints it.
    name: &'static str,
    load: PhaseLoad,
}

/// What is done in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PhaseLoad {
    /// A file of each rank is written or read, in large transfers.
    IorEasy(Op),
    /// One file of all ranks is, in small transfers by turns.
    IorHard(Op),
    /// Something is done to each file of a set.
    Mdtest(MdtestSet, MdtestPhase),
    /// All files of both sets are listed, and looked at by their names.
    Find,
}

/// Files that the phases of mdtest work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MdtestSet {
    /// Empty, in a folder of each rank.
    Easy,
    /// With bytes, in one folder.
    Hard,
}

impl MdtestSet {
    const ALL: [Self; 2] = [Self::Easy, Self::Hard];

    fn name(self) -> &'static str {
        match self {
            Self::Easy => "mdtest-easy",
            Self::Hard => "mdtest-hard",
        }
    }
}

/// All of them, in the order of a run.
static PHASES: [Io500Phase; 12] = [
    phase("ior-easy-write", PhaseLoad::IorEasy(Op::Write)),
    phase("mdtest-easy-write", PhaseLoad::Mdtest(MdtestSet::Easy, MdtestPhase::Create)),
    phase("ior-hard-write", PhaseLoad::IorHard(Op::Write)),
    phase("mdtest-hard-write", PhaseLoad::Mdtest(MdtestSet::Hard, MdtestPhase::Create)),
    phase("find", PhaseLoad::Find),
    phase("ior-easy-read", PhaseLoad::IorEasy(Op::Read)),
    phase("mdtest-easy-stat", PhaseLoad::Mdtest(MdtestSet::Easy, MdtestPhase::Stat)),
    phase("ior-hard-read", PhaseLoad::IorHard(Op::Read)),
    phase("mdtest-hard-stat", PhaseLoad::Mdtest(MdtestSet::Hard, MdtestPhase::Stat)),
    phase("mdtest-easy-delete", PhaseLoad::Mdtest(MdtestSet::Easy, MdtestPhase::Remove)),
    phase("mdtest-hard-read", PhaseLoad::Mdtest(MdtestSet::Hard, MdtestPhase::Read)),
    phase("mdtest-hard-delete", PhaseLoad::Mdtest(MdtestSet::Hard, MdtestPhase::Remove)),
];

const fn phase(name: &'static str, load: PhaseLoad) -> Io500Phase {
    Io500Phase { name, load }
}

impl Io500Phase {
    /// The names of its loads in records: test and phase of each.
    fn loads(&self) -> Vec<(&'static str, &'static str)> {
        match self.load {
            PhaseLoad::Find => MdtestSet::ALL.map(|set| (self.name, set.name())).to_vec(),
            _ => self.name.rsplit_once('-').into_iter().collect(),
        }
    }

    /// Whether its score is a rate of bytes; else it is one of files.
    fn is_of_bytes(&self) -> bool {
        matches!(self.load, PhaseLoad::IorEasy(_) | PhaseLoad::IorHard(_))
    }

    /// Whether a valid run of IO500 has it last as long as the stonewall.
    fn has_stonewall(&self) -> bool {
        use PhaseLoad::{IorEasy, IorHard, Mdtest};
        matches!(self.load, IorEasy(Op::Write) | IorHard(Op::Write) | Mdtest(_, MdtestPhase::Create))
    }
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
        Bytes(self.transfer_easy.0.max(1).next_multiple_of(CUT_BLOCK_STEP))
    }

    fn learn(&mut self, machine: &dyn SuiteMachine) {
        (self.memory, self.free) = (machine.memory_bytes(), machine.free_bytes());
        self.ranks = self.ranks.or_else(|| Some(machine.usual_clients()));
        self.host_ranks = machine.ranks_of_host(self.ranks());
    }
}
