//! What may be typed after `narrows suite mdtest`, and the request that it makes: the letters of mdtest, and long options.

use super::letters::RefusedLetters;
use super::request::{ITERATIONS_MAX, MdtestPhase, RANKS_MAX, Request};
use crate::arguments::{CutArguments, size};
use crate::folder::FolderRun;
use clap::Args;
use narrows_model::Bytes;
use narrows_model::typed::whole;
use narrows_model::workload::{FolderTree, OBJECT_COUNT_MAX, OBJECT_FOLDERS_MAX, ObjectKind, TREE_DEPTH_MAX};
use narrows_study::Problem;
use std::path::PathBuf;

/// Items of each rank where none are given; the original has none then, and does nothing.
const ITEMS: u64 = 1000;

/// What may be typed.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct Arguments {
    /// Folder on any mounted file system; the suite creates a subfolder for its items
    #[arg(short = 'd', default_value = ".", value_name = "DIR")]
    dir: PathBuf,
    /// Files, and folders, of each rank, equally many in each folder of a tree [default: 1000]
    #[arg(short = 'n', value_name = "N", allow_negative_numbers = true, value_parser = whole(1, OBJECT_COUNT_MAX))]
    items: Option<u64>,
    /// Levels of a tree of folders below its first one, over which the items are spread; its making and removal are phases
    #[arg(short = 'z', default_value_t = 0, value_name = "DEPTH", allow_negative_numbers = true, value_parser = whole(0, TREE_DEPTH_MAX))]
    depth: u32,
    /// Folders in each folder of the tree that is not of the last level
    #[arg(short = 'b', default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, OBJECT_FOLDERS_MAX))]
    branch: u32,
    /// Items of each rank in each folder of the tree, in place of -n
    #[arg(short = 'I', default_value_t = 0, hide_default_value = true, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, OBJECT_COUNT_MAX))]
    items_each: u64,
    /// Items in the folders of the tree's last level alone
    #[arg(short = 'L')]
    leaves_only: bool,
    /// Only files
    #[arg(short = 'F')]
    files_only: bool,
    /// Only folders
    #[arg(short = 'D')]
    folders_only: bool,
    /// Only create; without one of -C, -T, -E and -r all phases are run, and items that no phase creates are made untimed
    #[arg(short = 'C')]
    create: bool,
    /// Only stat
    #[arg(short = 'T')]
    stat: bool,
    /// Only read, which folders are not
    #[arg(short = 'E')]
    read: bool,
    /// Only remove
    #[arg(short = 'r')]
    remove: bool,
    /// A folder for each rank's items; without it all items are in one folder
    #[arg(short = 'u')]
    unique_folders: bool,
    /// Bytes written to each file when it is created, by one call
    #[arg(short = 'w', default_value = "0", value_name = "BYTES", value_parser = size)]
    write_bytes: Bytes,
    /// Bytes read of each file; with 0 it is opened and closed
    #[arg(short = 'e', default_value = "0", value_name = "BYTES", value_parser = size)]
    read_bytes: Bytes,
    /// Sync each file after writing it (fsync)
    #[arg(short = 'y')]
    syncs_each: bool,
    /// Sync the file system at the end of each phase, within its time
    #[arg(short = 'Y')]
    syncs_phase: bool,
    /// Stat and read in a random order
    #[arg(short = 'R')]
    random: bool,
    /// Seed of the random order, which it asks for too; without it a new one is drawn and recorded
    #[arg(long = "random-seed", value_name = "N")]
    seed: Option<u64>,
    /// Shift the ranks by N in each phase: a rank looks up what the rank N further on has created, reads what that of 2 N
    /// and removes what that of 3 N has; 0 is its own. N counts hosts where ranks come after each other on each host
    #[arg(short = 'N', default_value_t = 0, value_name = "N", allow_negative_numbers = true, value_parser = whole(0, RANKS_MAX))]
    stride: u32,
    /// Times that all phases are run
    #[arg(short = 'i', default_value_t = 1, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, ITERATIONS_MAX))]
    iterations: u32,
    /// Processes on this machine, which are the ranks; under MPI ranks of the job [default: 1; under MPI all]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1, RANKS_MAX))]
    clients: Option<u32>,
    /// The rates of single ranks in the table too
    #[arg(long = "showRankStatistics")]
    rank_statistics: bool,
    /// The rate of each rank before the table
    #[arg(long = "print-all-procs")]
    all_ranks: bool,
    #[command(flatten)]
    refused: RefusedLetters,
    #[command(flatten)]
    cuts: CutArguments,
}

impl Arguments {
    /// The run that they ask for.
    ///
    /// # Errors
    /// All that is wrong with them, whatever the machine is.
    pub(super) fn run(self) -> Result<FolderRun, Vec<Problem>> {
        let request = self.request();
        let own = self.refused.problems().into_iter().chain(self.items_problem());
        let problems: Vec<Problem> = own.chain(request.problems()).collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(FolderRun { request: Box::new(request), dir: self.dir, cuts: self.cuts, seed: self.seed })
    }

    /// Two numbers of items: the original makes several trees of that, one after the other.
    fn items_problem(&self) -> Option<Problem> {
        let items = self.items.filter(|_| self.items_each > 0)?;
        let found = format!("{} in each folder, and -n {items} of each rank", self.items_each);
        let hint = "omit one of both: -I times the folders that have items is what -n means here";
        Some(Problem::new("-I", found, "-I or -n", hint))
    }

    fn tree(&self) -> Option<FolderTree> {
        (self.depth > 0).then_some(FolderTree {
            depth: self.depth,
            branch: self.branch,
            each_client: self.unique_folders,
            leaves_only: self.leaves_only,
        })
    }

    /// Items of each rank: as many as there are of whole ones for each folder that has items.
    fn items(&self, tree: Option<FolderTree>) -> u64 {
        let folders = tree.filter(|tree| tree.problem().is_none()).map_or(1, |tree| tree.used_count());
        let each = if self.items_each > 0 { self.items_each } else { self.items.unwrap_or(ITEMS) / folders };
        each.saturating_mul(folders)
    }

    fn request(&self) -> Request {
        let tree = self.tree();
        let all = !(self.create || self.stat || self.read || self.remove);
        let asked = |phase: &MdtestPhase| {
            all || match phase {
                MdtestPhase::Create => self.create,
                MdtestPhase::Stat => self.stat,
                MdtestPhase::Read => self.read,
                MdtestPhase::Remove => self.remove,
            }
        };
        let both = self.files_only == self.folders_only;
        let kinds = [(ObjectKind::Folder, self.folders_only), (ObjectKind::File, self.files_only)];
        Request {
            items: self.items(tree),
            tree,
            kinds: kinds.into_iter().filter(|(_, only)| both || *only).map(|(kind, _)| kind).collect(),
            phases: MdtestPhase::ALL.into_iter().filter(asked).collect(),
            unique_folders: self.unique_folders,
            write_bytes: self.write_bytes,
            read_bytes: self.read_bytes,
            syncs_each: self.syncs_each,
            syncs_phase: self.syncs_phase,
            random: self.random || self.seed.is_some(),
            stride: self.stride,
            host_ranks: None,
            iterations: self.iterations,
            ranks: self.clients,
            rank_statistics: self.rank_statistics,
            all_ranks: self.all_ranks,
            has_cuts: !self.cuts.no_verdict,
            memory: None,
            free: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn typed(line: &str) -> Arguments {
        testing::typed("mdtest", line)
    }

    #[test]
    fn each_letter_is_what_mdtest_means_by_it() {
        let asked =
            typed("-n 7 -F -C -T -u -w 3901 -e 1k -y -Y -N 1 -i 3 --clients 4 --print-all-procs").request();
        assert_eq!((asked.items, asked.kinds.as_slice()), (7, &[ObjectKind::File][..]));
        assert_eq!(asked.phases, [MdtestPhase::Create, MdtestPhase::Stat]);
        assert_eq!((asked.write_bytes, asked.read_bytes), (Bytes(3901), Bytes(1024)));
        assert!(asked.unique_folders && asked.syncs_each && asked.syncs_phase && asked.all_ranks);
        assert_eq!((asked.stride, asked.iterations, asked.ranks), (1, 3, Some(4)));
        assert!(!asked.random && !asked.rank_statistics);
    }

    #[test]
    fn without_letters_folders_and_files_have_all_phases_in_one_folder() {
        let asked = typed("").request();
        assert_eq!(asked.kinds, [ObjectKind::Folder, ObjectKind::File]);
        assert_eq!((asked.phases, asked.unique_folders), (MdtestPhase::ALL.to_vec(), false));
        assert_eq!((asked.items, asked.ranks, asked.iterations), (1000, None, 1));
        assert_eq!(typed("-F -D").request().kinds, typed("").request().kinds);
        assert_eq!(typed("-D -r").request().phases, [MdtestPhase::Remove]);
    }

    #[test]
    fn a_seed_asks_for_a_random_order() {
        let asked = typed("--random-seed 5");
        assert!(asked.request().random && typed("-R").request().random);
        assert_eq!(asked.run().unwrap().seed, Some(5));
    }

    #[test]
    fn all_that_is_wrong_is_reported_together() {
        let problems = typed("-S -I 4 -n 9 -z 9 -b 9 -e 9 -N 3 --clients 2 -v").run().unwrap_err();
        let keys: Vec<&str> = problems.iter().map(|problem| problem.key).collect();
        assert_eq!(keys, ["-S", "-v", "-I", "-z", "-e", "-N"]);
    }

    #[test]
    fn items_are_spread_over_the_folders_of_a_tree_as_mdtest_does() {
        let asked = |line: &str| {
            let asked = typed(line).request();
            (asked.items, asked.tree.map(|tree| (tree.folder_count(), tree.used_count())))
        };
        // 2^4 - 1 folders, of which 2^3 are of the last level.
        assert_eq!(asked("-z 3 -b 2 -n 100"), (90, Some((15, 15))));
        assert_eq!(asked("-z 3 -b 2 -n 100 -L"), (96, Some((15, 8))));
        assert_eq!(asked("-z 3 -b 2 -I 4"), (60, Some((15, 15))));
        assert_eq!(asked("-z 3 -b 2 -I 4 -L -u"), (32, Some((15, 8))));
        // A branch of 1 is a chain, the last folder of which has all items.
        assert_eq!(asked("-z 3 -n 7 -L"), (7, Some((4, 1))));
        assert_eq!(asked("-z 3 -n 10"), (8, Some((4, 4))));
        // Without levels there is one folder, whatever its branch.
        assert_eq!(asked("-I 5 -b 3 -L"), (5, None));
        assert_eq!(asked("-z 3 -b 2 -n 14"), (0, Some((15, 15))));
        assert!(typed("-z 1 -b 2 -u").request().tree.unwrap().each_client);
    }
}
