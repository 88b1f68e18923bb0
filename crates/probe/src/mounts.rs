//! The mount that a path is on, found as the kernel finds it: down the tree of mounts, from the root.
//!
//! Neither the longest mount point alone nor the order of the file decides: a mount over `/a` hides an earlier one at
//! `/a/b`, and mount ids, by which newer kernels order the file, are reused.

use crate::error::{ProbeError, Result};
use crate::parse::mountinfo::{self, Mount};
use crate::root::Root;

const PATH: &str = "/proc/self/mountinfo";

/// The mounts of this process.
#[derive(Debug, Clone)]
pub(crate) struct Mounts(Vec<Mount>);

impl Mounts {
    pub(crate) fn read(root: &Root) -> Result<Self> {
        let mounts = mountinfo::parse(&root.read(PATH)?);
        mounts.map(Self).map_err(|bad| ProbeError::malformed(PATH, &bad))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter()
    }

    /// The mount that `path`, with its links followed, is on; `None` where no mount covers it.
    pub(crate) fn containing(&self, path: &str) -> Option<&Mount> {
        let mut current = None;
        // Each step moves to a child that the walk along the path meets next, so no mount is met twice.
        for _ in 0..self.0.len() {
            match self.next_below(current, path) {
                Some(mount) => current = Some(mount),
                None => break,
            }
        }
        current
    }

    /// The child of `current` that a walk along `path` meets first; of two at one place the later.
    fn next_below(&self, current: Option<&Mount>, path: &str) -> Option<&Mount> {
        let children =
            self.0.iter().filter(|mount| self.is_child(mount, current) && covers(&mount.point, path));
        children.reduce(|first, next| if next.point.len() <= first.point.len() { next } else { first })
    }

    /// Whether `mount` hangs on `current`; without one, whether it hangs on nothing that this process sees.
    fn is_child(&self, mount: &Mount, current: Option<&Mount>) -> bool {
        match current {
            Some(current) => mount.parent_id == current.id && mount.id != current.id,
            None => mount.id == mount.parent_id || self.0.iter().all(|other| other.id != mount.parent_id),
        }
    }
}

/// Whether `path` is `point` or below it.
fn covers(point: &str, path: &str) -> bool {
    let point = point.trim_end_matches('/');
    path.strip_prefix(point).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mounts(lines: &[(u64, u64, &str)]) -> Mounts {
        let text: Vec<_> = lines
            .iter()
            .map(|(id, parent, point)| format!("{id} {parent} 0:{id} / {point} rw - t s rw"))
            .collect();
        Mounts(mountinfo::parse(text.join("\n").as_bytes()).unwrap())
    }

    fn id_at(lines: &[(u64, u64, &str)], path: &str) -> Option<u64> {
        mounts(lines).containing(path).map(|mount| mount.id)
    }

    #[test]
    fn the_longest_mount_point_wins() {
        let lines = [(1, 0, "/"), (2, 1, "/a"), (3, 2, "/a/b")];
        assert_eq!(id_at(&lines, "/a/b/c"), Some(3));
        assert_eq!(id_at(&lines, "/a/bc"), Some(2));
        assert_eq!(id_at(&lines, "/"), Some(1));
    }

    #[test]
    fn a_mount_over_a_folder_hides_the_mounts_inside_it() {
        let lines = [(1, 0, "/"), (3, 1, "/a/b"), (2, 1, "/a")];
        assert_eq!(id_at(&lines, "/a/b/c"), Some(2));
    }

    #[test]
    fn of_stacked_mounts_the_top_one_counts_whatever_its_id() {
        assert_eq!(id_at(&[(1, 0, "/"), (3, 5, "/a"), (5, 1, "/a")], "/a/x"), Some(3));
    }

    #[test]
    fn a_changed_root_whose_parent_is_out_of_sight_is_still_a_root() {
        assert_eq!(id_at(&[(9, 4, "/"), (10, 9, "/proc")], "/proc/self"), Some(10));
    }

    proptest! {
        #[test]
        fn any_tree_of_ids_comes_to_an_end(ids in proptest::collection::vec((0_u64..6, 0_u64..6), 0..12)) {
            let lines: Vec<_> = ids.iter().map(|&(id, parent)| (id, parent, "/")).collect();
            let _ = mounts(&lines).containing("/x");
        }
    }
}
