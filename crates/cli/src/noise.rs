//! `narrows noise`: one check several times, and how much its runs differ.

use crate::args::{CheckArguments, NoiseArguments, OutputArguments};
use crate::check::{self, PreparedCheck};
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::hosts::ClientStart;
use crate::measurement::{self, OutputContext, RunExtent, Watch, random_u64};
use crate::sides::OpenSide;
use narrows_model::costs::PlanCosts;
use narrows_report::text::Style;
use narrows_run::StopRequest;
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(
    arguments: &NoiseArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, CommandFailure> {
    let output = &arguments.check.output;
    if !arguments.check.fail_if.is_empty() {
        return Err(CommandFailure::bad_input(
            "noise has no --fail-if: its runs are compared with each other; use it with `narrows check`",
        ));
    }
    let hosts = check::hosts(&arguments.check)?;
    let usual_clients = hosts.usual_clients();
    let watch = Watch::start(console)?;
    let clients = hosts.connect(output, std::slice::from_ref(&arguments.check.target), &watch.clock)?;
    let rounds = NoiseRounds {
        arguments,
        command,
        console,
        seed: arguments.check.seed.map_or_else(random_u64, Ok)?,
        folder: output.out.clone().unwrap_or_else(measurement::default_noise_folder),
        usual_clients,
        clients,
    };
    if output.plan {
        let prepared = check::prepare(&rounds.check(0), usual_clients, &watch, Some(console))?;
        rounds.context(output).print_plan(&prepared.plan)?;
        console.say(&format!("narrows: {} runs of this", arguments.runs));
        return Ok(Exit::Done);
    }
    check_empty(&rounds.folder)?;
    let mut exit = Exit::Done;
    for round in 0..arguments.runs {
        if rounds.round(round, &watch.again())? == Exit::Untrustworthy {
            exit = Exit::Untrustworthy;
        }
        if watch.stop.request() != StopRequest::None {
            exit = Exit::Untrustworthy;
            break;
        }
    }
    let side = OpenSide::open(&rounds.folder)?.read(console)?;
    let style =
        Style { width: console.width(), colour: console.colour, unicode: false, detail: output.detail };
    side.print_noise(output.json, &style, console)?;
    console.say(&format!("records: {}", rounds.folder.display()));
    Ok(exit)
}

/// Fails where the folder for the records has something in it: runs of something else would be taken for these.
fn check_empty(folder: &Path) -> Result<(), CommandFailure> {
    let is_empty = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(_) => !folder.exists() && !folder.is_symlink(),
    };
    if is_empty {
        return Ok(());
    }
    Err(CommandFailure::bad_input(format!(
        "{} is not an empty folder; name one that does not exist yet with --out; nothing was changed",
        folder.display()
    )))
}

/// What the rounds share.
struct NoiseRounds<'a> {
    arguments: &'a NoiseArguments,
    command: &'a [String],
    console: &'a Console,
    seed: u64,
    folder: PathBuf,
    usual_clients: u32,
    clients: ClientStart,
}

impl NoiseRounds<'_> {
    fn context<'c>(&'c self, output: &'c OutputArguments) -> OutputContext<'c> {
        OutputContext { output, command: self.command, console: self.console }
    }

    /// The check of a round: its own seed, its own record, and the plan stated only once.
    fn check(&self, round: u32) -> CheckArguments {
        let mut check = self.arguments.check.clone();
        check.seed = Some(self.seed.wrapping_add(u64::from(round)));
        check.output.out = Some(self.folder.join(format!("run-{:03}", round + 1)));
        check.output.quiet |= round > 0;
        check
    }

    /// Runs the check of a round into its record.
    fn round(&self, round: u32, watch: &Watch) -> Result<Exit, CommandFailure> {
        let check = self.check(round);
        let context = self.context(&check.output);
        let console = (round == 0).then_some(self.console);
        let mut prepared = check::prepare(&check, self.usual_clients, watch, console)?;
        if round == 0 {
            self.check_costs(&prepared)?;
        }
        prepared.announce(watch, context)?;
        if !self.arguments.check.output.quiet {
            self.console.say(&format!("run {} of {}", round + 1, self.arguments.runs));
        }
        // All runs are of the same cells.
        let spec = prepared.run_spec(None, RunExtent::WholePlan, self.clients.clone());
        let finished = measurement::run(spec, watch, context)?;
        drop(prepared);
        measurement::finish(finished, context, &mut |_| Ok(()))
    }

    /// Fails where all runs together cost more than is done without `--yes`.
    fn check_costs(&self, prepared: &PreparedCheck) -> Result<(), CommandFailure> {
        if self.arguments.check.output.yes {
            return Ok(());
        }
        let one = PlanCosts::from_plan(&prepared.plan);
        let all = (1..self.arguments.runs).fold(one, |all, _| all.and(&one));
        measurement::check_costs(&all, prepared.resolved.inventory().host.usable_memory())
    }
}
