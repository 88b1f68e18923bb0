//! A folder that a process serves: bindfs, which passes on another one.

use std::path::Path;
use std::process::{Command, Stdio};

/// A mount of bindfs; unmounted when it is dropped, with which the daemon ends.
pub(crate) struct FuseMount<'a>(&'a Path);

impl<'a> FuseMount<'a> {
    /// Makes `point`, and serves `backing` there; `place` puts the daemon where it shall run.
    pub(crate) fn new(backing: &Path, point: &'a Path, place: impl FnOnce(&mut Command)) -> Self {
        std::fs::create_dir(point).unwrap();
        let mut command = Command::new("bindfs");
        command.arg("--no-allow-other").arg(backing).arg(point);
        place(&mut command);
        assert!(command.status().unwrap().success(), "bindfs serves nothing");
        Self(point)
    }
}

impl Drop for FuseMount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).stderr(Stdio::null()).status();
    }
}
