//! Files that nobody but root and this user can have written, in whatever folder a command is started.
//!
//! Not here: links to such files, which `own_folder` follows.

use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;

use super::own_folder::{is_trusted, open_regular_in, read_bounded};
use crate::error::{Result, SysErrno};

/// The content of the file at `path`, of `bytes_max` bytes at most, if nobody but root and this user can have written it:
/// one of them owns it and the folder that it is in, and nobody else may write in either. That the folder is sticky does
/// not help: under a name that is free, everybody may make a file there.
///
/// # Errors
/// `Denied` with `EPERM` where others can have written it; `Invalid` with `ELOOP` for a link, `EINVAL` for what is no
/// regular file; `Exhausted` with `EFBIG` for a longer one; otherwise as the kernel says. It never waits.
///
/// # Source
/// open(2) with `O_NOFOLLOW` and `O_NONBLOCK`, fstat(2). The rights are those that ssh asks of its files of a user. An
/// access control list of others shows in the rights of the group, acl(5).
pub fn read_small_trusted(path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let failed = |errno: Errno| SysErrno::from(errno).during("read", path.display());
    let untrusted = |detail| failed(Errno::PERM).advising(detail);
    let name = path.file_name().ok_or_else(|| failed(Errno::ISDIR).advising("name a file"))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, parent, flags, Mode::empty()).map_err(failed)?;
    let file = open_regular_in(&folder, Path::new(name)).map_err(|error| {
        let error = error.errno().during("read", path.display());
        match error.errno().raw() {
            libc::ELOOP => error.advising("it is a symbolic link, which is not followed"),
            libc::EINVAL | libc::EISDIR => error.advising("it is no regular file"),
            _ => error,
        }
    })?;
    let around = fstat(&folder).map_err(failed)?;
    let found = fstat(&file).map_err(failed)?;
    if !is_trusted(around.st_uid) {
        return Err(untrusted("its folder belongs to another user"));
    }
    if !is_closed(&around) {
        return Err(untrusted("others may write in its folder"));
    }
    if !is_trusted(found.st_uid) {
        return Err(untrusted("it belongs to another user"));
    }
    if !is_closed(&found) {
        return Err(untrusted("others may write to it"));
    }
    read_bounded(file, path, bytes_max)
}

/// Whether nobody but its owner, and root, may write to what has `status`.
fn is_closed(status: &Stat) -> bool {
    !Mode::from_raw_mode(status.st_mode).intersects(Mode::WGRP | Mode::WOTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn what_others_can_have_written_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let rights = |name: &str, mode: u32| {
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        fs::write(at("file"), "12345").unwrap();
        symlink("file", at("link")).unwrap();
        let read = |name: &str| {
            let error = read_small_trusted(&at(name), 5).map_err(|error| error.to_string());
            error.map(|content| String::from_utf8(content).unwrap())
        };
        for mode in [0o700, 0o755] {
            rights("", mode);
            rights("file", 0o644);
            assert_eq!(read("file").unwrap(), "12345", "{mode:o}");
        }
        for mode in [0o664, 0o646] {
            rights("file", mode);
            assert!(read("file").unwrap_err().contains("others may write to it"), "{mode:o}");
        }
        rights("file", 0o600);
        for mode in [0o775, 0o757, 0o1777] {
            rights("", mode);
            assert!(read("file").unwrap_err().contains("others may write in its folder"), "{mode:o}");
        }
        rights("", 0o700);
        assert!(read("link").unwrap_err().contains("symbolic link"));
        assert!(read("").is_err() && read("missing").unwrap_err().contains("ENOENT"));
        if chown(at("file"), Some(61_001), None).is_err() {
            drop(writeln!(std::io::stderr(), "skipped in part: only root may give files away"));
            return;
        }
        assert!(read("file").unwrap_err().contains("it belongs to another user"));
        chown(at(""), Some(61_001), None).unwrap();
        assert!(read("file").unwrap_err().contains("its folder belongs to another user"));
    }
}
