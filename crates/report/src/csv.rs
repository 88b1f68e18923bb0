//! Figures as comma-separated values, for programs that plot them.

use narrows_model::Summary;
use narrows_model::summary::{Scaling, ScalingPointSummary};

/// The points of every load that was measured with several numbers of clients: a line of names, then a line a point.
///
/// # Units
/// Rates are bytes a second, or operations a second where the column `unit` says `1/s`.
///
/// # Shape
/// The names alone where no clients were varied. An empty field is a figure that is not known.
#[must_use]
pub fn scaling(summary: &Summary) -> String {
    let names = [
        "op",
        "block_bytes",
        "queue_depth",
        "clients",
        "unit",
        "rate",
        "rate_low",
        "rate_high",
        "client_rate_mean",
        "client_rate_min",
        "client_rate_max",
        "fairness_ratio",
        "efficiency_ratio",
        "model",
        "law_rate",
    ];
    let all = summary.scaling.iter().chain(&summary.more_scaling);
    all.fold(names.join(",") + "\n", |text, scaling| text + &points(scaling))
}

fn points(scaling: &Scaling) -> String {
    scaling.points.iter().map(|point| row(scaling, point) + "\n").collect()
}

fn row(scaling: &Scaling, point: &ScalingPointSummary) -> String {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let ends = point.interval.as_ref();
    let figures = [
        Some(point.rate),
        ends.map(|interval| interval.low),
        ends.map(|interval| interval.high),
        Some(point.client_rate_mean),
        point.client_rate_min,
        point.client_rate_max,
        point.fairness_ratio,
        point.efficiency_ratio,
    ];
    format!(
        "{},{},{},{},{},{},{},{}",
        scaling.op,
        scaling.block_bytes.0,
        scaling.queue_depth,
        point.clients,
        scaling.unit,
        figures.map(number).join(","),
        scaling.model.as_deref().unwrap_or_default(),
        number(point.law_rate)
    )
}
