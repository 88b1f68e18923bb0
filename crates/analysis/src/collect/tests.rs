//! What is kept of a plan and of the events that add to it.

use super::*;
use crate::testing::{Grid, machine, plan};

fn skip(cell: &str, reason: &str) -> SkippedCell {
    SkippedCell { cell: CellId(cell.to_owned()), reason: reason.to_owned() }
}

#[test]
fn a_skip_that_the_plan_and_its_extension_report_is_listed_once_with_its_first_reason() {
    let mut plan = plan(&machine("local-ssd"), Grid::default());
    // A record that is opened adds what its events add to the plan.
    let added = vec![skip("path/read/4KiB/qd2/c1", "past the budget")];
    plan.skipped = [vec![skip("path/write/3KiB/qd1/c1", "not aligned")], added.clone()].concat();
    let mut collected = RunData::new(&plan);
    collected.event(&Event::PlanExtended { cells: Vec::new(), skipped: added });
    collected.event(&Event::CellSkipped(skip("path/read/4KiB/qd2/c1", "the time is used up")));
    let late = skip("path/read/4KiB/qd4/c1", "the time is used up");
    collected.event(&Event::CellSkipped(late.clone()));
    assert_eq!(collected.skipped, [plan.skipped, vec![late]].concat());
}

/// A finished trial of `cell` that moved so many bytes in a second.
fn trial(cell: &Cell, bytes: u64, complete: bool) -> Event {
    let second = Nanos(1_000_000_000);
    Event::TrialFinished(Box::new(TrialOutput {
        complete,
        bytes: Bytes(bytes),
        op_count: bytes,
        last_done_ns: second,
        ..crate::testing::empty_trial(&cell.id)
    }))
}

/// The bytes of the first cell of a plan and of its first measurement, after these events of it.
fn repeated(events: impl Fn(&Cell) -> Vec<Event>) -> (Vec<u64>, Option<Vec<u64>>) {
    let plan = plan(&machine("local-ssd"), Grid::default());
    let mut collected = RunData::new(&plan);
    for event in &events(&plan.cells[0]) {
        collected.event(event);
    }
    collected.close();
    let bytes = |data: &CellData| data.trials.values().map(|trial| trial.bytes.0).collect();
    (bytes(&collected.cells[0]), collected.earlier(&plan.cells[0].id).map(bytes))
}

fn again(cell: &Cell) -> Event {
    Event::CellRepeated { cell: cell.id.clone(), reason: "disturbed".to_owned() }
}

#[test]
fn both_measurements_of_a_cell_that_was_repeated_are_kept_apart() {
    let seen = repeated(|cell| vec![trial(cell, 5, true), again(cell), trial(cell, 7, true)]);
    assert_eq!(seen, (vec![7], Some(vec![5])));
}

#[test]
fn a_repeat_that_did_not_come_to_its_end_leaves_the_first_measurement() {
    let failed = |cell: &Cell| Event::CellFailed { cell: cell.id.clone(), message: "gone".to_owned() };
    for ends in [0, 1, 2] {
        let seen = repeated(|cell| {
            let end = vec![vec![], vec![trial(cell, 7, false)], vec![failed(cell)]].swap_remove(ends);
            [vec![trial(cell, 5, true), again(cell)], end].concat()
        });
        assert_eq!(seen, (vec![5], None), "{ends}");
    }
    // What was never measured cannot be repeated.
    assert_eq!(repeated(|cell| vec![again(cell), trial(cell, 7, true)]), (vec![7], None));
}
