//! Predictions against declared machines.

use crate::testing::{builtin, gridded};

#[test]
fn times_that_add_explain_a_single_request_within_a_tenth() {
    let prediction = builtin("ten-gigabit-nfs").prediction;
    let serial: Vec<_> = prediction.cells.iter().filter(|cell| cell.law == "serial").collect();
    assert_eq!(serial.len(), 6);
    assert!(serial.iter().all(|cell| cell.residual_ratio.abs() < 0.1), "{serial:?}");
}

#[test]
fn the_lowest_ceiling_explains_a_saturated_path_within_a_tenth() {
    for machine in ["ten-gigabit-nfs", "gigabit-nfs", "slow-server-cpu", "local-ssd"] {
        let prediction = gridded(machine).prediction;
        let saturated: Vec<_> = prediction.cells.iter().filter(|cell| cell.law == "minimum").collect();
        assert!(
            !saturated.is_empty() && saturated.iter().all(|cell| cell.residual_ratio.abs() < 0.1),
            "{machine}"
        );
    }
}

#[test]
fn the_fastest_cell_stands_for_the_path() {
    let prediction = builtin("gigabit-nfs").prediction;
    let fastest = prediction.cells.iter().map(|cell| cell.measured_bytes_per_s.0).fold(0.0, f64::max);
    let cell = prediction.cells.iter().find(|cell| cell.measured_bytes_per_s.0 >= fastest).unwrap();
    assert_eq!(prediction.residual_ratio, Some(cell.residual_ratio));
}

#[test]
fn a_path_without_cuts_is_not_predicted() {
    let mut summary = builtin("local-ssd");
    summary.cells.retain(|cell| cell.cut == narrows_model::Cut::Path);
    assert_eq!(crate::predict(&summary).composed_bytes_per_s, None);
}
