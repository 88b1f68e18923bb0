//! A run of planned cells into a record, and the verdict of that record: what every command that measures shares.
//!
//! Not here: what is planned, and where, which are each command's own.

mod again;
mod blkid;
mod confirm;
mod costs;
mod device;
mod endpoint;
mod folder;
mod host_folders;
mod load;
mod lun;
mod owner;
mod random;
mod relay;
mod serve_process;
mod server_metrics;
mod smart;
mod sooner;
mod through;
mod tool;
pub(crate) mod units;
mod verdict;
mod watch;

use crate::args::OutputArguments;
use crate::console::Console;
use crate::exit::CommandFailure;
use crate::hosts::{self, ClientStart};
use crate::signals;
use host_folders::check_host_folders;
use load::RunExecutor;
use narrows_model::event::EndReason;
use narrows_model::{Inventory, Nanos, Plan, Summary};
use narrows_record::{Manifest, Writer};
use narrows_report::text::Style;
use narrows_run::Servers;
use narrows_study::PlannedCells;
use std::path::PathBuf;

pub(crate) use costs::check_costs;
pub use costs::refusal_of_bytes;
pub(crate) use endpoint::{CONNECT_TIMEOUT_NS, connect, monitor};
pub(crate) use folder::{
    PATHS_ALLOWED, PathFound, PathProblem, examine, examine_place, leftovers, look_at, machine, make,
    make_place,
};
pub(crate) use owner::{epoch_seconds, test_folder_state};
pub(crate) use random::random_u64;
pub(crate) use relay::{Experiment, connected, run_relay};
pub(crate) use serve_process::ServeProcess;
pub(crate) use server_metrics::{ConnectedMetrics, check_metrics_use, connect_metrics};
pub(crate) use through::{connect_through, is_proxy, past_the_proxy};
pub(crate) use verdict::{conclude, conclude_with, finish};
pub(crate) use watch::Watch;

/// More cells that a plan's own results ask for, within the time that is left.
pub(crate) type RefineFn = fn(&Plan, &Summary, Nanos) -> PlannedCells;

/// Which of its cells a run measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunExtent {
    /// All, in the order of the plan, and then those that refine its verdicts.
    WholePlan,
    /// The path, and then those that decide its verdicts.
    UntilDecided {
        /// Whether the path is measured at every point of the plan, not only under the loads asked about first.
        every_point: bool,
    },
}

/// That a load was announced, and no refusal is left: from then on disks without folders are claimed, which writes to them.
#[derive(Debug)]
pub(crate) struct Announced(());

/// How a command talks.
#[derive(Clone, Copy)]
pub(crate) struct OutputContext<'a> {
    /// What was asked for.
    pub(crate) output: &'a OutputArguments,
    /// The command line.
    pub(crate) command: &'a [String],
    /// The terminal.
    pub(crate) console: &'a Console,
}

impl OutputContext<'_> {
    /// How text is laid out.
    pub(crate) fn style(&self) -> Style {
        Style {
            width: self.console.width(),
            colour: self.console.colour,
            unicode: false,
            detail: self.output.detail,
        }
    }

    /// Prints what would be run in a few lines, and every cell with `--detail`, in place of running it.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub(crate) fn print_short_plan(&self, plan: &Plan) -> Result<(), CommandFailure> {
        if self.output.json {
            return self.print_plan(plan);
        }
        let style = self.style();
        let more = if style.detail { "" } else { "  every cell: --plan --detail\n" };
        self.console.result(&(narrows_report::text::plan(plan, &style) + more))
    }

    /// Prints what would be run, with every cell, in place of running it: as JSON (`narrows.plan/1`) where that is asked for.
    ///
    /// # Errors
    /// When stdout cannot be written.
    pub(crate) fn print_plan(&self, plan: &Plan) -> Result<(), CommandFailure> {
        if self.output.json {
            return self.console.result(&narrows_report::json::plan(plan));
        }
        let style = Style { detail: true, ..self.style() };
        self.console.result(&narrows_report::text::plan(plan, &style))
    }

    /// States the load before it starts.
    ///
    /// # Errors
    /// When no record can be made where it is asked for, or the plan costs more than is done without `--yes`.
    pub(crate) fn announce(&self, plan: &Plan, inventory: &Inventory) -> Result<Announced, CommandFailure> {
        Writer::check(&self.output.out.clone().unwrap_or_else(|| default_record(&time_of_day())))?;
        if !self.output.yes {
            costs::check(plan, inventory)?;
        }
        if !self.output.quiet {
            let style = Style { detail: false, colour: false, ..self.style() };
            self.console.say(&narrows_report::text::inventory(inventory, &style));
            self.console.say(&narrows_report::text::plan(plan, &style));
        }
        Ok(Announced(()))
    }
}

/// What is run.
pub(crate) struct RunSpec<'a> {
    /// The cells.
    pub(crate) plan: &'a Plan,
    /// This machine and the path.
    pub(crate) inventory: &'a Inventory,
    /// Kernel names of the block devices under the path.
    pub(crate) devices: Vec<String>,
    /// The control connections of the endpoints.
    pub(crate) servers: Option<&'a mut Servers>,
    /// The metrics of a server on which nothing of ours runs.
    pub(crate) server_metrics: Option<ConnectedMetrics>,
    /// The endpoints' token.
    pub(crate) token: Option<Vec<u8>>,
    /// More cells than the plan's, by what was measured.
    pub(crate) refine: Option<RefineFn>,
    /// When it ends.
    pub(crate) extent: RunExtent,
    /// Whether its verdicts are confirmed then, by changing what they blame.
    pub(crate) confirm: bool,
    /// Where its clients are started.
    pub(crate) clients: ClientStart,
}

/// A run that is over, its record not yet finished.
pub(crate) struct FinishedRun {
    writer: Writer,
    reason: EndReason,
}

/// Runs `undertaking` into a new record.
///
/// # Errors
/// When the record cannot be made or this program cannot be found; what happens later is in the record.
pub(crate) fn run(
    spec: RunSpec<'_>,
    watch: &Watch,
    context: OutputContext<'_>,
) -> Result<FinishedRun, CommandFailure> {
    check_host_folders(&spec.clients, spec.plan, watch)?;
    let (ranks, client_hosts) = (crate::ranks::facts(), spec.clients.hosts().to_vec());
    if !context.output.quiet {
        for line in crate::ranks::placement(ranks).into_iter().chain(hosts::placement(&client_hosts)) {
            context.console.say(&line);
        }
    }
    let idle = [crate::ranks::idle_ranks(spec.plan), hosts::idle_hosts(spec.plan, &client_hosts)];
    for line in idle.iter().flatten() {
        context.console.say(line);
    }
    signals::end_preparation();
    let inventory = Inventory { ranks: ranks.to_vec(), client_hosts, ..spec.inventory.clone() };
    let writer = record(spec.plan, &inventory, context)?;
    let (reason, writer) = RunExecutor { spec, watch, context }.execute(writer)?;
    Ok(FinishedRun { writer, reason })
}

/// A new record in which nothing has happened yet.
fn record(plan: &Plan, inventory: &Inventory, context: OutputContext<'_>) -> Result<Writer, CommandFailure> {
    let started_at = time_of_day();
    let dir = context.output.out.clone().unwrap_or_else(|| default_record(&started_at));
    let id = format!("{:016x}", random_u64()?);
    let manifest =
        Manifest::new(env!("CARGO_PKG_VERSION"), &started_at, context.command.to_vec(), plan.seed, &id);
    let writer = Writer::create(&dir, manifest, plan, inventory)?;
    signals::note_record(&dir);
    Ok(writer)
}

/// A folder for the records of several runs that is not there yet.
pub(crate) fn default_noise_folder() -> PathBuf {
    new_folder("narrows-noise", &time_of_day())
}

/// The date and time, to the second, RFC 3339, UTC.
#[must_use]
pub fn time_of_day() -> String {
    humantime::format_rfc3339_seconds(narrows_sys::clock::wall_time()).to_string()
}

fn default_record(started_at: &str) -> PathBuf {
    new_folder("narrows-record", started_at)
}

/// A folder named after the time that is not there yet: two runs may begin in one second.
fn new_folder(prefix: &str, started_at: &str) -> PathBuf {
    let stamp: String = started_at.chars().filter(char::is_ascii_alphanumeric).collect();
    let first = PathBuf::from(format!("{prefix}-{stamp}"));
    let more = (2..100).map(|number| PathBuf::from(format!("{prefix}-{stamp}-{number}")));
    std::iter::once(first.clone()).chain(more).find(|dir| !dir.exists() && !dir.is_symlink()).unwrap_or(first)
}
