//! Conditions compared with the figures of a run.

use super::condition::FailCondition;
use crate::view::SummaryView;
use narrows_model::summary::{CellSummary, Interval, ThresholdOutcome, ThresholdState};
use narrows_model::{Cut, Summary};

/// What became of each condition: one outcome for each load that it means.
///
/// # Shape
/// In the order of `texts`; a condition whose loads were not measured has one outcome that says so. Texts that are no
/// conditions, which no command plans, are left out.
pub(crate) fn outcomes(summary: &Summary, texts: &[String]) -> Vec<ThresholdOutcome> {
    if texts.is_empty() {
        return Vec::new();
    }
    let view = SummaryView::new(summary);
    let known = texts.iter().filter_map(|text| Some((text, FailCondition::parse(text).ok()?)));
    known.flat_map(|(text, condition)| of_condition(text, &condition, &view)).collect()
}

fn of_condition(text: &str, condition: &FailCondition, view: &SummaryView<'_>) -> Vec<ThresholdOutcome> {
    let cells = selected(condition, view);
    if cells.is_empty() {
        return vec![outcome(text, condition, None)];
    }
    cells.into_iter().map(|cell| outcome(text, condition, Some(cell))).collect()
}

/// The measured cells of the path that are meant. A kind of load means the cells by which the report names it; others of
/// that kind only where the report has none.
fn selected<'a>(condition: &FailCondition, view: &SummaryView<'a>) -> Vec<&'a CellSummary> {
    let has_failed = |cell: &CellSummary| view.summary.failed.iter().any(|failure| failure.cell.0 == cell.id);
    let meant = |cell: &&CellSummary| {
        cell.cut == Cut::Path
            && condition.selection.matches(&cell.requested, &cell.factors)
            && !has_failed(cell)
    };
    let all: Vec<&CellSummary> = view.summary.cells.iter().filter(meant).collect();
    let Some(kind) = condition.selection.kind else { return all };
    let regimes = view.regimes().iter().filter(|regime| regime.kind == kind.regime());
    let named: Vec<&CellSummary> =
        regimes.map(|regime| regime.cell).filter(|cell| all.iter().any(|one| one.id == cell.id)).collect();
    if named.is_empty() { all } else { named }
}

fn outcome(text: &str, condition: &FailCondition, cell: Option<&CellSummary>) -> ThresholdOutcome {
    let figure = cell.and_then(|cell| condition.metric.figure(cell, &condition.selection));
    let (value, interval) = figure.map_or((None, None), |(value, interval)| (Some(value), interval));
    ThresholdOutcome {
        condition: text.to_owned(),
        state: value.map_or(ThresholdState::NotMeasured, |value| state(condition, value, interval.as_ref())),
        cell: cell.map(|cell| cell.id.clone()),
        value,
        interval,
        limit: condition.limit,
        unit: condition.metric.unit().to_owned(),
    }
}

/// A run fails only where no value of the interval would let it pass.
fn state(condition: &FailCondition, value: f64, interval: Option<&Interval>) -> ThresholdState {
    let holds = |value: f64| condition.sign.holds(value, condition.limit);
    let ends = interval.map_or([value, value], |interval| [interval.low, interval.high]);
    match ends.map(holds) {
        [true, true] => ThresholdState::Failed,
        [false, false] => ThresholdState::Passed,
        _ => ThresholdState::Undecided,
    }
}
