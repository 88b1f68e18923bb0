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

/// The predictions for one request at a time to a device that alone takes this share of the time, of which the other part of the
/// path was not measured.
fn of_device_alone(share: f64) -> Vec<narrows_model::summary::CellPrediction> {
    use narrows_model::Cut;
    let mut summary = builtin("local-ssd");
    summary.cells.retain(|cell| cell.cut != Cut::PageCache);
    let path = summary.cells.clone();
    for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::LocalDevice) {
        let beside = |other: &&narrows_model::summary::CellSummary| {
            let load = |cell: &narrows_model::summary::CellSummary| {
                (cell.op, cell.block_bytes, cell.in_flight.configured)
            };
            other.cut == Cut::Path && load(other) == load(cell)
        };
        let Some(path) = path.iter().find(beside) else { continue };
        (cell.ops_per_s, cell.rate_bytes_per_s) = (path.ops_per_s, path.rate_bytes_per_s);
        cell.ops_per_s.as_mut().unwrap().0 /= share;
        cell.rate_bytes_per_s.as_mut().unwrap().0 /= share;
        cell.in_flight = path.in_flight;
    }
    for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
        // The page cache, which was not measured, is on the way.
        cell.requested.access = narrows_model::workload::Access::Buffered;
    }
    let prediction = crate::predict(&summary);
    prediction.cells.into_iter().filter(|cell| cell.law == "serial").collect()
}

#[test]
fn a_part_that_takes_nearly_all_of_the_time_explains_it_whatever_was_not_measured() {
    let found = of_device_alone(0.95);
    assert!(!found.is_empty(), "the rest is five hundredths");
    assert!(found.iter().all(|cell| cell.residual_ratio.abs() < 0.06), "{found:?}");
    assert!(of_device_alone(0.6).is_empty(), "what takes the rest is not known");
}
