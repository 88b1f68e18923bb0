//! What is asked of mdtest, and all that can be wrong with it before anything is measured.

use super::{MdtestTest, TESTS};
use crate::limits::{outside, shift_problem};
use narrows_model::Bytes;
use narrows_model::quantity::amount;
use narrows_model::workload::{FolderTree, OBJECT_COUNT_MAX, ObjectKind};
use narrows_study::Problem;
use serde::{Deserialize, Serialize};

/// Most iterations.
pub(super) const ITERATIONS_MAX: u32 = 1000;
/// Most ranks: processes of this machine, or the ranks of a job.
pub(super) const RANKS_MAX: u32 = 4096;
/// Most bytes of a file, which are written by one call.
pub(super) const WRITE_BYTES_MAX: Bytes = Bytes(16 << 20);
/// Room that a file with bytes takes at least.
const ROOM_STEP: u64 = 4096;

/// What is done to each item, one phase after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MdtestPhase {
    /// It is created, and written where it has bytes.
    Create,
    /// Its attributes are looked up.
    Stat,
    /// It is opened, read and closed.
    Read,
    /// It is removed.
    Remove,
}

impl MdtestPhase {
    /// All of them, in their order.
    pub(crate) const ALL: [Self; 4] = [Self::Create, Self::Stat, Self::Read, Self::Remove];

    /// Its letter.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Self::Create => "-C",
            Self::Stat => "-T",
            Self::Read => "-E",
            Self::Remove => "-r",
        }
    }

    /// How often the ranks have been shifted by the stride when it begins.
    pub(super) fn shift_count(self) -> u32 {
        match self {
            Self::Create => 0,
            Self::Stat => 1,
            Self::Read => 2,
            Self::Remove => 3,
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of mdtest of its own")]
pub struct Request {
    /// Files, and folders, of each rank.
    pub items: u64,
    /// The tree of folders that they are spread over, equally many in each; `None` for one folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<FolderTree>,
    /// What items are, in the order of an iteration.
    pub kinds: Vec<ObjectKind>,
    /// What is done to them, in the order of an iteration.
    pub phases: Vec<MdtestPhase>,
    /// Whether each rank has a folder of its own for its items.
    pub unique_folders: bool,
    /// Bytes that are written to each file when it is created.
    pub write_bytes: Bytes,
    /// Bytes that are read of each file; with 0 it is opened and closed.
    pub read_bytes: Bytes,
    /// Whether each file is synced after it was written.
    pub syncs_each: bool,
    /// Whether the file system is synced at the end of each phase, within its time.
    pub syncs_phase: bool,
    /// Whether items are looked up and read in a random order.
    pub random: bool,
    /// Ranks by which each phase is shifted, or hosts where ranks come after each other on each host.
    pub stride: u32,
    /// Ranks of the first host, where ranks come after each other on each of several hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ranks: Option<u32>,
    /// Times that all phases are run.
    pub iterations: u32,
    /// Ranks; `None` until it is known how many there are.
    pub ranks: Option<u32>,
    /// Whether the table has the rates of single ranks too.
    pub rank_statistics: bool,
    /// Whether the rate of each rank is printed before the table.
    pub all_ranks: bool,
    /// Whether cuts of the path are measured beside the phases.
    pub has_cuts: bool,
    /// Memory of this machine, where known.
    pub memory: Option<Bytes>,
    /// Free room for files, where known.
    pub free: Option<Bytes>,
}

impl Request {
    /// Ranks that take part.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks.unwrap_or(1)
    }

    /// Ranks by which each phase is shifted.
    pub(super) fn shift(&self) -> u32 {
        self.stride.saturating_mul(self.host_ranks.unwrap_or(1))
    }

    /// The lines of the table, in their order.
    pub(super) fn tests(&self) -> impl Iterator<Item = &'static MdtestTest> {
        let has = |test: &&MdtestTest| {
            if test.is_of_tree { self.tree.is_some() } else { self.kinds.contains(&test.kind) }
        };
        TESTS.iter().filter(has).filter(|test| self.phases.contains(&test.phase))
    }

    /// How many ranks take part in a test: one alone makes a tree that is for all.
    pub(super) fn ranks_in(&self, test: &MdtestTest) -> u32 {
        if test.is_of_tree && !self.unique_folders { 1 } else { self.ranks() }
    }

    /// What each of them does in it.
    pub(super) fn items_in(&self, test: &MdtestTest) -> u64 {
        self.tree.filter(|_| test.is_of_tree).map_or(self.items, |tree| tree.folder_count())
    }

    /// Whether phases create the items; else they are made untimed.
    pub(super) fn creates(&self) -> bool {
        self.phases.contains(&MdtestPhase::Create)
    }

    /// Whether there are files among the items.
    pub(super) fn has_files(&self) -> bool {
        self.kinds.contains(&ObjectKind::File)
    }

    /// Items of all ranks of one kind.
    pub(super) fn all_items(&self) -> u64 {
        self.items.saturating_mul(u64::from(self.ranks()))
    }

    /// Bytes of all files at once.
    pub(super) fn file_bytes(&self) -> Bytes {
        let each = if self.has_files() { self.write_bytes.0 } else { 0 };
        Bytes(self.all_items().saturating_mul(each))
    }

    /// Room that all files take at once, each in whole blocks.
    fn room_bytes(&self) -> Bytes {
        let each = if self.has_files() { self.write_bytes.0.next_multiple_of(ROOM_STEP) } else { 0 };
        Bytes(self.all_items().saturating_mul(each))
    }

    /// Times that the items are made: in each iteration, but for those that nothing removes or creates.
    pub(super) fn makings(&self) -> u32 {
        let again = self.creates() || self.phases.contains(&MdtestPhase::Remove);
        if again { self.iterations } else { 1 }
    }

    /// All that is wrong with it; nothing where it can be planned.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let mut all = self.numbers();
        all.extend(self.tree_problem());
        all.extend(self.tests_problem());
        all.extend(self.bytes_problem());
        all.extend(self.sync_problem());
        let effect = self.host_ranks.map_or_else(
            || "each rank look up what the next one has created".to_owned(),
            |each| {
                format!("each rank look up what one of the next host, {each} ranks further on, has created")
            },
        );
        all.extend(self.shift_problem(&effect));
        if all.is_empty() {
            all.extend(self.room_problem());
        }
        all
    }

    fn shift_problem(&self, effect: &str) -> Option<Problem> {
        let problem = shift_problem("-N", self.shift(), self.ranks, effect)?;
        Some(match self.host_ranks {
            None => problem,
            Some(each) => Problem {
                found: format!("{} at {each} ranks a host, so {}", self.stride, problem.found),
                ..problem
            },
        })
    }

    fn numbers(&self) -> Vec<Problem> {
        let all = [
            outside("-n", self.items, 1..=OBJECT_COUNT_MAX, "it is the number of items of each rank")
                .filter(|_| self.tree.is_none() || self.items > 0),
            outside(
                "-i",
                u64::from(self.iterations),
                1..=u64::from(ITERATIONS_MAX),
                "-i 3 runs all phases three times",
            ),
            outside(
                "--clients",
                u64::from(self.ranks()),
                1..=u64::from(RANKS_MAX),
                "it starts so many processes on this machine",
            ),
            outside(
                "-w",
                self.write_bytes.0,
                0..=WRITE_BYTES_MAX.0,
                "a file is written by one call: larger ones are a study's for `narrows run`",
            ),
        ];
        all.into_iter().flatten().collect()
    }

    /// A tree that cannot be made, or has more folders than there are items.
    fn tree_problem(&self) -> Option<Problem> {
        let tree = self.tree?;
        if let Some(problem) = tree.problem() {
            let hint = "give fewer levels with -z, or fewer folders in each with -b";
            return Some(Problem::new("-z", problem, "a tree that can be made", hint));
        }
        let used = tree.used_count();
        (self.items == 0).then(|| {
            let found = format!("less than one item for each of the {used} folders that have items");
            let hint = format!(
                "give -n {used} or more, the items of each folder with -I, or fewer folders with -z and -b"
            );
            Problem::new("-n", found, format!("{used} to {OBJECT_COUNT_MAX}"), hint)
        })
    }

    /// Folders are not read, so that there may be nothing to do.
    fn tests_problem(&self) -> Option<Problem> {
        self.tests().next().is_none().then(|| {
            let letters: Vec<&str> = self.phases.iter().map(|phase| phase.letter()).collect();
            let found = format!("{} with -D: nothing to do, since folders are not read", letters.join(" "));
            Problem::new("-E", found, "-E with files", "omit -D, or give -C, -T or -r")
        })
    }

    fn bytes_problem(&self) -> Option<Problem> {
        (self.read_bytes > self.write_bytes).then(|| {
            let found = format!("{} bytes of files that have {}", self.read_bytes.0, self.write_bytes.0);
            let hint = format!("give -w {}, or less to read", self.read_bytes.0);
            Problem::new("-e", found, format!("0 to {}", self.write_bytes.0), hint)
        })
    }

    /// A sync follows the writing of a file.
    fn sync_problem(&self) -> Option<Problem> {
        let found = match (self.has_files(), self.write_bytes.0) {
            (false, _) => "no files",
            (true, 0) => "files without bytes",
            _ => return None,
        };
        self.syncs_each.then(|| {
            let hint = "nothing is written that could be synced: give -w BYTES, or omit -y";
            Problem::new("-y", found, "files that are written", hint)
        })
    }

    fn room_problem(&self) -> Option<Problem> {
        let needed = self.room_bytes();
        let free = self.free.filter(|free| needed > *free)?;
        let each = self.write_bytes.0.next_multiple_of(ROOM_STEP).saturating_mul(u64::from(self.ranks()));
        let found = format!(
            "{} files of {} bytes, which take {} in blocks of {}",
            self.all_items(),
            self.write_bytes.0,
            amount(needed),
            amount(Bytes(ROOM_STEP))
        );
        let hint = match free.0 / each.max(1) {
            0 => "free space, or name another folder with -d".to_owned(),
            fitting => format!("free space, name another folder with -d, or give -n {fitting} or less"),
        };
        Some(Problem::new("-n", found, format!("the {} that are free there", amount(free)), hint))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::request;
    use super::*;

    fn messages(change: impl Fn(&mut Request)) -> String {
        let mut asked = request();
        change(&mut asked);
        crate::testing::messages(&asked.problems())
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_what_is_allowed() {
        assert_eq!(messages(|_| ()), "");
        assert!(messages(|asked| asked.items = 0).contains("-n: found 0; allowed: 1 to 4194304"));
        assert!(messages(|asked| asked.iterations = 1001).contains("-i: found 1001; allowed: 1 to 1000"));
        assert!(messages(|asked| asked.ranks = Some(0)).contains("--clients: found 0"));
        assert!(messages(|asked| asked.write_bytes = Bytes(1 << 30)).contains("-w: found 1073741824"));
    }

    #[test]
    fn what_there_is_nothing_of_is_refused() {
        let said = messages(|asked| {
            (asked.kinds, asked.phases) = (vec![ObjectKind::Folder], vec![MdtestPhase::Read]);
        });
        assert!(said.contains("-E: found -E with -D: nothing to do"), "{said}");
        assert_eq!(messages(|asked| asked.phases = vec![MdtestPhase::Read]), "", "files are read");
        let said = messages(|asked| asked.read_bytes = Bytes(3902));
        assert!(
            said.contains("-e: found 3902 bytes of files that have 3901") && said.contains("-w 3902"),
            "{said}"
        );
        let unwritten = |asked: &mut Request| {
            (asked.syncs_each, asked.write_bytes, asked.read_bytes) = (true, Bytes(0), Bytes(0));
        };
        assert!(messages(unwritten).contains("-y: found files without bytes"));
        let folders =
            |asked: &mut Request| (asked.syncs_each, asked.kinds) = (true, vec![ObjectKind::Folder]);
        assert!(messages(folders).contains("-y: found no files"));
        assert_eq!(messages(|asked| asked.syncs_each = true), "");
    }

    #[test]
    fn trees_that_cannot_be_made_or_filled_are_refused() {
        let with = |depth, branch, items| {
            messages(move |asked| {
                let tree = FolderTree { depth, branch, each_client: false, leaves_only: false };
                (asked.tree, asked.items) = (Some(tree), items);
            })
        };
        assert_eq!(with(2, 3, 13), "");
        assert!(with(2, 3, 0).contains("-n: found less than one item for each of the 13 folders"));
        assert!(with(17, 2, 100).contains("-z: found a tree of 17 levels with 2 folders in each"));
        assert!(with(2, 0, 100).contains("-z: found a tree whose folders"));
    }

    #[test]
    fn a_shift_by_all_ranks_is_refused_once_their_number_is_known() {
        let shifted = |stride, ranks| messages(move |asked| (asked.stride, asked.ranks) = (stride, ranks));
        assert_eq!((shifted(1, Some(2)), shifted(9, None)), (String::new(), String::new()));
        assert!(shifted(1, Some(1)).contains("-N: found 1 with 1 rank; allowed: less than"));
        assert!(shifted(4, Some(4)).contains("-N: found 4 with 4 ranks"));
        let of_hosts = |stride| {
            messages(move |asked| (asked.stride, asked.ranks, asked.host_ranks) = (stride, Some(4), Some(2)))
        };
        assert_eq!(of_hosts(1), "");
        assert!(
            of_hosts(2).contains("-N: found 2 at 2 ranks a host, so 4 with 4 ranks")
                && of_hosts(2).contains("the next host, 2 ranks further on")
        );
    }

    #[test]
    fn files_that_do_not_fit_are_refused_with_the_number_that_does() {
        // 2 x 100 files of 3901 bytes take 200 blocks of 4 KiB.
        assert_eq!(messages(|asked| asked.free = Some(Bytes(200 * 4096))), "");
        let said = messages(|asked| asked.free = Some(Bytes(200 * 4096 - 1)));
        assert!(
            said.contains("200 files of 3901 bytes, which take 800 KiB") && said.contains("-n 99 or less"),
            "{said}"
        );
        assert!(messages(|asked| asked.free = Some(Bytes(0))).contains("another folder"));
        let empty = |asked: &mut Request| {
            (asked.write_bytes, asked.read_bytes, asked.free) = (Bytes(0), Bytes(0), Some(Bytes(0)));
        };
        assert_eq!(messages(empty), "");
    }
}
