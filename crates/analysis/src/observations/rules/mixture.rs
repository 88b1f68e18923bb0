//! The rates of clients are a mixture: their mean describes none of them.

use super::super::table::Table;
use super::ObservationRule;
use crate::rules::Verdict;
use crate::text;
use narrows_model::diagnosis::Severity;
use narrows_model::{Observation, Segment};
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
/// Probability below which one mode is given up, as in the rules of summaries.
const LEVEL: f64 = 0.05;
/// Modes this close are no two ways of being served.
const APART_RATIO: f64 = 1.2;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "mixture",
    slug: "mixture",
    segment: Segment::Unknown,
    title: "the clients' rates are a mixture",
    definition: "The rates of the clients have more than one mode: some were served in one way (a cache) and some in another \
                 (the path behind it). The mean lies between and describes none of them; nothing is made of the sum \
                 either.",
    formula: "dip of the rates from the nearest distribution with one mode, p < 0.05, and two modes 1.2 apart or more",
    source: "Hartigan and Hartigan, The Dip Test of Unimodality, Annals of Statistics 13 (1985)",
    example: "of 47 clients 31 read at 250 MB/s from their cache and 14 at 0.4 MB/s over the wire",
    how_to_measure: "give the rate of every client (per_client_bytes_per_s), not their mean",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.observations().iter().filter_map(|one| Some(told(one, table.modes(one)?))).collect()
}

fn told(one: &Observation, found: &[ModeOfValues]) -> Verdict {
    let each: Vec<String> = found
        .iter()
        .map(|mode| format!("{} at {}", text::percent(mode.share), text::storage_rate(mode.centre)))
        .collect();
    let clients = one.per_client_bytes_per_s.len();
    let text = format!("{}: {clients} clients, {}", one.id, each.join(" and "));
    Verdict::note(RULE.segment, &one.id, Severity::Warning).because(text, "rates of the clients", "")
}

/// Looks for modes in the rates of clients; what is drawn and searched for many observations is bounded.
#[derive(Debug, Default)]
pub(in super::super) struct Modes {
    /// The null of the dip by the number of values, drawn once.
    nulls: BTreeMap<usize, DipNull>,
    searched_count: usize,
}

impl Modes {
    /// The modes of the rates of an observation's clients; `None` where there is one, or too few clients to tell.
    pub(in super::super) fn of(&mut self, one: &Observation) -> Option<Vec<ModeOfValues>> {
        let values = thinned(&one.per_client_bytes_per_s);
        if values.len() < CLIENTS_MIN || self.p_value(&values)? >= LEVEL {
            return None;
        }
        self.searched_count += 1;
        let search = if self.searched_count <= SEARCHED_MAX { modes } else { parts_at_first_sight };
        let found = search(&values).ok().filter(|found| found.len() > 1)?;
        let apart = found.windows(2).any(|pair| match pair {
            [low, high] => high.centre >= low.centre * APART_RATIO,
            _ => false,
        });
        apart.then_some(found)
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

#[cfg(test)]
mod tests {
    use super::super::super::testing::{read, slugs};

    fn of(rate: impl Fn(u32) -> f64) -> narrows_model::Observations {
        let rates: Vec<String> = (0..47).map(|client| rate(client).to_string()).collect();
        read(&format!(
            "[[observation]]\nid = \"a\"\nop = \"read\"\nper_client_bytes_per_s = [{}]\n",
            rates.join(", ")
        ))
    }

    #[test]
    fn two_ways_of_being_served_are_told_and_one_is_not() {
        let mixed = of(|client| if client % 3 == 0 { 4e5 } else { 2.5e8 } + f64::from(client) * 1e3);
        assert!(slugs(&mixed).contains(&"mixture".to_owned()));
        let even = of(|client| 2e5 + f64::from(client) * 1e3);
        assert!(!slugs(&even).contains(&"mixture".to_owned()));
    }
}
