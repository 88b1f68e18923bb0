//! The same machines checked until every load is decided, as the command does it, beside the whole plan.

use super::super::{analysed, machine_events};
use super::bounded_plan;
use narrows_analysis::{Outlook, outlook, refinement};
use narrows_model::sim_profile::SimProfile;
use narrows_model::{Cell, CellId, Event, Nanos, Plan, Summary};
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
    let mut known = machine_events(profile, &whole);
    known.retain(|event| !matches!(event, Event::CellSkipped(_) | Event::Counters(_)));
    let mut plan = whole.clone();
    let mut measured = opening(&whole, false);
    let mut left: Vec<Cell> =
        whole.cells.iter().filter(|cell| measured.iter().all(|known| known.id != cell.id)).cloned().collect();
    let mut events: Vec<Event> = known.extract_if(.., |event| cell_of(event).is_none()).collect();
    add_cells(&mut events, &mut known, &measured);
    let mut summary = analysed(profile, &plan, &events);
    for _ in 0..STEPS_MAX {
        let more = refining(&plan, &summary);
        let all: Vec<Cell> = left.iter().chain(&more).cloned().collect();
        let seen: Outlook = outlook(&summary, &all);
        let Some(best) = seen.best(&all, |_| true) else { break };
        let cell = all[best].clone();
        if best >= left.len() {
            let alone = Plan { cells: vec![cell.clone()], ..plan.clone() };
            known.extend(machine_events(profile, &alone));
            plan.cells.push(cell.clone());
        }
        left.retain(|other| other.id != cell.id);
        add_cells(&mut events, &mut known, std::slice::from_ref(&cell));
        measured.push(cell);
        summary = analysed(profile, &plan, &events);
    }
    let took = |cells: &[Cell]| cells.iter().map(|cell| cell.estimated_ns().as_secs_f64()).sum::<f64>();
    StoppedCheck { used_ratio: took(&measured) / took(&whole.cells), plan, summary }
}

fn refining(plan: &Plan, summary: &Summary) -> Vec<Cell> {
    let suspects: Vec<SuspectedCell> = refinement(summary)
        .into_iter()
        .map(|suspect| SuspectedCell { segment: suspect.segment, cell: CellId(suspect.cell) })
        .collect();
    refine(plan, &suspects, Nanos(u64::MAX)).cells
}

/// Moves what is `known` of these cells before the end of the run.
fn add_cells(events: &mut Vec<Event>, known: &mut Vec<Event>, cells: &[Cell]) {
    let is_of = |event: &mut Event| cell_of(event).is_some_and(|id| cells.iter().any(|cell| cell.id == *id));
    assert!(matches!(events.last(), Some(Event::RunFinished { .. })), "a run that ended");
    let end = events.len() - 1;
    events.splice(end..end, known.extract_if(.., is_of));
}

/// The cell that an event is of.
fn cell_of(event: &Event) -> Option<&CellId> {
    match event {
        Event::PhaseStarted { cell, .. } | Event::CellFailed { cell, .. } => Some(cell),
        Event::Interval(sample) => Some(&sample.cell),
        Event::TrialFinished(trial) => Some(&trial.cell),
        _ => None,
    }
}
