//! The caps, and the direction in which each feature moves the confidence.

use super::*;
use crate::testing::builtin;

fn sure() -> Features {
    Features {
        first_rank_share: 1.0,
        margin: 1.0,
        coverage: 1.0,
        residual_ratio: Some(0.0),
        conclusive: false,
    }
}

#[test]
fn without_an_intervention_confidence_stays_at_nine_tenths() {
    let summary = builtin("ten-gigabit-nfs");
    assert!(fitted(&SummaryView::new(&summary), &sure()) <= 0.9);
}

#[test]
fn an_unexplained_residual_limits_it_to_six_tenths() {
    let summary = builtin("ten-gigabit-nfs");
    for residual_ratio in [Some(0.3), Some(-0.3), None] {
        assert!(fitted(&SummaryView::new(&summary), &Features { residual_ratio, ..sure() }) <= 0.6);
    }
}

#[test]
fn a_residual_beyond_fifteen_percent_lowers_it_unless_bytes_that_were_counted_decide() {
    let summary = builtin("ten-gigabit-nfs");
    let view = SummaryView::new(&summary);
    let with = |residual: f64, conclusive: bool| {
        fitted(&view, &Features { residual_ratio: Some(residual), conclusive, ..sure() })
    };
    assert!(with(0.16, false) <= 0.8 && with(-0.16, false) <= 0.8);
    assert!(with(0.14, false) > 0.8 && with(0.16, true) > 0.8);
}

#[test]
fn a_shared_machine_limits_it_to_six_tenths() {
    let summary = builtin("shared-laptop");
    assert!(fitted(&SummaryView::new(&summary), &sure()) <= 0.6);
}

#[test]
fn less_margin_and_more_residual_are_less_sure() {
    assert!(logistic(&Features { margin: 0.0, ..sure() }) < logistic(&sure()));
    assert!(logistic(&Features { residual_ratio: Some(0.5), ..sure() }) < logistic(&sure()));
    assert!(logistic(&Features { first_rank_share: 0.5, ..sure() }) < logistic(&sure()));
}
