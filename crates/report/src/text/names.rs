//! Cells in words: `read 1MiB x16` for the whole path, `generator read 4KiB x1` for a segment alone, `putc (write 1B x1)`
//! for a test of a suite.

use super::factor_value::format_value as factor_words;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Op, Summary, Workload};
use std::collections::BTreeMap;

/// Names of a summary's cells by their ids.
#[derive(Debug)]
pub(crate) struct CellNames<'a> {
    by_id: BTreeMap<&'a str, String>,
}

impl<'a> CellNames<'a> {
    /// The names of the cells of `summary`.
    pub(crate) fn from_summary(summary: &'a Summary) -> Self {
        let tests = TestNaming::from_summary(summary);
        let cell_name = |cell: &CellSummary| match tests.name(cell) {
            Some(test) => format!("{test} ({})", name(cell)),
            None => name(cell) + &others(cell, summary),
        };
        let named = |cell: &'a CellSummary| (cell.id.as_str(), cell_name(cell));
        Self { by_id: summary.cells.iter().map(named).collect() }
    }

    /// No names: everything is shown by its id.
    pub(crate) fn none() -> Self {
        Self { by_id: BTreeMap::new() }
    }

    /// The name of the cell with this id, or the id where there is no such cell.
    pub(crate) fn name<'b>(&'b self, id: &'b str) -> &'b str {
        self.by_id.get(id).map_or(id, String::as_str)
    }

    /// `text` with every id of a cell replaced by the cell's name.
    pub(crate) fn replace_ids(&self, text: &str) -> String {
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

/// Factors of a study that a cell's own words do not show: ` (engine uring, file 16MiB)`.
fn others(cell: &CellSummary, summary: &Summary) -> String {
    const NAMED_FACTORS: [&str; 5] = ["op", "block", "depth", "workers", "clients"];
    let factors = summary.study.iter().flat_map(|study| &study.factors);
    let varied =
        factors.filter(|factor| factor.values.len() > 1 && !NAMED_FACTORS.contains(&factor.name.as_str()));
    let words: Vec<String> = varied
        .filter_map(|factor| {
            Some(format!("{} {}", factor.name, factor_words(cell.factors.get(&factor.name)?, factor.unit)))
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// How the tests of a suite are called.
#[derive(Debug)]
pub(crate) enum TestNaming {
    /// There are none.
    None,
    /// By their phase: all are of one test.
    ByPhase,
    /// By test and phase.
    ByBoth,
}

impl TestNaming {
    /// How those of `summary` are called.
    pub(crate) fn from_summary(summary: &Summary) -> Self {
        let mut tests = summary.cells.iter().filter_map(|cell| cell.test.as_deref());
        match tests.next() {
            None => Self::None,
            Some(first) if tests.all(|test| test == first) => Self::ByPhase,
            Some(_) => Self::ByBoth,
        }
    }

    /// Whether there are none.
    pub(crate) fn are_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The test that a cell's phase is one of, where there are several; `None` else.
    pub(crate) fn group<'a>(&self, cell: &'a CellSummary) -> Option<&'a str> {
        cell.test.as_deref().filter(|_| matches!(self, Self::ByBoth))
    }

    /// The name of a cell's test; `None` where it belongs to none.
    pub(crate) fn name(&self, cell: &CellSummary) -> Option<String> {
        let (test, phase) = (cell.test.as_deref()?, cell.phase.as_deref());
        match (self, phase) {
            (Self::None, _) => None,
            (Self::ByPhase, Some(phase)) => Some(phase.to_owned()),
            (Self::ByBoth, Some(phase)) => Some(format!("{test} {phase}")),
            (Self::ByPhase | Self::ByBoth, None) => Some(test.to_owned()),
        }
    }
}

/// Whether a load's operations move no data: their rate is one of operations alone.
pub(crate) fn moves_no_bytes(load: &Workload) -> bool {
    if load.op == Op::Ping {
        return true;
    }
    let Some(set) = load.objects.as_ref().filter(|set| set.transactions.is_none()) else { return false };
    let has_bytes = set.max_bytes.0 > 0;
    match load.op {
        Op::Delete | Op::Rename => true,
        Op::Stat => !(set.stat_reads && has_bytes),
        _ => !has_bytes,
    }
}

/// The block that a load's requests move; `None` where they move no data.
pub(crate) fn block(load: &Workload) -> Option<String> {
    (!moves_no_bytes(load)).then(|| load.block_bytes.to_string())
}

/// What a cell's requests do; what writes back what it read, and a mix of a suite, do both.
fn op_word(cell: &CellSummary) -> String {
    let load = &cell.requested;
    if cell.test.is_none() || load.transactions().is_some() {
        return load.name().to_owned();
    }
    load.ops().iter().map(|share| share.op.name()).collect::<Vec<_>>().join("+")
}

fn name(cell: &CellSummary) -> String {
    let cut = if cell.cut == Cut::Path { String::new() } else { format!("{} ", cell.cut.name()) };
    let clients = if cell.clients > 1 { format!(" from {} clients", cell.clients) } else { String::new() };
    let load = &cell.requested;
    let workers =
        if load.workers > 1 { format!(" in each of {} workers", load.workers) } else { String::new() };
    let block = block(load).map_or_else(String::new, |block| format!("{block} "));
    format!("{cut}{} {block}x{}{workers}{clients}", op_word(cell), load.queue_depth)
}
