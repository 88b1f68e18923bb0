//! The caps, and the direction in which each feature moves the confidence.

use super::*;
use crate::testing::builtin;
use narrows_model::Cut;

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

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
    for residual_ratio in [Some(0.3), Some(-0.3)] {
        assert!(fitted(&SummaryView::new(&summary), &Features { residual_ratio, ..sure() }) <= 0.6);
    }
}

#[test]
fn a_verdict_without_a_prediction_is_surer_than_one_beside_an_unexplained_residual() {
    let summary = builtin("ten-gigabit-nfs");
    let view = SummaryView::new(&summary);
    let without = |conclusive| fitted(&view, &Features { residual_ratio: None, conclusive, ..sure() });
    assert!(near(without(false), 0.7) && without(true) > 0.8, "{}", without(false));
}

#[test]
fn without_a_prediction_and_any_cut_it_is_at_most_six_tenths() {
    let mut summary = builtin("ten-gigabit-nfs");
    summary.cells.retain(|cell| cell.cut == Cut::Path);
    let view = SummaryView::new(&summary);
    let features = Features { residual_ratio: None, ..sure() };
    assert!(!view.has_cut() && near(fitted(&view, &features), 0.6));
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
fn shared_cpus_limit_it_to_six_tenths_and_a_machine_whose_roles_have_their_own_to_eight() {
    let summary = builtin("shared-laptop");
    let mut view = SummaryView::new(&summary);
    assert!(view.sharing.one_station() && near(fitted(&view, &sure()), 0.6));
    view.sharing.cpus_apart = true;
    assert!(near(fitted(&view, &sure()), 0.8));
}

#[test]
fn less_margin_and_more_residual_are_less_sure() {
    assert!(logistic(&Features { margin: 0.0, ..sure() }) < logistic(&sure()));
    assert!(logistic(&Features { residual_ratio: Some(0.5), ..sure() }) < logistic(&sure()));
    assert!(logistic(&Features { first_rank_share: 0.5, ..sure() }) < logistic(&sure()));
}

#[test]
fn a_verdict_on_a_load_that_was_measured_for_milliseconds_is_sure_to_six_tenths_at_most() {
    let mut summary = builtin("gigabit-nfs");
    let sure = summary
        .diagnosis
        .limiting
        .iter()
        .find(|entry| entry.confidence > 0.6 && !entry.regime.contains(" and "))
        .unwrap()
        .clone();
    let cell =
        SummaryView::new(&summary).regimes().iter().find(|regime| sure.regime == regime.name()).unwrap().cell;
    let cell = summary.cells.iter().position(|one| one.id == cell.id).unwrap();
    let confidence = |summary: &narrows_model::Summary| {
        let found = crate::diagnose(summary);
        found.limiting.iter().find(|entry| entry.regime == sure.regime).unwrap().confidence
    };
    assert!(confidence(&summary) > 0.6);
    summary.cells[cell].elapsed_s.last_done = 0.002;
    assert!(confidence(&summary) <= 0.6);
}
