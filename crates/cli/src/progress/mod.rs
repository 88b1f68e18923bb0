//! What a run shows on stderr while it runs: a live view on a terminal, plain lines elsewhere.

mod rate;

use crate::console::{Console, coloured};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use narrows_model::event::Phase;
use narrows_model::printable::{lines, one_line};
use narrows_model::quantity::percent;
use narrows_model::relay::{RelayCell, RelayTrial};
use narrows_model::trial::IntervalSample;
use narrows_model::{Bytes, BytesPerSec, Cell, CellId, Event, Nanos, OpsPerSec, Plan, Summary, TrialOutput};
use narrows_report::text::Style;
use narrows_report::text::live::{LiveView, PLAIN_EVERY_NS, live_frame, live_lines};
use narrows_report::text::progress::{
    CellFigures, LiveRate, RunPosition, cell_done, cell_failed, cell_left_out, cell_runs, relay_done,
};
use rate::RateMeter;
use std::cell::Cell as Shared;
use std::time::Duration;

/// Time between two drawings of the live view.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// How the reason begins of a trial around which the server's counters were not asked for, since it kept failing to answer in
/// time.
pub(crate) const NOT_READ_ANY_MORE: &str = "not read any more";

/// Shows a run's events as they come.
pub(crate) struct ProgressDisplay<'a> {
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
    /// What intervals reported of its current trial.
    trial_progress: TrialProgress,
    /// What is drawn on a terminal.
    view: LiveView,
    rate: RateMeter,
    /// The load's clock at the last interval, and at the last line that was printed since.
    now_ns: Nanos,
    /// When the trial that runs began; `None` between trials.
    trial_from_ns: Option<Nanos>,
    line_ns: Shared<Nanos>,
    /// What was printed of readings of the server's counters that were missed.
    metrics_notice: MetricsNotice,
}

/// What was printed of readings of a server's counters that were missed; more is printed only of what is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MetricsNotice {
    Nothing,
    /// That they were not read around a trial.
    Missed,
    /// That they are not asked for any more.
    GivenUp,
}

/// What a trial has done so far.
#[derive(Debug, Clone, Copy, Default)]
struct TrialProgress {
    trial: u32,
    op_count: u64,
    bytes: Bytes,
}

impl TrialProgress {
    fn add(&mut self, sample: &IntervalSample) {
        if self.trial != sample.trial {
            *self = Self { trial: sample.trial, ..Self::default() };
        }
        self.op_count = self.op_count.saturating_add(sample.op_count);
        self.bytes = Bytes(self.bytes.0.saturating_add(sample.bytes.0));
    }

    /// The share that is done of a trial of `cell`, from 0 to 1; `None` where time alone ends it.
    fn share(self, cell: &Cell) -> Option<f64> {
        let of = |done: u64, most: u64| (done as f64 / most.max(1) as f64).min(1.0);
        let ops = cell.stop.ops_max.map(|most| of(self.op_count, most));
        let bytes = cell.stop.bytes_max.map(|most| of(self.bytes.0, most.0));
        ops.into_iter().chain(bytes).reduce(f64::max)
    }
}

impl<'a> ProgressDisplay<'a> {
    /// Progress over the cells or points of `plan`.
    pub(crate) fn new(console: &'a Console, plan: &Plan, quiet: bool) -> Self {
        let live = console.live && !quiet;
        let target = if live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
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
            trial_progress: TrialProgress::default(),
            view: LiveView::new(&plan.segments),
            rate: RateMeter::default(),
            now_ns: Nanos(0),
            trial_from_ns: None,
            line_ns: Shared::new(Nanos(0)),
            metrics_notice: MetricsNotice::Nothing,
        }
    }

    /// Whether what is known of the path is shown while the run lasts.
    pub(crate) fn shows_path(&self) -> bool {
        self.console.live && !self.quiet
    }

    /// Shows what `summary`, of the cells measured so far, says of the path.
    pub(crate) fn show_path(&mut self, summary: &Summary) {
        self.view.update(summary);
        self.draw();
    }

    /// Shows one event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { cell, phase: Phase::Prepare, .. } => self.begin(cell),
            Event::Interval(sample) => {
                if sample.measured {
                    self.add_share(sample);
                }
                self.show_rate(sample);
            }
            Event::TrialFinished(trial) => {
                self.trials_done = trial.trial.saturating_add(1);
                self.trial_from_ns = None;
                self.done(trial);
            }
            Event::RelayTrialFinished(trial) => self.relay_done(trial),
            Event::CellFailed { cell, message } => {
                self.trials_done = u32::MAX;
                let line = cell_failed(self.position(), &cell.0, &one_line(message));
                self.line(&line);
            }
            Event::CellSkipped(skip) => {
                self.arrive(&skip.cell);
                let line = cell_left_out(self.position(), &skip.cell.0, &skip.reason);
                self.line(&line);
            }
            Event::MetricsMissed { reason, .. } => self.say_metrics_missed(reason),
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
        self.trial_from_ns = None;
        self.trial_progress = TrialProgress::default();
        self.view.rate = None;
        let position = self.position();
        let known = self.cells.iter().find(|known| known.id == *cell);
        self.view.running = known.map(|known| (position, known.clone()));
        self.draw();
    }

    /// Notes the progress of a cell that ends by a count, at a time that is not known.
    fn add_share(&mut self, sample: &IntervalSample) {
        if !self.ends_by_time && self.begun.as_ref() == Some(&sample.cell) {
            self.trial_progress.add(sample);
        }
    }

    /// Shows the rate of the running cell where half a second of it is known.
    fn show_rate(&mut self, sample: &IntervalSample) {
        self.now_ns = self.now_ns.max(sample.end_ns);
        self.trial_from_ns.get_or_insert(sample.start_ns);
        if self.line_ns.get() == Nanos(0) {
            self.line_ns.set(self.now_ns);
        }
        let Some(rate) = self.rate.add(sample) else { return };
        let position = self.position();
        let Some(cell) = self.cells.iter().find(|known| known.id == sample.cell) else { return };
        if self.shows_path() {
            self.view.running = Some((position, cell.clone()));
            self.view.rate = Some(rate);
            self.draw();
        } else if self.now_ns >= self.line_ns.get().saturating_add(PLAIN_EVERY_NS) {
            self.line(&self.running_line(position, cell, rate));
        }
    }

    /// The running cell with its rate, and of one that ends by a count how much of it is done.
    fn running_line(&self, position: RunPosition, cell: &Cell, rate: LiveRate) -> String {
        let line = cell_runs(position, cell, rate);
        match self.share(cell) {
            Some(share) => format!("{line}  {share} done"),
            None => line,
        }
    }

    /// How much of a cell that ends by a count is done.
    fn share(&self, cell: &Cell) -> Option<String> {
        (!self.ends_by_time).then(|| self.trial_progress.share(cell)).flatten().map(percent)
    }

    /// Draws the live view where there is one.
    fn draw(&self) {
        if !self.shows_path() {
            return;
        }
        let style = Style {
            width: self.console.live_width(),
            colour: self.console.live_colour,
            unicode: self.console.unicode,
            detail: false,
        };
        let mut frame = live_frame(&self.view, &style, self.console.live_lines());
        let running = self.view.running.as_ref().and_then(|(_, cell)| self.share(cell));
        frame.extend(running.map(|share| format!("{share} of this cell done")));
        self.bar.set_message(frame.iter().map(|line| coloured(line)).collect::<Vec<_>>().join("\n"));
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
        self.line(&cell_done(self.position(), cell, &figures));
    }

    fn relay_done(&mut self, trial: &RelayTrial) {
        self.arrive(&trial.cell);
        let trials = self.points.iter().find(|point| point.id == trial.cell).map_or(1, |point| point.trials);
        let position = RunPosition { number: self.number(), count: self.points.len(), remaining_ns: None };
        let line = relay_done(position, trial, trials);
        self.bar.set_message(lines(&line).into_owned());
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
        let position = self.order.iter().position(|id| Some(id) == self.begun.as_ref());
        position.map_or(self.order.len(), |position| position + 1)
    }

    fn position(&self) -> RunPosition {
        let later: u64 = self.cells.iter().skip(self.order.len()).map(|cell| cell.planned_ns().0).sum();
        let present = self.cells.iter().find(|cell| Some(&cell.id) == self.begun.as_ref());
        let present = present.map_or(0, |cell| {
            let done = cell.trial_ns().0.saturating_mul(u64::from(self.trials_done));
            let running = self.trial_from_ns.map_or(Nanos(0), |from| self.now_ns.saturating_sub(from));
            // A trial that lasts longer than planned takes no time from the others.
            cell.planned_ns().0.saturating_sub(done).saturating_sub(running.0.min(cell.trial_ns().0))
        });
        RunPosition {
            number: self.number(),
            count: self.cells.len().max(self.order.len()),
            remaining_ns: self.ends_by_time.then(|| Nanos(later.saturating_add(present))),
        }
    }

    /// Says once in a run that the server's counters are not read around a trial, and once that they are not read any more.
    fn say_metrics_missed(&mut self, reason: &str) {
        let (notice, what, from) = if reason.starts_with(NOT_READ_ANY_MORE) {
            (MetricsNotice::GivenUp, "are", "its trials from here on")
        } else {
            (MetricsNotice::Missed, "were not read:", "such trials")
        };
        if notice > self.metrics_notice {
            self.metrics_notice = notice;
            self.line(&format!(
                "narrows: the server's counters {what} {}; the run goes on, and {from} have figures without them",
                one_line(reason)
            ));
        }
    }

    /// Shows a sentence about the run.
    pub(crate) fn say(&self, sentence: &str) {
        self.line(sentence);
    }

    fn line(&self, line: &str) {
        self.line_ns.set(self.now_ns);
        if self.quiet {
            return;
        }
        if self.console.live {
            for part in live_lines(&lines(line), self.console.live_width()) {
                self.bar.println(part);
            }
        } else {
            self.console.say(line);
        }
    }
}
