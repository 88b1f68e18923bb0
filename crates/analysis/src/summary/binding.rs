//! Whether a measured ceiling binds: doubling the block and doubling the number in flight both add under 3 %.
//!
//! A ceiling that does not bind is a lower bound: with more at once or larger requests the segment might sustain more.

use super::laws::{in_flight, is_unbounded, saturation};
use crate::facts::offered_load::is_delivered;
use narrows_model::quantity::{amount, percent};
use narrows_model::summary::{CellSummary, Saturation, SaturationState};

/// The answer for the cell with the highest rate among `measured`, and the reason for it.
pub(super) fn binding(best: &CellSummary, measured: &[&CellSummary], seed: u64) -> (Option<bool>, String) {
    if is_delivered(best) || !is_unbounded(best) {
        return (Some(false), "the load was limited on purpose: no more was requested".to_owned());
    }
    let along = |same: &dyn Fn(&CellSummary) -> bool, setting: fn(&CellSummary) -> f64| {
        let line: Vec<&CellSummary> = measured
            .iter()
            .copied()
            .filter(|cell| cell.op == best.op && is_unbounded(cell) && same(cell))
            .collect();
        saturation(&line, setting, seed)
    };
    let depth = along(&|cell| cell.block_bytes == best.block_bytes, in_flight);
    let block = along(&|cell| cell.queue_depth == best.queue_depth && cell.clients == best.clients, |cell| {
        cell.block_bytes.as_f64()
    });
    let states = [&depth, &block].map(|found| found.as_ref().map(|found| found.state));
    let binds = match states {
        [Some(SaturationState::Reached), Some(SaturationState::Reached)] => Some(true),
        [Some(SaturationState::NotReached), _] | [_, Some(SaturationState::NotReached)] => Some(false),
        _ => None,
    };
    let depth = describe_direction("the number in flight", depth.as_ref(), |knee| format!("{knee:.0}"));
    let block = describe_direction("the block", block.as_ref(), |knee| {
        amount(narrows_model::Bytes(narrows_model::units::round_to_u64(knee)))
    });
    (binds, format!("{depth}; {block}"))
}

/// One sentence part on one direction.
fn describe_direction(what: &str, found: Option<&Saturation>, knee: impl Fn(f64) -> String) -> String {
    let Some(found) = found else { return format!("{what} was not doubled") };
    let gain = percent(found.last_doubling_gain_ratio);
    match (found.state, found.knee_in_flight) {
        (SaturationState::Reached, Some(from)) => {
            format!("doubling {what} adds under 3 % from {} on", knee(from))
        }
        (SaturationState::NotReached, _) => format!("doubling {what} still adds {gain}"),
        _ => format!("whether doubling {what} adds 3 % is not known ({gain} a doubling in the last step)"),
    }
}
