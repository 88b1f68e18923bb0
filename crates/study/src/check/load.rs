//! The load that a plan puts on, as it is stated before it starts.

use super::route::CheckRoute;
use super::uploads::object_bytes_max;
use crate::cut;
use crate::neighbours::candidates;
use crate::prefill::Prefilled;
use crate::request::{CheckRequest, ServerKind};
use narrows_model::plan::LoadStatement;
use narrows_model::{Bytes, Cell, Cut, Layer, Nanos, Site, Target};
use std::collections::BTreeSet;

/// The statement for `cells`, whose files have `file_bytes` each; what refinement may add is included.
pub(super) fn statement(
    request: &CheckRequest,
    route: &CheckRoute,
    cells: &[Cell],
    file_bytes: Bytes,
) -> LoadStatement {
    let touches = touches(request, route, cells);
    let planned = cells.iter().fold(Nanos(0), |sum, cell| sum.saturating_add(super::estimate(cell)));
    let prefill = Prefilled::from_cells(cells);
    LoadStatement {
        planned_ns: planned,
        prefill_bytes: prefill.bytes,
        prefill_ns_max: prefill.ns_max(),
        file_bytes_max: files(cells, file_bytes),
        write_bytes_max: written(cells),
        touches,
        in_flight_max: cells.iter().map(in_flight).max().unwrap_or(0),
        max_bytes_per_s: request.max_bytes_per_s,
    }
}

/// Requests in flight of a cell, or of the largest one that it can be refined to.
fn in_flight(cell: &Cell) -> u64 {
    let own = cell.workload.in_flight_configured();
    if cell.cut == Cut::Path {
        candidates(cell).iter().map(|more| more.workload.in_flight_configured()).fold(own, u64::max)
    } else {
        own
    }
}

/// Whether a cell keeps its data in files that narrows makes.
pub(crate) fn makes_files(cell: &Cell) -> bool {
    let form = cell.target.form();
    let stored = match form {
        Target::File { .. } | Target::Block(_) | Target::Tcp { layer: Layer::Disk, .. } => true,
        Target::Scheme { engine, .. } => engine.declaration().stores_data,
        _ => false,
    };
    !cell.read_only && stored
}

/// The path's files are shared by its cells; the server's own load has others, and so has the export behind a mount.
fn files(cells: &[Cell], file_bytes: Bytes) -> Bytes {
    let sets: BTreeSet<(Site, bool)> = cells
        .iter()
        .filter(|cell| makes_files(cell))
        .map(|cell| (cell.site, matches!(cell.target, Target::Scheme { .. })))
        .collect();
    Bytes(file_bytes.0.saturating_mul(u64::try_from(sets.len()).unwrap_or(u64::MAX)))
}

/// Most bytes written to files, preparation apart; `None` when a cell is bounded by its time alone.
pub(crate) fn written(cells: &[Cell]) -> Option<Bytes> {
    cells.iter().filter(|cell| makes_files(cell) && cut::writes(&cell.workload)).try_fold(
        Bytes(0),
        |sum, cell| {
            let window = cell.stop.warm_up_ns.saturating_add(cell.stop.measure_ns).as_secs_f64();
            let by_rate = cell
                .workload
                .max_bytes_per_s
                .map(|cap| Bytes(narrows_model::units::round_to_u64(Bytes(cap).as_f64() * window)));
            // A warm-up writes until its time is over.
            let counted = cell.stop.bytes_max.or_else(|| object_bytes_max(cell));
            let counted = counted.filter(|_| cell.stop.warm_up_ns == Nanos(0));
            let bound = match (counted, by_rate) {
                (Some(bytes), Some(rate)) => bytes.min(rate),
                (bytes, rate) => bytes.or(rate)?,
            };
            let trials = u64::from(cell.trials);
            Some(sum.saturating_add(Bytes(bound.0.saturating_mul(trials))))
        },
    )
}

fn touches(request: &CheckRequest, route: &CheckRoute, cells: &[Cell]) -> Vec<String> {
    let mut places = Vec::new();
    let own = request.server.as_ref().is_some_and(|server| server.kind == ServerKind::SelfStarted);
    if (route.is_path() || own) && request.existing_file.is_none() {
        places.push(format!("a separate test folder in {}", request.target));
    }
    for cell in cells {
        let place = match (&cell.target, cell.site) {
            // The store of an endpoint that the command starts is in the test folder.
            (Target::Tcp { layer: Layer::Disk, .. }, _) | (Target::File { .. }, Site::Server) if own => {
                continue;
            }
            (Target::Tcp { layer: Layer::Memory, .. }, _) if own => "memory of this machine".to_owned(),
            (Target::Tcp { layer: Layer::Disk, .. }, _) | (Target::File { .. }, Site::Server) => {
                "the endpoint's store".to_owned()
            }
            (Target::Tcp { layer: Layer::Memory, .. }, _) => "the endpoint's memory".to_owned(),
            (Target::Scheme { .. }, _) if matches!(request.target, Target::File { .. }) => {
                format!("a separate test folder in {}, past the mount", cell.target)
            }
            _ => continue,
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}
