//! Runs the buffer experiment: for each trial the roles are asked in turn, from the server to the client, and what they
//! report becomes one event.
//!
//! Roles are reached through [`RoleLink`]: child processes of this program, or sessions on other hosts. Reports are
//! compared with what was asked. Deliberately absent: statistics over trials, and text for people beyond problems.

mod assemble;
mod link;
mod local;
mod remote;
mod trial;
mod trial_spec;

pub use link::RoleLink;
pub use local::LocalRole;
pub use remote::RemoteRole;

use crate::execute::RunOutput;
use crate::peer_monitor::PeerLoss;
use crate::stop::{StopFlag, StopRequest};
use narrows_model::event::EndReason;
use narrows_model::plan::SkippedCell;
use narrows_model::relay::{RelayCell, RelayPlan, RelayTrial};
use narrows_model::{Event, Nanos, Sink, SinkError};
use trial::{RelayTrialSpec, TrialAttempt};

/// Trials of a point that may fail one after the other: then the next point has its turn.
const FAILURES_IN_A_ROW_MAX: u32 = 3;

/// Where the roles are played.
pub struct RelaySite {
    /// The request to stop.
    pub stop: StopFlag,
    /// What happened to a role elsewhere that stopped answering.
    pub peer_loss: PeerLoss,
    /// Seed of the content that is verified.
    pub seed: u64,
    /// Longest time in which nothing moves.
    pub silence_ns: Nanos,
    /// The client.
    pub client: Box<dyn RoleLink>,
    /// The proxy of points that have one.
    pub proxy: Box<dyn RoleLink>,
    /// The server.
    pub server: Box<dyn RoleLink>,
}

impl std::fmt::Debug for RelaySite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelaySite").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// Runs the points of `plan` in order, each with its trials.
///
/// A trial that fails is reported and the run continues. A point whose trials fail one after the other is abandoned,
/// and the next point is then allowed a single failure: what is wrong may be wrong for all. A point one of whose roles
/// is gone for good is skipped, and reported with the reason.
///
/// # Errors
/// When events cannot be kept.
pub fn execute_relay(
    plan: &RelayPlan,
    site: &mut RelaySite,
    sink: &mut dyn Sink,
) -> Result<RunOutput, SinkError> {
    let mut run = RelayRun { plan, site, failures_max: FAILURES_IN_A_ROW_MAX, trial_count: 0 };
    let mut output = RunOutput { reason: EndReason::Finished, done_count: 0, failed: Vec::new() };
    for cell in &plan.cells {
        if run.site.stop.request() != StopRequest::None {
            output.reason = run.stop_reason();
            break;
        }
        if let Some(reason) = run.missing(cell) {
            output.reason = EndReason::Failed;
            sink.event(&Event::CellSkipped(SkippedCell { cell: cell.id.clone(), reason }))?;
            continue;
        }
        match run.point(cell, sink)? {
            PointOutcome::Whole => output.done_count += 1,
            PointOutcome::Failed(reason) => output.failed.push(SkippedCell { cell: cell.id.clone(), reason }),
            PointOutcome::Stopped => output.reason = run.stop_reason(),
        }
    }
    Ok(output)
}

/// How a point ended.
enum PointOutcome {
    Whole,
    Failed(String),
    Stopped,
}

struct RelayRun<'a> {
    plan: &'a RelayPlan,
    site: &'a mut RelaySite,
    /// Failures one after the other that the next point may have.
    failures_max: u32,
    trial_count: u64,
}

impl RelayRun<'_> {
    /// All trials of one point; the last problem, where there was one.
    fn point(&mut self, cell: &RelayCell, sink: &mut dyn Sink) -> Result<PointOutcome, SinkError> {
        let mut problem = None;
        let mut failures_in_a_row = 0;
        let mut has_whole = false;
        for trial in 0..cell.trials {
            let Some(made) = self.trial(cell, trial) else { return Ok(PointOutcome::Stopped) };
            failures_in_a_row = if made.whole { 0 } else { failures_in_a_row + 1 };
            has_whole |= made.whole;
            problem = made.problem.clone().or(problem);
            sink.event(&Event::RelayTrialFinished(Box::new(made)))?;
            let failures_max = if has_whole { FAILURES_IN_A_ROW_MAX } else { self.failures_max };
            // A role elsewhere that was lost has all stop: what it was part of has no result, and nothing comes after.
            let is_over = failures_in_a_row > 0 && self.site.stop.is_now();
            if is_over || failures_in_a_row >= failures_max || self.missing(cell).is_some() {
                break;
            }
        }
        self.failures_max = if has_whole { FAILURES_IN_A_ROW_MAX } else { 1 };
        Ok(problem.map_or(PointOutcome::Whole, PointOutcome::Failed))
    }

    /// One trial; `None` when the user's stop ended it, so that nothing of it is reported.
    fn trial(&mut self, cell: &RelayCell, trial: u32) -> Option<RelayTrial> {
        let trial_spec = RelayTrialSpec::for_trial(self.plan, cell, self.site, self.trial_count);
        self.trial_count += 1;
        let mut attempt = TrialAttempt::new(trial_spec, self.site, cell.buffers.proxy.is_some());
        let mut outcome = attempt.run();
        if let Err(failure) = &mut outcome
            && self.site.stop.is_now()
        {
            // Whichever notices a lost role first, the trial or who watches its host, the trial has no result.
            failure.stopped_by(self.site.peer_loss.message()?);
        }
        Some(assemble::assemble_trial(cell, trial, self.plan, outcome))
    }

    /// Why a run ends that was asked to stop: by its user, or because a role elsewhere was lost.
    fn stop_reason(&self) -> EndReason {
        if self.site.peer_loss.message().is_some() { EndReason::Failed } else { EndReason::Interrupted }
    }

    /// Why a point cannot be tried: a role that it needs is gone for good.
    fn missing(&self, cell: &RelayCell) -> Option<String> {
        let proxy = cell.buffers.proxy.map(|_| (&self.site.proxy, "proxy"));
        let needed = [(&self.site.client, "client"), (&self.site.server, "server")];
        let (_, name) = needed.into_iter().chain(proxy).find(|(link, _)| link.is_lost())?;
        Some(format!("the {name} ended because an earlier trial failed"))
    }
}

#[cfg(test)]
mod tests;
