//! What a run shows on stderr while it runs: a live line on a terminal, plain lines elsewhere.

use crate::console::Console;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use narrows_model::event::Phase;
use narrows_model::relay::{RelayCell, RelayTrial};
use narrows_model::{BytesPerSec, Cell, CellId, Event, Nanos, OpsPerSec, Plan, TrialOutput};
use narrows_report::text::progress::{
    CellFigures, Place, cell_begun, cell_done, cell_failed, cell_left_out, relay_done,
};
use std::time::Duration;

/// Time between two drawings of the live line.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// Shows a run's events as they come.
pub(crate) struct Progress<'a> {
    console: &'a Console,
    quiet: bool,
    bar: ProgressBar,
    cells: Vec<Cell>,
    points: Vec<RelayCell>,
    /// Whether cells end with their time: the tests of a suite end with their count.
    ends_by_time: bool,
    /// The cells and points that have begun or were left out, in their order.
    order: Vec<CellId>,
    begun: Option<CellId>,
    /// Trials of the cell that has begun which are done.
    trials_done: u32,
}

impl<'a> Progress<'a> {
    /// Progress over the cells or points of `plan`.
    pub(crate) fn new(console: &'a Console, plan: &Plan, quiet: bool) -> Self {
        let live = console.live && !quiet;
        let target = if live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        if live {
            bar.enable_steady_tick(DRAW_EVERY);
        }
        let points = plan.relay.as_ref().map_or_else(Vec::new, |relay| relay.cells.clone());
        Self {
            console,
            quiet,
            bar,
            cells: plan.cells.clone(),
            points,
            ends_by_time: plan.suite.is_none(),
            order: Vec::new(),
            begun: None,
            trials_done: 0,
        }
    }

    /// Shows one event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { cell, phase: Phase::Prepare, .. } => self.begin(cell),
            Event::TrialFinished(trial) => {
                self.trials_done = trial.trial.saturating_add(1);
                self.done(trial);
            }
            Event::RelayTrialFinished(trial) => self.relay_done(trial),
            Event::CellFailed { cell, message } => {
                self.trials_done = u32::MAX;
                let line = cell_failed(self.place(), &cell.0, message);
                self.line(&line);
            }
            Event::CellSkipped(skip) => {
                self.arrive(&skip.cell);
                let line = cell_left_out(self.place(), &skip.cell.0, &skip.reason);
                self.line(&line);
            }
            Event::PlanExtended { cells, .. } => self.cells.extend(cells.iter().cloned()),
            _ => {}
        }
    }

    /// Takes the live line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn begin(&mut self, cell: &CellId) {
        if self.begun.as_ref() == Some(cell) {
            return;
        }
        self.arrive(cell);
        self.trials_done = 0;
        if let Some(known) = self.cells.iter().find(|known| known.id == *cell) {
            self.bar.set_message(cell_begun(self.place(), known));
        }
    }

    fn done(&self, trial: &TrialOutput) {
        let Some(cell) = self.cells.iter().find(|known| known.id == trial.cell) else { return };
        let figures = CellFigures {
            rate_bytes_per_s: BytesPerSec::over(trial.bytes, trial.last_done_ns).filter(|rate| rate.0 > 0.0),
            ops_per_s: OpsPerSec::over(trial.op_count, trial.last_done_ns).filter(|rate| rate.0 > 0.0),
            latency_p50_ns: trial.response.quantile_ns(0.5).map(Nanos),
            error_count: trial.errors.iter().map(|error| error.count).sum(),
            trial: trial.trial,
        };
        self.line(&cell_done(self.place(), cell, &figures));
    }

    fn relay_done(&mut self, trial: &RelayTrial) {
        self.arrive(&trial.cell);
        let trials = self.points.iter().find(|point| point.id == trial.cell).map_or(1, |point| point.trials);
        let place = Place { number: self.number(), count: self.points.len(), remaining_ns: None };
        let line = relay_done(place, trial, trials);
        self.bar.set_message(line.clone());
        self.line(&line);
    }

    /// Notes the cell or point that events are of now; one may come again after others.
    fn arrive(&mut self, id: &CellId) {
        if !self.order.contains(id) {
            self.order.push(id.clone());
        }
        self.begun = Some(id.clone());
    }

    /// The place of what has begun, from 1.
    fn number(&self) -> usize {
        let place = self.order.iter().position(|id| Some(id) == self.begun.as_ref());
        place.map_or(self.order.len(), |place| place + 1)
    }

    fn place(&self) -> Place {
        let later: u64 = self.cells.iter().skip(self.order.len()).map(|cell| cell.planned_ns().0).sum();
        let present = self.cells.iter().find(|cell| Some(&cell.id) == self.begun.as_ref());
        let present = present.map_or(0, |cell| {
            let done = cell.trial_ns().0.saturating_mul(u64::from(self.trials_done));
            cell.planned_ns().0.saturating_sub(done)
        });
        Place {
            number: self.number(),
            count: self.cells.len().max(self.order.len()),
            remaining_ns: self.ends_by_time.then(|| Nanos(later.saturating_add(present))),
        }
    }

    fn line(&self, line: &str) {
        if self.quiet {
            return;
        }
        if self.console.live {
            self.bar.println(line);
        } else {
            self.console.say(line);
        }
    }
}
