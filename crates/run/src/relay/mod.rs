//! Runs the buffer experiment: for each trial the roles are asked in turn, from the server to the client, and what they
//! report becomes one event.
//!
//! Roles are reached through [`RoleLink`]: child processes of this program, or sessions on other hosts. Reports are
//! held against what was asked. Deliberately absent: statistics over trials, and text for people beyond problems.

mod asked;
mod judge;
mod link;
mod local;
mod remote;
mod trial;

pub use link::RoleLink;
pub use local::LocalRole;
pub use remote::RemoteRole;

use crate::execute::RunOutput;
use crate::stop::{StopFlag, StopRequest};
use narrows_model::event::EndReason;
use narrows_model::plan::SkippedCell;
use narrows_model::relay::{RelayCell, RelayPlan, RelayTrial};
use narrows_model::{Event, Nanos, Sink, SinkError};
use trial::{Attempt, Terms};

/// Trials that may fail one after the other: then something is wrong that the next point would meet too.
const FAILURES_IN_A_ROW_MAX: u32 = 3;

/// Where the roles are played.
pub struct RelaySite {
    /// The request to stop.
    pub stop: StopFlag,
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
/// A trial that fails is reported and the run goes on, unless a role is lost for good or several fail in a row.
///
/// # Errors
/// When events cannot be kept.
pub fn execute_relay(
    plan: &RelayPlan,
    site: &mut RelaySite,
    sink: &mut dyn Sink,
) -> Result<RunOutput, SinkError> {
    let mut run = Run { plan, site, failures_in_a_row: 0, trial_count: 0 };
    let mut output = RunOutput { reason: EndReason::Finished, done_count: 0, failed: Vec::new() };
    for cell in &plan.cells {
        if run.site.stop.request() != StopRequest::None {
            output.reason = EndReason::Interrupted;
            break;
        }
        match run.point(cell, sink)? {
            PointEnd::Whole => output.done_count += 1,
            PointEnd::Failed(reason) => output.failed.push(SkippedCell { cell: cell.id.clone(), reason }),
            PointEnd::Stopped => output.reason = EndReason::Interrupted,
        }
        if run.is_hopeless() {
            output.reason = EndReason::Failed;
            break;
        }
    }
    Ok(output)
}

/// How a point ended.
enum PointEnd {
    Whole,
    Failed(String),
    Stopped,
}

struct Run<'a> {
    plan: &'a RelayPlan,
    site: &'a mut RelaySite,
    failures_in_a_row: u32,
    trial_count: u64,
}

impl Run<'_> {
    /// All trials of one point; the last problem, where there was one.
    fn point(&mut self, cell: &RelayCell, sink: &mut dyn Sink) -> Result<PointEnd, SinkError> {
        let mut problem = None;
        for trial in 0..cell.trials {
            let Some(made) = self.trial(cell, trial) else { return Ok(PointEnd::Stopped) };
            self.failures_in_a_row = if made.whole { 0 } else { self.failures_in_a_row + 1 };
            problem = made.problem.clone().or(problem);
            sink.event(&Event::RelayTrialFinished(Box::new(made)))?;
            if self.is_hopeless() {
                break;
            }
        }
        Ok(problem.map_or(PointEnd::Whole, PointEnd::Failed))
    }

    /// One trial; `None` when a stop ended it, so that nothing of it is told.
    fn trial(&mut self, cell: &RelayCell, trial: u32) -> Option<RelayTrial> {
        let terms = Terms::of(self.plan, cell, self.site, self.trial_count);
        self.trial_count += 1;
        let mut attempt = Attempt::new(terms, self.site, cell.buffers.proxy.is_some());
        let outcome = attempt.run();
        if outcome.is_err() && self.site.stop.is_now() {
            return None;
        }
        Some(judge::trial(cell, trial, self.plan, outcome))
    }

    fn is_hopeless(&self) -> bool {
        let links = [&self.site.client, &self.site.proxy, &self.site.server];
        self.failures_in_a_row >= FAILURES_IN_A_ROW_MAX || links.iter().any(|link| link.is_lost())
    }
}

#[cfg(test)]
mod tests;
