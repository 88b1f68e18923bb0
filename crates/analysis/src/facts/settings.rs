//! The settings of a cell by which a cut and the path are compared.

use super::cell::{is_in_memory, reads};
use narrows_model::Bytes;
use narrows_model::summary::CellSummary;

/// Settings at which a cut and the path can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CellSettings {
    pub reads: bool,
    pub block_bytes: Bytes,
    pub queue_depth: u64,
    pub clients: u32,
    /// Targets between which the requests alternate; 0 in memory alone, which has nothing to do with their number.
    pub member_count: usize,
}

impl CellSettings {
    /// The settings of `cell`; a stream's `send` compares with a write, its `receive` with a read.
    pub(crate) fn from_cell(cell: &CellSummary) -> Self {
        Self {
            reads: reads(cell.op),
            block_bytes: cell.block_bytes,
            queue_depth: cell.queue_depth,
            clients: cell.clients,
            member_count: if is_in_memory(cell.cut) { 0 } else { cell.target.members().len() },
        }
    }

    /// The same settings in memory alone.
    pub(crate) fn in_memory(self) -> Self {
        Self { member_count: 0, ..self }
    }

    /// The same settings in the other direction.
    pub(crate) fn other_direction(self) -> Self {
        Self { reads: !self.reads, ..self }
    }
}
