//! The files that a program has made in one folder, by their names: each is new when it is made, and is compared with what
//! it was before every opening, after it, and before its removal.
//!
//! Not here: what is done about a file that somebody else put in the place of one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;

use super::identity::{FileIdentity, is_made_file, is_made_name};
use super::{Create, OpenMode, open_own, remove_in};
use crate::error::{Result, SysErrno};

const REPLACED: &str = "somebody else replaced or moved it, and it was not touched; use a folder in which nobody else \
                        may write";

/// The files that this program has made in one folder.
#[derive(Debug, Default)]
pub struct MadeFiles {
    by_name: Mutex<HashMap<String, FileIdentity>>,
}

impl MadeFiles {
    /// Locked from the look at a name until what was made is known, so that two threads make one file.
    fn locked(&self) -> MutexGuard<'_, HashMap<String, FileIdentity>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file `name` in the open folder `folder`, opened as `mode` says: the one that was made, else a new one with
    /// `permissions` if `mode` allows it.
    ///
    /// # Errors
    /// `Failed` with `ESTALE` where another file has the name, which is not touched; `Missing` where there is none and
    /// none may be made, or the one that was made is gone; otherwise as [`open_own`].
    ///
    /// # Source
    /// open(2) with `O_EXCL`; fstatat(2) and fstat(2).
    pub fn open(&self, folder: impl AsFd, name: &str, mode: OpenMode, permissions: u32) -> Result<File> {
        let os_name = OsStr::new(name);
        let mut by_name = self.locked();
        let Some(made) = by_name.get(name).copied() else {
            if mode.create == Create::Never {
                return Err(SysErrno::from(Errno::NOENT).during("open", name.escape_debug()));
            }
            let new = OpenMode { create: Create::New, ..mode };
            let file = open_own(&folder, os_name, new, permissions).map_err(|error| {
                if error.errno() == Errno::EXIST.into() { replaced("open", name) } else { error }
            })?;
            let identity = FileIdentity::from_file(&file).map_err(|errno| errno.during("examine", name))?;
            by_name.insert(name.to_owned(), identity);
            return Ok(file);
        };
        drop(by_name);
        // Looked at before it is opened: to open a device or a pipe of somebody else may do something.
        if is_made_name(&folder, os_name, made) == Ok(false) {
            return Err(replaced("open", name));
        }
        let file = open_own(&folder, os_name, OpenMode { create: Create::Never, ..mode }, 0)?;
        if is_made_file(&folder, &file, made) == Ok(true) { Ok(file) } else { Err(replaced("open", name)) }
    }

    /// Removes the file `name` from the open folder `folder`, if it was made there and is still that one. One that is gone
    /// or was never made counts as removed.
    ///
    /// # Errors
    /// `Failed` with `ESTALE` where another file has the name, which stays; otherwise as the kernel says.
    ///
    /// # Source
    /// fstatat(2), unlinkat(2).
    pub fn remove(&self, folder: impl AsFd, name: &str) -> Result<()> {
        let mut by_name = self.locked();
        let Some(made) = by_name.get(name).copied() else { return Ok(()) };
        let missing = Errno::NOENT.into();
        match is_made_name(&folder, OsStr::new(name), made) {
            Ok(true) => match remove_in(&folder, OsStr::new(name)) {
                Err(error) if error.errno() != missing => return Err(error),
                _ => {}
            },
            Ok(false) => return Err(replaced("remove", name)),
            Err(errno) if errno == missing => {}
            Err(errno) => return Err(errno.during("remove", Path::new(name).display())),
        }
        by_name.remove(name);
        Ok(())
    }

    /// Whether `name` in the open folder `folder` is that of a file that was made there, and another one has it now.
    #[must_use]
    pub fn is_replaced(&self, folder: impl AsFd, name: &OsStr) -> bool {
        let made = name.to_str().and_then(|name| self.locked().get(name).copied());
        made.is_some_and(|made| is_made_name(folder, name, made) == Ok(false))
    }

    /// Whether any of the files has been replaced by another one in the open folder `folder`.
    #[must_use]
    pub fn has_replaced(&self, folder: impl AsFd) -> bool {
        let by_name = self.locked();
        by_name.iter().any(|(name, made)| is_made_name(&folder, OsStr::new(name), *made) == Ok(false))
    }
}

fn replaced(operation: &'static str, name: &str) -> crate::Error {
    SysErrno::from(Errno::STALE).during(operation, name.escape_debug()).advising(REPLACED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Caching, FileAccess, WriteDone};
    use std::fs;

    const READ: OpenMode = OpenMode {
        access: FileAccess::Read,
        caching: Caching::Buffered,
        write_done: WriteDone::Accepted,
        create: Create::Never,
    };
    const MAKE: OpenMode = OpenMode { access: FileAccess::ReadWrite, create: Create::IfMissing, ..READ };

    #[test]
    fn a_name_that_is_taken_is_not_opened_and_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let opened = File::open(folder.path()).unwrap();
        let at = folder.path().join("a");
        fs::write(&at, "theirs").unwrap();
        let made = MadeFiles::default();
        let error = made.open(&opened, "a", MAKE, 0o600).unwrap_err();
        assert_eq!(error.errno(), Errno::STALE.into(), "{error}");
        made.remove(&opened, "a").unwrap();
        assert_eq!(fs::read_to_string(&at).unwrap(), "theirs");
        assert!(!made.has_replaced(&opened), "it was never ours");
    }

    #[test]
    fn a_file_in_the_place_of_one_that_was_made_is_neither_opened_nor_removed() {
        let folder = tempfile::tempdir().unwrap();
        let opened = File::open(folder.path()).unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = MadeFiles::default();
        drop(made.open(&opened, "a", MAKE, 0o600).unwrap());
        drop(made.open(&opened, "a", MAKE, 0o600).unwrap());
        fs::write(at("theirs"), "theirs").unwrap();
        // The first one stays, so that its number is not given again.
        fs::rename(at("a"), at("ours")).unwrap();
        assert_eq!(made.open(&opened, "a", MAKE, 0o600).unwrap_err().errno(), Errno::NOENT.into());
        for put in [fs::hard_link, |from, to| std::os::unix::fs::symlink(from, to)] {
            put(at("theirs"), at("a")).unwrap();
            for mode in [MAKE, READ] {
                assert_eq!(made.open(&opened, "a", mode, 0o600).unwrap_err().errno(), Errno::STALE.into());
            }
            assert_eq!(made.remove(&opened, "a").unwrap_err().errno(), Errno::STALE.into());
            assert!(made.is_replaced(&opened, OsStr::new("a")) && made.has_replaced(&opened));
            fs::remove_file(at("a")).unwrap();
        }
        assert_eq!(fs::read_to_string(at("theirs")).unwrap(), "theirs");
        made.remove(&opened, "a").unwrap();
        drop(made.open(&opened, "a", MAKE, 0o600).unwrap());
    }

    #[test]
    fn one_that_may_not_be_made_and_was_not_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let opened = File::open(folder.path()).unwrap();
        let error = MadeFiles::default().open(&opened, "a", READ, 0o600).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Missing);
        assert!(!folder.path().join("a").exists());
    }
}
