//! The cells of a study in the order of its sweep, whatever order they ran in, with the names of their rows.

use super::super::cells::in_flight;
use super::super::factor_value::format_value;
use super::super::reading::path_cells;
use super::super::style::Style;
use narrows_model::Summary;
use narrows_model::factor::{Factor, FactorUnit};
use narrows_model::summary::CellSummary;

/// The cells of the path in the order of the sweep.
pub(super) struct SweepCells<'a> {
    factors: Vec<&'a Factor>,
    /// The cells.
    pub(super) cells: Vec<&'a CellSummary>,
}

impl<'a> SweepCells<'a> {
    /// The sweep of `summary`.
    pub(super) fn from_summary(summary: &'a Summary) -> Self {
        let all = summary.study.iter().flat_map(|study| &study.factors);
        // A factor of one value distinguishes no rows; the plan and the record have it.
        let factors: Vec<&Factor> = all.filter(|factor| factor.values.len() > 1).collect();
        let mut cells: Vec<&CellSummary> = path_cells(summary).collect();
        // Stable, so that cells of one point stay in the order in which they ran.
        cells.sort_by_key(|cell| factors.iter().map(|factor| value_index(factor, cell)).collect::<Vec<_>>());
        Self { factors, cells }
    }

    /// The same sweep with only the cells for which `keep` is true.
    pub(super) fn filter_cells(&self, keep: impl Fn(&CellSummary) -> bool) -> Self {
        let cells = self.cells.iter().copied().filter(|cell| keep(cell)).collect();
        Self { factors: self.factors.clone(), cells }
    }

    /// The headings of the columns that name a row.
    pub(super) fn headings(&self) -> Vec<(String, bool)> {
        if self.factors.is_empty() {
            return vec![("load".to_owned(), false)];
        }
        // Numbers are aligned to the right, names to the left.
        let heading = |factor: &&Factor| (short(&factor.name), factor.unit != FactorUnit::None);
        self.factors.iter().map(heading).collect()
    }

    /// The name of `cell`'s row, a text for each heading.
    pub(super) fn name(&self, cell: &CellSummary, style: &Style) -> Vec<String> {
        if self.factors.is_empty() {
            return vec![format!("{} {}", load(cell), in_flight(cell, style))];
        }
        let value = |factor: &&Factor| {
            cell.factors.get(&factor.name).map_or_else(String::new, |value| format_value(value, factor.unit))
        };
        self.factors.iter().map(value).collect()
    }
}

/// The place of `cell`'s value among those of `factor`; the last one for a cell without it.
fn value_index(factor: &Factor, cell: &CellSummary) -> usize {
    let value = cell.factors.get(&factor.name);
    let found = value.and_then(|value| factor.values.iter().position(|known| known == value));
    found.unwrap_or(factor.values.len())
}

/// What the requests do and how large they are: `read 4KiB`, `read+write 4KiB`.
fn load(cell: &CellSummary) -> String {
    let ops: Vec<&str> = cell.requested.ops().iter().map(|share| share.op.name()).collect();
    let blocks: Vec<String> =
        cell.requested.blocks().iter().map(|share| share.block_bytes.to_string()).collect();
    format!("{} {}", ops.join("+"), blocks.join("+"))
}

/// The last part of a factor's key: `ring.submission_polling` heads a column that would be wider than its values.
fn short(name: &str) -> String {
    name.rsplit_once('.').map_or(name, |(_, last)| last).to_owned()
}
