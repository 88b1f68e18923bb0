//! The paths of objects in a tree of folders, and of its folders themselves: the names of all folders above, then the own one.
//!
//! The folders' part is kept while objects of one folder follow each other. Hot path: no allocation.

use super::name_parts::{DECIMAL_DIGITS, MDTEST_FILE, put_decimal, put_mdtest};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{FolderTree, NameForm, ObjectKind, ObjectSet, TREE_DEPTH_MAX};
use std::ffi::CStr;

/// What the names of folders begin with.
const TREE_FOLDER: &[u8] = b"mdtest_tree.";
/// Room for the longest name of a folder: the word, two numbers with a dot between them, and a slash.
const FOLDER_NAME_BYTES: usize = TREE_FOLDER.len() + DECIMAL_DIGITS + 1 + DECIMAL_DIGITS + 1;
/// Folders of the longest path.
const LEVELS_MAX: usize = TREE_DEPTH_MAX as usize + 1;

/// Makes the paths of a set in a tree, relative to the folder that the tree is in.
#[derive(Debug)]
pub(super) struct TreePaths {
    tree: FolderTree,
    /// Whether the objects are the tree's folders.
    is_of_folders: bool,
    kind: ObjectKind,
    client_index: u32,
    /// The first folder that has objects.
    first_folder: u64,
    /// Objects in each folder that has any.
    in_folder: u64,
    /// The folder that `path` begins with, and its length with the slash behind it; no folder before the first path.
    current: Option<(u32, usize)>,
    /// The path that was made last, with its end.
    path: Box<[u8]>,
}

impl TreePaths {
    /// Those of client `client_index`; `None` where `set` is in no tree.
    pub(super) fn new(set: &ObjectSet, client_index: u32) -> Option<Self> {
        let tree = set.tree?;
        let levels = saturate_usize(u64::from(tree.depth)).saturating_add(1).min(LEVELS_MAX);
        let own_bytes = MDTEST_FILE.len() + DECIMAL_DIGITS + 1 + DECIMAL_DIGITS + 1;
        Some(Self {
            tree,
            is_of_folders: set.names == NameForm::MdtestTree,
            kind: set.kind,
            client_index,
            first_folder: tree.used_folders().start,
            in_folder: (set.count / tree.used_count()).max(1),
            current: None,
            path: vec![0; levels * FOLDER_NAME_BYTES + own_bytes].into_boxed_slice(),
        })
    }

    /// The path of an object.
    pub(super) fn path_of(&mut self, number: u32) -> &CStr {
        let length = if self.is_of_folders {
            // Without the slash behind it.
            self.enter(number) - 1
        } else {
            let folder = saturate_u32(self.first_folder + u64::from(number) / self.in_folder);
            let at = self.enter(folder);
            // The numbers of folders without objects are left out, as in the original.
            let shown = self.first_folder.saturating_mul(self.in_folder).saturating_add(u64::from(number));
            at + put_mdtest(&mut self.path[at..], self.kind, self.client_index, saturate_u32(shown))
        };
        self.path[length] = 0;
        if self.is_of_folders {
            // The end is where the folder's slash was.
            self.current = None;
        }
        CStr::from_bytes_with_nul(&self.path[..=length]).unwrap_or_default()
    }

    /// Has `path` begin with this folder; its length with the slash behind it.
    fn enter(&mut self, folder: u32) -> usize {
        if let Some((current, length)) = self.current
            && current == folder
        {
            return length;
        }
        let mut levels = [0; LEVELS_MAX];
        let mut count = 0;
        let mut next = Some(folder);
        while let (Some(folder), Some(level)) = (next, levels.get_mut(count)) {
            *level = folder;
            count += 1;
            next = self.tree.parent_of(folder);
        }
        let mut at = 0;
        for folder in levels[..count].iter().rev() {
            at += self.put_folder(at, *folder);
        }
        self.current = Some((folder, at));
        at
    }

    /// Puts the name of a folder and a slash into the path; returns their length.
    fn put_folder(&mut self, start: usize, folder: u32) -> usize {
        let path = &mut self.path[start..];
        path[..TREE_FOLDER.len()].copy_from_slice(TREE_FOLDER);
        let mut at = TREE_FOLDER.len();
        if self.tree.each_client {
            at += put_decimal(&mut path[at..], self.client_index);
            path[at] = b'.';
            at += 1;
        }
        at += put_decimal(&mut path[at..], folder);
        path[at] = b'/';
        at + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::workload::OBJECT_FOLDERS_MAX;

    const TREE: FolderTree = FolderTree { depth: 2, branch: 2, each_client: false, leaves_only: false };

    fn in_tree(tree: FolderTree, in_folder: u64) -> ObjectSet {
        ObjectSet {
            count: tree.used_count() * in_folder,
            names: NameForm::Mdtest,
            shared_folder: true,
            tree: Some(tree),
            ..ObjectSet::default()
        }
    }

    fn paths(set: &ObjectSet, client_index: u32, numbers: &[u32]) -> Vec<String> {
        let mut paths = TreePaths::new(set, client_index).unwrap();
        numbers.iter().map(|number| paths.path_of(*number).to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn objects_are_in_their_folder_below_those_above_it_in_whatever_order_they_are_asked_for() {
        // Three in each of seven folders: number 13 is in folder 4, which is in folder 1.
        let set = in_tree(TREE, 3);
        let expected = [
            "mdtest_tree.0/file.mdtest.5.0",
            "mdtest_tree.0/file.mdtest.5.2",
            "mdtest_tree.0/mdtest_tree.1/file.mdtest.5.3",
            "mdtest_tree.0/mdtest_tree.1/mdtest_tree.4/file.mdtest.5.13",
            "mdtest_tree.0/mdtest_tree.2/mdtest_tree.6/file.mdtest.5.20",
            "mdtest_tree.0/file.mdtest.5.1",
        ];
        assert_eq!(paths(&set, 5, &[0, 2, 3, 13, 20, 1]), expected);
        let folders = ObjectSet { kind: ObjectKind::Folder, ..set };
        assert_eq!(paths(&folders, 0, &[3]), ["mdtest_tree.0/mdtest_tree.1/dir.mdtest.0.3"]);
    }

    #[test]
    fn with_leaves_only_the_first_object_has_the_number_behind_those_that_the_others_would_have() {
        let set = in_tree(FolderTree { leaves_only: true, each_client: true, ..TREE }, 2);
        // Folders 3 to 6 have two each; of the three before them there would be six.
        let expected = [
            "mdtest_tree.1.0/mdtest_tree.1.1/mdtest_tree.1.3/file.mdtest.1.6",
            "mdtest_tree.1.0/mdtest_tree.1.2/mdtest_tree.1.6/file.mdtest.1.13",
        ];
        assert_eq!(paths(&set, 1, &[0, 7]), expected);
    }

    #[test]
    fn the_folders_themselves_are_objects_and_each_comes_after_the_one_that_it_is_in() {
        let made = paths(&ObjectSet::tree_folders(TREE), 0, &[0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(made[0], "mdtest_tree.0");
        assert_eq!(made[6], "mdtest_tree.0/mdtest_tree.2/mdtest_tree.6");
        for path in &made[1..] {
            let (above, _) = path.rsplit_once('/').unwrap();
            let place = made.iter().position(|one| one == above).unwrap();
            assert!(place < made.iter().position(|one| one == path).unwrap(), "{made:?}");
        }
    }

    #[test]
    fn the_longest_path_has_room() {
        let deep = FolderTree { depth: TREE_DEPTH_MAX, branch: 1, each_client: true, leaves_only: true };
        let path = paths(&in_tree(deep, 1), u32::MAX, &[0]).remove(0);
        assert_eq!(path.matches('/').count(), LEVELS_MAX);
        assert!(path.ends_with("/file.mdtest.4294967295.64") && path.len() < 2048, "{path}");
        let wide = FolderTree { depth: 1, branch: OBJECT_FOLDERS_MAX - 1, ..TREE };
        let last = paths(&ObjectSet::tree_folders(wide), 0, &[OBJECT_FOLDERS_MAX - 1]);
        assert_eq!(last, ["mdtest_tree.0/mdtest_tree.65535"]);
    }
}
