//! `narrows run`: from a study to its results, as a pipeline of values.

mod facts;
pub(crate) mod sites;

use crate::args::RunArguments;
use crate::console::Console;
use crate::exit::{Exit, Failure};
use crate::measurement::{self, Terms, Undertaking, Watch, random_u64};
use crate::{token, written};
pub(crate) use facts::facts_of;
use narrows_model::Plan;
use narrows_report::text::Style;
use narrows_study::{Study, StudyProblems};
use sites::Sites;

/// Runs the command.
pub(crate) fn run(arguments: &RunArguments, command: &[String], console: &Console) -> Result<Exit, Failure> {
    let terms = Terms { output: &arguments.output, command, console };
    let watch = Watch::start(console)?;
    let study = study(arguments)?;
    let seed = match arguments.seed.or(study.seed()) {
        Some(seed) => seed,
        None => random_u64()?,
    };
    let machines = facts::machine_problems(&study);
    if !machines.is_empty() {
        return Err(Failure::bad_input(format!("this study cannot be run:\n  {}", machines.join("\n  "))));
    }
    let token = token::read(arguments.token_file.as_deref())?;
    let mut sites = Sites::of(&study.targets(), token.as_deref(), &watch, arguments.output.plan)?;
    for leftover in sites.leftovers() {
        console.say(&leftover);
    }
    let mut plan = planned(&study, &sites, seed)?;
    if arguments.output.plan {
        let style = Style { detail: true, ..terms.style() };
        console.result(&narrows_report::text::plan(&plan, &style))?;
        return holds_a_cell(&plan).map(|()| Exit::Done);
    }
    sites.lead_into_own_folders(&mut plan);
    terms.announce(&plan, sites.inventory());
    let undertaking = Undertaking {
        plan: &plan,
        inventory: &sites.inventory().clone(),
        devices: sites.device_names(),
        servers: sites.servers(),
        token,
        further: None,
        launchers: Vec::new(),
    };
    let ran = measurement::run(undertaking, &watch, terms)?;
    drop(sites);
    measurement::conclude(ran, terms)
}

/// Fails for a plan without a cell, as running it does.
fn holds_a_cell(plan: &Plan) -> Result<(), Failure> {
    match plan.skipped.first().filter(|_| plan.cells.is_empty()) {
        None => Ok(()),
        Some(skip) => Err(Failure::could_not_run(format!(
            "nothing of this study can be measured here: {}: {}; change the study, or run it where that can be had",
            skip.cell, skip.reason
        ))),
    }
}

/// The study, with what the command line says instead of its file.
fn study(arguments: &RunArguments) -> Result<Study, Failure> {
    let found = written::read(&arguments.study, written::STUDY)?;
    let mut study = narrows_study::parse(&found.text, &found.name).map_err(|problems| refused(&problems))?;
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

fn planned(study: &Study, sites: &Sites, seed: u64) -> Result<Plan, Failure> {
    let facts = facts::facts(study, sites);
    narrows_study::plan_study(study, &facts, seed).map_err(|problems| refused(&problems))
}

/// All that is wrong, each at its place.
fn refused(problems: &StudyProblems) -> Failure {
    Failure::bad_input(format!("this study cannot be run:\n\n{}", problems.render().trim_end()))
}
