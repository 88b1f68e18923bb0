//! `narrows run`: from a study to its results, as a pipeline of values.

mod facts;
pub(crate) mod sites;

use crate::args::RunArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::hosts::NamedHosts;
use crate::measurement::{self, OutputContext, Watch, random_u64};
use crate::{fail_if, input, registry, token};
pub(crate) use facts::{facts, facts_of};
use narrows_model::Plan;
use narrows_study::{Study, StudyProblems};
use sites::{Consent, Sites};

/// Runs the command.
pub(crate) fn run(
    arguments: &RunArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, CommandFailure> {
    let context = OutputContext { output: &arguments.output, command, console };
    let hosts = NamedHosts::new(&arguments.hosts)?;
    let watch = Watch::start(console)?;
    let study = study(arguments, hosts.usual_clients())?;
    let engines = study.wanted().into_iter().filter_map(|(_, engine)| engine);
    if let Some(refusal) = registry::refusal(engines).filter(|_| !arguments.output.plan) {
        return Err(refusal);
    }
    let seed = match arguments.seed.or(study.seed()) {
        Some(seed) => seed,
        None => random_u64()?,
    };
    let token = token::read(arguments.token_file.as_deref())?;
    let consent = Consent { plan_only: arguments.output.plan, overwrite: &arguments.overwrite };
    let clients = hosts.connect(&arguments.output, &study.targets(), &watch.clock)?;
    let sites = Sites::examine(&study.targets(), token.as_deref(), &watch, consent)?;
    let metrics_url = arguments.server_metrics.as_deref();
    measurement::check_metrics_use(metrics_url, &study.targets(), sites.inventory())?;
    let server_metrics = measurement::connect_metrics(metrics_url, &watch.clock)?;
    for leftover in sites.leftovers() {
        console.say(&leftover);
    }
    let mut plan = planned(&study, &sites, seed)?;
    sites.describe_units(&mut plan);
    fail_if::set(&mut plan, &arguments.fail_if, || {
        let mut ample = study.clone();
        ample.set_seconds(fail_if::AMPLE_SECONDS);
        planned(&ample, &sites, seed)
    })?;
    if arguments.output.plan {
        context.print_plan(&plan)?;
        return check_has_cells(&plan).map(|()| Exit::Done);
    }
    let finished = sites.with_metrics(server_metrics).run(plan, token, clients, &watch, context)?;
    measurement::conclude(finished, context)
}

/// Fails for a plan without a cell, as running it does.
pub(crate) fn check_has_cells(plan: &Plan) -> Result<(), CommandFailure> {
    match plan.skipped.first().filter(|_| plan.cells.is_empty()) {
        None => Ok(()),
        Some(skip) => Err(CommandFailure::could_not_run(format!(
            "nothing of this study can be measured here: {}: {}; change the study, or run it on a machine that \
            supports it",
            skip.cell, skip.reason
        ))),
    }
}

/// The study, with what the command line says instead of its file; a load that says nothing of clients has `usual_clients`.
fn study(arguments: &RunArguments, usual_clients: u32) -> Result<Study, CommandFailure> {
    let found = input::read(&arguments.study, input::STUDY)?;
    let parsed = narrows_study::parse_where(&found.text, &found.name, facts::target_problem);
    let mut study = parsed.map_err(|problems| refused(&problems))?;
    study.set_usual_clients(usual_clients);
    if let Some(seconds) = arguments.seconds {
        study.set_seconds(seconds);
    }
    if let Some(seconds) = arguments.cell_seconds {
        study.set_cell_seconds(seconds);
    }
    if let Some(trials) = arguments.trials {
        study.set_trials(trials);
    }
    Ok(study)
}

fn planned(study: &Study, sites: &Sites, seed: u64) -> Result<Plan, CommandFailure> {
    narrows_study::plan_study(study, &facts(study, sites), seed).map_err(|problems| refused(&problems))
}

/// All that is wrong, each at its place.
pub(crate) fn refused(problems: &StudyProblems) -> CommandFailure {
    CommandFailure::bad_input(format!("this study cannot be run:\n\n{}", problems.render().trim_end()))
}
