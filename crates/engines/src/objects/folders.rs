//! The folder of a set of objects, one in each member of a stripe, and the folders in it: made, opened, removed with all
//! that is in them.
//!
//! Not here: the objects themselves.

use super::names::{FOLDER_BYTES, folder_path};
use crate::contract::OpenSpec;
use crate::error::{EngineError, ErrorKind};
use crate::files::Files;
use narrows_model::Target;
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

/// Folders that narrows makes are for their user alone.
pub(super) const PERMISSIONS: Mode = Mode::RWXU;

/// The folders of the set of `spec`, one in each member of its target, with `count` folders in each of them that are made
/// where they are missing.
pub(super) fn open_set_folders(
    files: &Files,
    spec: &OpenSpec,
    count: u32,
) -> Result<Vec<OwnedFd>, EngineError> {
    spec.target.members().iter().map(|member| open_set_folder(files, spec, member, count)).collect()
}

fn open_set_folder(
    files: &Files,
    spec: &OpenSpec,
    member: &Target,
    count: u32,
) -> Result<OwnedFd, EngineError> {
    let name = folder_name(spec)?;
    let failed = |what, errno: Errno| failure(member, what, errno);
    let parent = files.folder(member)?;
    if spec.create {
        make_folder(&parent, &name).map_err(|errno| failed("create a folder for objects in", errno))?;
    }
    let base = open(&parent, &name).map_err(|errno| failed("open the folder of objects in", errno))?;
    for folder in 0..if spec.create { count } else { 0 } {
        let inner = inner_name(folder);
        make_folder(&base, &inner).map_err(|errno| failed("create a folder for objects in", errno))?;
    }
    Ok(base)
}

/// The folder of this index in that of a set, open.
pub(super) fn inner(base: impl AsFd, folder: u32) -> Result<OwnedFd, Errno> {
    open(base, &inner_name(folder))
}

/// Removes the folders of the set of `spec` with all that is in them; one that is not there is removed already. It is tried
/// in every member of the target; the first failure is returned.
pub(super) fn remove(files: &Files, spec: &OpenSpec) -> Result<(), EngineError> {
    let outcomes: Vec<_> =
        spec.target.members().iter().map(|member| remove_from(files, spec, member)).collect();
    outcomes.into_iter().collect()
}

fn remove_from(files: &Files, spec: &OpenSpec, member: &Target) -> Result<(), EngineError> {
    let name = folder_name(spec)?;
    let parent = files.folder(member)?;
    let base = match open(&parent, &name) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened.map_err(|errno| failure(member, "open the folder of objects in", errno))?,
    };
    let left = narrows_sys::file::remove_content(&File::from(base), &|_| false);
    if !left.is_empty() {
        return Err(EngineError::new(ErrorKind::Io, "remove objects in", member.to_string())
            .detail(format!("not removed: {}", left.join(", "))));
    }
    unlinkat(&parent, name.as_c_str(), AtFlags::REMOVEDIR)
        .map_err(|errno| failure(member, "remove objects in", errno))
}

fn make_folder(parent: impl AsFd, name: &CString) -> Result<(), Errno> {
    match mkdirat(parent, name.as_c_str(), PERMISSIONS) {
        Err(Errno::EXIST) => Ok(()),
        outcome => outcome,
    }
}

fn open(parent: impl AsFd, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    // A link in its place would lead out of what narrows made.
    let name = OsStr::from_bytes(name.to_bytes());
    let opened = narrows_sys::file::open_folder_in(parent, name);
    opened.map(OwnedFd::from).map_err(|error| Errno::from_raw_os_error(error.errno().raw()))
}

fn inner_name(folder: u32) -> CString {
    CString::new(&folder_path(folder)[..FOLDER_BYTES - 1]).unwrap_or_default()
}

fn folder_name(spec: &OpenSpec) -> Result<CString, EngineError> {
    CString::new(set_name(spec)?).map_err(|_| {
        EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
            .detail("the name of a folder must not contain a zero byte")
    })
}

/// The one object of `spec`: the name of the set's folder.
pub(crate) fn set_name(spec: &OpenSpec) -> Result<&str, EngineError> {
    let refused = |why: &str| {
        EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string()).detail(why.to_owned())
    };
    let [name] = spec.objects.as_slice() else {
        return Err(refused("a set of objects is in one folder"));
    };
    if name.is_empty() || name.starts_with('.') || name.contains('/') {
        return Err(refused("the folder of a set of objects needs a unique name"));
    }
    Ok(name)
}

fn failure(target: &Target, what: &'static str, errno: Errno) -> EngineError {
    EngineError::from_io(what, target.to_string(), errno.into())
}
