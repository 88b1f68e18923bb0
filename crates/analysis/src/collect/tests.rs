//! What is kept of a plan and of the events that add to it.

use super::*;
use crate::testing::{Grid, machine, plan};

fn skip(cell: &str, reason: &str) -> SkippedCell {
    SkippedCell { cell: CellId(cell.to_owned()), reason: reason.to_owned() }
}

#[test]
fn a_skip_that_the_plan_and_its_extension_tell_is_listed_once_with_its_first_reason() {
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
