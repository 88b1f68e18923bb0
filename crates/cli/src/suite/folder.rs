//! A run of a suite on a folder: the check of the same folder, whose cuts are below its tests, its files, its run and
//! output.

use super::machine::FolderMachine;
use super::output_files::OutputFiles;
use super::{no_folder, refused};
use crate::args::{CheckArguments, OutputArguments, OverwriteArguments};
use crate::check::{self, PreparedCheck};
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::measurement::{self, OutputContext, PathFound, RunExtent, RunSpec, Watch, random_u64};
use narrows_engines::psync::TestFolder;
use narrows_model::costs::PlanCosts;
use narrows_model::{Bytes, Plan, Summary, Target};
use narrows_suites::{FolderRun, PreparedFolder};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Time that the plan of the check may take whose cuts are measured: all of them, on any path.
const CUTS_SECONDS: f64 = 3600.0;

/// Runs what was typed and prints its output.
///
/// # Errors
/// When it cannot be run, or nothing was measured.
pub(super) fn run(run: FolderRun, watch: &Watch, context: OutputContext<'_>) -> Result<Exit, CommandFailure> {
    run_into(run, watch, context, &mut |_, text| context.console.result(text))
}

/// The same, whose native output `print` takes to where it belongs.
///
/// # Errors
/// When it cannot be run, or nothing was measured.
pub(super) fn run_into(
    mut run: FolderRun,
    watch: &Watch,
    context: OutputContext<'_>,
    print: &mut dyn FnMut(&Summary, &str) -> Result<(), CommandFailure>,
) -> Result<Exit, CommandFailure> {
    let files = OutputFiles::new(run.request.output_files())?;
    check_folder(&run.dir)?;
    check_mount(&run)?;
    let mut prepared = prepare(&run, context.output, watch, Some(context.console))?;
    let mut folders = Folders::make(&run, &prepared, context)?;
    let plan = planned(&mut run, &prepared, &folders)?;
    if context.output.plan {
        context.print_plan(&plan)?;
        return Ok(Exit::Done);
    }
    let finished = load(&plan, &mut prepared, watch, context)?;
    if run.request.keeps_files() {
        for kept in prepared.resolved.keep().into_iter().chain(folders.keep()) {
            context.console.say(&format!("kept: {}", kept.display()));
        }
    }
    drop(prepared);
    measurement::conclude_with(finished, context, &mut |summary, text| {
        print(summary, text)?;
        for written in files.write(summary)? {
            context.console.say(&written);
        }
        Ok(())
    })
}

/// What `run` costs, and the memory of this machine, without making, contacting or printing anything.
///
/// # Errors
/// When it cannot be run.
pub(super) fn expected_costs(
    mut run: FolderRun,
    watch: &Watch,
    context: OutputContext<'_>,
) -> Result<(PlanCosts, Option<Bytes>), CommandFailure> {
    run.cuts.server = None;
    let output = OutputArguments { plan: true, ..context.output.clone() };
    let prepared = prepare(&run, &output, watch, None)?;
    let folders = Folders::make(&run, &prepared, OutputContext { output: &output, ..context })?;
    let plan = planned(&mut run, &prepared, &folders)?;
    Ok((PlanCosts::from_plan(&plan), prepared.resolved.inventory().host.usable_memory()))
}

fn planned(run: &mut FolderRun, prepared: &PreparedCheck, folders: &Folders) -> Result<Plan, CommandFailure> {
    run.request.learn(&FolderMachine::new(prepared, &folders.targets, !folders.made.is_empty()));
    let folder = PreparedFolder { targets: folders.targets.clone(), check: prepared.plan.clone() };
    run.request.plan(folder).map_err(refused)
}

fn load(
    plan: &Plan,
    prepared: &mut PreparedCheck,
    watch: &Watch,
    context: OutputContext<'_>,
) -> Result<measurement::FinishedRun, CommandFailure> {
    context.announce(plan, prepared.resolved.inventory())?;
    measurement::run(RunSpec { plan, ..prepared.run_spec(None, RunExtent::WholePlan) }, watch, context)
}

/// Looks at the folder, connects to its server and plans the check of it.
fn prepare(
    run: &FolderRun,
    output: &OutputArguments,
    watch: &Watch,
    console: Option<&Console>,
) -> Result<PreparedCheck, CommandFailure> {
    let arguments = CheckArguments {
        target: Target::File { path: run.dir.clone() },
        server: run.cuts.server.clone(),
        token_file: run.cuts.token_file.clone(),
        seconds: CUTS_SECONDS,
        cell_seconds: Some(run.cuts.cell_seconds.unwrap_or(run.request.cut_seconds())),
        trials: 1,
        seed: run.seed,
        block: vec![run.request.cut_block_bytes()],
        depth: vec![1],
        op: Vec::new(),
        max_rate: None,
        deep: false,
        overwrite: OverwriteArguments::default(),
        whole_plan: false,
        confirm: false,
        fail_if: Vec::new(),
        output: output.clone(),
    };
    check::prepare(&arguments, watch, console)
}

/// Fails where `dir` is no folder.
pub(super) fn check_folder(dir: &Path) -> Result<(), CommandFailure> {
    if !dir.exists()
        && let Some(problem) = no_folder::refusal(dir)
    {
        return Err(CommandFailure::bad_input(problem));
    }
    match measurement::examine(dir)? {
        PathFound::Folder => Ok(()),
        PathFound::File { .. } => Err(CommandFailure::bad_input(format!(
            "{} is a file; give the folder in which the suite creates its files",
            dir.display()
        ))),
    }
}

/// Where the files of processes are: in our own folder, or for each name of a file in one of our own beside it.
struct Folders {
    targets: Vec<Target>,
    made: Vec<TestFolder>,
}

impl Folders {
    fn make(
        run: &FolderRun,
        prepared: &PreparedCheck,
        context: OutputContext<'_>,
    ) -> Result<Self, CommandFailure> {
        let parents = parents_of(run)?;
        if parents.is_empty() {
            let path = prepared.resolved.own_folder().unwrap_or(&run.dir).to_path_buf();
            return Ok(Self { targets: vec![Target::File { path }], made: Vec::new() });
        }
        let mut all = Self { targets: Vec::new(), made: Vec::new() };
        // Leftovers in the run's folder were listed with its check.
        let others: BTreeSet<&PathBuf> = parents.iter().filter(|parent| **parent != run.dir).collect();
        for leftover in others.into_iter().flat_map(|parent| measurement::leftovers(parent)) {
            context.console.say(&leftover);
        }
        for parent in parents {
            let path = if context.output.plan {
                parent
            } else {
                let made = measurement::make(&parent, random_u64()?)?;
                let path = made.path().to_path_buf();
                all.made.push(made);
                path
            };
            all.targets.push(Target::File { path });
        }
        Ok(all)
    }

    fn keep(&mut self) -> impl Iterator<Item = &Path> {
        self.made.iter_mut().for_each(TestFolder::keep);
        self.made.iter().map(TestFolder::path)
    }
}

/// Refuses a mount that does not contain all folders of the run: unmounting it would not empty their caches.
fn check_mount(run: &FolderRun) -> Result<(), CommandFailure> {
    let Some(mount) = run.request.mount() else { return Ok(()) };
    let parents = parents_of(run)?;
    let folders = if parents.is_empty() { vec![run.dir.clone()] } else { parents };
    check_mount_covers(mount, &folders)
}

fn check_mount_covers(mount: &str, folders: &[PathBuf]) -> Result<(), CommandFailure> {
    let whole = |path: &Path| {
        std::fs::canonicalize(path)
            .map_err(|error| CommandFailure::bad_input(format!("-U {mount}: {}: {error}", path.display())))
    };
    let below = whole(Path::new(mount))?;
    for folder in folders {
        let folder = whole(folder)?;
        if !below.is_dir() || !folder.starts_with(&below) {
            return Err(CommandFailure::bad_input(format!(
                "-U {mount}: does not contain the folder of the tests, {}; give the mount that contains it, or \
                 another folder that contains all of them",
                folder.display()
            )));
        }
    }
    Ok(())
}

/// The folders of the files that have names of their own, in their order.
fn parents_of(run: &FolderRun) -> Result<Vec<PathBuf>, CommandFailure> {
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
    fn a_mount_must_contain_every_folder_of_the_tests() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for each in [&one, &two] {
            std::fs::create_dir(each).unwrap();
        }
        let both = [one.clone(), two];
        let check = |mount: &Path| check_mount_covers(mount.to_str().unwrap(), &both);
        assert!(
            check(folder.path()).is_ok() && check_mount_covers(one.to_str().unwrap(), &both[..1]).is_ok()
        );
        let message = check(&one).unwrap_err().message().clone();
        assert!(
            message.contains("does not contain the folder of the tests")
                && message.contains("two; give the mount"),
            "{message}"
        );
        assert!(check(&folder.path().join("none")).unwrap_err().message().contains("No such file"));
    }

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
