//! A run that ends once the verdict on every load is decided: what is measured next follows from what was measured so far.
//!
//! Not here: what a cell is worth, and when a load is decided, which the analysis computes from the record.

use super::again::RepeatedCells;
use super::load::{Recording, RunExecutor, so_far};
use narrows_analysis::{LoadStanding, Outlook, fail_if_cells, outlook};
use narrows_model::event::EndReason;
use narrows_model::plan::SkippedCell;
use narrows_model::quantity::{percent, storage_rate};
use narrows_model::{Cell, Event, Nanos, Plan, Segment, Sink, SinkError, Summary};
use narrows_run::{CellSite, RunOutput, execute};
use narrows_study::opening;

/// Why a cell is left out that no verdict needs.
const DECIDED: &str = "the verdict is decided without it; --whole-plan measures it";

/// Cells that a run has measured and has left.
struct RunState {
    /// The plan with what was added to it.
    plan: Plan,
    left: Vec<Cell>,
    output: RunOutput,
}

/// What to do next.
enum SoonerStep {
    Measure(Box<Cell>),
    Stop(Outlook, Vec<Cell>),
}

impl RunExecutor<'_> {
    /// Measures the path under the first loads, or at every point, then what decides their verdicts best for its time.
    ///
    /// Bounded: each step measures a cell that was not measured before, or one that others disturbed for the second time, and a
    /// plan is refined by a bounded number.
    pub(super) fn until_decided(
        &mut self,
        every_point: bool,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
    ) -> Result<RunOutput, SinkError> {
        let plan = self.spec.plan;
        let mut opening = opening(plan, every_point);
        let needed = fail_if_cells(plan, &opening);
        opening.extend(needed);
        let is_left = |cell: &&Cell| opening.iter().all(|known| known.id != cell.id);
        let left = plan.cells.iter().filter(is_left).cloned().collect();
        let output = RunOutput { reason: EndReason::Finished, done_count: 0, failed: Vec::new() };
        let mut run = RunState { plan: plan.clone(), left, output };
        let (first, others) = opening.split_at(opening.len().min(1));
        if self.measure(first, &mut run, site, recording)? {
            self.say_first(recording);
            if self.measure(others, &mut run, site, recording)? {
                self.decide(&mut run, site, recording)?;
            }
        }
        Ok(run.output)
    }

    /// Measures these cells; whether the run goes on.
    fn measure(
        &mut self,
        cells: &[Cell],
        run: &mut RunState,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
    ) -> Result<bool, SinkError> {
        let part = Plan { cells: cells.to_vec(), ..run.plan.clone() };
        let spent_ns = self.watch.spent();
        let done = execute(&part, spent_ns, site, self.server(), recording)?;
        run.output.done_count += done.done_count;
        run.output.failed.extend(done.failed);
        if done.reason != EndReason::Finished {
            run.output.reason = done.reason;
        }
        Ok(!matches!(done.reason, EndReason::Failed | EndReason::Interrupted))
    }

    fn decide(
        &mut self,
        run: &mut RunState,
        site: &mut CellSite,
        recording: &mut Recording<'_>,
    ) -> Result<(), SinkError> {
        let mut repeats = RepeatedCells::default();
        while let Some(summary) = so_far(recording) {
            recording.progress.show_path(&summary);
            match self.next_step(run, &summary) {
                SoonerStep::Measure(cell) => {
                    if run.plan.cells.iter().all(|known| known.id != cell.id) {
                        let cells = vec![(*cell).clone()];
                        recording.event(&Event::PlanExtended { cells, skipped: Vec::new() })?;
                        run.plan.cells.push((*cell).clone());
                    }
                    run.left.retain(|other| other.id != cell.id);
                    if !self.measure(&[*cell], run, site, recording)? {
                        return Ok(());
                    }
                }
                SoonerStep::Stop(seen, open) => {
                    let cells = run.plan.cells.clone();
                    match self.repeat_next(&cells, &summary, &mut repeats, site, recording)? {
                        None => return self.stop((&seen, &open), &site.time_used_for(), run, recording),
                        Some(done) if matches!(done.reason, EndReason::Failed | EndReason::Interrupted) => {
                            run.output.reason = done.reason;
                            return Ok(());
                        }
                        // What it shows may change what is decided.
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn next_step(&self, run: &RunState, summary: &Summary) -> SoonerStep {
        let remaining = run.plan.budget_ns.saturating_sub(self.watch.spent());
        let more = self.spec.refine.map(|refine| refine(&run.plan, summary, Nanos(u64::MAX)).cells);
        let all: Vec<Cell> = run.left.iter().cloned().chain(more.into_iter().flatten()).collect();
        let seen = outlook(summary, &all);
        let best = seen.best(&all, |cell| cell.estimated_ns() <= remaining);
        if let Some(cell) = best.and_then(|best| all.get(best)) {
            return SoonerStep::Measure(Box::new(cell.clone()));
        }
        let valued = all.iter().zip(&seen.values).filter(|(_, value)| **value > 0.0);
        let open = valued.map(|(cell, _)| cell.clone()).collect();
        SoonerStep::Stop(seen, open)
    }

    /// Lists what is left out: what more time would still measure, and what no verdict needs. `time_used_for` is part of
    /// the reason.
    fn stop(
        &self,
        (seen, open): (&Outlook, &[Cell]),
        time_used_for: &str,
        run: &mut RunState,
        recording: &mut Recording<'_>,
    ) -> Result<(), SinkError> {
        let undecided: Vec<&str> =
            seen.loads.iter().filter(|load| !load.is_decided).map(|load| load.name.as_str()).collect();
        let is_open = |cell: &Cell| open.iter().any(|other| other.id == cell.id);
        let skip =
            |cell: &Cell, reason: &str| SkippedCell { cell: cell.id.clone(), reason: reason.to_owned() };
        let no_time = format!(
            "no time was left for it{time_used_for}, and it may change the verdict on {}; give more with --seconds",
            undecided.join(", ")
        );
        for cell in &run.left {
            let reason = if is_open(cell) { no_time.as_str() } else { DECIDED };
            // Not shown one by one: the report lists them.
            recording.writer.event(&Event::CellSkipped(skip(cell, reason)))?;
        }
        let is_new = |cell: &&Cell| run.plan.cells.iter().all(|known| known.id != cell.id);
        let more: Vec<SkippedCell> = open.iter().filter(is_new).map(|cell| skip(cell, &no_time)).collect();
        if !more.is_empty() {
            recording.event(&Event::PlanExtended { cells: Vec::new(), skipped: more })?;
        }
        if !open.is_empty() && run.output.reason == EndReason::Finished {
            run.output.reason = EndReason::BudgetSpent;
        }
        // Where nothing could be measured, the failures have been shown.
        if seen.loads.is_empty() {
            return Ok(());
        }
        recording.progress.say(&stopped(seen, open.len(), run.left.len(), self.watch.spent()));
        Ok(())
    }

    /// The first sentence of a run: what the path moves, and what seems to limit it.
    fn say_first(&self, recording: &Recording<'_>) {
        let Some(summary) = so_far(recording) else { return };
        let seen = outlook(&summary, &[]);
        let Some(load) = seen.loads.first() else { return };
        let rate =
            summary.cells.iter().find(|cell| cell.id == load.cell).and_then(|cell| cell.rate_bytes_per_s);
        let rate = storage_rate(rate.unwrap_or_default().0);
        recording.progress.say(&format!(
            "after {}: {} moves {rate}; {}",
            after(self.watch.spent()),
            load.name,
            suspect(load)
        ));
    }
}

fn after(spent: Nanos) -> String {
    format!("{:.1} s", spent.as_secs_f64())
}

fn suspect(load: &LoadStanding) -> String {
    match load.segment {
        Segment::Unknown => "what limits it is not known yet".to_owned(),
        segment => format!("suspect so far: {segment} ({} sure)", percent(load.confidence)),
    }
}

/// How a run ended, in a sentence.
fn stopped(seen: &Outlook, open_count: usize, left_count: usize, spent: Nanos) -> String {
    let is_named = |load: &&LoadStanding| load.is_decided && load.segment != Segment::Unknown;
    let decided = seen.loads.iter().filter(is_named).count();
    let of_all = format!("{decided} of {} loads are decided after {}", seen.loads.len(), after(spent));
    if open_count == 0 {
        let others = if decided < seen.loads.len() { ", and no planned cell decides the others" } else { "" };
        let left = match left_count {
            1 => "1 cell of the plan is".to_owned(),
            count => format!("{count} cells of the plan are"),
        };
        return format!("{of_all}{others}; {left} not needed");
    }
    let more = if open_count == 1 { "1 more cell".to_owned() } else { format!("{open_count} more cells") };
    format!("{of_all}; {more} could decide the others with a longer --seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cell_is_a_cell_and_two_are_cells() {
        let seen = Outlook::default();
        let ended = |open, left| stopped(&seen, open, left, Nanos(1_500_000_000));
        assert_eq!(ended(0, 1), "0 of 0 loads are decided after 1.5 s; 1 cell of the plan is not needed");
        assert_eq!(ended(0, 2), "0 of 0 loads are decided after 1.5 s; 2 cells of the plan are not needed");
        let more = "could decide the others with a longer --seconds";
        assert_eq!(ended(1, 0), format!("0 of 0 loads are decided after 1.5 s; 1 more cell {more}"));
        assert_eq!(ended(2, 0), format!("0 of 0 loads are decided after 1.5 s; 2 more cells {more}"));
    }
}
