//! Puts the load on: the plan's cells, then what they ask for, into the record.

use super::endpoint::monitor;
use super::{OutputContext, RefineFn, RunExtent, RunSpec, Watch};
use crate::client::CLIENT_COMMAND;
use crate::console::Console;
use crate::diagnose::summary_of;
use crate::exit::CommandFailure;
use crate::hosts::ClientStart;
use crate::progress::ProgressDisplay;
use narrows_engines::Clock;
use narrows_engines::endpoint::ControlClient;
use narrows_engines::own_folders::first_replaced;
use narrows_model::event::EndReason;
use narrows_model::inventory::PathKind;
use narrows_model::rank::RankFacts;
use narrows_model::{Event, Inventory, Nanos, Plan, Sink, SinkError, Summary};
use narrows_record::Writer;
use narrows_run::{
    CellSite, ClientCounters, Coordinator, CountersElsewhere, HostCoordinator, OptionalServer, PathPeers,
    PeerLoss, PeerMonitor, ProcessCoordinator, RunOutput, ServerLink, clean_up_within, execute,
};
use std::net::SocketAddr;
use std::sync::Arc;

/// A load about to be put on.
pub(super) struct RunExecutor<'a> {
    pub(super) spec: RunSpec<'a>,
    pub(super) watch: &'a Watch,
    pub(super) context: OutputContext<'a>,
}

/// Keeps every event, then shows it.
pub(super) struct Recording<'a> {
    pub(super) writer: Writer,
    pub(super) progress: ProgressDisplay<'a>,
    pub(super) clock: Arc<dyn Clock>,
    /// From when on the path is evaluated again for the live view.
    pub(super) show_path_ns: Nanos,
}

/// Evaluating the record for the live view takes at most one part in so many of a run.
const SHOW_PATH_SHARE: u64 = 20;

impl<'a> Recording<'a> {
    /// A recording into which nothing was written yet.
    pub(super) fn new(writer: Writer, progress: ProgressDisplay<'a>, watch: &Watch) -> Self {
        Self { writer, progress, clock: Arc::clone(&watch.clock), show_path_ns: Nanos(0) }
    }

    /// Shows on a terminal what the cells measured so far say of the path; between trials, when no load is on.
    fn show_path(&mut self) {
        let began = Nanos(self.clock.now().0);
        if !self.progress.shows_path() || began < self.show_path_ns {
            return;
        }
        if let Some(summary) = so_far(self) {
            self.progress.show_path(&summary);
        }
        let took = Nanos(self.clock.now().0).saturating_sub(began);
        self.show_path_ns = began.saturating_add(Nanos(took.0.saturating_mul(SHOW_PATH_SHARE)));
    }

    /// Reports the end of a run with `outcome`, and of a peer that was lost; returns why the run ended, and the record to be
    /// finished.
    pub(super) fn end(
        mut self,
        outcome: Result<RunOutput, SinkError>,
        loss: &PeerLoss,
        watch: &Watch,
        console: &Console,
    ) -> (EndReason, Writer) {
        let at_ns = watch.now();
        let ended = outcome.and_then(|output| {
            // What is lost or replaced once all was measured ends nothing.
            let found = || loss.message().map(str::to_owned).or_else(first_replaced);
            let detail = if output.reason == EndReason::Failed { found() } else { None };
            self.event(&Event::RunFinished { at_ns, reason: output.reason, detail }).map(|()| output.reason)
        });
        let reason = ended.unwrap_or_else(|error| {
            // What was kept until then is worth its verdict.
            console.say(&format!("narrows: {error}"));
            EndReason::Failed
        });
        (reason, self.writer)
    }
}

/// What was measured so far; `None` where the record cannot be read, and the run ends with what it has.
pub(super) fn so_far(recording: &Recording<'_>) -> Option<Summary> {
    summary_of(&recording.writer.record().ok()?).ok()
}

/// Reports a peer that was lost.
pub(super) fn say_loss(console: &Console, loss: &PeerLoss) {
    if let Some(message) = loss.message() {
        console.say(&format!("narrows: {message}; the run ends here, and what was measured is kept"));
    }
}

impl Sink for Recording<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.writer.event(event)?;
        self.progress.event(event);
        if matches!(event, Event::TrialFinished(_)) {
            self.show_path();
        }
        Ok(())
    }
}

impl RunExecutor<'_> {
    /// Runs all cells; returns why the run ended, and the record to be finished.
    pub(super) fn execute(mut self, writer: Writer) -> Result<(EndReason, Writer), CommandFailure> {
        let plan = self.spec.plan;
        let console = self.context.console;
        let mut site = self.site(plan)?;
        let monitor = self.monitor(&site)?;
        let progress = ProgressDisplay::new(console, plan, self.context.output.quiet);
        let mut recording = Recording::new(writer, progress, self.watch);
        let outcome = self.cells(plan, &mut site, &mut recording);
        // Peers cut a client without signs of life, and files may take long to remove.
        monitor.ignore_losses();
        // Whoever fell silent is not waited for once more.
        let is_over = outcome.as_ref().map_or(true, |output| output.reason == EndReason::Failed);
        let left = clean_up_within(&mut site, if is_over { Nanos(0) } else { Nanos(u64::MAX) });
        drop(monitor);
        recording.progress.end();
        say_loss(console, &site.peer_loss);
        for problem in left.iter().take(3) {
            console.say(&format!("narrows: not removed: {problem}"));
        }
        Ok(recording.end(outcome, &site.peer_loss, self.watch, console))
    }

    fn cells(
        &mut self,
        plan: &Plan,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
    ) -> Result<RunOutput, SinkError> {
        recording.event(&Event::RunStarted { at_ns: self.watch.now() })?;
        for client in self.spec.servers.iter().flat_map(|servers| servers.iter()) {
            recording.event(&Event::ServerConnected {
                server: Box::new(client.facts().clone()),
                inventory: Box::new(client.inventory().clone()),
            })?;
        }
        if let Some(proxy) = self.spec.servers.as_ref().and_then(|servers| servers.proxy()) {
            recording.event(&Event::ProxyConnected {
                proxy: Box::new(proxy.facts().clone()),
                inventory: Box::new(proxy.inventory().clone()),
            })?;
        }
        if let Some(metrics) = &site.server_metrics {
            recording.event(&Event::MetricsConnected { url: metrics.url() })?;
        }
        let mut output = match self.spec.extent {
            RunExtent::UntilDecided { every_point } => self.until_decided(every_point, site, recording)?,
            RunExtent::WholePlan => self.whole_plan(plan, site, recording)?,
        };
        if self.spec.confirm && !matches!(output.reason, EndReason::Failed | EndReason::Interrupted) {
            self.confirm(site, recording, &mut output)?;
        }
        Ok(output)
    }

    /// Measures all cells in their order, and then what their results ask for.
    fn whole_plan(
        &mut self,
        plan: &Plan,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
    ) -> Result<RunOutput, SinkError> {
        let spent_ns = self.watch.spent();
        let mut output = execute(plan, spent_ns, site, self.server(), recording)?;
        let mut cells = plan.cells.clone();
        if output.reason == EndReason::Finished
            && let Some(refine) = self.spec.refine
            && let Some(more) = self.extended(plan, refine, recording)?
        {
            let spent_ns = self.watch.spent();
            let later = execute(&more, spent_ns, site, self.server(), recording)?;
            output.failed.extend(later.failed);
            output.reason = later.reason;
            cells.extend(more.cells);
        }
        // Cells of studies and suites are the user's: their repetitions are what the plan says.
        if self.spec.refine.is_some() && !matches!(output.reason, EndReason::Failed | EndReason::Interrupted)
        {
            self.repeat_all(&cells, site, recording, &mut output)?;
        }
        Ok(output)
    }

    /// Asks the run's endpoints and proxy from now on whether they still answer.
    fn monitor(&self, site: &CellSite) -> Result<PeerMonitor, CommandFailure> {
        let servers = self.spec.servers.as_deref();
        let peers: Vec<_> =
            servers.iter().flat_map(|servers| servers.iter().chain(servers.proxy())).collect();
        monitor(&peers, self.spec.token.as_deref(), &site.stop, &site.peer_loss)
    }

    pub(super) fn server(&mut self) -> OptionalServer<'_> {
        let servers = self.spec.servers.as_mut();
        servers.map(|servers| &mut **servers as &mut (dyn ServerLink + 'static))
    }

    /// The cells that the results so far ask for, as far as the time lets them.
    fn extended(
        &self,
        plan: &Plan,
        refine: RefineFn,
        recording: &mut Recording<'_>,
    ) -> Result<Option<Plan>, SinkError> {
        let Some(summary) = so_far(recording) else { return Ok(None) };
        let more = refine(plan, &summary, plan.budget_ns.saturating_sub(self.watch.spent()));
        if more.cells.is_empty() && more.skipped.is_empty() {
            return Ok(None);
        }
        recording.event(&Event::PlanExtended { cells: more.cells.clone(), skipped: more.skipped })?;
        Ok(Some(Plan { cells: more.cells, skipped: Vec::new(), ..plan.clone() }))
    }

    /// The endpoints and the proxy of the run on this machine, by process id; `None` where one of them is not known by it:
    /// it would be taken for another program.
    fn path_pids(&self) -> Option<Vec<u32>> {
        let own_namespace = narrows_sys::process::pid_namespace();
        let boot_id = &self.spec.inventory.host.boot_id;
        let servers = self.spec.servers.as_deref();
        let peers = servers.iter().flat_map(|servers| servers.iter().chain(servers.proxy()));
        peers
            .map(ControlClient::facts)
            .filter(|facts| facts.shares_machine || boot_id.as_ref() == Some(&facts.boot_id))
            .map(|facts| {
                facts.pid.filter(|_| own_namespace.is_some() && facts.pid_namespace == own_namespace)
            })
            .collect()
    }

    /// The client's counters; a daemon that serves the path's file system is counted by itself, and is no other program.
    fn client_counters(&self) -> ClientCounters {
        let daemon = daemon(self.spec.inventory);
        let path_pids = self.path_pids().map(|pids| pids.into_iter().chain(daemon).collect());
        ClientCounters::new(self.spec.devices.clone(), path_pids)
            .with_nfs_mounts(nfs_mounts(self.spec.inventory))
            .with_daemon(daemon)
            .with_connections(&PathPeers {
                servers_of_kernel: servers_of_mounts(self.spec.inventory),
                daemon_pid: daemon,
            })
            .with_block_tracing()
    }

    /// Starts clients as ranks of a job, on hosts that were named, or on this machine.
    fn coordinator(&self) -> Result<Box<dyn Coordinator>, CommandFailure> {
        if let Some(ranks) = crate::ranks::coordinator() {
            return Ok(Box::new(ranks));
        }
        let arguments = vec![CLIENT_COMMAND.to_owned()];
        let launchers = match &self.spec.clients {
            ClientStart::OnHosts(hosts) => {
                return Ok(Box::new(HostCoordinator::new(Arc::clone(hosts), arguments)));
            }
            ClientStart::Here(launchers) => launchers.clone(),
        };
        let program = std::env::current_exe()
            .map_err(|error| CommandFailure::could_not_run(format!("find this program: {error}")))?;
        Ok(Box::new(ProcessCoordinator::new(program, arguments).launched_by(launchers)))
    }

    /// Whether all clients run on this machine: only then its counters are theirs.
    fn has_clients_here_alone(&self) -> bool {
        self.spec.clients.hosts().iter().all(|host| host.shares_machine)
            && crate::ranks::facts().iter().all(RankFacts::shares_machine)
    }

    fn site(&mut self, plan: &Plan) -> Result<CellSite, CommandFailure> {
        Ok(CellSite {
            registry: crate::registry::registry(),
            clock: Arc::clone(&self.watch.clock),
            stop: self.watch.stop.clone(),
            peer_loss: PeerLoss::default(),
            coordinator: self.coordinator()?,
            counters: if self.has_clients_here_alone() {
                Box::new(self.client_counters())
            } else {
                Box::new(CountersElsewhere)
            },
            server_metrics: self.spec.server_metrics.take(),
            hostname: self.spec.inventory.host.hostname.clone(),
            seed: plan.seed,
            interval_ns: plan.interval_ns,
            token: self.spec.token.clone(),
            answer_timeout_ns: narrows_run::site::answer_timeout(plan.budget_ns),
            prepared: narrows_run::PreparedObjects::default(),
            overruns: narrows_run::Overruns::default(),
        })
    }
}

/// The process that serves the file system of the paths (FUSE); `None` without one, of several, and where it is not known.
fn daemon(inventory: &Inventory) -> Option<u32> {
    let paths = inventory.path.iter().chain(&inventory.more_paths);
    let mut devices: Vec<&str> =
        paths.filter(|path| path.kind == PathKind::Fuse).map(|path| path.mount.device.as_str()).collect();
    devices.dedup();
    let [device] = devices.as_slice() else { return None };
    narrows_probe::fuse_daemon(&narrows_probe::Root::system(), device)
}

/// The ends of the servers that the kernel has mounted the paths from, where it says their addresses.
fn servers_of_mounts(inventory: &Inventory) -> Vec<SocketAddr> {
    let paths = inventory.path.iter().chain(&inventory.more_paths);
    paths.filter_map(narrows_probe::inventory::mount_server).collect()
}

/// Where the NFS mounts of the paths are, each once.
fn nfs_mounts(inventory: &Inventory) -> Vec<String> {
    let mut points: Vec<String> = Vec::new();
    let paths = inventory.path.iter().chain(&inventory.more_paths).filter(|path| path.nfs.is_some());
    for point in paths.map(|path| &path.mount.mount_point) {
        if !points.contains(point) {
            points.push(point.clone());
        }
    }
    points
}
