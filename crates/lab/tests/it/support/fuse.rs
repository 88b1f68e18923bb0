//! Folders that a process serves (FUSE): what unmounts them, and bindfs, which passes on another folder.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A mount that is unmounted when this is dropped, with which its daemon ends.
pub(crate) struct FuseMount(PathBuf);

impl FuseMount {
    /// The mount at `point`, which may still be about to be there.
    pub(crate) fn at(point: &Path) -> Self {
        Self(point.to_owned())
    }

    /// Makes `point`, and has bindfs serve `backing` there; `place` puts the daemon where it shall run.
    pub(crate) fn new(backing: &Path, point: &Path, place: impl FnOnce(&mut Command)) -> Self {
        std::fs::create_dir(point).unwrap();
        let mut command = Command::new("bindfs");
        command.arg("--no-allow-other").arg(backing).arg(point);
        place(&mut command);
        assert!(command.status().unwrap().success(), "bindfs serves nothing");
        Self::at(point)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for FuseMount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).stderr(Stdio::null()).status();
    }
}
