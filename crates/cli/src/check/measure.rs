//! Puts the load on: the plan's cells, then a few more at the suspect, into the record.

use super::Prepared;
use crate::args::CheckArguments;
use crate::console::Console;
use crate::counters::ClientCounters;
use crate::diagnose::summary_of;
use crate::exit::Failure;
use crate::progress::Progress;
use narrows_engines::{Clock, EngineRegistry};
use narrows_model::event::EndReason;
use narrows_model::{Cell, Cut, Event, Nanos, Plan, Sink, SinkError};
use narrows_record::{Record, Writer};
use narrows_run::{CellSite, ProcessCoordinator, RunOutput, Server, ServerLink, StopFlag, clean_up, execute};
use std::sync::Arc;

/// A measurement about to begin.
pub(super) struct Measurement<'a> {
    pub(super) arguments: &'a CheckArguments,
    pub(super) prepared: Prepared,
    pub(super) stop: StopFlag,
    pub(super) began_ns: u64,
    pub(super) console: &'a Console,
}

/// Keeps every event, then shows it.
struct Recording<'a> {
    writer: Writer,
    progress: Progress<'a>,
}

impl Sink for Recording<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.writer.event(event)?;
        self.progress.event(event);
        Ok(())
    }
}

impl Measurement<'_> {
    /// Runs all cells; returns why the run ended, and the record to be finished.
    pub(super) fn run(mut self, writer: Writer) -> Result<(EndReason, Writer), Failure> {
        let plan = self.prepared.plan.clone();
        let mut site = self.site(&plan)?;
        let progress = Progress::new(self.console, &plan, self.arguments.quiet);
        let mut recording = Recording { writer, progress };
        let outcome = self.load(&plan, &mut site, &mut recording);
        let left = clean_up(&mut site);
        recording.progress.end();
        for problem in left.iter().take(3) {
            self.console.say(&format!("narrows: left behind: {problem}"));
        }
        let at_ns = Nanos(self.prepared.clock.now().0);
        let ended = outcome.and_then(|output| {
            recording.event(&Event::RunFinished { at_ns, reason: output.reason }).map(|()| output.reason)
        });
        let reason = ended.unwrap_or_else(|error| {
            // What was kept until then is worth its verdict.
            self.console.say(&format!("narrows: {error}"));
            EndReason::Failed
        });
        Ok((reason, recording.writer))
    }

    fn load(
        &mut self,
        plan: &Plan,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
    ) -> Result<RunOutput, SinkError> {
        recording.event(&Event::RunStarted { at_ns: Nanos(self.prepared.clock.now().0) })?;
        if let Some(server) = &mut self.prepared.server {
            let client = server.client();
            recording.event(&Event::ServerConnected {
                server: Box::new(client.facts().clone()),
                inventory: Box::new(client.inventory().clone()),
            })?;
        }
        let spent_ns = self.spent_ns();
        let mut output = execute(plan, spent_ns, site, self.server(), recording)?;
        if output.reason == EndReason::Finished
            && let Some(more) = self.refined(plan, recording)?
        {
            let spent_ns = self.spent_ns();
            let refined = execute(&more, spent_ns, site, self.server(), recording)?;
            output.failed.extend(refined.failed);
            output.reason = refined.reason;
        }
        Ok(output)
    }

    fn spent_ns(&self) -> Nanos {
        Nanos(self.prepared.clock.now().0.saturating_sub(self.began_ns))
    }

    fn server(&mut self) -> Server<'_> {
        self.prepared.server.as_mut().map(|server| server.client() as &mut (dyn ServerLink + 'static))
    }

    /// A few more cells at the suspect, as far as the time lets them.
    fn refined(&self, plan: &Plan, recording: &mut Recording<'_>) -> Result<Option<Plan>, SinkError> {
        let Ok(record) = Record::open(recording.writer.dir()) else { return Ok(None) };
        let Ok(summary) = summary_of(&record) else { return Ok(None) };
        let Some(suspect) = narrows_analysis::refinement(&summary) else { return Ok(None) };
        let at_suspect = |cell: &&Cell| {
            let load = &cell.workload;
            let is_path = cell.cut == Cut::Path && load.op == suspect.op;
            is_path && load.block_bytes == suspect.block_bytes && load.queue_depth == suspect.queue_depth
        };
        let found =
            plan.cells.iter().filter(at_suspect).max_by_key(|cell| cell.workload.in_flight_configured());
        let Some(cell) = found else { return Ok(None) };
        let suspect = narrows_study::Suspect { segment: suspect.segment, cell: cell.id.clone() };
        let remaining = plan.budget_ns.saturating_sub(self.spent_ns());
        let more = narrows_study::refine(plan, &[suspect], remaining);
        if more.cells.is_empty() && more.skipped.is_empty() {
            return Ok(None);
        }
        recording.event(&Event::PlanExtended { cells: more.cells.clone(), skipped: more.skipped })?;
        Ok(Some(Plan { cells: more.cells, skipped: Vec::new(), ..plan.clone() }))
    }

    fn site(&self, plan: &Plan) -> Result<CellSite, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::could_not_run(format!("find this program: {error}")))?;
        let hostname = self.prepared.place.inventory().host.hostname.clone();
        Ok(CellSite {
            registry: EngineRegistry::for_user(),
            clock: Arc::clone(&self.prepared.clock) as Arc<dyn Clock>,
            stop: self.stop.clone(),
            coordinator: Box::new(ProcessCoordinator::new(program, vec!["__client".to_owned()])),
            counters: Box::new(ClientCounters::new(self.prepared.place.device_names())),
            hostname,
            seed: plan.seed,
            interval_ns: plan.interval_ns,
            token: self.prepared.token.clone(),
            answer_timeout_ns: Nanos(narrows_run::site::ANSWER_TIMEOUT_NS),
            prepared: narrows_run::Prepared::default(),
        })
    }
}
