//! A run of a suite on a folder: the check of the same folder, whose cuts are below its tests, its files, its run and
//! output.

use super::machine::{FolderMachine, PlanSite};
use super::object_target::object_target;
use super::output_files::OutputFiles;
use super::test_folders::{TestFolders, check_places, parents_of};
use super::{no_folder, refused};
use crate::args::{CheckArguments, HostArguments, OutputArguments, OverwriteArguments};
use crate::check::{self, PreparedCheck};
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::hosts::{ClientStart, NamedHosts};
use crate::measurement::{self, OutputContext, PathFound, RunExtent, RunSpec, Watch};
use crate::ranks;
use narrows_model::client_host::ClientHostFacts;
use narrows_model::costs::PlanCosts;
use narrows_model::{Bytes, Inventory, Plan, Summary, Target};
use narrows_suites::{FolderRun, ObjectSupport, OnFolder, PreparedFolder};
use std::path::{Path, PathBuf};

/// Time that the plan of the check may take whose cuts are measured: all of them, on any path.
const CUTS_SECONDS: f64 = 3600.0;
/// What a plan of hosts does not know.
const UNKNOWN_MEMORY: &str = "narrows: a plan connects to no host: sizes are compared with the memory of this machine here, and \
                              in a run with that of the host that has the least";

/// Runs what was typed with clients on `hosts`, and prints its output.
///
/// # Errors
/// When it cannot be run, or nothing was measured.
pub(super) fn run(
    run: FolderRun,
    hosts: NamedHosts,
    watch: &Watch,
    context: OutputContext<'_>,
) -> Result<Exit, CommandFailure> {
    run_into(run, hosts, watch, context, &mut |_, text| context.console.result(text))
}

/// The same, whose native output `print` takes to where it belongs.
///
/// # Errors
/// When it cannot be run, or nothing was measured.
pub(super) fn run_into(
    mut run: FolderRun,
    hosts: NamedHosts,
    watch: &Watch,
    context: OutputContext<'_>,
    print: &mut dyn FnMut(&Summary, &str) -> Result<(), CommandFailure>,
) -> Result<Exit, CommandFailure> {
    let files = OutputFiles::new(run.request.output_files())?;
    check_dir(run.request.as_ref(), &run.dir)?;
    let places = run.request.spread_over();
    places.iter().try_for_each(|place| check_dir(run.request.as_ref(), place))?;
    check_places(places.iter().map(PathBuf::as_path))?;
    check_mount(&run)?;
    let (usual_clients, cut_clients) = (hosts.usual_clients(), cut_clients(&run, &hosts));
    if context.output.plan && hosts.are_named() && run.request.plans_by_memory() {
        context.console.say(UNKNOWN_MEMORY);
    }
    let dir = Target::File { path: run.dir.clone() };
    let clients = hosts.connect(context.output, std::slice::from_ref(&dir), &watch.clock)?;
    let mut prepared = prepare(&run, context.output, cut_clients, watch, Some(context.console))?;
    let mut folders = TestFolders::make(&run, &prepared, context)?;
    let memory = client_memory(&prepared, clients.hosts());
    let plan = planned(&mut run, &prepared, &folders, PlanSite { usual_clients, memory, watch })?;
    if context.output.plan {
        context.print_plan(&plan)?;
        return Ok(Exit::Done);
    }
    let finished = load(&plan, &mut prepared, clients, watch, context)?;
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

/// What `run` costs, and the memory of this machine, without making or printing anything and without an endpoint.
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
    let prepared = prepare(&run, &output, 1, watch, None)?;
    let folders = TestFolders::make(&run, &prepared, OutputContext { output: &output, ..context })?;
    let usual_clients = NamedHosts::none().usual_clients();
    let memory = client_memory(&prepared, &[]);
    let plan = planned(&mut run, &prepared, &folders, PlanSite { usual_clients, memory, watch })?;
    Ok((PlanCosts::from_plan(&plan), prepared.resolved.inventory().host.usable_memory()))
}

/// Clients that measure each cut: one on each host; where none are named, what the suite says.
fn cut_clients(run: &FolderRun, hosts: &NamedHosts) -> u32 {
    if hosts.are_named() { hosts.usual_clients() } else { run.request.cut_clients() }
}

/// Memory that a client may use on the host with the least of it, where known; the hosts are not in the inventory yet.
fn client_memory(prepared: &PreparedCheck, hosts: &[ClientHostFacts]) -> Option<Bytes> {
    let own = prepared.resolved.inventory().clone();
    Inventory { ranks: ranks::facts().to_vec(), client_hosts: hosts.to_vec(), ..own }.client_memory()
}

fn planned(
    run: &mut FolderRun,
    prepared: &PreparedCheck,
    folders: &TestFolders,
    site: PlanSite<'_>,
) -> Result<Plan, CommandFailure> {
    run.request.learn(&FolderMachine::new(prepared, &folders.targets, &site));
    let folder = PreparedFolder { targets: folders.targets.clone(), check: prepared.plan.clone() };
    run.request.plan(folder).map_err(refused)
}

fn load(
    plan: &Plan,
    prepared: &mut PreparedCheck,
    clients: ClientStart,
    watch: &Watch,
    context: OutputContext<'_>,
) -> Result<measurement::FinishedRun, CommandFailure> {
    context.announce(plan, prepared.resolved.inventory())?;
    measurement::run(
        RunSpec { plan, ..prepared.run_spec(None, RunExtent::WholePlan, clients) },
        watch,
        context,
    )
}

/// Looks at the folder, connects to its server and plans the check of it by `clients` clients.
fn prepare(
    run: &FolderRun,
    output: &OutputArguments,
    clients: u32,
    watch: &Watch,
    console: Option<&Console>,
) -> Result<PreparedCheck, CommandFailure> {
    let arguments = CheckArguments {
        target: object_target(&run.dir).unwrap_or_else(|| Target::File { path: run.dir.clone() }),
        server: run.cuts.server.clone(),
        server_metrics: None,
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
        hosts: HostArguments::default(),
        overwrite: OverwriteArguments::default(),
        whole_plan: false,
        confirm: false,
        fail_if: Vec::new(),
        output: output.clone(),
    };
    check::prepare(&arguments, clients, watch, console)
}

/// Fails where `dir` is no folder, nor a server on which `request` can be run.
pub(super) fn check_dir(request: &dyn OnFolder, dir: &Path) -> Result<(), CommandFailure> {
    match object_target(dir).map(|target| (target, request.object_support())) {
        Some((_, ObjectSupport::Yes)) => Ok(()),
        Some((target, ObjectSupport::NotSo(why))) => {
            Err(CommandFailure::bad_input(format!("{target}: {why}")))
        }
        Some((_, ObjectSupport::None)) | None => check_folder(dir),
    }
}

fn check_folder(dir: &Path) -> Result<(), CommandFailure> {
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
}
