//! The folders of a suite's files: the run's own, one for each process with a file of its own name, or one in each place
//! that the files are spread over.
//!
//! Not here: the check of the run's folder, which makes the run's own.

use super::object_target::object_target;
use crate::check::PreparedCheck;
use crate::exit::CommandFailure;
use crate::measurement::{self, OutputContext, random_u64};
use narrows_engines::psync::TestFolder;
use narrows_model::Target;
use narrows_suites::FolderRun;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where files are: in the run's own folder, or in folders that are made beside it.
pub(super) struct TestFolders {
    /// The folders, in the order in which the suite has asked for them; some may be the same.
    pub(super) targets: Vec<Target>,
    /// Those that are made beside the run's own.
    made: Vec<TestFolder>,
}

impl TestFolders {
    /// Makes those of `run`; those of a plan are where they would be made.
    pub(super) fn make(
        run: &FolderRun,
        prepared: &PreparedCheck,
        context: OutputContext<'_>,
    ) -> Result<Self, CommandFailure> {
        let own = || prepared.resolved.own_folder().unwrap_or(&run.dir).to_path_buf();
        let mut all = Self { targets: Vec::new(), made: Vec::new() };
        if let Some(target) = object_target(&run.dir) {
            all.targets.push(prepared.resolved.led_into_own(&target));
            return Ok(all);
        }
        let (parents, places) = (parents_of(run)?, run.request.spread_over());
        // Leftovers in the run's folder were listed with its check.
        let others: BTreeSet<&PathBuf> =
            parents.iter().chain(&places).filter(|parent| **parent != run.dir).collect();
        for leftover in others.into_iter().flat_map(|parent| measurement::leftovers(parent)) {
            context.console.say(&leftover);
        }
        let is_plan = context.output.plan;
        for parent in &parents {
            let path = if is_plan { parent.clone() } else { all.make_in(parent)? };
            all.targets.push(Target::File { path });
        }
        let mut known = Vec::new();
        if !places.is_empty() {
            known.push((whole_path(&run.dir)?, own()));
        }
        for place in &places {
            let whole = whole_path(place)?;
            let path = match known.iter().find(|(other, _)| *other == whole) {
                Some((_, path)) => path.clone(),
                None if is_plan => place.clone(),
                None => all.make_in(place)?,
            };
            known.push((whole, path.clone()));
            all.targets.push(Target::File { path });
        }
        if all.targets.is_empty() {
            all.targets.push(Target::File { path: own() });
        }
        Ok(all)
    }

    fn make_in(&mut self, parent: &Path) -> Result<PathBuf, CommandFailure> {
        let made = measurement::make(parent, random_u64()?)?;
        let path = made.path().to_path_buf();
        self.made.push(made);
        Ok(path)
    }

    /// Leaves them with what is in them after the run; where they are.
    pub(super) fn keep(&mut self) -> impl Iterator<Item = &Path> {
        self.made.iter_mut().for_each(TestFolder::keep);
        self.made.iter().map(TestFolder::path)
    }
}

/// Fails where one of the places that files are spread over takes none; leaves nothing there.
pub(super) fn check_places<'a>(places: impl IntoIterator<Item = &'a Path>) -> Result<(), CommandFailure> {
    for place in places {
        narrows_sys::access::may_make_files_in(place).map_err(|error| {
            let hint = "give locations that this user may write to";
            CommandFailure::could_not_run(format!("{error}; {hint}"))
        })?;
    }
    Ok(())
}

/// One path for all names of a folder.
fn whole_path(folder: &Path) -> Result<PathBuf, CommandFailure> {
    std::fs::canonicalize(folder)
        .map_err(|error| CommandFailure::bad_input(format!("{}: {error}", folder.display())))
}

/// The folders of the files that have names of their own, in their order.
pub(super) fn parents_of(run: &FolderRun) -> Result<Vec<PathBuf>, CommandFailure> {
    run.request.file_names().iter().map(|name| parent_of(name)).collect()
}

/// The folder of a name of `-F`: the name itself if it is one, else the one that contains it.
fn parent_of(name: &str) -> Result<PathBuf, CommandFailure> {
    let path = Path::new(name);
    if path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if parent.is_dir() {
        return Ok(parent.to_path_buf());
    }
    let hint = "the process's file is created in the folder of its name; give one that exists";
    Err(CommandFailure::bad_input(format!("-F {name}: {} is not a folder; {hint}", parent.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_the_folder_that_it_is_in() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("file");
        assert_eq!(parent_of(inside.to_str().unwrap()).unwrap(), folder.path());
        assert_eq!(parent_of(folder.path().to_str().unwrap()).unwrap(), folder.path());
        assert_eq!(parent_of("plain").unwrap(), Path::new("."));
        let missing = inside.join("deeper/file");
        assert!(parent_of(missing.to_str().unwrap()).unwrap_err().message().contains("is not a folder"));
    }
}
