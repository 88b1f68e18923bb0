//! The loads for which a verdict is given: bulk, and small synchronous requests, each by direction.

use super::reads;
use narrows_model::Cut;
use narrows_model::summary::CellSummary;

/// A kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegimeKind {
    /// The largest block with the most requests in flight.
    Bulk,
    /// The smallest block, one request at a time.
    SmallSync,
}

/// A load for which a verdict is given, with the cell that stands for it.
#[derive(Debug, Clone, Copy)]
pub struct Regime<'a> {
    /// Its kind.
    pub kind: RegimeKind,
    /// The cell of the path that was measured under it.
    pub cell: &'a CellSummary,
}

impl Regime<'_> {
    /// The load in words: `bulk write (1MiB, 16 in flight)`.
    #[must_use]
    pub fn name(&self) -> String {
        self.name_for(if reads(self.cell.op) { "read" } else { "write" })
    }

    /// The load in words for several directions at once.
    #[must_use]
    pub fn name_for(&self, directions: &str) -> String {
        let kind = match self.kind {
            RegimeKind::Bulk => "bulk",
            RegimeKind::SmallSync => "small synchronous",
        };
        format!(
            "{kind} {directions} ({}, {} in flight)",
            self.cell.block_bytes, self.cell.in_flight.configured
        )
    }
}

/// The regimes among the cells of the path: bulk read, bulk write, small synchronous read and write, as far as
/// they were measured. A run with one load alone has one regime a direction.
pub(super) fn regimes(cells: &[CellSummary]) -> Vec<Regime<'_>> {
    let rated = |cell: &&CellSummary| cell.cut == Cut::Path && cell.rate_bytes_per_s.is_some();
    let path: Vec<&CellSummary> = cells.iter().filter(rated).collect();
    let direction = |read: bool| path.iter().copied().filter(move |cell| reads(cell.op) == read);
    // Cells that refine a verdict have no cuts at their own settings to be compared with: they come second.
    let compared =
        |cell: &CellSummary| cells.iter().any(|cut| cut.cut != Cut::Path && same_settings(cut, cell));
    let bulk = |read: bool| {
        direction(read).max_by_key(|cell| {
            (cell.block_bytes, compared(cell), std::cmp::Reverse(cell.clients), cell.queue_depth)
        })
    };
    let small = |read: bool| {
        direction(read).filter(|cell| cell.in_flight.configured == 1).min_by_key(|cell| cell.block_bytes)
    };
    let mut found: Vec<Regime<'_>> = Vec::new();
    for (kind, cell) in [
        (RegimeKind::Bulk, bulk(true).filter(|cell| !is_small(cell))),
        (RegimeKind::Bulk, bulk(false).filter(|cell| !is_small(cell))),
        (RegimeKind::SmallSync, small(true)),
        (RegimeKind::SmallSync, small(false)),
    ] {
        if let Some(cell) = cell.filter(|cell| found.iter().all(|known| known.cell.id != cell.id)) {
            found.push(Regime { kind, cell });
        }
    }
    found
}

fn same_settings(cut: &CellSummary, path: &CellSummary) -> bool {
    let settings =
        |cell: &CellSummary| (cell.block_bytes, cell.queue_depth, cell.requested.workers, cell.clients);
    reads(cut.op) == reads(path.op) && settings(cut) == settings(path)
}

/// Whether a cell is a single small request at a time: no load to call bulk.
fn is_small(cell: &CellSummary) -> bool {
    const SMALL_BYTES: u64 = 64 << 10;
    cell.in_flight.configured == 1 && cell.block_bytes.0 <= SMALL_BYTES
}
