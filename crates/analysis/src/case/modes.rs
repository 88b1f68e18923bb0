//! The modes of the rates of an observation's clients.

use crate::spread::parted;
use crate::thresholds::ONE_MODE_PROBABILITY;
use narrows_model::Observation;
use narrows_stats::dip::{DipNull, DipPlan, dip};
use narrows_stats::modes::{ModeOfValues, modes, parts_at_first_sight};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Fewer clients than this show no modes.
const CLIENTS_MIN: usize = 8;
/// Of more clients than this, so many evenly among them are tested: the dip needs no more.
const CLIENTS_TESTED: usize = 400;
/// Observations whose modes are searched with care; those of more are parted at first sight.
const SEARCHED_MAX: usize = 50;
/// Modes this close are no two ways of being served.
const APART_RATIO: f64 = 1.2;

/// Looks for modes in the rates of clients; what is drawn and searched for many observations is bounded.
#[derive(Debug, Default)]
pub(crate) struct ClientModeFinder {
    /// The null of the dip by the number of values, drawn once.
    nulls: BTreeMap<usize, DipNull>,
    searched_count: usize,
}

impl ClientModeFinder {
    /// The modes of the rates of an observation's clients; `None` where there is one, or too few clients to decide.
    pub(crate) fn find(&mut self, one: &Observation) -> Option<Vec<ModeOfValues>> {
        let values = thinned(&one.per_client_bytes_per_s);
        if values.len() < CLIENTS_MIN || self.p_value(&values)? >= ONE_MODE_PROBABILITY {
            return None;
        }
        self.searched_count += 1;
        let search = if self.searched_count <= SEARCHED_MAX { modes } else { parts_at_first_sight };
        let found = search(&values).ok().filter(|found| found.len() > 1)?;
        let apart = found.windows(2).any(|pair| match pair {
            [low, high] => high.centre >= low.centre * APART_RATIO,
            _ => false,
        });
        apart.then(|| parted(&values, &found))
    }

    fn p_value(&mut self, values: &[f64]) -> Option<f64> {
        let dip = dip(values).ok()?;
        let null = match self.nulls.entry(values.len()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let plan = DipPlan { resample_count: 500, seed: 1, lag1_autocorrelation: 0.0 };
                place.insert(DipNull::draw(values.len(), plan).ok()?)
            }
        };
        Some(null.p_value(dip))
    }
}

/// The values in order, thinned evenly where there are many.
fn thinned(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let step = sorted.len().div_ceil(CLIENTS_TESTED).max(1);
    sorted.into_iter().step_by(step).collect()
}
