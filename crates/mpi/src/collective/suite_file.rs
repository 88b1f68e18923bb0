//! The one file that all ranks of a suite share: looked for before it is made, then opened and removed by all of them.
//!
//! Not here: what is written to it, and files of single ranks.

use super::room::check_length;
use super::{SuiteFailure, any, folder_of, rank_count, step};
use crate::file::{MpiFile, MpiOpenMode};
use crate::gathered::agreed;
use mpi::collective::CommunicatorCollectives as _;
use mpi::topology::{Communicator as _, SimpleCommunicator};
use narrows_model::collective::{CollectivePhase, CollectivePoint};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;

/// The file.
pub(super) struct SuiteFile<'a> {
    pub(super) world: &'a SimpleCommunicator,
    path: &'a Path,
    hints: &'a [(String, String)],
    /// Whether this rank has made it.
    has_made: Cell<bool>,
    reported_hints: RefCell<Option<BTreeMap<String, String>>>,
}

impl<'a> SuiteFile<'a> {
    pub(super) fn new(world: &'a SimpleCommunicator, path: &'a Path, hints: &'a [(String, String)]) -> Self {
        Self { world, path, hints, has_made: Cell::new(false), reported_hints: RefCell::default() }
    }

    /// Whether this rank is the one that looks and removes for all.
    pub(super) fn is_first(&self) -> bool {
        self.world.rank() == 0
    }

    /// Refuses a file that exists, and a folder that a rank cannot see.
    pub(super) fn check_new(&self) -> Result<(), SuiteFailure> {
        let absent = if self.is_first() { check_absent(self.path) } else { Ok(()) };
        agreed(self.world, absent.and(check_folder(self.path))).map_err(SuiteFailure::BadInput)
    }

    /// Refuses what is no file that a rank can see, or has fewer bytes than are read.
    pub(super) fn check_readable(&self, needed_bytes: u64) -> Result<(), SuiteFailure> {
        let own = check_existing(self.path).and_then(|()| {
            let found = std::fs::metadata(self.path);
            let found = found.map_err(|error| format!("{}: {error}", self.path.display()))?.len();
            if found >= needed_bytes {
                return Ok(());
            }
            Err(format!(
                "{} has {found} bytes, and {needed_bytes} are to be read; give the sizes with which it was written",
                self.path.display()
            ))
        });
        agreed(self.world, own).map_err(SuiteFailure::BadInput)
    }

    /// Opens it on all ranks, or fails on all.
    pub(super) fn open(&self, mode: MpiOpenMode) -> Result<MpiFile, SuiteFailure> {
        self.timed_open(mode).map(|(file, _)| file)
    }

    /// The same with the seconds that the call took.
    pub(super) fn timed_open(&self, mode: MpiOpenMode) -> Result<(MpiFile, f64), SuiteFailure> {
        let from = mpi::time();
        let opened = MpiFile::open(self.world, self.path, mode, self.hints);
        let open_s = mpi::time() - from;
        if mode == MpiOpenMode::New && opened.is_ok() {
            self.has_made.set(true);
        }
        let file = step(self.world, opened)?;
        // They are null where the library does not report them.
        *self.reported_hints.borrow_mut() = file.reported_hints().ok();
        Ok((file, open_s))
    }

    /// What all ranks did with it.
    pub(super) fn point(&self, layout: String, phases: Vec<CollectivePhase>) -> CollectivePoint {
        let reported_hints = self.reported_hints.borrow().clone();
        CollectivePoint { rank_count: rank_count(self.world), layout, reported_hints, phases }
    }

    /// Fails where it is not there as a whole.
    pub(super) fn check_length(&self, expected_bytes: u64) -> Result<(), SuiteFailure> {
        self.world.barrier();
        let check = || check_length(self.path, expected_bytes);
        step(self.world, if self.is_first() { check() } else { Ok(()) })
    }

    /// `outcome`, after the file was removed if these ranks have made it: where they have failed, or `keeps` is not set.
    pub(super) fn left<T>(&self, outcome: Result<T, SuiteFailure>, keeps: bool) -> Result<T, SuiteFailure> {
        // All ranks know of a failure; what was written until then, a full file system perhaps, does not stay.
        if any(self.world, self.has_made.replace(false)) && (outcome.is_err() || !keeps) {
            let removed = self.remove();
            if outcome.is_ok() {
                removed?;
            }
        }
        outcome
    }

    fn remove(&self) -> Result<(), SuiteFailure> {
        self.world.barrier();
        step(self.world, if self.is_first() { remove(self.path) } else { Ok(()) })
    }
}

/// Refuses a file that exists.
pub(super) fn check_absent(path: &Path) -> Result<(), String> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(format!("{} exists, and nothing is written over; give another name, or remove it", path.display()))
}

/// Refuses a folder that this rank cannot see.
pub(super) fn check_folder(path: &Path) -> Result<(), String> {
    let parent = folder_of(path);
    if parent.is_dir() {
        Ok(())
    } else {
        Err(format!("{} is no folder that this rank can see", parent.display()))
    }
}

/// Refuses what is no file that this rank can see.
pub(super) fn check_existing(path: &Path) -> Result<(), String> {
    if path.is_file() {
        Ok(())
    } else {
        Err(format!("{} is no file that this rank can see; write it first", path.display()))
    }
}

/// Removes a file that this job has made.
pub(super) fn remove(path: &Path) -> Result<(), String> {
    std::fs::remove_file(path).map_err(|error| format!("remove {}: {error}", path.display()))
}
