//! Cells in words: `read 1MiB x16` for the whole path, `generator read 4KiB x1` for a segment alone.

use super::study::factor_words;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Summary};
use std::collections::BTreeMap;

/// Names of a summary's cells by their ids.
#[derive(Debug)]
pub(crate) struct CellNames<'a> {
    by_id: BTreeMap<&'a str, String>,
}

impl<'a> CellNames<'a> {
    /// The names of the cells of `summary`.
    pub(crate) fn of(summary: &'a Summary) -> Self {
        let named = |cell: &'a CellSummary| (cell.id.as_str(), name(cell) + &others(cell, summary));
        Self { by_id: summary.cells.iter().map(named).collect() }
    }

    /// No names: what is told is told by its id.
    pub(crate) fn none() -> Self {
        Self { by_id: BTreeMap::new() }
    }

    /// The name of the cell with this id, or the id where there is no such cell.
    pub(crate) fn name<'b>(&'b self, id: &'b str) -> &'b str {
        self.by_id.get(id).map_or(id, String::as_str)
    }

    /// `text` with every id of a cell replaced by the cell's name.
    pub(crate) fn told(&self, text: &str) -> String {
        let words: Vec<String> = text
            .split(' ')
            .map(|word| {
                let id = word.trim_end_matches([':', ',', ';', ')', '.']);
                let rest = word.get(id.len()..).unwrap_or_default();
                format!("{}{rest}", self.name(id))
            })
            .collect();
        words.join(" ")
    }
}

/// Factors of a study that a cell's own words do not tell: ` (engine uring, file 16MiB)`.
fn others(cell: &CellSummary, summary: &Summary) -> String {
    const TOLD: [&str; 5] = ["op", "block", "depth", "workers", "clients"];
    let factors = summary.study.iter().flat_map(|study| &study.factors);
    let varied = factors.filter(|factor| factor.values.len() > 1 && !TOLD.contains(&factor.name.as_str()));
    let words: Vec<String> = varied
        .filter_map(|factor| {
            Some(format!("{} {}", factor.name, factor_words(cell.factors.get(&factor.name)?, factor.unit)))
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn name(cell: &CellSummary) -> String {
    let cut = if cell.cut == Cut::Path { String::new() } else { format!("{} ", cell.cut.name()) };
    let clients = if cell.clients > 1 { format!(" from {} clients", cell.clients) } else { String::new() };
    let load = &cell.requested;
    let workers =
        if load.workers > 1 { format!(" in each of {} workers", load.workers) } else { String::new() };
    format!("{cut}{} {} x{}{workers}{clients}", load.name(), cell.block_bytes, load.queue_depth)
}
