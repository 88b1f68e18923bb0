//! The load that a study's plan puts on, as it is stated before it starts.

use super::StudyFacts;
use super::cells::clients_at_each;
use crate::check;
use crate::prefill::Prefilled;
use narrows_model::plan::LoadStatement;
use narrows_model::{Bytes, Cell, Cut, Layer, Nanos, Site, Target};

/// The statement for `cells`.
pub(super) fn statement(cells: &[Cell], facts: &StudyFacts) -> LoadStatement {
    let prefill = Prefilled::from_cells(cells);
    LoadStatement {
        planned_ns: cells.iter().fold(Nanos(0), |sum, cell| sum.saturating_add(check::estimate(cell))),
        prefill_bytes: prefill.bytes,
        prefill_ns_max: prefill.ns_max(),
        file_bytes_max: files(cells),
        write_bytes_max: check::written(cells),
        touches: touches(cells, facts),
        in_flight_max: cells.iter().map(|cell| cell.workload.in_flight_configured()).max().unwrap_or(0),
        max_bytes_per_s: cap(cells),
    }
}

/// Files stay until the end, one for each client, as large as the largest cell of the target needs.
fn files(cells: &[Cell]) -> Bytes {
    let mut places: Vec<((String, Site), u64)> = Vec::new();
    for cell in cells.iter().filter(|cell| check::makes_files(cell)) {
        let bytes = cell.workload.file_bytes.0.saturating_mul(clients_at_each(cell));
        for target in std::iter::once(&cell.target).chain(&cell.more_targets) {
            let place = (target.to_string(), cell.site);
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, most)) => *most = (*most).max(bytes),
                None => places.push((place, bytes)),
            }
        }
    }
    places.iter().fold(Bytes(0), |sum, (_, bytes)| sum.saturating_add(Bytes(*bytes)))
}

/// The cap that no cell of the path passes; `None` when one has none.
fn cap(cells: &[Cell]) -> Option<u64> {
    let mut paths = cells.iter().filter(|cell| cell.cut == Cut::Path);
    let first = paths.next()?.workload.max_bytes_per_s?;
    paths.try_fold(first, |most, cell| Some(most.max(cell.workload.max_bytes_per_s?)))
}

const STORE: &str = "the endpoint's store";

fn touches(cells: &[Cell], facts: &StudyFacts) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for cell in cells {
        let targets = std::iter::once(&cell.target).chain(&cell.more_targets);
        for (target, member) in
            targets.flat_map(|target| target.members().iter().map(move |member| (target, member)))
        {
            let existing = facts.target_facts(target).is_some_and(|facts| facts.existing_file.is_some());
            let place = match member {
                Target::File { .. } if cell.site == Site::Server => STORE.to_owned(),
                Target::File { .. } if existing => continue,
                Target::File { .. } => format!("a separate test folder in {member}"),
                Target::Scheme { engine, .. } if engine.declaration().stores_data => {
                    format!("a separate test folder in {member}")
                }
                Target::Tcp { layer: Layer::Disk, .. } => format!("{STORE} ({member})"),
                Target::Tcp { layer: Layer::Memory, .. } => format!("the endpoint's memory ({member})"),
                _ => continue,
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    // What a server does in its own store is done at the target of the path's requests.
    let is_named = places.iter().any(|place| place.starts_with(&format!("{STORE} (")));
    places.retain(|place| !(is_named && place == STORE));
    places
}
