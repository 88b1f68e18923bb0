//! The limiting list of observations: one entry for those of an operation that are limited by the same, and for those of
//! which nothing is known to limit them one for each operation and kind of reason.

mod unknown;

use super::merge::{self, EntryMember};
use super::rank::{NamedSegment, RankedCase};
use crate::case::table::ObservationTable;
use narrows_model::diagnosis::Evidence;
use narrows_model::observation::ObservedOp;
use narrows_model::{Finding, Limiting, Observation, Relation, Segment};

/// Statements of an entry: the law, and those of the heaviest observations.
const EVIDENCE_MAX: usize = 6;
/// Names that a regime lists before it counts the rest.
const NAMES_MAX: usize = 3;
/// Remarks of the file's author that an entry has.
const NOTES_MAX: usize = 3;

/// The limiting list of all observations, those with the most clients first, in the order of the file; and the findings on
/// those of which nothing is known to limit them.
pub(super) fn limiting(
    table: &ObservationTable<'_>,
    ranked: &[RankedCase<'_, '_>],
) -> (Vec<Limiting>, Vec<Finding>) {
    let mut limiting = joined(table, ranked);
    let unknown = unknown::groups(table, ranked);
    limiting.extend(unknown.iter().map(|group| unknown::entry(table, group)));
    (limiting, unknown.iter().filter_map(unknown::finding).collect())
}

/// What two observations must have in common to be one entry.
fn names(ranked: &RankedCase<'_, '_>) -> (Option<ObservedOp>, Vec<(Segment, Relation)>) {
    let op = ranked.case.observation().map(|one| one.op);
    (op, ranked.named.iter().map(|named| (named.segment, named.relation)).collect())
}

fn joined(table: &ObservationTable<'_>, ranked: &[RankedCase<'_, '_>]) -> Vec<Limiting> {
    let mut groups: Vec<Vec<&RankedCase<'_, '_>>> = Vec::new();
    for one in ranked {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| names(first) == names(one))) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let clients = |group: &Vec<&RankedCase<'_, '_>>| {
        group.iter().filter_map(|ranked| ranked.case.observation()?.clients).max()
    };
    groups.sort_by_key(|group| std::cmp::Reverse((clients(group), group.len())));
    groups.iter().flat_map(|group| entries(table, group)).collect()
}

/// The entries of observations that name the same segments, with the most that relief gains any of them.
fn entries(table: &ObservationTable<'_>, group: &[&RankedCase<'_, '_>]) -> Vec<Limiting> {
    let observations: Vec<&Observation> =
        group.iter().filter_map(|ranked| ranked.case.observation()).collect();
    let mut by_load = group.to_vec();
    by_load.sort_by(|a, b| b.load_ratio.total_cmp(&a.load_ratio));
    let members: Vec<EntryMember<'_>> =
        by_load.iter().map(|ranked| EntryMember { named: &ranked.named, label: None }).collect();
    let most =
        |named: &[&NamedSegment]| named.iter().filter_map(|named| named.relief_gain_ratio).reduce(f64::max);
    let mut entries = merge::entries(&members, &regime(table, &observations), most);
    for entry in &mut entries {
        entry.evidence = first_statements(std::mem::take(&mut entry.evidence));
        entry.evidence.extend(notes(&observations));
    }
    entries
}

/// Each statement once, those of the heaviest observation first.
fn first_statements(evidence: Vec<Evidence>) -> Vec<Evidence> {
    let mut all: Vec<Evidence> = Vec::new();
    for evidence in evidence {
        if all.len() < EVIDENCE_MAX && !all.contains(&evidence) {
            all.push(evidence);
        }
    }
    all
}

/// What the file's author remarks on observations, the same remark once.
fn notes(group: &[&Observation]) -> Vec<Evidence> {
    let mut remarks: Vec<(&str, Vec<&str>)> = Vec::new();
    for one in group {
        let Some(note) = one.note.as_deref() else { continue };
        let count = remarks.len();
        match remarks.iter_mut().find(|(known, _)| *known == note) {
            Some((_, ids)) => ids.push(&one.id),
            None if count < NOTES_MAX => remarks.push((note, vec![&one.id])),
            None => {}
        }
    }
    let statement = |(note, ids): (&str, Vec<&str>)| Evidence {
        text: format!("{}: {note}", listed(&ids)),
        counter: "a remark of the file".to_owned(),
        command: String::new(),
    };
    remarks.into_iter().map(statement).collect()
}

/// The load to which an entry applies: the operation, and which of its observations.
fn regime(table: &ObservationTable<'_>, group: &[&Observation]) -> String {
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

#[cfg(test)]
mod tests;
