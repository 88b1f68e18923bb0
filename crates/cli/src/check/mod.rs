//! `narrows check`: from what was typed to a verdict, as a pipeline of values.

mod mounted_export;
mod refine;
mod request;
mod resolved_target;
mod server;

use crate::args::CheckArguments;
use crate::console::Console;
use crate::exit::{CommandFailure, Exit};
use crate::fail_if;
use crate::hosts::{ClientStart, NamedHosts};
use crate::measurement::{
    self, ConnectedMetrics, OutputContext, RefineFn, RunExtent, RunSpec, Watch, random_u64,
};
use crate::token;
use narrows_model::{Cut, Plan};
use narrows_study::spread;
use resolved_target::ResolvedTarget;
pub(crate) use server::CheckServer;

/// Everything that is known before load is put on.
///
/// Fields are dropped in order: the endpoint removes its store before the folder that contains it is removed.
pub(crate) struct PreparedCheck {
    pub(crate) server: Option<CheckServer>,
    pub(crate) server_metrics: Option<ConnectedMetrics>,
    pub(crate) resolved: ResolvedTarget,
    pub(crate) plan: Plan,
}

impl PreparedCheck {
    /// The token of the endpoint; one of the command's own has a token of its own.
    pub(crate) fn token(&self) -> Option<Vec<u8>> {
        self.server.as_ref().and_then(CheckServer::token).map(<[u8]>::to_vec)
    }

    /// States the load, then claims what it writes of a disk without folders: nothing is written there before.
    ///
    /// # Errors
    /// As [`OutputContext::announce`]; a disk that cannot be claimed.
    pub(crate) fn announce(
        &mut self,
        watch: &Watch,
        context: OutputContext<'_>,
    ) -> Result<(), CommandFailure> {
        let announced = context.announce(&self.plan, self.resolved.inventory())?;
        for note in self.resolved.claim_unit(&mut self.plan, watch, &announced)? {
            context.console.say(&note);
        }
        match (&mut self.server, self.resolved.unit()) {
            (Some(server), Some(site)) => server.prove_unit(site),
            _ => Ok(()),
        }
    }

    /// The run of its plan to this extent by `clients`, refined by `refine`.
    pub(crate) fn run_spec(
        &mut self,
        refine: Option<RefineFn>,
        extent: RunExtent,
        clients: ClientStart,
    ) -> RunSpec<'_> {
        RunSpec {
            plan: &self.plan,
            inventory: self.resolved.inventory(),
            devices: self.resolved.device_names(),
            token: self.token(),
            server_metrics: self.server_metrics.take(),
            servers: self.server.as_mut().map(CheckServer::servers),
            refine,
            extent,
            confirm: false,
            clients,
        }
    }
}

/// Runs the command.
pub(crate) fn run(
    arguments: &CheckArguments,
    command: &[String],
    console: &Console,
) -> Result<Exit, CommandFailure> {
    let context = OutputContext { output: &arguments.output, command, console };
    let hosts = hosts(arguments)?;
    let usual_clients = hosts.usual_clients();
    let watch = Watch::start(console)?;
    let clients = hosts.connect(&arguments.output, std::slice::from_ref(&arguments.target), &watch.clock)?;
    let mut prepared = prepare(arguments, usual_clients, &watch, Some(console))?;
    if arguments.output.plan {
        context.print_short_plan(&prepared.plan)?;
        return Ok(Exit::Done);
    }
    prepared.announce(&watch, context)?;
    let spec = prepared.run_spec(Some(refine::refine_plan), extent(arguments), clients);
    let finished = measurement::run(RunSpec { confirm: arguments.confirm, ..spec }, &watch, context)?;
    drop(prepared);
    measurement::conclude(finished, context)
}

/// The hosts that are named.
///
/// # Errors
/// What is wrong with them; an endpoint that this command starts, which no other host reaches.
pub(crate) fn hosts(arguments: &CheckArguments) -> Result<NamedHosts, CommandFailure> {
    let hosts = NamedHosts::new(&arguments.hosts)?;
    check_server_of(&hosts, arguments.server.as_deref())?;
    Ok(hosts)
}

/// Fails where clients on `hosts` would not reach `server`, which this command starts.
pub(crate) fn check_server_of(hosts: &NamedHosts, server: Option<&str>) -> Result<(), CommandFailure> {
    if hosts.are_named() && server == Some("self") {
        return Err(CommandFailure::bad_input(
            "--server self starts an endpoint on the loopback of this machine, which other hosts do not reach; start \
             `narrows serve` where TARGET is stored, and give its address with --server",
        ));
    }
    Ok(())
}

/// Which of the plan's cells are measured: those that decide the verdict, unless all are asked for. Blocks and depths that
/// are asked for by name are all measured over the path.
fn extent(arguments: &CheckArguments) -> RunExtent {
    if arguments.whole_plan || arguments.deep {
        return RunExtent::WholePlan;
    }
    RunExtent::UntilDecided { every_point: !arguments.block.is_empty() || !arguments.depth.is_empty() }
}

/// Looks at TARGET, connects to the endpoint and plans the check by `clients` clients, whose cuts suites measure too.
/// `console` is where what killed runs left is listed. Nothing is written to a disk without folders.
///
/// # Errors
/// When TARGET or the endpoint cannot be used, or the check cannot be planned.
pub(crate) fn prepare(
    arguments: &CheckArguments,
    clients: u32,
    watch: &Watch,
    console: Option<&Console>,
) -> Result<PreparedCheck, CommandFailure> {
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => random_u64()?,
    };
    let token = token::read(arguments.token_file.as_deref())?;
    // Not the seed: a run with a seed can be repeated beside what a killed one left.
    let resolved = ResolvedTarget::resolve(arguments, random_u64()?, watch)?;
    if let Some(console) = console {
        resolved.leftovers(arguments).iter().for_each(|leftover| console.say(leftover));
    }
    let server = CheckServer::from_arguments(arguments, &resolved, token.as_deref(), &watch.clock)?;
    let server_metrics = server_metrics(arguments, &resolved, server.is_some(), watch)?;
    let mut plan = request::plan(arguments, &resolved, server.as_ref(), seed, &watch.clock)?;
    fail_if::set(&mut plan, &arguments.fail_if, || {
        let ample = CheckArguments { seconds: fail_if::AMPLE_SECONDS, ..arguments.clone() };
        request::plan(&ample, &resolved, server.as_ref(), seed, &watch.clock)
    })?;
    spread_over(&mut plan, clients)?;
    resolved.describe_unit(&mut plan);
    Ok(PreparedCheck { server, server_metrics, resolved, plan })
}

/// The metrics of TARGET's server, where they are asked for and no endpoint of ours reports its counters.
fn server_metrics(
    arguments: &CheckArguments,
    resolved: &ResolvedTarget,
    has_endpoint: bool,
    watch: &Watch,
) -> Result<Option<ConnectedMetrics>, CommandFailure> {
    let url = arguments.server_metrics.as_deref();
    if has_endpoint && arguments.server.is_some() && url.is_some() {
        return Err(CommandFailure::bad_input(
            "--server-metrics is for servers on which nothing of narrows runs; the endpoint of --server reports its own counters: \
             give one of the two",
        ));
    }
    measurement::check_metrics_use(url, std::slice::from_ref(&arguments.target), resolved.inventory())?;
    measurement::connect_metrics(url, &watch.clock)
}

/// Has the load of `plan` put on by `clients` clients; fails where nothing of the path itself is left to measure then.
fn spread_over(plan: &mut Plan, clients: u32) -> Result<(), CommandFailure> {
    let has_path = |plan: &Plan| plan.cells.iter().any(|cell| cell.cut == Cut::Path);
    let had_path = has_path(plan);
    spread(plan, clients);
    match plan.skipped.last().filter(|_| had_path && !has_path(plan)) {
        None => Ok(()),
        Some(skip) => {
            Err(CommandFailure::bad_input(format!("{}: {}; nothing was run", skip.cell, skip.reason)))
        }
    }
}
