//! What a check measures before it decides what is next: the path under the loads that are asked about first, and how fast
//! the load generator itself is there.
//!
//! Not here: which of the other cells are worth their time, which the analysis decides.

use narrows_model::workload::Op;
use narrows_model::{Bytes, Cell, Cut, Plan};

/// The cells of `plan` that are measured in any case, the path's before all others: so its first figures come first,
/// writes leave nothing beside a cut, and a short time leaves out cuts and not the path.
///
/// # Shape
/// The path, by direction, under bulk, one request at a time and many small requests, in the order of the plan, or at
/// every point where `every_point`; then the generator at each of these blocks and depths, once.
#[must_use]
pub fn opening(plan: &Plan, every_point: bool) -> Vec<Cell> {
    let all: Vec<&Cell> = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect();
    let is_first = |cell: &Cell| {
        let beside: Vec<Shape> =
            all.iter().filter(|other| reads(other) == reads(cell)).map(|other| shape(other)).collect();
        every_point || first_shapes(&beside).contains(&shape(cell))
    };
    let paths: Vec<&Cell> = all.iter().copied().filter(|cell| is_first(cell)).collect();
    let mut opening: Vec<Cell> = paths.iter().copied().cloned().collect();
    // What the generator does alone has nothing to do with the direction.
    for generator in plan.cells.iter().filter(|cell| cell.cut == Cut::Generator) {
        let is_known = |known: &Cell| known.cut == Cut::Generator && shape(known) == shape(generator);
        if paths.iter().any(|path| shape(path) == shape(generator)) && !opening.iter().any(is_known) {
            opening.push(generator.clone());
        }
    }
    opening
}

/// Block and number of requests in flight.
type Shape = (Bytes, u64);

fn shape(cell: &Cell) -> Shape {
    (cell.workload.block_bytes, cell.workload.in_flight_configured())
}

fn reads(cell: &Cell) -> bool {
    !Op::moves_towards_device(cell.workload.op)
}

/// The largest block with the most in flight, the smallest with the least, and the smallest with the most.
fn first_shapes(all: &[Shape]) -> Vec<Shape> {
    let largest = all.iter().copied().max();
    let smallest = all.iter().copied().min();
    let small = smallest.map(|(block, _)| block);
    let many_small = all.iter().copied().filter(|(block, _)| Some(*block) == small).max();
    [largest, smallest, many_small].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckRequest, plan_check};

    fn plan() -> Plan {
        let request = CheckRequest { budget_s: 600.0, ..CheckRequest::new("/data".parse().unwrap()) };
        plan_check(&request).unwrap()
    }

    fn ids(cells: &[Cell]) -> Vec<&str> {
        cells.iter().map(|cell| cell.id.0.as_str()).collect()
    }

    #[test]
    fn the_path_comes_before_any_cut_and_each_first_load_in_both_directions() {
        let opening = opening(&plan(), false);
        let expected = [
            "path/read/1MiB/qd1/w16/c1",
            "path/write/1MiB/qd1/w16/c1",
            "path/read/4KiB/qd1/c1",
            "path/write/4KiB/qd1/c1",
            "path/read/4KiB/qd1/w16/c1",
            "path/write/4KiB/qd1/w16/c1",
        ];
        assert_eq!(ids(&opening)[..6], expected);
        assert!(opening[6..].iter().all(|cell| cell.cut == Cut::Generator));
        assert_eq!(opening.len(), 9);
    }

    #[test]
    fn points_that_are_asked_for_are_all_measured() {
        let plan = plan();
        let paths = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).count();
        let opening = opening(&plan, true);
        assert_eq!(opening.iter().filter(|cell| cell.cut == Cut::Path).count(), paths);
    }
}
