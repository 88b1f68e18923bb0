//! Degenerate and refused input of every interval.

use super::{ConfidenceInterval, IntervalMethod, Level, batch_means, bootstrap_interval, student_interval};
use crate::error::StatsError;
use crate::moments::mean;
use crate::resample::BootstrapPlan;

#[test]
fn a_level_is_strictly_between_zero_and_one() {
    assert!(Level::new(0.5).is_ok());
    for ratio in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(matches!(Level::new(ratio), Err(StatsError::BadArgument { .. })));
    }
}

#[test]
fn equal_values_give_an_interval_of_no_width() {
    let interval = student_interval(&[2.5; 4], Level::P95).unwrap();
    assert_eq!((interval.low, interval.high), (2.5, 2.5));
    let bootstrap = bootstrap_interval(&[2.5; 4], mean, BootstrapPlan::with_seed(1)).unwrap();
    assert_eq!((bootstrap.low, bootstrap.high), (2.5, 2.5));
    let batches = batch_means(&[2.5; 40], 10, Level::P95).unwrap();
    assert_eq!((batches.interval.low, batches.interval.high, batches.batch_lag1), (2.5, 2.5, None));
}

#[test]
fn one_value_has_no_interval() {
    let expected = StatsError::TooFew { needed_count: 2, given_count: 1 };
    assert_eq!(student_interval(&[1.0], Level::P95), Err(expected));
    assert_eq!(bootstrap_interval(&[1.0], mean, BootstrapPlan::with_seed(1)), Err(expected));
    assert_eq!(
        student_interval(&[], Level::P95),
        Err(StatsError::TooFew { needed_count: 2, given_count: 0 })
    );
}

#[test]
fn the_position_of_a_value_that_is_not_finite_is_named() {
    let values = [1.0, 2.0, f64::NAN];
    let expected = StatsError::NotFinite { value_index: 2 };
    assert_eq!(student_interval(&values, Level::P95), Err(expected));
    assert_eq!(batch_means(&values, 2, Level::P95), Err(expected));
    assert_eq!(bootstrap_interval(&values, mean, BootstrapPlan::with_seed(1)), Err(expected));
}

#[test]
fn batches_leave_out_the_first_values_of_an_uneven_series() {
    let series = [100.0, 1.0, 3.0, 2.0, 4.0];
    let batches = batch_means(&series, 2, Level::P95).unwrap();
    assert_eq!((batches.batch_len, batches.dropped_count, batches.mean), (2, 1, 2.5));
    assert_eq!(batches.interval.method, IntervalMethod::BatchMeans);
}

#[test]
fn fewer_values_than_batches_are_too_few() {
    let expected = StatsError::TooFew { needed_count: 10, given_count: 3 };
    assert_eq!(batch_means(&[1.0, 2.0, 3.0], 10, Level::P95), Err(expected));
    assert!(matches!(batch_means(&[1.0, 2.0], 1, Level::P95), Err(StatsError::BadArgument { .. })));
}

#[test]
fn a_statistic_undefined_on_a_resample_is_reported() {
    let outcome = bootstrap_interval(&[1.0, 2.0], |_| None, BootstrapPlan::with_seed(1));
    assert!(matches!(outcome, Err(StatsError::Degenerate { .. })));
}

#[test]
fn a_handful_of_resamples_is_refused() {
    let plan = BootstrapPlan { resample_count: 10, ..BootstrapPlan::with_seed(1) };
    assert!(matches!(bootstrap_interval(&[1.0, 2.0], mean, plan), Err(StatsError::BadArgument { .. })));
}

#[test]
fn widths_follow_from_the_ends() {
    let interval =
        ConfidenceInterval { low: 9.0, high: 11.0, level: Level::P95, method: IntervalMethod::StudentT };
    assert_eq!((interval.half_width(), interval.contains(10.0)), (1.0, true));
    assert_eq!(interval.relative_half_width(), Some(0.1));
    assert!(interval.contains(9.0) && interval.contains(11.0) && !interval.contains(11.5));
    let around_zero = ConfidenceInterval { low: -1.0, high: 1.0, ..interval };
    assert_eq!(around_zero.relative_half_width(), None);
}
