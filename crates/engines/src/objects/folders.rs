//! The folder of a set of objects and the folders in it: made, opened, removed with all that is in them.
//!
//! Not here: the objects themselves.

use super::names::folder_path;
use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use crate::files::Files;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};

/// Folders that narrows makes are for their user alone.
const PERMISSIONS: Mode = Mode::RWXU;
/// Passes over a folder that is to be emptied: the first one finds all there is, unless somebody adds to it.
const PASSES_MAX: u32 = 4;

/// The folder of the set of `spec`, with `count` folders in it that are made where they are missing.
pub(super) fn opened(files: &Files, spec: &OpenSpec, count: u32) -> Result<OwnedFd, EngineError> {
    let name = folder_name(spec)?;
    let failed = |what, errno: Errno| failure(spec, what, errno);
    let parent = files.folder(&spec.target)?;
    if spec.create {
        made(&parent, &name).map_err(|errno| failed("make a folder for objects in", errno))?;
    }
    let base = open(&parent, &name).map_err(|errno| failed("open the folder of objects in", errno))?;
    for folder in 0..if spec.create { count } else { 0 } {
        let inner = inner_name(folder);
        made(&base, &inner).map_err(|errno| failed("make a folder for objects in", errno))?;
    }
    Ok(base)
}

/// The folder of this index in that of a set, open.
pub(super) fn inner(base: impl AsFd, folder: u32) -> Result<OwnedFd, Errno> {
    open(base, &inner_name(folder))
}

/// Removes the folder of the set of `spec` with all that is in it; one that is not there is removed already.
pub(super) fn remove(files: &Files, spec: &OpenSpec) -> Result<(), EngineError> {
    let name = folder_name(spec)?;
    let parent = files.folder(&spec.target)?;
    let base = match open(&parent, &name) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened.map_err(|errno| failure(spec, "open the folder of objects in", errno))?,
    };
    let removed = emptied(&base, true).and_then(|()| unlinkat(&parent, name.as_c_str(), AtFlags::REMOVEDIR));
    removed.map_err(|errno| failure(spec, "remove objects in", errno))
}

/// Removes what is in `folder`; folders in it with what is in them, where `with_folders`.
fn emptied(folder: &OwnedFd, with_folders: bool) -> Result<(), Errno> {
    for _ in 0..PASSES_MAX {
        let mut listing = narrows_sys::file::Listing::default();
        let mut found = false;
        rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0))?;
        while let Some(name) =
            listing.next_name(folder).map_err(|errno| Errno::from_raw_os_error(errno.raw()))?
        {
            found = true;
            match unlinkat(folder, name, AtFlags::empty()) {
                Err(Errno::ISDIR) if with_folders => {
                    emptied(&open(folder, name)?, false)?;
                    unlinkat(folder, name, AtFlags::REMOVEDIR)?;
                }
                removed => removed?,
            }
        }
        if !found {
            break;
        }
    }
    Ok(())
}

fn made(parent: impl AsFd, name: &CString) -> Result<(), Errno> {
    match mkdirat(parent, name.as_c_str(), PERMISSIONS) {
        Err(Errno::EXIST) => Ok(()),
        outcome => outcome,
    }
}

fn open(parent: impl AsFd, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    // A link in its place would lead out of what narrows made.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

fn inner_name(folder: u32) -> CString {
    let path = folder_path(folder);
    let digits: Vec<u8> = path.iter().copied().filter(u8::is_ascii_digit).collect();
    CString::new(digits).unwrap_or_default()
}

/// The one object of `spec`: the name of the set's folder.
fn folder_name(spec: &OpenSpec) -> Result<CString, EngineError> {
    let refused = |why: &str| {
        EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string()).detail(why.to_owned())
    };
    let [name] = spec.objects.as_slice() else {
        return Err(refused("a set of objects lies in one folder"));
    };
    if name.is_empty() || name.starts_with('.') || name.contains('/') {
        return Err(refused("the folder of a set of objects needs a name of its own"));
    }
    CString::new(name.as_str()).map_err(|_| refused("the name of a folder has no end in it"))
}

fn failure(spec: &OpenSpec, what: &'static str, errno: Errno) -> EngineError {
    EngineError::from_io(what, spec.target.to_string(), errno.into())
}
