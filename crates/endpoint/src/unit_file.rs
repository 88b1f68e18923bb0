//! The file below the root that a logical unit consists of, found by the mark that a client has put on the unit.
//!
//! It reveals nothing but whether there is one: a mark has a nonce that its client alone has drawn.

use crate::store::StoreRoot;
use narrows_engines::{MARK_BYTES_MAX, mark_nonce};
use narrows_sys::file::{Listing, OpenMode, TransferResult, open_beneath, pread};
use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How many folders below the root are looked into, one below another.
const DEPTH_MAX: usize = 4;
/// How many names are looked at in all.
const NAMES_MAX: usize = 65_536;

impl StoreRoot {
    /// Whether a file below the root has `length_bytes` and begins with the mark of the claim with `nonce`. Names that begin
    /// with a dot, and what cannot be read, are left out.
    ///
    /// # Cost
    /// An open(2) for each name, of which 65536 are looked at, in folders up to four deep.
    pub(crate) fn has_unit(&self, length_bytes: u64, nonce: u64) -> bool {
        let mut names_left = NAMES_MAX;
        let mut folders = VecDeque::from([(PathBuf::from("."), 0)]);
        while let Some((folder, depth)) = folders.pop_front() {
            for name in self.names(&folder, &mut names_left) {
                let Ok(file) = open_beneath(&self.folder, &name, OpenMode::default(), 0) else { continue };
                let Ok(status) = file.metadata() else { continue };
                if status.is_dir() && depth < DEPTH_MAX {
                    folders.push_back((name, depth + 1));
                } else if status.is_file()
                    && status.len() == length_bytes
                    && found_nonce(&file) == Some(nonce)
                {
                    return true;
                }
            }
        }
        false
    }

    /// The names in `folder` below the root, as many as `left` allows.
    fn names(&self, folder: &Path, left: &mut usize) -> Vec<PathBuf> {
        let mut names = Vec::new();
        let Ok(open) = open_beneath(&self.folder, folder, OpenMode::default(), 0) else { return names };
        let mut listing = Listing::default();
        while *left > 0 {
            let Ok(Some(name)) = listing.next_name(&open) else { break };
            names.push(folder.join(std::ffi::OsStr::from_bytes(name.to_bytes())));
            *left -= 1;
        }
        names
    }
}

/// The nonce of the mark at the front of `file`.
fn found_nonce(file: &File) -> Option<u64> {
    let mut head = vec![0; usize::try_from(MARK_BYTES_MAX).ok()?];
    let done = pread(file, &mut head, 0).map_or(0, TransferResult::done_bytes);
    mark_nonce(head.get(..done)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::{Arc, Mutex};

    const LENGTH: u64 = 1 << 20;

    fn root(path: &Path) -> StoreRoot {
        let folder = Arc::new(File::open(path).unwrap());
        StoreRoot { path: path.to_path_buf(), folder, leftovers: Arc::new(Mutex::default()) }
    }

    fn unit(path: &Path, nonce: u64, length_bytes: u64) {
        let mark = format!("made-by-narrows\nnarrows, pid 7\nclaim {nonce:016x}\nend 2097152\n");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, mark).unwrap();
        File::options().write(true).open(path).unwrap().set_len(length_bytes).unwrap();
    }

    #[test]
    fn a_file_of_that_length_with_that_mark_is_the_unit_and_no_other_is() {
        let folder = tempfile::tempdir().unwrap();
        let root = root(folder.path());
        assert!(!root.has_unit(LENGTH, 7), "nothing is there");
        unit(&folder.path().join("a/b/other"), 8, LENGTH);
        unit(&folder.path().join("a/b/shorter"), 7, LENGTH - 512);
        fs::write(folder.path().join("plain"), vec![0; 1 << 20]).unwrap();
        assert!(!root.has_unit(LENGTH, 7));
        unit(&folder.path().join("a/b/c/d/lun.img"), 7, LENGTH);
        assert!(root.has_unit(LENGTH, 7) && root.has_unit(LENGTH, 8));
        assert!(!root.has_unit(LENGTH + 1, 7));
    }

    #[test]
    fn links_that_leave_the_root_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
        fs::create_dir(&inside).unwrap();
        unit(&outside.join("lun.img"), 7, LENGTH);
        std::os::unix::fs::symlink(outside.join("lun.img"), inside.join("file")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        assert!(!root(&inside).has_unit(LENGTH, 7));
    }
}
