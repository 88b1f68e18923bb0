//! Files under names that a user gave, to whose end output is written: regular ones, and never through a link.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;

use super::FileIdentity;
use crate::error::{Error, Result, SysErrno};

/// The rights of a new file, less the umask.
const RIGHTS: u32 = 0o666;

/// The regular file at `path`, to be written to its end; made where it is missing.
///
/// # Errors
/// `Invalid` with `ELOOP` for a link at the end of the path, `EINVAL` for what is no regular file; otherwise as the kernel
/// says. It never waits.
///
/// # Source
/// open(2) with `O_APPEND`, `O_NOFOLLOW` and, for a new file, `O_EXCL`.
pub fn open_to_append(path: &Path) -> Result<File> {
    let (folder, name) = folder_and_name(path)?;
    open(&folder, name, path).map(|(file, _)| file)
}

/// Fails where [`open_to_append`] would. A file that is made for that is removed again: the one that was made, whatever has
/// its name by then stays.
///
/// # Errors
/// As [`open_to_append`], or when what was made cannot be removed.
pub fn check_to_append(path: &Path) -> Result<()> {
    let (folder, name) = folder_and_name(path)?;
    let (file, is_made) = open(&folder, name, path)?;
    if is_made && FileIdentity::from_name(&folder, name) == FileIdentity::from_file(&file) {
        unlinkat(&folder, name, AtFlags::empty())
            .map_err(|errno| SysErrno::from(errno).during("remove", path.display()))?;
    }
    Ok(())
}

fn folder_and_name(path: &Path) -> Result<(OwnedFd, &OsStr)> {
    let failed = |errno: Errno| failure(errno, path);
    let name = path.file_name().ok_or_else(|| failed(Errno::ISDIR))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok((openat(CWD, parent, flags, Mode::empty()).map_err(failed)?, name))
}

/// The file `name` in `folder`, and whether it was made.
fn open(folder: &OwnedFd, name: &OsStr, path: &Path) -> Result<(File, bool)> {
    let failed = |errno: Errno| failure(errno, path);
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let new = flags | OFlags::CREATE | OFlags::EXCL;
    match openat(folder, name, new, Mode::from_raw_mode(RIGHTS)) {
        Ok(made) => return Ok((made.into(), true)),
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(failed(errno)),
    }
    // Opening a pipe waits for its other end otherwise.
    let opened = match openat(folder, name, flags | OFlags::NONBLOCK, Mode::empty()) {
        // A pipe that nobody reads, or a socket.
        Err(Errno::NXIO) => return Err(failed(Errno::INVAL)),
        opened => opened.map_err(failed)?,
    };
    if FileType::from_raw_mode(fstat(&opened).map_err(failed)?.st_mode) != FileType::RegularFile {
        return Err(failed(Errno::INVAL));
    }
    rustix::fs::fcntl_setfl(&opened, OFlags::APPEND).map_err(failed)?;
    Ok((opened.into(), false))
}

fn failure(errno: Errno, path: &Path) -> Error {
    let error = SysErrno::from(errno).during("write to", path.display());
    match errno {
        Errno::LOOP => error.advising("it is a symbolic link, which is not followed; name the file itself"),
        Errno::INVAL => error.advising("it is no regular file; name one"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    fn raw<T: std::fmt::Debug>(answer: Result<T>) -> i32 {
        answer.unwrap_err().errno().raw()
    }

    #[test]
    fn a_file_is_made_or_written_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["one", "two"] {
            open_to_append(&path).unwrap().write_all(text.as_bytes()).unwrap();
            check_to_append(&path).unwrap();
        }
        assert_eq!(fs::read_to_string(path).unwrap(), "onetwo");
    }

    #[test]
    fn looking_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        check_to_append(&folder.path().join("file")).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn links_pipes_and_folders_are_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "mine").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("missing", at("dangling")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let cases = [
            ("link", libc::ELOOP),
            ("dangling", libc::ELOOP),
            ("pipe", libc::EINVAL),
            ("folder", libc::EISDIR),
            ("gone/file", libc::ENOENT),
        ];
        for (name, errno) in cases {
            assert_eq!(
                (raw(open_to_append(&at(name))), raw(check_to_append(&at(name)))),
                (errno, errno),
                "{name}"
            );
        }
        assert!(!at("missing").exists());
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "mine");
    }
}
