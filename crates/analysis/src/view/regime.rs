//! The loads for which a verdict is given: bulk, one request at a time, many small requests, several targets together;
//! each by direction.

use super::reads;
use narrows_model::Cut;
use narrows_model::summary::CellSummary;

/// A kind of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegimeKind {
    /// The largest block with the most requests in flight.
    Bulk,
    /// The smallest block, one request at a time.
    Single,
    /// The smallest block with the most requests in flight.
    SmallParallel,
    /// Several targets at once: the largest block with the most requests in flight.
    Together,
}

impl RegimeKind {
    /// Every kind, the one that matters most first.
    pub(crate) const ALL: [RegimeKind; 4] =
        [RegimeKind::Bulk, RegimeKind::Single, RegimeKind::SmallParallel, RegimeKind::Together];
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
            RegimeKind::Single if is_small_block(self.cell) => "small synchronous",
            RegimeKind::Single => "synchronous",
            RegimeKind::SmallParallel => "small parallel",
            RegimeKind::Together => "several targets together,",
        };
        format!(
            "{kind} {directions} ({}, {} in flight)",
            self.cell.block_bytes, self.cell.in_flight.configured
        )
    }
}

/// The regimes among the cells of the path, as far as they were measured. A run with one load alone has one regime a
/// direction, and one to `null:`, which is no storage, none.
pub(super) fn regimes(cells: &[CellSummary]) -> Vec<Regime<'_>> {
    let rated = |cell: &&CellSummary| {
        cell.cut == Cut::Path && cell.rate_bytes_per_s.is_some() && cell.target.is_storage()
    };
    let (together, path): (Vec<&CellSummary>, Vec<&CellSummary>) =
        cells.iter().filter(rated).partition(|cell| !cell.more_targets.is_empty());
    let direction = |read: bool| path.iter().copied().filter(move |cell| reads(cell.op) == read);
    // Cells that refine a verdict have no cuts at their own settings to be compared with: they come second.
    let compared =
        |cell: &CellSummary| cells.iter().any(|cut| cut.cut != Cut::Path && same_settings(cut, cell));
    let bulk = |read: bool| {
        direction(read).max_by_key(|cell| {
            (cell.block_bytes, compared(cell), std::cmp::Reverse(cell.clients), cell.queue_depth)
        })
    };
    let single = |read: bool| {
        direction(read).filter(|cell| cell.in_flight.configured == 1).min_by_key(|cell| cell.block_bytes)
    };
    let small = |read: bool| {
        let many = direction(read).filter(|cell| cell.in_flight.configured > 1 && is_small_block(cell));
        many.filter(|cell| compared(cell)).max_by_key(|cell| {
            let few_clients = std::cmp::Reverse(cell.clients);
            (std::cmp::Reverse(cell.block_bytes), few_clients, cell.queue_depth)
        })
    };
    let several = |read: bool| {
        let all = together.iter().copied().filter(move |cell| reads(cell.op) == read);
        all.max_by_key(|cell| (cell.block_bytes, cell.in_flight.configured))
    };
    let mut found: Vec<Regime<'_>> = Vec::new();
    for (kind, cell) in [
        (RegimeKind::Bulk, bulk(true).filter(|cell| !is_small(cell))),
        (RegimeKind::Bulk, bulk(false).filter(|cell| !is_small(cell))),
        (RegimeKind::Single, single(true)),
        (RegimeKind::Single, single(false)),
        (RegimeKind::SmallParallel, small(true)),
        (RegimeKind::SmallParallel, small(false)),
        (RegimeKind::Together, several(true)),
        (RegimeKind::Together, several(false)),
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
    cell.in_flight.configured == 1 && is_small_block(cell)
}

/// Whether a request costs its operation more than its bytes on common hardware: up to 64 KiB.
pub(crate) fn is_small_block(cell: &CellSummary) -> bool {
    const SMALL_BYTES: u64 = 64 << 10;
    cell.block_bytes.0 <= SMALL_BYTES
}
