//! What the windows of connections let through.

use crate::case::table::{self, ObservationTable};
use narrows_model::Observation;
use narrows_model::units::ratio;

/// The share of what its windows let through that an observation moved, with that bound.
pub(crate) fn load(table: &ObservationTable<'_>, one: &Observation) -> Option<(f64, f64)> {
    let connections = one.connections.unwrap_or(1) as f64 * one.clients.unwrap_or(1) as f64;
    let bound = ratio(connections * one.window_bytes?.as_f64(), table::rtt_s(table, one)?)?;
    Some((ratio(table::bytes_per_s(one)?.low, bound)?, bound))
}
