//! The load that was asked of a cell, and whether it was delivered: then the rate is the load's own.

use crate::thresholds::DELIVERED_RATIO;
use narrows_model::quantity as text;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// What was asked of a cell, and how much of it came.
pub(crate) struct CellOfferedLoad {
    /// What came over what was asked for.
    pub share: f64,
    /// The rate that came, for people.
    pub moved: String,
    /// The rate that was asked for, for people.
    pub wanted: String,
}

/// What was asked of a cell: the cap on its bytes, the cap on its operations or the rate of an open loop, whichever it
/// came nearest to; `None` if its rate was not limited.
pub(crate) fn cell_offered_load(cell: &CellSummary) -> Option<CellOfferedLoad> {
    let (bytes, ops) = (cell.rate_bytes_per_s?.0, cell.ops_per_s?.0);
    let load = &cell.requested;
    let of_bytes = load.max_bytes_per_s.and_then(|cap| {
        let wanted = text::storage_rate(cap as f64);
        Some(CellOfferedLoad { share: ratio(bytes, cap as f64)?, moved: text::storage_rate(bytes), wanted })
    });
    let offered = cell.offered_ops_per_s.map(|rate| rate.0);
    let of_ops = [offered, load.max_ops_per_s].into_iter().flatten().filter_map(|cap| {
        Some(CellOfferedLoad {
            share: ratio(ops, cap)?,
            moved: text::op_rate(ops),
            wanted: text::op_rate(cap),
        })
    });
    let of_think = think(cell, ops).filter(|asked| asked.share >= DELIVERED_RATIO);
    of_bytes.into_iter().chain(of_ops).chain(of_think).max_by(|a, b| a.share.total_cmp(&b.share))
}

/// What think time lets be asked: N requests in turn start at most N / Z a second.
fn think(cell: &CellSummary, ops_per_s: f64) -> Option<CellOfferedLoad> {
    let most = ratio(cell.in_flight.configured as f64, cell.requested.think_ns.as_secs_f64())?;
    let wanted = text::op_rate(most);
    Some(CellOfferedLoad { share: ratio(ops_per_s, most)?, moved: text::op_rate(ops_per_s), wanted })
}

/// Whether the load asked for is what limited a cell, so that its rate says nothing of what it ran against.
pub(crate) fn is_delivered(cell: &CellSummary) -> bool {
    cell_offered_load(cell).is_some_and(|asked| asked.share >= DELIVERED_RATIO)
}
