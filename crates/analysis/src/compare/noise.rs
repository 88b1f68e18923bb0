//! How much the runs of one side differ, and what differences they can show.

use super::ComparisonSide;
use super::combine::combined;
use super::compared_side;
use super::items::Item;
use super::sides::{FigureKey, SideFigure};
use narrows_model::noise::{LoadNoise, NOISE_SCHEMA, Noise, RunsNeeded, SmallestDifference};
use narrows_stats::power::{self, RunDeviation};

/// Numbers of runs a side whose smallest difference is given.
const RUN_COUNTS: [u32; 4] = [2, 3, 5, 10];
/// Differences whose number of runs is given.
const DIFFERENCES: [f64; 3] = [0.03, 0.05, 0.1];
/// Runs from which a deviation is known well enough to be used: its 95 % interval is then 0.6 to 2.9 times the value.
const RUNS_ADVISED: usize = 5;

/// The noise of the runs of `side`.
///
/// # Shape
/// A load for each cell of the whole path, of runs without any for each cell; without runs none.
///
/// # Source
/// Deviation: of the logarithms of the rate, a value per run. Differences: [`narrows_stats::power`].
#[must_use]
pub fn noise(side: ComparisonSide<'_>, narrows_version: &str) -> Noise {
    let items = combined(&side.measured());
    let has_loads = items.iter().any(Item::is_of_path);
    let of_path = items.iter().filter(|item| item.is_of_path() || !has_loads);
    let loads: Vec<LoadNoise> = of_path.filter_map(load_noise).collect();
    Noise {
        schema: NOISE_SCHEMA.to_owned(),
        narrows_version: narrows_version.to_owned(),
        side: compared_side(side),
        remarks: remarks(&loads, side.runs.len()),
        loads,
    }
}

fn load_noise(item: &Item<'_>) -> Option<LoadNoise> {
    let rate = item
        .used_runs()
        .into_iter()
        .flat_map(|run| &run.figures)
        .find(|figure| figure.id.more_is_better())?;
    let figure = SideFigure::from_runs(item, FigureKey { id: rate.id, role: None });
    let (least, most) = figure.range()?;
    let deviation_ratio = figure.deviation();
    let spread = deviation_ratio.map(|standard_deviation| RunDeviation {
        standard_deviation,
        degrees_of_freedom: figure.run_count() as f64 - 1.0,
    });
    let smallest = RUN_COUNTS.iter().filter_map(|runs| {
        let logarithm = power::smallest_difference(spread?, *runs).ok()?;
        Some(SmallestDifference { run_count: *runs, difference_ratio: logarithm.exp_m1() })
    });
    let needed = DIFFERENCES.iter().filter_map(|difference| {
        let run_count = power::runs_needed(spread?, difference.ln_1p()).ok()?;
        Some(RunsNeeded { difference_ratio: *difference, run_count })
    });
    Some(LoadNoise {
        cell: item.id.to_owned(),
        id: rate.id,
        runs: item.cell_runs(),
        mean: figure.value()?,
        least,
        most,
        deviation_ratio,
        smallest: smallest.collect(),
        needed: needed.collect(),
    })
}

fn remarks(loads: &[LoadNoise], run_count: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    let disturbed = loads.iter().filter(|load| load.runs.disturbed_count > 0).count();
    let left_out = loads.iter().filter(|load| load.runs.left_out_count > 0).count();
    if disturbed > 0 {
        remarks.push(format!(
            "Other programs disturbed runs of {disturbed} of {} loads, and too few others remain to leave them out: this \
             is the noise of a busy machine.",
            loads.len()
        ));
    }
    if left_out > 0 {
        remarks.push(format!(
            "In {left_out} of {} loads, runs that other programs disturbed are left out (foreign_load).",
            loads.len()
        ));
    }
    if run_count < RUNS_ADVISED {
        remarks.push(format!(
            "A deviation from {run_count} runs is uncertain: it may be three times as large. {RUNS_ADVISED} runs or more \
             are advised (--runs)."
        ));
    }
    remarks
}
