//! The same machines checked until every load is decided, as the command does it, beside the whole plan.

use super::super::{analysed, machine_events};
use super::bounded_plan;
use narrows_analysis::{Outlook, outlook, refinement};
use narrows_model::sim_profile::SimProfile;
use narrows_model::{Cell, Event, Nanos, Plan, Summary};
use narrows_study::{SuspectedCell, opening, refine};

/// A check that stopped.
pub(super) struct StoppedCheck {
    pub(super) plan: Plan,
    pub(super) summary: Summary,
    /// Share of the planned time, refinement excluded, that its cells took.
    pub(super) used_ratio: f64,
}

/// Most cells beyond the opening.
const STEPS_MAX: usize = 60;

/// Measures until the outlook promises nothing more. What a cell comes out as does not depend on when it is measured.
pub(super) fn checked_sooner(profile: &SimProfile, seed: u64) -> StoppedCheck {
    let whole = bounded_plan(profile, seed);
    let mut events = machine_events(profile, &whole);
    let mut plan = whole.clone();
    let mut measured = opening(&whole, false);
    let mut left: Vec<Cell> =
        whole.cells.iter().filter(|cell| measured.iter().all(|known| known.id != cell.id)).cloned().collect();
    let mut summary = analysed(profile, &plan, &of_cells(&events, &measured));
    for _ in 0..STEPS_MAX {
        let more = refining(&plan, &summary);
        let all: Vec<Cell> = left.iter().chain(&more).cloned().collect();
        let seen: Outlook = outlook(&summary, &all);
        let Some(best) = seen.best(&all, |_| true) else { break };
        let cell = all[best].clone();
        if best >= left.len() {
            let alone = Plan { cells: vec![cell.clone()], ..plan.clone() };
            events.extend(machine_events(profile, &alone));
            plan.cells.push(cell.clone());
        }
        left.retain(|other| other.id != cell.id);
        measured.push(cell);
        summary = analysed(profile, &plan, &of_cells(&events, &measured));
    }
    let took = |cells: &[Cell]| cells.iter().map(|cell| cell.estimated_ns().as_secs_f64()).sum::<f64>();
    StoppedCheck { used_ratio: took(&measured) / took(&whole.cells), plan, summary }
}

fn refining(plan: &Plan, summary: &Summary) -> Vec<Cell> {
    let suspects: Vec<SuspectedCell> = refinement(summary)
        .into_iter()
        .map(|suspect| SuspectedCell { segment: suspect.segment, cell: narrows_model::CellId(suspect.cell) })
        .collect();
    refine(plan, &suspects, Nanos(u64::MAX)).cells
}

/// The events of these cells, and those of none.
fn of_cells(events: &[Event], cells: &[Cell]) -> Vec<Event> {
    let of_one = |event: &&Event| match event {
        Event::PhaseStarted { cell, .. } | Event::CellFailed { cell, .. } => is_in(cells, cell),
        Event::Interval(sample) => is_in(cells, &sample.cell),
        Event::TrialFinished(trial) => is_in(cells, &trial.cell),
        Event::Counters(_) | Event::CellSkipped(_) => false,
        _ => true,
    };
    events.iter().filter(of_one).cloned().collect()
}

fn is_in(cells: &[Cell], id: &narrows_model::CellId) -> bool {
    cells.iter().any(|cell| cell.id == *id)
}
