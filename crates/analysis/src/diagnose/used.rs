//! What each observation of a file was used for, so that none is passed over in silence.
//!
//! Not here: any verdict.

use super::RuleVerdict;
use crate::case::table::{self, ObservationTable};
use crate::verdict::Stance;
use narrows_model::observation::{ObservationUse, Quality};
use narrows_model::{Observation, Segment};
use std::collections::BTreeMap;

/// Bytes of statements that are searched for names in all; beyond that no statement is: it would take seconds.
const SEARCHED_MAX: usize = 4_000_000_000;

/// The use of every observation of `table`, in the order of the file, from what the rules stated.
pub(super) fn uses(table: &ObservationTable<'_>, evaluated: &[RuleVerdict]) -> Vec<ObservationUse> {
    let mut codes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for one in evaluated.iter().filter(|one| one.code != crate::rules::NOT_ENOUGH_EVIDENCE) {
        let known = codes.entry(one.verdict.cell.as_str()).or_default();
        if !known.iter().any(|code| code == one.code) {
            known.push(one.code.to_owned());
        }
    }
    let statements: Vec<&str> = evaluated
        .iter()
        .filter(|one| one.verdict.stance != Stance::Notes || one.verdict.segment != Segment::Unknown)
        .flat_map(|one| one.verdict.evidence.iter().map(|evidence| evidence.text.as_str()))
        .collect();
    let searched = statements.iter().map(|text| text.len()).sum::<usize>();
    let is_searched = searched.saturating_mul(table.observations().len()) <= SEARCHED_MAX;
    let of_one = |one: &Observation| {
        let rules = codes.get(one.id.as_str()).cloned().unwrap_or_default();
        let is_evidence = is_searched && statements.iter().any(|text| text.contains(one.id.as_str()));
        let is_used = !rules.is_empty() || is_evidence;
        ObservationUse {
            id: one.id.clone(),
            op: one.op,
            bytes_per_s: table::bytes_per_s(one).map(|rate| rate.high),
            ops_per_s: table::ops_per_s(one),
            rules,
            is_evidence,
            not_used: (!is_used).then(|| why_not(table, one)),
        }
    };
    table.observations().iter().map(of_one).collect()
}

/// What a rule would have needed.
fn why_not(table: &ObservationTable<'_>, one: &Observation) -> String {
    let rate = table::bytes_per_s(one).map(|rate| rate.high).or_else(|| table::ops_per_s(one));
    if rate.is_none() && one.latency_s.is_none() && one.elapsed_s.is_none() {
        return "it has no rate, latency or time".to_owned();
    }
    let mut lacks = Vec::new();
    if table.all.ceilings.is_empty() {
        lacks.push("a ceiling of any segment");
    }
    if one.cpu_ratio.is_empty() && one.cpu_cores.is_empty() && one.cpu_busiest_core_ratio.is_empty() {
        lacks.push("CPU shares");
    }
    if one.busy_ratio.is_empty() {
        lacks.push("a busy share of a device");
    }
    if one.clients.is_none() {
        lacks.push("the number of clients");
    }
    if one.memory_bytes.is_empty() {
        lacks.push("the memory");
    }
    let bound = match one.quality {
        Quality::LowerBound => "it is a lower bound, and ",
        Quality::UpperBound => "it is an upper bound, and ",
        Quality::Exact | Quality::Approximate => "",
    };
    let alone = "no other observation differs from it in one thing alone that tells what limits";
    let lacking =
        if lacks.is_empty() { String::new() } else { format!("; the file lacks {}", lacks.join(", ")) };
    format!("{bound}{alone}{lacking}")
}
