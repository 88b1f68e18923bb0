//! Data that can be verified: what a unit contains, and which generation of it is where.
//!
//! A unit is 512 bytes that say on their own what they are (`block`). Every write gives its units the next generation, and
//! a table that the workers of a client share knows which one each of them has (`table`). Not here: when the load makes and
//! checks units, which is the worker's.

mod block;
mod classify;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use block::{Unit, UnitContent};
pub(crate) use classify::UnitMismatch;
pub(crate) use table::{GenerationTable, WriteOutcome};

use narrows_model::verification::{UNIT_BYTES, VERIFIED_FILE_BYTES_MAX};
use narrows_model::{Bytes, Cell, Op};

/// Why the data of a cell cannot be verified; `None` where it can, or need not be.
pub(crate) fn problem(cell: &Cell) -> Option<String> {
    let workload = &cell.workload;
    if !workload.verify {
        return None;
    }
    let targets = std::iter::once(&cell.target).chain(&cell.more_targets);
    if let Some(target) = targets.into_iter().find(|target| !target.stores_objects()) {
        return Some(format!("data was to be verified at {target}, which stores none"));
    }
    if cell.read_only {
        return Some("data was to be verified in a file that narrows did not write".to_owned());
    }
    if let Some(share) = workload.ops().iter().find(|share| !is_verified(share.op) && share.op != Op::Sync) {
        return Some(format!(
            "data was to be verified by the operation {}; reads and writes can be",
            share.op
        ));
    }
    let sizes = workload.blocks();
    if let Some(share) = sizes.iter().find(|share| !is_whole(share.block_bytes)) {
        let block = share.block_bytes.0;
        return Some(format!(
            "blocks of {block} bytes were to be verified; they must be multiples of {UNIT_BYTES}"
        ));
    }
    (workload.file_bytes > VERIFIED_FILE_BYTES_MAX).then(|| {
        format!("a file of {} was to be verified; {VERIFIED_FILE_BYTES_MAX} can be", workload.file_bytes)
    })
}

/// Whether an operation moves data that can be verified.
fn is_verified(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write)
}

/// Whether a block consists of whole units.
fn is_whole(block: Bytes) -> bool {
    block.0 >= UNIT_BYTES && block.0.is_multiple_of(UNIT_BYTES)
}

/// The part of `bytes` that consists of whole units.
pub(crate) fn whole_units(bytes: Bytes) -> Bytes {
    Bytes(bytes.0 / UNIT_BYTES * UNIT_BYTES)
}
