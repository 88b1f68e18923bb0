//! Runs a plan's cells in order within its budget, and cleans up what it made.

use crate::error::{RunError, RunErrorKind};
use crate::link::{OptionalServer, ServerLink};
use crate::repetition::{RateWatch, Repetition};
use crate::site::CellSite;
use crate::stop::StopRequest;
use crate::time_share::{TimeShare, may_go_on};
use crate::trial::{TrialTurn, run_trial};
use narrows_engines::endpoint::RemoteCellParams;
use narrows_engines::own_folders::find_replaced;
use narrows_engines::{EngineError, ErrorKind};
use narrows_model::event::{EndReason, Phase};
use narrows_model::plan::SkippedCell;
use narrows_model::quantity::span;
use narrows_model::{Cell, Event, Nanos, Plan, Sink, SinkError, Site};

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutput {
    /// Why it ended.
    pub reason: EndReason,
    /// Cells that ran to their end.
    pub done_count: u32,
    /// Cells that failed, with what happened.
    pub failed: Vec<SkippedCell>,
}

/// Share of the budget by which a run may exceed it before cells are dropped: opening and counting are planned roughly.
const OVERRUN_RATIO: f64 = 0.05;

/// Runs the cells of `plan` that fit the budget, those of the path before cuts where not all do; `already_ns` of it were
/// spent before.
///
/// Cells that fail are reported and the run continues, unless the server is gone.
///
/// # Errors
/// When events cannot be kept.
pub fn execute(
    plan: &Plan,
    already_ns: Nanos,
    site: &mut CellSite,
    mut server: OptionalServer<'_>,
    sink: &mut dyn Sink,
) -> Result<RunOutput, SinkError> {
    let start_ns = site.clock.now().0.saturating_sub(already_ns.0);
    let limit_ns = Nanos::from_secs_f64(plan.budget_ns.as_secs_f64() * (1.0 + OVERRUN_RATIO)).0;
    let share = TimeShare { limit_at_ns: start_ns.saturating_add(limit_ns) };
    if let Some(server) = server.as_deref_mut() {
        server.set_stop_flag(&site.stop);
    }
    let output = RunOutput { reason: EndReason::Finished, done_count: 0, failed: Vec::new() };
    let mut run = PlanRun { site, server, sink, output };
    let mut open = Vec::new();
    for (index, cell) in plan.cells.iter().enumerate() {
        let now_ns = run.site.clock.now().0;
        if run.site.stop.request() != StopRequest::None {
            run.output.reason = run.stop_reason();
            return Ok(run.output);
        }
        let rest = plan.cells.get(index..).unwrap_or_default();
        if !share.fits(now_ns, rest) {
            let left = Nanos(share.limit_at_ns.saturating_sub(now_ns));
            let reason = no_time(run.site, cell, left);
            run.skip_cell(cell, reason)?;
            continue;
        }
        let leave = CellTime { until_ns: share.until_ns(now_ns, rest), limit_ns: share.limit_at_ns };
        let mut repetition = Repetition::new(cell);
        let outcome = run.trials(cell, &mut repetition, leave);
        let is_done = outcome.is_ok();
        run.output.done_count += u32::from(is_done);
        if run.finish_cell(cell, outcome)? {
            return Ok(run.output);
        }
        if is_done && may_go_on(cell) {
            open.push((cell, repetition));
        }
    }
    run.repeat_open_cells(open, share)?;
    if run.site.peer_loss.message().is_some() {
        run.output.reason = EndReason::Failed;
    }
    Ok(run.output)
}

/// What is left of a run's time for one cell, on the site's clock.
#[derive(Debug, Clone, Copy)]
struct CellTime {
    /// Repetitions beyond the fewest end before it.
    until_ns: u64,
    /// Preparation may take what is left of the whole run's.
    limit_ns: u64,
}

/// A run under way.
struct PlanRun<'a, 'b> {
    site: &'a mut CellSite,
    server: OptionalServer<'b>,
    sink: &'a mut dyn Sink,
    output: RunOutput,
}

impl PlanRun<'_, '_> {
    fn trials(&mut self, cell: &Cell, repetition: &mut Repetition, leave: CellTime) -> Result<(), RunError> {
        run_trials(cell, repetition, leave, self.site, self.server.as_deref_mut(), self.sink)
    }

    /// Spends what the cells have left on those that would go on, a trial of each in turn.
    ///
    /// Bounded: each has its most trials.
    fn repeat_open_cells(
        &mut self,
        mut open: Vec<(&Cell, Repetition)>,
        share: TimeShare,
    ) -> Result<(), SinkError> {
        while !open.is_empty() {
            let mut still_open = Vec::new();
            for (cell, mut repetition) in open {
                let left_ns = share.limit_at_ns.saturating_sub(self.site.clock.now().0);
                let is_asked = self.site.stop.request() == StopRequest::None;
                if !is_asked || repetition.next_trial(left_ns).is_none() {
                    continue;
                }
                // Until now: one more trial, and none after it.
                repetition.allow_one_more();
                let leave = CellTime { until_ns: 0, limit_ns: share.limit_at_ns };
                let outcome = self.trials(cell, &mut repetition, leave);
                let is_done = outcome.is_ok();
                // It has been measured: that there is no time to prepare it once more leaves nothing out.
                let is_over = outcome.as_ref().is_err_and(RunError::is_late);
                if !is_over && self.finish_cell(cell, outcome)? {
                    return Ok(());
                }
                if is_done {
                    still_open.push((cell, repetition));
                }
            }
            open = still_open;
        }
        Ok(())
    }

    /// Reports how a cell ended; returns whether the run ends with it.
    fn finish_cell(&mut self, cell: &Cell, outcome: Result<(), RunError>) -> Result<bool, SinkError> {
        match outcome {
            Ok(()) => {}
            Err(RunError::Sink(error)) => return Err(error),
            Err(RunError::Stopped) => {
                self.output.reason = self.stop_reason();
                if let Some(message) = self.site.peer_loss.message() {
                    let message = message.to_owned();
                    self.fail_cell(cell, message)?;
                }
            }
            Err(error) if error.is_late() => self.skip_cell(cell, error.to_string())?,
            Err(error) => {
                self.fail_cell(cell, error.to_string())?;
                if ends_the_run(&error) {
                    self.output.reason = EndReason::Failed;
                    return Ok(true);
                }
            }
        }
        // Whoever replaced a file of ours would do so again; a client process reports it as the failure of its cell.
        let is_replaced = find_replaced();
        if is_replaced {
            self.output.reason = EndReason::Failed;
        }
        Ok(is_replaced)
    }

    /// Why a run ends that was asked to stop: by its user, or because a peer was lost.
    fn stop_reason(&self) -> EndReason {
        if self.site.peer_loss.message().is_some() { EndReason::Failed } else { EndReason::Interrupted }
    }

    fn fail_cell(&mut self, cell: &Cell, message: String) -> Result<(), SinkError> {
        self.sink.event(&Event::CellFailed { cell: cell.id.clone(), message: message.clone() })?;
        self.output.failed.push(SkippedCell { cell: cell.id.clone(), reason: message });
        Ok(())
    }

    fn skip_cell(&mut self, cell: &Cell, reason: String) -> Result<(), SinkError> {
        self.output.reason = EndReason::BudgetSpent;
        self.sink.event(&Event::CellSkipped(SkippedCell { cell: cell.id.clone(), reason }))
    }
}

/// Why a cell is left out for which too little time is left.
fn no_time(site: &CellSite, cell: &Cell, left: Nanos) -> String {
    let (needed, used_for) = (cell.estimated_ns(), site.time_used_for());
    let left_s = format!("{:.1} s", left.as_secs_f64());
    if needed <= left {
        return format!(
            "the {left_s} left of the time are for loads of the whole path{used_for}; give more with --seconds"
        );
    }
    format!(
        "it takes {} or more, and {left_s} of the time are left{used_for}; give more with --seconds",
        span(needed)
    )
}

/// Wait for a peer's answer while what cells made is removed, where there is no time for more: a session's end removes it
/// at the peer too.
const CLEAN_UP_TIMEOUT_NS: u64 = 1_000_000_000;

/// Removes what the site's cells made and returns what could not be removed.
pub fn clean_up(site: &mut CellSite) -> Vec<String> {
    clean_up_within(site, Nanos(u64::MAX))
}

/// As [`clean_up`]. A peer is waited for no longer than `rest`, and a second in any case; after a wish to stop at once, no
/// longer than that.
pub fn clean_up_within(site: &mut CellSite, rest: Nanos) -> Vec<String> {
    let registry = site.registry.clone();
    let rest_ns = if site.stop.is_now() { 0 } else { rest.0 };
    let timeout_ns = site.answer_timeout_ns.0.min(rest_ns.max(CLEAN_UP_TIMEOUT_NS));
    let errors =
        site.prepared.remove_all(timeout_ns, |spec| registry.factory(&spec.target, spec.workload.engine));
    errors.iter().map(ToString::to_string).collect()
}

/// Runs all repetitions of one cell, here or on the server.
///
/// # Errors
/// When the target cannot be used, a client failed, events cannot be kept, or a stop was asked for.
pub fn run_cell(
    cell: &Cell,
    site: &mut CellSite,
    server: OptionalServer<'_>,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    run_cell_within(cell, u64::MAX, site, server, sink)
}

/// As [`run_cell`]; repetitions beyond the fewest are made only while they end before `until_ns` on the site's clock
/// and nobody asks for a stop.
///
/// # Errors
/// As [`run_cell`].
pub fn run_cell_within(
    cell: &Cell,
    until_ns: u64,
    site: &mut CellSite,
    server: OptionalServer<'_>,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let leave = CellTime { until_ns, limit_ns: until_ns };
    run_trials(cell, &mut Repetition::new(cell), leave, site, server, sink)
}

/// Runs those repetitions of one cell that `repetition` still asks for.
fn run_trials(
    cell: &Cell,
    repetition: &mut Repetition,
    leave: CellTime,
    site: &mut CellSite,
    server: OptionalServer<'_>,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let left_ns = |site: &CellSite| match site.stop.request() {
        StopRequest::None => leave.until_ns.saturating_sub(site.clock.now().0),
        _ => 0,
    };
    match (cell.site, server) {
        (Site::Client, mut server) => {
            while let Some(trial) = repetition.next_trial(left_ns(site)) {
                let mut watch = RateWatch { sink: &mut *sink, rate: None };
                let start_by_ns = repetition.start_by_ns(leave.limit_ns);
                let turn = TrialTurn { trial, start_by_ns, limit_ns: leave.limit_ns };
                run_trial(cell, turn, site, server.as_deref_mut(), &mut watch)?;
                repetition.count_trial(watch.rate);
            }
            Ok(())
        }
        (Site::Server, Some(server)) => {
            // The server decides by the same rule when they are enough; how many fit is known here.
            let left_ns = left_ns(site);
            let bounded = Cell { trials: repetition.trials_within(left_ns), ..cell.clone() };
            run_at_server(&bounded, Nanos(left_ns), site, server, sink)
        }
        (Site::Server, None) => Err(EngineError::new(ErrorKind::Unsupported, "run", cell.id.to_string())
            .detail("the cell runs on a server and there is none")
            .into()),
    }
}

fn run_at_server(
    cell: &Cell,
    left_ns: Nanos,
    site: &CellSite,
    server: &mut dyn ServerLink,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let at_ns = Nanos(site.clock.now().0);
    sink.event(&Event::PhaseStarted { cell: cell.id.clone(), trial: 0, phase: Phase::Prepare, at_ns })?;
    let mut kept: Result<(), SinkError> = Ok(());
    let stop = site.stop.clone();
    let outcome = server.run_cell(
        cell,
        RemoteCellParams { interval_ns: site.interval_ns, seed: site.seed, left_ns },
        &mut |event| {
            if kept.is_ok() {
                kept = sink.event(&event);
            }
        },
        &|| stop.is_now(),
    );
    kept?;
    outcome?;
    if site.stop.is_now() { Err(RunError::Stopped) } else { Ok(()) }
}

fn ends_the_run(error: &RunError) -> bool {
    match error {
        RunError::Engine(engine) => {
            matches!(engine.kind, ErrorKind::PeerGone | ErrorKind::Refused | ErrorKind::Token)
        }
        RunError::Rank { .. } | RunError::Host { .. } => true,
        other => other.kind() == RunErrorKind::Sink,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::ThreadCoordinator;
    use crate::link::NoCounters;
    use crate::overrun::Overruns;
    use crate::peer_monitor::PeerLoss;
    use crate::prepare::PreparedObjects;
    use crate::stop::StopFlag;
    use narrows_engines::{EngineRegistry, VirtualClock};
    use narrows_model::{CellId, CounterSample, Cut, Stop, Workload};
    use std::sync::Arc;

    /// Notes with what it is asked to run cells.
    struct Noting(Vec<RemoteCellParams>);

    impl ServerLink for Noting {
        fn session(&self) -> String {
            String::new()
        }

        fn set_stop_flag(&mut self, _stop: &StopFlag) {}

        fn counters(&mut self) -> Result<CounterSample, EngineError> {
            Err(EngineError::new(ErrorKind::Unsupported, "ask", "a link of a test"))
        }

        fn run_cell(
            &mut self,
            _cell: &Cell,
            params: RemoteCellParams,
            _on_event: &mut dyn FnMut(Event),
            _stop: &dyn Fn() -> bool,
        ) -> Result<(), EngineError> {
            self.0.push(params);
            Ok(())
        }

        fn bring_cache_to(
            &mut self,
            _stored: &[crate::link::StoredObjects],
            _state: narrows_model::workload::CacheState,
        ) -> Result<Option<f64>, EngineError> {
            Ok(None)
        }
    }

    #[test]
    fn a_cell_at_the_server_is_run_with_the_runs_seed_and_interval() {
        let mut site = CellSite {
            registry: EngineRegistry::for_user(),
            clock: Arc::new(VirtualClock::default()),
            stop: StopFlag::default(),
            peer_loss: PeerLoss::default(),
            coordinator: Box::new(ThreadCoordinator),
            counters: Box::new(NoCounters),
            server_metrics: None,
            hostname: String::new(),
            seed: 7,
            interval_ns: Nanos(10),
            token: None,
            answer_timeout_ns: Nanos(1),
            prepared: PreparedObjects::default(),
            overruns: Overruns::default(),
        };
        let cell = Cell {
            id: CellId("server-storage/read/4KiB/qd1/c1".to_owned()),
            site: Site::Server,
            ..Cell::new(
                Cut::ServerStorage,
                "null:".parse().unwrap(),
                Workload::default(),
                Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None },
            )
        };
        let mut link = Noting(Vec::new());
        run_cell(&cell, &mut site, Some(&mut link), &mut Vec::new()).unwrap();
        assert_eq!(link.0, [RemoteCellParams { interval_ns: Nanos(10), seed: 7, left_ns: Nanos(u64::MAX) }]);
    }
}
