//! Starts a trial's clients together and brings their outputs home: in this process, or in processes of their own.

use crate::assignment::{Assignment, ClientOutput, WindowTimes};
use crate::error::RunError;
use crate::group::{GroupHooks, run_group};
use crate::stop::StopFlag;
use narrows_engines::{Clock, EngineError, EngineRegistry, ErrorKind};
use narrows_model::trial::IntervalSample;
use std::sync::Arc;
use std::time::Duration;

mod clients;
mod host_of_client;
mod on_hosts;
mod processes;

pub use clients::{
    ClientEvent, ClientEventSender, ClientPort, ClientSilence, ConnectFn, MessagesEnd, run_clients,
};
pub use on_hosts::HostCoordinator;
pub use processes::ProcessCoordinator;

/// What the trial does while its clients run.
pub trait TrialHooks {
    /// All clients are ready; `child_pids` are their processes. Returns the window's times, or nothing to give up.
    fn ready(&mut self, child_pids: &[u32]) -> Option<WindowTimes>;
    /// A worker's interval ended.
    fn interval(&mut self, sample: &IntervalSample);
    /// The queues of one more client's workers have all turned over once.
    fn turned(&mut self) {}
    /// Called often while load runs, and as the window begins and ends; true cancels the trial.
    fn poll(&mut self) -> bool;
    /// How long to wait from `now_ns` on the site's clock for the next poll, `most` at most.
    fn pause(&self, _now_ns: u64, most: Duration) -> Duration {
        most
    }
    /// The window's times, when they have been put off since the last call.
    fn moved(&mut self) -> Option<WindowTimes> {
        None
    }
    /// Whether the trial and the run have had their time, and patience is at its end too: clients in processes of their
    /// own are then ended, whatever they wait for.
    fn is_overdue(&self) -> bool {
        false
    }
}

/// What clients in this process run with.
pub struct LocalContext<'a> {
    /// Engines by target.
    pub registry: &'a EngineRegistry,
    /// The clock.
    pub clock: &'a Arc<dyn Clock>,
    /// The request to stop.
    pub stop: &'a StopFlag,
}

impl std::fmt::Debug for LocalContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalContext").field("stop", self.stop).finish_non_exhaustive()
    }
}

/// What the start of load waits for messages to processes, which may have to wait for a CPU.
pub const START_DELAY_NS: u64 = 10_000_000;

/// Starts a trial's clients.
pub trait Coordinator: Send {
    /// Runs one trial: `assignments` has one entry for each client, in order.
    ///
    /// # Errors
    /// When a client could not open its target, ended without a result, or a stop was asked for before the start.
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError>;

    /// How long before it is due the start of load is to be sent to clients on other machines; 0 for those of this one.
    fn notice_ns(&self) -> u64 {
        0
    }

    /// The time between "all are ready" and the start of load: the message to the slowest client takes less.
    fn start_delay_ns(&self) -> u64 {
        START_DELAY_NS
    }
}

impl<C: Coordinator + Sync + ?Sized> Coordinator for Arc<C> {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        (**self).run(assignments, context, hooks)
    }

    fn notice_ns(&self) -> u64 {
        (**self).notice_ns()
    }

    fn start_delay_ns(&self) -> u64 {
        (**self).start_delay_ns()
    }
}

/// One client, as threads of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadCoordinator;

impl Coordinator for ThreadCoordinator {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        let [assignment] = assignments else {
            return Err(EngineError::new(
                ErrorKind::Unsupported,
                "start",
                format!("{} clients", assignments.len()),
            )
            .detail("several clients are several processes, and this program cannot start them here")
            .into());
        };
        let factory = context.registry.factory(assignment.target(), assignment.cell.workload.engine)?;
        let output = run_group(
            assignment,
            factory.as_ref(),
            context.clock,
            context.stop,
            &mut InProcessHooks { hooks },
        )?;
        Ok(vec![output])
    }
}

/// A group in this process reports straight to the trial.
struct InProcessHooks<'a> {
    hooks: &'a mut dyn TrialHooks,
}

impl GroupHooks for InProcessHooks<'_> {
    fn ready(&mut self) -> Option<WindowTimes> {
        self.hooks.ready(&[])
    }

    fn interval(&mut self, sample: &IntervalSample) {
        self.hooks.interval(sample);
    }

    fn turned(&mut self) {
        self.hooks.turned();
    }

    fn load_ended(&mut self, _: u64) {}

    fn poll(&mut self) -> bool {
        self.hooks.poll()
    }

    fn moved(&mut self) -> Option<WindowTimes> {
        self.hooks.moved()
    }
}
