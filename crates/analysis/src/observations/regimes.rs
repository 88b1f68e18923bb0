//! What limits each observation, and one entry for those of an operation that are limited by the same.

use super::confidence;
use super::fit::{self, ROLES};
use super::table::{self, CLIENTS, Table, setting_under};
use crate::diagnose::Judged;
use crate::diagnose::rank::{self, Named, Naming};
use crate::rules::Stance;
use narrows_model::diagnosis::{Evidence, Severity};
use narrows_model::observation::ObservedOp;
use narrows_model::{Finding, Limiting, Observation, Relation, Segment};
use std::collections::BTreeMap;

/// Segments that may share a doubt: network, proxy, server and device.
const ONE_OF_MAX: usize = 3;
/// Statements of an entry: the law, and those of the heaviest observations.
const EVIDENCE_MAX: usize = 6;
/// Names that a regime lists before it counts the rest.
const NAMES_MAX: usize = 3;
/// Remarks of the file's author that an entry tells.
const NOTES_MAX: usize = 3;

/// What limits, and the findings on what nothing is known to limit.
pub(crate) struct Regimes {
    pub limiting: Vec<Limiting>,
    pub unknown: Vec<Finding>,
}

/// An observation with the segments named for it.
struct Told<'a> {
    one: &'a Observation,
    named: Vec<Named>,
    load_ratio: f64,
}

/// The limiting list of all observations: those with the most clients first, in the order of the file.
pub(crate) fn regimes(table: &Table<'_>, judged: &[Judged]) -> Regimes {
    let mut by_cell: BTreeMap<&str, Vec<Judged>> = BTreeMap::new();
    for known in judged.iter().filter(|known| known.verdict.stance != Stance::Notes) {
        by_cell.entry(known.verdict.cell.as_str()).or_default().push(known.clone());
    }
    let told: Vec<Told<'_>> =
        table.observations().iter().filter_map(|one| told(one, by_cell.get(one.id.as_str())?)).collect();
    let mut limiting = joined(table, &told);
    let unknown = unknown(table, &told);
    limiting.extend(unknown.iter().map(|group| unknown_entry(table, group)));
    Regimes { limiting, unknown: unknown.iter().filter_map(|group| finding(group)).collect() }
}

fn told<'a>(one: &'a Observation, judged: &[Judged]) -> Option<Told<'a>> {
    let (limits, rest) = rank::candidates(&one.id, judged);
    let naming = Naming { one_of_max: ONE_OF_MAX, of_set: true, sure: &confidence::sure };
    let mut named = rank::name(&limits, &rest, &naming)?;
    let load_ratio = limits.first().map_or(0.0, |first| first.verdict.load_ratio);
    for entry in &mut named {
        agreeing(entry, &limits);
    }
    Some(Told { one, named, load_ratio })
}

/// Adds what other rules say that name the same segment.
fn agreeing(entry: &mut Named, limits: &[&Judged]) {
    for other in limits.iter().filter(|other| other.verdict.segment == entry.segment) {
        if !entry.codes.iter().any(|code| code == other.code) {
            entry.codes.push(other.code.to_owned());
            entry.evidence.extend(other.verdict.evidence.iter().cloned());
        }
        entry.relief_gain_ratio = entry.relief_gain_ratio.or(other.verdict.relief_gain_ratio);
    }
}

/// What two observations must have in common to be one entry.
fn names(told: &Told<'_>) -> (ObservedOp, Vec<(Segment, Relation)>) {
    (told.one.op, told.named.iter().map(|named| (named.segment, named.relation)).collect())
}

fn joined(table: &Table<'_>, told: &[Told<'_>]) -> Vec<Limiting> {
    let mut groups: Vec<Vec<&Told<'_>>> = Vec::new();
    for one in told {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| names(first) == names(one))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let clients = |group: &Vec<&Told<'_>>| group.iter().filter_map(|told| told.one.clients).max();
    groups.sort_by_key(|group| std::cmp::Reverse((clients(group), group.len())));
    groups.iter().flat_map(|group| entries(table, group)).collect()
}

/// The entries of observations that name the same segments.
fn entries(table: &Table<'_>, group: &[&Told<'_>]) -> Vec<Limiting> {
    let mut by_load = group.to_vec();
    by_load.sort_by(|a, b| b.load_ratio.total_cmp(&a.load_ratio));
    let Some(heaviest) = by_load.first() else { return Vec::new() };
    let observations: Vec<&Observation> = group.iter().map(|told| told.one).collect();
    let regime = regime(table, &observations);
    let entry = |(index, named): (usize, &Named)| {
        let own: Vec<&Named> = by_load.iter().filter_map(|told| told.named.get(index)).collect();
        Limiting {
            segment: named.segment,
            confidence: own.iter().map(|named| named.confidence).fold(1.0, f64::min),
            relation: named.relation,
            scope: named.scope.map(str::to_owned),
            regime: regime.clone(),
            codes: codes(&own),
            evidence: evidence(&own).into_iter().chain(notes(&observations)).collect(),
            relief_gain_ratio: own.iter().filter_map(|named| named.relief_gain_ratio).reduce(f64::max),
        }
    };
    heaviest.named.iter().enumerate().map(entry).collect()
}

fn codes(named: &[&Named]) -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    for code in named.iter().flat_map(|named| &named.codes) {
        if !codes.contains(code) {
            codes.push(code.clone());
        }
    }
    codes
}

/// Each statement once, those of the heaviest observation first.
fn evidence(named: &[&Named]) -> Vec<Evidence> {
    let mut all: Vec<Evidence> = Vec::new();
    for evidence in named.iter().flat_map(|named| &named.evidence) {
        if all.len() < EVIDENCE_MAX && !all.contains(evidence) {
            all.push(evidence.clone());
        }
    }
    all
}

/// What the file's author remarks on observations, the same remark once.
fn notes(group: &[&Observation]) -> Vec<Evidence> {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in group {
        let Some(note) = one.note.as_deref() else { continue };
        let count = told.len();
        match told.iter_mut().find(|(known, _)| *known == note) {
            Some((_, ids)) => ids.push(&one.id),
            None if count < NOTES_MAX => told.push((note, vec![&one.id])),
            None => {}
        }
    }
    let statement = |(note, ids): (&str, Vec<&str>)| Evidence {
        text: format!("{}: {note}", listed(&ids)),
        counter: "a remark of the file".to_owned(),
        command: String::new(),
    };
    told.into_iter().map(statement).collect()
}

/// The load for which an entry holds: the operation, and which of its observations.
fn regime(table: &Table<'_>, group: &[&Observation]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let of_op = table.observations().iter().filter(|one| one.op == first.op).count();
    let op = if first.op == ObservedOp::Unknown { "load" } else { first.op.name() };
    if group.len() == of_op && of_op > 1 {
        return format!("{op} (all {of_op} observations)");
    }
    let ids: Vec<&str> = group.iter().map(|one| one.id.as_str()).collect();
    format!("{op} ({})", listed(&ids))
}

/// The first names, and how many more there are.
fn listed(ids: &[&str]) -> String {
    let shown = ids.iter().take(NAMES_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = ids.len().saturating_sub(NAMES_MAX);
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Observations by operation and setting of which none is known to be limited by anything.
fn unknown<'a>(table: &Table<'a>, told: &[Told<'_>]) -> Vec<Vec<&'a Observation>> {
    // What was varied with a known segment, and how many clients there were, is no setting of its own.
    let varied = |name: &str| name == CLIENTS || table.segment_of(name).is_some();
    let setting =
        |one: &Observation| setting_under(&Observation { block_bytes: None, ..one.clone() }, one.op, &varied);
    let known: std::collections::BTreeSet<String> = told.iter().map(|told| setting(told.one)).collect();
    let mut groups: BTreeMap<&'static str, Vec<&'a Observation>> = BTreeMap::new();
    for one in table.observations().iter().filter(|one| !known.contains(&setting(one))) {
        groups.entry(one.op.name()).or_default().push(one);
    }
    groups.into_values().collect()
}

fn unknown_entry(table: &Table<'_>, group: &[&Observation]) -> Limiting {
    Limiting {
        segment: Segment::Unknown,
        confidence: 0.0,
        relation: Relation::Sole,
        scope: None,
        regime: regime(table, group),
        codes: vec![super::rules::NOT_ENOUGH_EVIDENCE.to_owned()],
        evidence: [nothing_known(group)].into_iter().chain(notes(group)).collect(),
        relief_gain_ratio: None,
    }
}

fn nothing_known(group: &[&Observation]) -> Evidence {
    let known = group.iter().map(|one| one.id.as_str()).take(NAMES_MAX).collect::<Vec<_>>().join(", ");
    let has_shares = group.iter().any(|one| ROLES.iter().any(|role| table::cpu(one, *role).is_some()));
    let shares = if has_shares { "no busy share that is given" } else { "no busy share" };
    let has_buffers =
        group.iter().any(|one| ROLES.iter().any(|role| table::buffer_bytes(one, *role).is_some()));
    let line = match group.len() {
        count if has_buffers && count < fit::POINTS_MIN => {
            format!(
                "; what calls cost is a line over {} sizes of a buffer or more, and these are {count}",
                fit::POINTS_MIN
            )
        }
        _ => String::new(),
    };
    Evidence {
        text: format!("{known}: no ceiling, {shares} and no change of one resource shows what is full{line}"),
        counter: "figures of the observations".to_owned(),
        command: String::new(),
    }
}

fn finding(group: &[&Observation]) -> Option<Finding> {
    let rule = crate::rules::rule(super::rules::NOT_ENOUGH_EVIDENCE)?;
    Some(Finding {
        code: rule.code.to_owned(),
        slug: rule.slug.to_owned(),
        severity: Severity::Warning,
        cells: group.iter().map(|one| one.id.clone()).collect(),
        evidence: vec![nothing_known(group)],
    })
}
