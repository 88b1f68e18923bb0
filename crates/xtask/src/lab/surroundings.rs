//! Files of others around a run: planted before it, and compared after it.

use anyhow::Context;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// What a file, link or folder is: its mode, its number of names, its content as a hash.
type FileState = (u32, u64, u64);

/// Everything below some folders, by its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Surroundings(BTreeMap<PathBuf, FileState>);

impl Surroundings {
    /// Makes files of others in `folder`: plain, empty, large, linked, in folders, and some under names that narrows uses.
    ///
    /// # Errors
    /// A full disk, or a folder that may not be written.
    pub(super) fn plant(folder: &Path) -> anyhow::Result<()> {
        let at = |name: &str| folder.join(name);
        for name in ["deep/inner", ".narrows-unmarked", ".narrows-0123456789abcdef"] {
            fs::create_dir_all(at(name))?;
        }
        let files = [("precious", 5), ("empty", 0), ("data-0", 30_000), ("deep/inner/file", 70_000)];
        for (name, bytes) in files {
            fs::write(at(name), vec![b'x'; bytes])?;
        }
        for name in [".narrows-unmarked/keep", ".narrows-0123456789abcdef/made-by-others"] {
            fs::write(at(name), name)?;
        }
        fs::hard_link(at("precious"), at("second-name"))?;
        symlink("precious", at("link"))?;
        symlink("deep", at("link-to-folder"))?;
        Ok(())
    }

    /// Everything below `folders` but what `is_left_out` says.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn read(folders: &[&Path], is_left_out: &dyn Fn(&Path) -> bool) -> anyhow::Result<Self> {
        let mut all = BTreeMap::new();
        for folder in folders {
            collect(folder, is_left_out, &mut all)?;
        }
        Ok(Self(all))
    }

    /// Paths that are not in both, or are not the same in both.
    pub(super) fn changes(&self, later: &Self) -> Vec<PathBuf> {
        let paths = self.0.keys().chain(later.0.keys());
        let changed: BTreeSet<PathBuf> =
            paths.filter(|path| self.0.get(*path) != later.0.get(*path)).cloned().collect();
        changed.into_iter().collect()
    }
}

fn collect(
    folder: &Path,
    is_left_out: &dyn Fn(&Path) -> bool,
    all: &mut BTreeMap<PathBuf, FileState>,
) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if is_left_out(&path) {
            continue;
        }
        let metadata = fs::symlink_metadata(&path)?;
        let mut hasher = DefaultHasher::new();
        if metadata.is_dir() {
            collect(&path, is_left_out, all)?;
        } else if metadata.is_symlink() {
            fs::read_link(&path)?.hash(&mut hasher);
        } else {
            fs::read(&path)?.hash(&mut hasher);
        }
        // A folder's number of names counts the folders in it.
        let names = if metadata.is_dir() { 0 } else { metadata.nlink() };
        all.insert(path, (metadata.mode(), names, hasher.finish()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_named() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        Surroundings::plant(folder.path()).expect("files can be made");
        let read = || Surroundings::read(&[folder.path()], &|_| false).expect("they can be read");
        let before = read();
        assert_eq!(before.changes(&read()), Vec::<PathBuf>::new());
        fs::write(folder.path().join("data-0"), vec![b'y'; 30_000]).expect("it can be written");
        fs::remove_file(folder.path().join("link")).expect("it can be removed");
        assert_eq!(before.changes(&read()), [folder.path().join("data-0"), folder.path().join("link")]);
    }
}
