//! Whether the load generator itself was near its own ceiling.

use crate::facts::CellSettings;
use crate::facts::flags::GENERATOR_LIMITED;
use crate::thresholds::GENERATOR_LIMITED_RATIO;
use narrows_model::Cut;
use narrows_model::summary::{CellSummary, GeneratorSummary};
use std::collections::HashMap;

/// Compares every cell of the path with the generator alone at the same settings, and marks the limited ones.
pub(super) fn summary(cells: &mut [CellSummary]) -> GeneratorSummary {
    let ceilings: HashMap<CellSettings, f64> = cells
        .iter()
        .filter(|cell| cell.cut == Cut::Generator)
        .filter_map(|cell| Some((CellSettings::from_cell(cell), cell.ops_per_s?.0)))
        .collect();
    let mut headroom: Option<f64> = None;
    let mut limited = false;
    for cell in cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
        let place = CellSettings::from_cell(cell).at(Cut::Generator);
        let Some(ceiling) = ceilings.get(&place).or(ceilings.get(&place.other_direction())).copied() else {
            continue;
        };
        let Some(rate) = cell.ops_per_s.filter(|rate| rate.0 > 0.0) else { continue };
        let ratio = ceiling / rate.0;
        headroom = Some(headroom.map_or(ratio, |known| known.min(ratio)));
        if rate.0 >= ceiling * GENERATOR_LIMITED_RATIO {
            limited = true;
            cell.flags.push(GENERATOR_LIMITED.to_owned());
        }
    }
    GeneratorSummary { headroom_ratio: headroom, limited }
}
