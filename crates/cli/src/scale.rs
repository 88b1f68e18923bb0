//! `narrows scale`: one load by more and more clients, as a study that it makes itself.
//!
//! Not here: the run of a study, which is that of `narrows run`, and what the curve shows, which is `analysis`'.

use crate::args::{CheckOp, ScaleAccess, ScaleArguments};
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::hosts::NamedHosts;
use crate::input;
use crate::measurement::{self, OutputContext, Watch, random_u64};
use crate::new_file::{check_new, write_new};
use crate::run::sites::{Consent, Sites};
use crate::run::{check_has_cells, facts, refused};
use crate::token;
use narrows_model::{Op, Plan, Summary};
use narrows_study::{Problem, ScaleRequest};
use std::path::Path;

const PLOT_DATA: &str = "--plot-data";

/// Runs the command.
pub(crate) fn run(
    arguments: &ScaleArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, CommandFailure> {
    let context = OutputContext { output: &arguments.output, command, console };
    let hosts = NamedHosts::new(&arguments.hosts)?;
    let watch = Watch::start(console)?;
    let request = request(arguments);
    let first = request.first_study().map_err(|problems| wrong(&problems))?;
    let plot_data = arguments.plot_data.as_deref();
    if let Some(path) = plot_data.filter(|path| !input::is_stdin(path) && !arguments.output.plan) {
        check_new(PLOT_DATA, path)?;
    }
    let seed = arguments.seed.map_or_else(random_u64, Ok)?;
    let token = token::read(arguments.token_file.as_deref())?;
    let consent = Consent { plan_only: arguments.output.plan, overwrite: &arguments.overwrite };
    let clients = hosts.connect(&arguments.output, &first.targets(), &watch.clock)?;
    let sites = Sites::examine(&first.targets(), token.as_deref(), &watch, consent)?;
    for leftover in sites.leftovers() {
        console.say(&leftover);
    }
    let mut plan = planned(&request, &sites, seed)?;
    sites.describe_units(&mut plan);
    if arguments.output.plan {
        context.print_plan(&plan)?;
        return check_has_cells(&plan).map(|()| Exit::Done);
    }
    let finished = sites.run(plan, token, clients, &watch, context)?;
    match plot_data {
        None => measurement::conclude(finished, context),
        Some(path) => measurement::finish(finished, context, &mut |summary| show(summary, path, context)),
    }
}

fn request(arguments: &ScaleArguments) -> ScaleRequest {
    let op = |op: &CheckOp| match op {
        CheckOp::Read => Op::Read,
        CheckOp::Write => Op::Write,
    };
    ScaleRequest {
        target: arguments.target.clone(),
        clients: arguments.clients.clone(),
        ops: arguments.op.iter().map(op).collect(),
        block: arguments.block,
        depth: arguments.depth,
        file: arguments.file,
        max_bytes_per_s: arguments.max_rate.map(|rate| rate.0),
        direct: arguments.access.map(|access| access == ScaleAccess::Direct),
        seconds: arguments.seconds,
        cell_seconds: arguments.cell_seconds,
        trials: arguments.trials,
    }
}

fn planned(request: &ScaleRequest, sites: &Sites, seed: u64) -> Result<Plan, CommandFailure> {
    let first = request.first_study().map_err(|problems| wrong(&problems))?;
    let study = request.study(&facts(&first, sites)).map_err(|problems| wrong(&problems))?;
    narrows_study::plan_study(&study, &facts(&study, sites), seed).map_err(|problems| refused(&problems))
}

/// The text, and the points in their file; or the points in place of the text.
fn show(summary: &Summary, path: &Path, context: OutputContext<'_>) -> Result<(), CommandFailure> {
    let points = narrows_report::csv::scaling(summary);
    if input::is_stdin(path) {
        return context.console.result(&points);
    }
    context.console.result(&crate::diagnose::reading(summary, &context.style()))?;
    write_new(PLOT_DATA, path, &points)
}

fn wrong(problems: &[Problem]) -> CommandFailure {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    CommandFailure::bad_input(format!("this cannot be run:\n  {}", lines.join("\n  ")))
}
