//! The settings of a cell by which a cut and the path are compared.

use super::cell::{is_in_memory, reads};
use narrows_model::summary::CellSummary;
use narrows_model::{Bytes, Cut, Workload};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Settings at which a cut and the path can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CellSettings {
    pub reads: bool,
    pub block_bytes: Bytes,
    pub queue_depth: u64,
    pub clients: u32,
    /// Targets between which the requests alternate; 0 in memory alone, which has nothing to do with their number.
    pub member_count: usize,
    /// Stands for the operations and block sizes of a mix; 0 where all requests are alike, and where the cut has no mix.
    pub mix: u64,
}

impl CellSettings {
    /// The settings of `cell`; a stream's `send` compares with a write, its `receive` with a read.
    pub(crate) fn from_cell(cell: &CellSummary) -> Self {
        let settings = Self {
            reads: reads(cell.op),
            block_bytes: cell.block_bytes,
            queue_depth: cell.queue_depth,
            clients: cell.clients,
            member_count: cell.target.members().len(),
            mix: mix_key(&cell.requested),
        };
        settings.at(cell.cut)
    }

    /// The settings of the cell of `cut` that these compare with: memory has nothing to do with members and mixes, and a
    /// stream moves bytes in one direction.
    pub(crate) fn at(self, cut: Cut) -> Self {
        let is_stream = matches!(cut, Cut::NetworkStream | Cut::DirectStream);
        match (is_in_memory(cut), is_stream) {
            (true, _) => Self { member_count: 0, mix: 0, ..self },
            (false, true) => Self { mix: 0, ..self },
            (false, false) => self,
        }
    }

    /// The same settings in the other direction.
    pub(crate) fn other_direction(self) -> Self {
        Self { reads: !self.reads, ..self }
    }
}

/// A number that is the same for the same mix of operations and sizes.
fn mix_key(load: &Workload) -> u64 {
    if load.op_mix.len() < 2 && load.block_mix.len() < 2 {
        return 0;
    }
    let mut hasher = DefaultHasher::new();
    for share in &load.op_mix {
        (share.op, share.weight.to_bits()).hash(&mut hasher);
    }
    for share in &load.block_mix {
        (share.block_bytes, share.weight.to_bits()).hash(&mut hasher);
    }
    hasher.finish()
}
