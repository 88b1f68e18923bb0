//! Tests of effects on cells with declared rates.

use super::*;
use crate::testing::builtin;
use narrows_model::summary::{Interval, StudySummary};
use narrows_model::{BytesPerSec, Summary};

fn number(value: f64) -> FactorValue {
    FactorValue::Number(value)
}

/// A study over depth and engine whose cells have these rates; an interval reaches 1 % to both sides.
fn study(rates: &[(f64, &str, f64)]) -> Summary {
    let mut summary = builtin("local-ssd");
    let model = summary.cells.iter().find(|cell| cell.cut == Cut::Path).unwrap().clone();
    summary.cells = rates
        .iter()
        .map(|(depth, engine, rate)| CellSummary {
            factors: BTreeMap::from([
                ("depth".to_owned(), number(*depth)),
                ("engine".to_owned(), FactorValue::Text((*engine).to_owned())),
            ]),
            rate_bytes_per_s: Some(BytesPerSec(*rate)),
            interval: Some(Interval {
                low: rate * 0.99,
                high: rate * 1.01,
                level: 0.95,
                method: String::new(),
            }),
            ..model.clone()
        })
        .collect();
    let values = |factor: &str| {
        let mut values: Vec<FactorValue> = Vec::new();
        for cell in &summary.cells {
            if !values.contains(&cell.factors[factor]) {
                values.push(cell.factors[factor].clone());
            }
        }
        values
    };
    let factor = |name: &str| Factor { name: name.to_owned(), unit: FactorUnit::None, values: values(name) };
    let factors = vec![factor("depth"), factor("engine")];
    summary.study = Some(StudySummary { name: "s".to_owned(), title: None, factors });
    summary
}

#[test]
fn the_declared_ratio_of_best_to_worst_is_found_over_all_lines() {
    let summary = study(&[(1.0, "a", 100.0), (4.0, "a", 200.0), (1.0, "b", 30.0), (4.0, "b", 240.0)]);
    let effects = effects(&summary);
    let depth = &effects[0];
    assert_eq!((&depth.best, &depth.worst), (&number(4.0), &number(1.0)));
    assert!((depth.gain.mean_ratio - 4.0).abs() < 1e-12, "the geometric mean of 2 and 8");
    assert_eq!((depth.gain.low_ratio, depth.gain.high_ratio, depth.gain.line_count), (2.0, 8.0, 2));
    assert_eq!(depth.apart_count, Some(2));
}

#[test]
fn cells_are_compared_only_with_those_that_differ_in_one_factor() {
    // No cell of engine b at depth 1: the line of depth 4 alone tells of engines.
    let summary = study(&[(1.0, "a", 1.0), (4.0, "a", 100.0), (4.0, "b", 150.0)]);
    let effects = effects(&summary);
    assert!((effects[1].gain.mean_ratio - 1.5).abs() < 1e-12);
    assert_eq!(effects[1].gain.line_count, 1);
}

#[test]
fn values_within_their_intervals_are_not_apart() {
    let summary = study(&[(1.0, "a", 100.0), (1.0, "b", 101.0)]);
    let effects = effects(&summary);
    assert_eq!(effects.len(), 1, "one depth alone has no effect");
    assert_eq!(effects[0].apart_count, Some(0));
    assert_eq!(effects[0].saturation, None, "an engine is no load");
}

#[test]
fn saturation_starts_where_no_further_doubling_adds_three_percent() {
    let line = [(1.0, 100.0), (2.0, 190.0), (4.0, 300.0), (8.0, 305.0), (16.0, 306.0)];
    assert_eq!(saturated_from(&line), Some(4.0));
    let growing = [(1.0, 100.0), (2.0, 101.0), (4.0, 120.0)];
    assert_eq!(saturated_from(&growing), None, "the last step added more");
    assert_eq!(saturated_from(&[(1.0, 100.0)]), None);
}

#[test]
fn a_step_of_sixteen_is_four_doublings() {
    assert!(is_flat((1.0, 100.0), (16.0, 112.0)), "2.9 % a doubling");
    assert!(!is_flat((1.0, 100.0), (16.0, 113.0)), "3.1 % a doubling");
}

#[test]
fn a_falling_rate_is_saturated_and_its_best_value_is_the_smaller_one() {
    let summary = study(&[(1.0, "a", 100.0), (2.0, "a", 80.0)]);
    let depth = &effects(&summary)[0];
    assert_eq!(depth.best, number(1.0));
    assert_eq!(
        depth.saturation,
        Some(Saturation { line_count: 1, saturated_count: 1, from: Some((1.0, 1.0)) })
    );
}

#[test]
fn a_run_without_a_study_has_no_effects() {
    assert_eq!(effects(&builtin("local-ssd")), Vec::new());
}
