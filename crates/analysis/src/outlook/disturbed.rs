//! Cells whose figures others disturbed, which are worth a second measurement.

use crate::facts::flags::{FOREIGN_LOAD, MEASURED_AGAIN, has};
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Summary};

/// The ids of the cells that others disturbed and that were measured once: those of the path first, in their order.
#[must_use]
pub fn disturbed(summary: &Summary) -> Vec<&str> {
    let is_disturbed = |cell: &&CellSummary| has(cell, FOREIGN_LOAD) && !has(cell, MEASURED_AGAIN);
    let mut cells: Vec<&CellSummary> = summary.cells.iter().filter(is_disturbed).collect();
    cells.sort_by_key(|cell| cell.cut != Cut::Path);
    cells.into_iter().map(|cell| cell.id.as_str()).collect()
}

/// Whether others disturbed the cell with this id in both of its measurements.
#[must_use]
pub fn stays_disturbed(summary: &Summary, id: &str) -> bool {
    let cell = summary.cells.iter().find(|cell| cell.id == id);
    cell.is_some_and(|cell| has(cell, FOREIGN_LOAD) && has(cell, MEASURED_AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;

    #[test]
    fn disturbed_cells_of_the_path_come_first_and_those_measured_again_not_at_all() {
        let mut summary = builtin("gigabit-nfs");
        let of_path: Vec<usize> =
            (0..summary.cells.len()).filter(|index| summary.cells[*index].cut == Cut::Path).collect();
        let cut = summary.cells.iter().position(|cell| cell.cut != Cut::Path).unwrap();
        let flag = |summary: &mut Summary, index: usize, flag: &str| {
            summary.cells[index].flags.push(flag.to_owned());
        };
        for index in [cut, of_path[0], of_path[1]] {
            flag(&mut summary, index, FOREIGN_LOAD);
        }
        flag(&mut summary, of_path[1], MEASURED_AGAIN);
        let ids = |index: usize| summary.cells[index].id.clone();
        let (path, cut, again) = (ids(of_path[0]), ids(cut), ids(of_path[1]));
        assert_eq!(disturbed(&summary), [path.as_str(), cut.as_str()]);
        assert!(stays_disturbed(&summary, &again) && !stays_disturbed(&summary, &path));
    }
}
