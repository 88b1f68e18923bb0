//! The settings of a cell by which a cut and the path are compared.

use super::cell::{is_in_memory, is_stream, reads};
use narrows_model::summary::CellSummary;
use narrows_model::{Bytes, Cut, Op, Workload};
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
    /// Its mix; that of a cut that knows none is plain.
    pub mix: MixKey,
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
            mix: MixKey::from_load(&cell.requested),
        };
        settings.at(cell.cut)
    }

    /// The settings of the cell of `cut` that these compare with: memory has nothing to do with members.
    pub(crate) fn at(self, cut: Cut) -> Self {
        let member_count = if is_in_memory(cut) { 0 } else { self.member_count };
        Self { member_count, mix: self.mix.at(cut), ..self }
    }

    /// The same settings in the other direction.
    pub(crate) fn other_direction(self) -> Self {
        Self { reads: !self.reads, ..self }
    }
}

/// Represents the operations and the block sizes of a load: equal for equal mixes, 0 for either where all requests are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MixKey {
    ops: u64,
    blocks: u64,
}

impl MixKey {
    fn from_load(load: &Workload) -> Self {
        let ops: Vec<(Op, u64)> =
            load.op_mix.iter().map(|share| (share.op, share.weight.to_bits())).collect();
        let blocks: Vec<(Bytes, u64)> =
            load.block_mix.iter().map(|share| (share.block_bytes, share.weight.to_bits())).collect();
        let mixes_ops = ops.len() > 1 || load.write_back_every.is_some();
        Self {
            ops: if mixes_ops { hashed(&(ops, load.write_back_every)) } else { 0 },
            blocks: if blocks.len() > 1 { hashed(&blocks) } else { 0 },
        }
    }

    /// The mix of the cut that compares with a load of this one: a copy in memory knows no operations, and a stream moves bytes
    /// in one direction.
    fn at(self, cut: Cut) -> Self {
        let ops = if is_in_memory(cut) || is_stream(cut) { 0 } else { self.ops };
        Self { ops, blocks: if is_stream(cut) { 0 } else { self.blocks } }
    }
}

/// Whether a cell of a cut has the mix of a cell of the path, as far as its cut knows mixes.
pub(crate) fn has_mix_of(cut: &CellSummary, path: &CellSummary) -> bool {
    let mix = |cell: &CellSummary| MixKey::from_load(&cell.requested).at(cut.cut);
    mix(cut) == mix(path)
}

fn hashed(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
