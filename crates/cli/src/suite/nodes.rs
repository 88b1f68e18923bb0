//! A run of a suite on endpoints: servers of this command or elsewhere, their sites, its run and output.

use super::refused;
use super::serving::Nodes;
use crate::exit::{CommandFailure, Exit};
use crate::hosts::{ClientStart, NamedHosts};
use crate::measurement::{self, OutputContext, PathFound, Watch, random_u64};
use crate::run::facts_of;
use crate::run::sites::{Consent, Sites};
use crate::token;
use narrows_model::Plan;
use narrows_suites::Suite;
use narrows_suites::jovian::{NodesRun, PreparedNodes, Studies};
use std::os::unix::fs::MetadataExt;

/// Runs what was typed with clients on `hosts`, and prints its output.
///
/// # Errors
/// When it cannot be run, or nothing was measured.
pub(super) fn run(
    mut run: NodesRun,
    hosts: NamedHosts,
    watch: &Watch,
    context: OutputContext<'_>,
) -> Result<Exit, CommandFailure> {
    let given = token::read(run.token_file())?;
    check_roots(&run)?;
    let nodes = own_nodes(&mut run)?;
    let token = nodes.as_ref().map(|nodes| nodes.token.clone()).or(given);
    let studies = Studies::new(&run.request).map_err(refused)?;
    let launchers = run.launchers().map_err(refused)?;
    let clients = if hosts.are_named() {
        hosts.connect(context.output, &studies.targets(), &watch.clock)?
    } else {
        ClientStart::Here(launchers)
    };
    let sites = Sites::examine(
        &studies.targets(),
        token.as_deref(),
        watch,
        Consent { plan_only: context.output.plan, overwrite: &crate::args::OverwriteArguments::default() },
    )?;
    run.check_clients(&sites.remote_addresses()).map_err(refused)?;
    for leftover in sites.leftovers() {
        context.console.say(&leftover);
    }
    run.learn(sites.memory_bytes_max()).map_err(refused)?;
    let plan = planned(&run, studies, &sites)?;
    if context.output.plan {
        context.print_plan(&plan)?;
        return Ok(Exit::Done);
    }
    let finished = sites.run(plan, token, clients, watch, context)?;
    drop(nodes);
    measurement::conclude(finished, context)
}

/// Fails unless every root that is used is a folder: the suite writes files of its own.
fn check_roots(run: &NodesRun) -> Result<(), CommandFailure> {
    let wrong = run.roots().iter().filter_map(|root| match measurement::examine(root) {
        Ok(PathFound::Folder) => None,
        Ok(PathFound::File { .. }) => Some(CommandFailure::bad_input(format!(
            "--root {} is a file; give the folder in which the suite creates its files",
            root.display()
        ))),
        Err(failure) => Some(failure),
    });
    CommandFailure::combine(&wrong.collect::<Vec<_>>())?;
    let devices: Vec<u64> =
        run.roots().iter().filter_map(|root| Some(std::fs::metadata(root).ok()?.dev())).collect();
    run.check_devices(&devices).map_err(refused)
}

/// The servers that this command starts, put into the request; `None` where others are named or none is needed.
fn own_nodes(run: &mut NodesRun) -> Result<Option<Nodes>, CommandFailure> {
    let Some((root, serving)) = run.servers_to_start().map_err(refused)? else { return Ok(None) };
    let nodes = Nodes::start(root, &serving)?;
    run.request.endpoints.clone_from(&nodes.addresses);
    Ok(Some(nodes))
}

fn planned(run: &NodesRun, studies: Studies, sites: &Sites) -> Result<Plan, CommandFailure> {
    let seed = match run.seed() {
        Some(seed) => seed,
        None => random_u64()?,
    };
    let facts = facts_of(&studies.targets(), &studies.wanted(), sites);
    run.request.plan(PreparedNodes { studies, facts, seed }).map_err(refused)
}
