//! What a cell says by itself: its direction, its kind of cut, its block, the time of one operation.

use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Op};

/// Whether the data moves from the device towards the application.
pub(crate) fn reads(op: Op) -> bool {
    !op.moves_towards_device()
}

/// Whether a cut measures memory alone.
pub(crate) fn is_in_memory(cut: Cut) -> bool {
    matches!(cut, Cut::Generator | Cut::MemoryCopy)
}

/// Whether a cut is a raw stream, which moves bytes in one direction.
pub(crate) fn is_stream(cut: Cut) -> bool {
    matches!(cut, Cut::NetworkStream | Cut::DirectStream)
}

/// The cuts that send requests through layers of the path, so that their rates bound the path's.
pub(crate) const CEILING_CUTS: [Cut; 4] =
    [Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage, Cut::LocalDevice];

/// Whether a cut is one of them.
pub(crate) fn ceiling_cut_of_path(cut: Cut) -> bool {
    CEILING_CUTS.contains(&cut)
}

/// Time of one operation in seconds at this cell, from the rate: what the requester waits, thinking apart. `None` where
/// nothing completed.
///
/// # Source
/// Interactive response time law R = N / X - Z, Denning and Buzen (1978).
#[must_use]
pub fn time_per_op_s(cell: &CellSummary) -> Option<f64> {
    let ops = cell.ops_per_s.map(|rate| rate.0).filter(|rate| *rate > 0.0)?;
    let cycle_s = cell.in_flight.configured.max(1) as f64 / ops;
    Some(cycle_s - cell.requested.think_ns.as_secs_f64()).filter(|waits_s| *waits_s > 0.0)
}
