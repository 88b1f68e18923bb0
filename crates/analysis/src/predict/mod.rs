//! What the segments, measured alone, promise the composed path, and how far the path is from it.
//!
//! Depth 1: times add; of parts that were not all measured the known ones count where they leave the others no room that
//! matters. Saturated: the slowest segment decides. Loads in between are left out: their law needs
//! demands that cuts alone do not give.

use crate::facts::network::transferred_bytes_per_s;
use crate::facts::offered_load::is_delivered;
use crate::thresholds::HARDLY_EXPLAINED_RATIO;
use crate::view::{SummaryView, time_per_op_s};
use narrows_model::counters::Role;
use narrows_model::summary::{CellPrediction, CellSummary, Prediction};
use narrows_model::units::ratio;
use narrows_model::workload::Access;
use narrows_model::{BytesPerSec, Cut, Layer, Nanos, Summary, Target};

/// Requests in flight from which a load counts as saturating.
const SATURATED_IN_FLIGHT: u64 = 4;

/// The prediction for every cell of the path that can be composed, and for the fastest of them.
///
/// # Source
/// Serial: T = sum of T(i), store and forward (Hockney), and the think time where users have one. Saturated: X <= min C(i) (Denning and Buzen 1978).
#[must_use]
pub fn predict(summary: &Summary) -> Prediction {
    let view = SummaryView::new(summary);
    let cells: Vec<CellPrediction> = summary
        .cells
        .iter()
        .filter(|cell| cell.cut == Cut::Path && !is_capped(cell))
        .filter_map(|cell| predict_cell(&view, cell))
        .collect();
    let fastest = cells.iter().max_by(|a, b| a.measured_bytes_per_s.0.total_cmp(&b.measured_bytes_per_s.0));
    Prediction {
        composed_bytes_per_s: fastest.map(|cell| cell.composed_bytes_per_s),
        residual_ratio: fastest.map(|cell| cell.residual_ratio),
        cells,
    }
}

/// Whether a cell moved what a cap or a schedule asked for: its rate says nothing of what it ran against.
fn is_capped(cell: &CellSummary) -> bool {
    let load = &cell.requested;
    let has_cap =
        load.max_bytes_per_s.is_some() || load.max_ops_per_s.is_some() || cell.offered_ops_per_s.is_some();
    has_cap && is_delivered(cell)
}

/// Whether requests go past the page cache, so that none of them is copied there.
fn is_direct(cell: &CellSummary) -> bool {
    cell.requested.access == Access::Direct
}

fn predict_cell(view: &SummaryView<'_>, cell: &CellSummary) -> Option<CellPrediction> {
    let measured = cell.rate_bytes_per_s?;
    let think_s = cell.requested.think_ns.as_secs_f64();
    // Users who think and ask for less than the slowest segment sustains do not saturate it.
    let asked_for = ratio(cell.in_flight.configured as f64 * cell.block_bytes.as_f64(), think_s);
    let saturated = |most: f64| asked_for.is_none_or(|asked| asked > most).then_some(most);
    let (law, composed) = match cell.in_flight.configured {
        1 => ("serial", serial(view, cell, think_s)?),
        depth if depth >= SATURATED_IN_FLIGHT => ("minimum", saturated(minimum(view, cell)?)?),
        _ => return None,
    };
    Some(CellPrediction {
        cell: cell.id.clone(),
        law: law.to_owned(),
        composed_bytes_per_s: BytesPerSec(composed),
        measured_bytes_per_s: measured,
        residual_ratio: ratio(measured.0 - composed, composed)?,
    })
}

/// The rate of one operation at a time, composed of the times that were measured apart.
///
/// Where some were not measured, the others can take no more than the rest of the time: the rate of the known parts counts
/// where that rest is within what a residual may be.
fn serial(view: &SummaryView<'_>, cell: &CellSummary, think_s: f64) -> Option<f64> {
    let parts = serial_parts(view, cell);
    let known_s: f64 = parts.iter().flatten().sum();
    let composed = ratio(cell.block_bytes.as_f64(), known_s + think_s)?;
    let is_whole = !parts.is_empty() && parts.iter().all(Option::is_some);
    let residual = ratio(cell.rate_bytes_per_s?.0 - composed, composed)?;
    let leaves_no_room = known_s > 0.0 && residual.abs() <= HARDLY_EXPLAINED_RATIO;
    (is_whole || leaves_no_room).then_some(composed)
}

/// The times of one operation at depth 1 in the parts of its path; `None` for those that were not measured.
fn serial_parts(view: &SummaryView<'_>, cell: &CellSummary) -> Vec<Option<f64>> {
    let cut = |cut: Cut| {
        let found = view.ceiling(cut, cell).filter(|found| found.same_settings && !is_capped(found.cell))?;
        time_per_op_s(found.cell)
    };
    if view.speaks_protocol() {
        return vec![cut(Cut::HotBlocks)];
    }
    if view.server().is_none() {
        let cache_s = if is_direct(cell) { Some(0.0) } else { cut(Cut::PageCache) };
        return vec![cache_s, cut(Cut::LocalDevice)];
    }
    if matches!(cell.target.form(), Target::Tcp { layer: Layer::Memory, .. }) {
        let stream = view.ceiling(Cut::NetworkStream, cell);
        let transfer_s =
            stream.and_then(|stream| ratio(cell.block_bytes.as_f64(), transferred_bytes_per_s(stream.cell)));
        let demand_s = |role: Role| SummaryView::cpu(cell, role).and_then(|cpu| cpu.service_demand_s_per_op);
        let round_trip_s = cell.rtt_min_ns.map(Nanos::as_secs_f64);
        return vec![round_trip_s, transfer_s, demand_s(Role::Client), demand_s(Role::Server)];
    }
    vec![cut(Cut::ServerMemory), cut(Cut::ServerStorage)]
}

/// The lowest ceiling of the cuts that the path's requests pass through.
fn minimum(view: &SummaryView<'_>, cell: &CellSummary) -> Option<f64> {
    let memory_target = matches!(cell.target.form(), Target::Tcp { layer: Layer::Memory, .. });
    let cuts: &[Cut] = match (view.server().is_some(), memory_target) {
        (true, true) => &[Cut::MemoryCopy, Cut::NetworkStream],
        (true, false) => &[Cut::MemoryCopy, Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage],
        (false, _) if view.speaks_protocol() => &[Cut::MemoryCopy, Cut::HotBlocks],
        (false, _) if is_direct(cell) => &[Cut::LocalDevice],
        (false, _) => &[Cut::MemoryCopy, Cut::PageCache, Cut::LocalDevice],
    };
    let ceilings = cuts.iter().filter_map(|cut| view.ceiling(*cut, cell));
    ceilings.filter(|found| !is_capped(found.cell)).map(|found| found.bytes_per_s).reduce(f64::min)
}

#[cfg(test)]
mod tests;
