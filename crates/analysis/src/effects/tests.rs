//! Tests of effects on sweeps with declared rates.

use super::*;
use crate::testing::builtin;
use narrows_model::BytesPerSec;
use narrows_model::summary::{StudySummary, SweepPoint};
use std::collections::BTreeMap;

/// A summary with these sweeps over one factor; an interval reaches 1 % to both sides of each rate.
fn swept(lines: &[&[(f64, f64)]]) -> Summary {
    let point = |(value, rate): &(f64, f64)| SweepPoint {
        value: FactorValue::Number(*value),
        cell: String::new(),
        rate_bytes_per_s: Some(BytesPerSec(*rate)),
        interval: Some(Interval { low: rate * 0.99, high: rate * 1.01, level: 0.95, method: String::new() }),
        ops_per_s: None,
        latency_ns_p50: None,
        latency_ns_p99: None,
        flags: Vec::new(),
    };
    let mut summary = builtin("local-ssd");
    summary.sweeps = lines
        .iter()
        .map(|line| Sweep {
            factor: "depth".to_owned(),
            fixed: BTreeMap::new(),
            points: line.iter().map(point).collect(),
            fit: None,
            saturation: None,
        })
        .collect();
    let mut values: Vec<FactorValue> = Vec::new();
    for point in summary.sweeps.iter().flat_map(|sweep| &sweep.points) {
        if !values.contains(&point.value) {
            values.push(point.value.clone());
        }
    }
    let factors = vec![Factor { name: "depth".to_owned(), unit: FactorUnit::Count, values }];
    summary.study = Some(StudySummary { name: "s".to_owned(), title: None, factors });
    summary
}

#[test]
fn the_declared_ratio_of_best_to_worst_is_found_over_all_sweeps() {
    let effects = effects(&swept(&[&[(1.0, 100.0), (4.0, 200.0)], &[(1.0, 30.0), (4.0, 240.0)]]));
    let depth = &effects[0];
    assert_eq!((&depth.best, &depth.worst), (&FactorValue::Number(4.0), &FactorValue::Number(1.0)));
    let gain = depth.gain;
    assert!((gain.mean_ratio - 4.0).abs() < 1e-12, "the geometric mean of 2 and 8");
    assert!((gain.low_ratio - 2.0).abs() < 1e-12 && (gain.high_ratio - 8.0).abs() < 1e-12, "{gain:?}");
    assert_eq!((gain.sweep_count, depth.apart_count), (2, Some(2)));
}

#[test]
fn a_sweep_counts_only_where_it_has_both_values() {
    let effects = effects(&swept(&[&[(1.0, 100.0), (2.0, 150.0)], &[(2.0, 900.0), (4.0, 910.0)]]));
    assert_eq!(effects[0].gain.sweep_count, 1, "{effects:?}");
}

#[test]
fn values_within_their_intervals_are_not_apart() {
    assert_eq!(effects(&swept(&[&[(1.0, 100.0), (2.0, 101.0)]]))[0].apart_count, Some(0));
}

#[test]
fn a_single_point_and_a_run_without_a_study_have_no_effects() {
    assert_eq!(effects(&swept(&[&[(1.0, 100.0)]])), Vec::new());
    assert_eq!(effects(&builtin("local-ssd")), Vec::new());
}
