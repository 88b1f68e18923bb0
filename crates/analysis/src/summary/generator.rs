//! Whether the load generator itself was near its own ceiling.

use super::flags::GENERATOR_LIMITED;
use crate::view::Place;
use narrows_model::Cut;
use narrows_model::summary::{CellSummary, GeneratorSummary};
use std::collections::HashMap;

/// Share of the generator's ceiling from which it counts as the limit: above it, its own cost is a fifth of the
/// measured time or more.
const LIMITED_RATIO: f64 = 0.8;

/// Compares every cell of the path with the generator alone at the same settings, and marks the limited ones.
pub(super) fn summary(cells: &mut [CellSummary]) -> GeneratorSummary {
    let ceilings: HashMap<Place, f64> = cells
        .iter()
        .filter(|cell| cell.cut == Cut::Generator)
        .filter_map(|cell| Some((Place::of(cell), cell.ops_per_s?.0)))
        .collect();
    let mut headroom: Option<f64> = None;
    let mut limited = false;
    for cell in cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
        let place = Place::of(cell).in_memory();
        let Some(ceiling) = ceilings.get(&place).or(ceilings.get(&place.turned())).copied() else { continue };
        let Some(rate) = cell.ops_per_s.filter(|rate| rate.0 > 0.0) else { continue };
        let ratio = ceiling / rate.0;
        headroom = Some(headroom.map_or(ratio, |known| known.min(ratio)));
        if rate.0 >= ceiling * LIMITED_RATIO {
            limited = true;
            cell.flags.push(GENERATOR_LIMITED.to_owned());
        }
    }
    GeneratorSummary { headroom_ratio: headroom, limited }
}
