//! The conditions under which the run was asked to fail, a line each.

use super::headline::painted;
use super::names::CellNames;
use super::style::{Paint, Style};
use super::wrap::Indent;
use narrows_model::Summary;
use narrows_model::quantity::{op_rate, percent, seconds, storage_rate};
use narrows_model::summary::{Interval, ThresholdOutcome, ThresholdState};
use narrows_model::units::NANOS_PER_SEC;

/// The section; empty where the run was asked for no condition.
pub(crate) fn render(summary: &Summary, names: &CellNames<'_>, style: &Style) -> String {
    if summary.thresholds.is_empty() {
        return String::new();
    }
    let heading = style.heading("FAIL IF", "");
    summary.thresholds.iter().fold(heading, |out, outcome| out + &line(outcome, names, style))
}

fn line(outcome: &ThresholdOutcome, names: &CellNames<'_>, style: &Style) -> String {
    let (word, paint) = match outcome.state {
        ThresholdState::Failed => ("FAILED", Paint::Limit),
        ThresholdState::Passed => ("passed", Paint::Cleared),
        ThresholdState::Undecided => ("undecided", Paint::Warning),
        ThresholdState::NotMeasured => ("NOT MEASURED", Paint::Warning),
    };
    let text = format!("{word}: {}{}", outcome.condition, found(outcome, names));
    painted(&text, Indent { first: "  ", rest: "    " }, paint, style)
}

/// What the condition was compared with.
fn found(outcome: &ThresholdOutcome, names: &CellNames<'_>) -> String {
    let (Some(value), Some(cell)) = (outcome.value, &outcome.cell) else { return String::new() };
    let value = quantity(value, &outcome.unit);
    let interval = outcome.interval.as_ref().map(|interval| bounds(interval, outcome)).unwrap_or_default();
    format!("; {} has {value}{interval}", names.name(cell))
}

fn bounds(interval: &Interval, outcome: &ThresholdOutcome) -> String {
    let [low, high] = [interval.low, interval.high].map(|end| quantity(end, &outcome.unit));
    let includes =
        if outcome.state == ThresholdState::Undecided { ", which includes the threshold" } else { "" };
    format!(", {} interval {low} to {high}{includes}", percent(interval.level))
}

fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "bytes/s" => storage_rate(value),
        "ops/s" => op_rate(value),
        _ => seconds(value / NANOS_PER_SEC as f64),
    }
}
