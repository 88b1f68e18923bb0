//! A tree of folders that whole objects are spread over, as mdtest's: which folders there are, and which of them have objects.
//!
//! Not here: names, which the engine makes.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most levels of folders below the first of a tree: paths through all of them fit in half of the kernel's longest.
pub const TREE_DEPTH_MAX: u32 = 64;
/// Most folders of a tree.
pub const TREE_FOLDERS_MAX: u64 = 1 << 16;

/// A tree of folders. They are numbered level by level: the first is 0, and those in folder d are `branch` d + 1 to `branch`
/// (d + 1).
///
/// # Source
/// mdtest of IOR 4.1, options `-z`, `-b` and `-L`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct FolderTree {
    /// Levels of folders below the first.
    pub depth: u32,
    /// Folders in each folder that is not of the last level.
    pub branch: u32,
    /// Whether each client has a tree of its own; else one is for all.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub each_client: bool,
    /// Whether the folders of the last level alone have objects.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub leaves_only: bool,
}

impl FolderTree {
    /// Folders of the last level: `branch` to the power of `depth`; `u64::MAX` where there are more than that.
    #[must_use]
    pub fn leaf_count(&self) -> u64 {
        u64::from(self.branch).saturating_pow(self.depth)
    }

    /// All folders, the first among them: the sum of the powers of `branch` from 0 to `depth`.
    #[must_use]
    pub fn folder_count(&self) -> u64 {
        let deepest = self.depth.min(TREE_DEPTH_MAX);
        (0..=deepest).fold(0, |sum, level| sum.saturating_add(u64::from(self.branch).saturating_pow(level)))
    }

    /// The folders that have objects.
    #[must_use]
    pub fn used_folders(&self) -> Range<u64> {
        let count = self.folder_count();
        let first = if self.leaves_only { count.saturating_sub(self.leaf_count()) } else { 0 };
        first..count
    }

    /// How many folders have objects, at least one.
    #[must_use]
    pub fn used_count(&self) -> u64 {
        let used = self.used_folders();
        used.end.saturating_sub(used.start).max(1)
    }

    /// The folder that this one is in; `None` of the first.
    #[must_use]
    pub fn parent_of(&self, folder: u32) -> Option<u32> {
        Some(folder.checked_sub(1)? / self.branch.max(1))
    }

    /// What is wrong with it, as a phrase; `None` where it can be made.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let Self { depth, branch, .. } = *self;
        if branch == 0 {
            return Some("a tree whose folders have no folders in them".to_owned());
        }
        if depth > TREE_DEPTH_MAX {
            return Some(format!("a tree of {depth} levels; at most {TREE_DEPTH_MAX} are possible"));
        }
        let count = self.folder_count();
        (count > TREE_FOLDERS_MAX).then(|| {
            format!(
                "a tree of {depth} levels with {branch} folders in each, which is {count} folders; at most \
                 {TREE_FOLDERS_MAX} are possible"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(depth: u32, branch: u32) -> FolderTree {
        FolderTree { depth, branch, each_client: false, leaves_only: false }
    }

    #[test]
    fn folders_are_counted_as_mdtest_counts_them() {
        // (branch^(depth+1) - 1) / (branch - 1), and depth + 1 for a branch of 1.
        for (depth, branch, count) in [(0, 5, 1), (3, 1, 4), (1, 2, 3), (3, 2, 15), (2, 4, 21), (4, 5, 781)] {
            let tree = tree(depth, branch);
            assert_eq!(tree.folder_count(), count, "{tree:?}");
            assert_eq!(tree.leaf_count(), u64::from(branch).pow(depth), "{tree:?}");
            assert_eq!(tree.used_folders(), 0..count);
            let leaves = FolderTree { leaves_only: true, ..tree };
            assert_eq!(leaves.used_folders(), count - tree.leaf_count()..count);
            assert_eq!((leaves.used_count(), tree.used_count()), (tree.leaf_count(), count));
        }
    }

    #[test]
    fn each_folder_is_in_the_one_whose_number_is_below_its_own() {
        let tree = tree(2, 3);
        let parents: Vec<_> = (0..13).map(|folder| tree.parent_of(folder)).collect();
        let some = |all: &[u32]| all.iter().map(|parent| Some(*parent)).collect::<Vec<_>>();
        assert_eq!(parents[0], None);
        assert_eq!(parents[1..], some(&[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]));
    }

    #[test]
    fn trees_that_cannot_be_made_are_named_and_their_numbers_do_not_overflow() {
        assert_eq!(tree(64, 1).problem(), None);
        assert_eq!(tree(15, 2).problem(), None);
        for (depth, branch, words) in [
            (1, 0, "no folders in them"),
            (65, 1, "65 levels; at most 64"),
            (16, 2, "131071 folders; at most 65536"),
            (64, u32::MAX, "at most 65536"),
            (u32::MAX, u32::MAX, "at most 64"),
        ] {
            let problem = tree(depth, branch).problem().unwrap_or_default();
            assert!(problem.contains(words), "{depth} {branch}: {problem}");
        }
    }
}
