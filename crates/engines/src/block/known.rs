//! The block devices that this process works on, by their numbers: a path may lead to another device later.
//!
//! One table a process, because a device is the same one for every engine. A client process gets the entry of its target with
//! its assignment. Not here: who replaced what, which is noted where a device is opened.

use super::{number_in, number_of};
use crate::error::{EngineError, ErrorKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static DEVICES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

fn table() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    DEVICES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on the device at `path` is the one with this number (`major:minor`), and another one is not opened.
pub fn know_device(path: &Path, number: &str) {
    table().insert(path.to_path_buf(), number.to_owned());
}

/// The number of the device that this process works on at `path`; `None` where it works on none.
#[must_use]
pub fn known_device(path: &Path) -> Option<String> {
    table().get(path).cloned()
}

/// Fails where `opened` is not the device that this process works on at `path`.
pub(crate) fn check_number(path: &Path, opened: &File) -> Result<(), EngineError> {
    let Some(known) = known_device(path) else { return Ok(()) };
    match number_of(opened) {
        Ok(number) if number == known => Ok(()),
        Ok(number) => Err(changed(path, &number, &known)),
        Err(source) => Err(EngineError::from_io("look at", path.display().to_string(), source)),
    }
}

/// Fails where `other`, opened at the same path while `first` stayed open, is another device.
pub(crate) fn check_same(path: &Path, first: &File, other: &File) -> Result<(), EngineError> {
    match (number_of(first), number_of(other)) {
        (Ok(one), Ok(two)) if one == two => Ok(()),
        (Ok(one), Ok(two)) => {
            Err(replaced(path, &format!("it was device {one}, and became {two} while it was opened")))
        }
        (Err(source), _) | (_, Err(source)) => {
            Err(EngineError::from_io("look at", path.display().to_string(), source))
        }
    }
}

/// Each device that is not at its path any more, as an error.
pub(crate) fn replaced_devices() -> Vec<EngineError> {
    let known = table().clone();
    known
        .iter()
        .filter_map(|(path, known)| match std::fs::metadata(path) {
            Ok(status) if number_in(&status) == *known => None,
            Ok(status) => Some(changed(path, &number_in(&status), known)),
            Err(error) => Some(replaced(path, &format!("it is not there any more ({error})"))),
        })
        .collect()
}

fn changed(path: &Path, number: &str, known: &str) -> EngineError {
    replaced(path, &format!("it is device {number} now, and was {known}"))
}

fn replaced(path: &Path, what: &str) -> EngineError {
    EngineError::new(ErrorKind::Replaced, "open", path.display().to_string())
        .detail(format!("another device is in its place: {what}; nothing was written to it"))
        .hint("name devices by paths that stay, as in /dev/disk/by-id, and run again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_to_another_device_is_found_at_the_next_opening() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("device");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        let first = File::open(&link).unwrap();
        check_number(&link, &first).unwrap();
        know_device(&link, &number_of(&first).unwrap());
        check_number(&link, &first).unwrap();
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let second = File::open(&link).unwrap();
        for error in
            [check_number(&link, &second).unwrap_err(), check_same(&link, &first, &second).unwrap_err()]
        {
            assert_eq!(error.kind, ErrorKind::Replaced);
            assert!(error.to_string().contains("another device is in its place"), "{error}");
        }
        assert!(replaced_devices().iter().any(|error| error.target == link.display().to_string()));
        table().remove(&link);
    }
}
