//! The hosts that the clients of a suite run on: those of `--hosts`, or of a file that an option of the suite names.
//!
//! Not here: connecting to them.

use super::refused;
use crate::args::HostArguments;
use crate::check::check_server_of;
use crate::exit::CommandFailure;
use crate::hosts::NamedHosts;
use crate::input::{self, HOST_LIST};
use crate::ranks;
use narrows_suites::jovian::NodesRun;
use narrows_suites::{FolderRun, HostList, SuiteHosts};
use std::path::Path;

/// The hosts of a run on a folder, which it then has.
///
/// # Errors
/// What is wrong with them, or cannot be done there.
pub(super) fn of_folder(
    run: &mut FolderRun,
    arguments: &HostArguments,
) -> Result<NamedHosts, CommandFailure> {
    let hosts = match run.request.host_list() {
        None => NamedHosts::new(arguments)?,
        Some(list) => listed(run, &list, arguments)?,
    };
    if hosts.are_named() {
        check_server_of(&hosts, run.cuts.server.as_deref())?;
        run.request.on_hosts(&SuiteHosts::new(&hosts.names())).map_err(refused)?;
    } else if ranks::is_job() {
        run.request.on_ranks(&SuiteHosts::new(&ranks::host_names())).map_err(refused)?;
    }
    Ok(hosts)
}

/// The hosts of a run on endpoints, which it then has.
///
/// # Errors
/// What is wrong with them, or cannot be done there.
pub(super) fn of_nodes(run: &mut NodesRun, arguments: &HostArguments) -> Result<NamedHosts, CommandFailure> {
    let hosts = NamedHosts::new(arguments)?;
    if hosts.are_named() {
        run.on_hosts(&SuiteHosts::new(&hosts.names())).map_err(refused)?;
    }
    Ok(hosts)
}

/// The hosts of the file of `list`, whose folders `run` then uses.
fn listed(
    run: &mut FolderRun,
    list: &HostList,
    arguments: &HostArguments,
) -> Result<NamedHosts, CommandFailure> {
    if arguments.hosts.is_some() {
        return Err(CommandFailure::bad_input(format!(
            "{} and --hosts both name the hosts: omit one of them",
            list.option
        )));
    }
    let placement = list.parse(&input::read(&list.path, HOST_LIST)?.text).map_err(refused)?;
    if let Some(folder) = placement.folders.iter().find(|folder| !folder.is_dir()) {
        return Err(CommandFailure::bad_input(format!(
            "{} {}: {} is not a folder on this machine, which makes and removes the files: list folders of a file system \
             that it has mounted at the same paths",
            list.option,
            list.path.display(),
            folder.display()
        )));
    }
    let hosts = NamedHosts::listed(arguments, &placement.hosts, list.option)?;
    run.request.place(&placement);
    if let Some(first) = placement.folders.first().filter(|_| run.dir == Path::new(".")) {
        run.dir.clone_from(first);
    }
    Ok(hosts)
}
