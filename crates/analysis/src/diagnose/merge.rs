//! From named loads to the limiting list: loads that name the same become one entry.

use super::rank::{NamedSegment, RankedCase};
use crate::case::Cases;
use crate::facts::reads;
use crate::view::{Regime, RegimeKind};
use narrows_model::Limiting;
use narrows_model::change::Confirmation;
use narrows_model::diagnosis::Evidence;

/// A load of an entry: what was named for it, and how its statements begin.
#[derive(Debug)]
pub(super) struct EntryMember<'r> {
    pub named: &'r [NamedSegment],
    pub label: Option<&'static str>,
}

/// The entries of loads that name the same, of which `members` has the weightiest first: the lowest confidence, what rules
/// and evidence any of them has, and of their gains what `gain` makes.
pub(super) fn entries(
    members: &[EntryMember<'_>],
    regime: &str,
    gain: impl Fn(&[&NamedSegment]) -> Option<f64>,
) -> Vec<Limiting> {
    let Some(first) = members.first() else { return Vec::new() };
    let entry = |(index, named): (usize, &NamedSegment)| {
        let own: Vec<(&EntryMember<'_>, &NamedSegment)> =
            members.iter().filter_map(|member| Some((member, member.named.get(index)?))).collect();
        let names: Vec<&NamedSegment> = own.iter().map(|(_, named)| *named).collect();
        Limiting {
            segment: named.segment,
            confidence: names.iter().map(|named| named.confidence).fold(1.0, f64::min),
            relation: named.relation,
            scope: named.scope.map(str::to_owned),
            regime: regime.to_owned(),
            codes: codes(&names),
            evidence: own.iter().flat_map(|(member, named)| evidence(member, named)).collect(),
            relief_gain_ratio: gain(&names),
            confirmed: combined(&names),
        }
    };
    first.named.iter().enumerate().map(entry).collect()
}

/// Whether changing the segment confirmed it under all loads of an entry; one that refuted it refutes the entry.
fn combined(named: &[&NamedSegment]) -> Option<Confirmation> {
    let each = || named.iter().map(|named| named.confirmed);
    if each().any(|one| one == Some(Confirmation::Refuted)) {
        return Some(Confirmation::Refuted);
    }
    let all: Option<Vec<Confirmation>> = each().collect();
    match all {
        Some(all) if all.iter().all(|one| *one == Confirmation::Confirmed) => Some(Confirmation::Confirmed),
        _ => each().any(|one| one.is_some()).then_some(Confirmation::Undecided),
    }
}

fn codes(named: &[&NamedSegment]) -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    for code in named.iter().flat_map(|named| &named.codes) {
        if !codes.contains(code) {
            codes.push(code.clone());
        }
    }
    codes
}

fn evidence(member: &EntryMember<'_>, named: &NamedSegment) -> Vec<Evidence> {
    let labelled = |evidence: &Evidence| match member.label {
        Some(label) => Evidence { text: format!("{label}: {}", evidence.text), ..evidence.clone() },
        None => evidence.clone(),
    };
    named.evidence.iter().map(labelled).collect()
}

/// The limiting list of a run: bulk first, then the other kinds; directions that name the same segments become one entry,
/// with the gain that both have.
pub(super) fn limiting(cases: &Cases<'_>, ranked: &[RankedCase<'_, '_>]) -> Vec<Limiting> {
    let Some(view) = cases.view() else { return Vec::new() };
    let mut all = Vec::new();
    for kind in RegimeKind::ALL {
        let of_kind = view.regimes().iter().filter(|regime| regime.kind == kind);
        let named: Vec<NamedRegime<'_>> = of_kind
            .filter_map(|regime| {
                let found = ranked.iter().find(|ranked| ranked.case.id == regime.cell.id)?;
                Some(NamedRegime { regime: *regime, named: &found.named })
            })
            .collect();
        match named.as_slice() {
            [first, second] if kind != RegimeKind::Files && agree(first, second) => {
                let members = [first, second]
                    .map(|load| EntryMember { named: load.named, label: Some(load.direction()) });
                let gain = |both: &[&NamedSegment]| {
                    let gains: Option<Vec<f64>> = both.iter().map(|named| named.relief_gain_ratio).collect();
                    gains?.into_iter().reduce(f64::min)
                };
                all.extend(entries(&members, &first.regime.name_with(&second.regime), gain));
            }
            each => all.extend(each.iter().flat_map(|load| {
                let member = EntryMember { named: load.named, label: None };
                entries(&[member], &load.regime.name(), |own| own.first()?.relief_gain_ratio)
            })),
        }
    }
    all
}

/// A regime with what was named for it.
#[derive(Debug, Clone, Copy)]
struct NamedRegime<'r> {
    regime: Regime<'r>,
    named: &'r [NamedSegment],
}

impl NamedRegime<'_> {
    fn direction(&self) -> &'static str {
        if reads(self.regime.cell.op) { "read" } else { "write" }
    }
}

/// Whether two directions name the same segments at the same settings.
fn agree(first: &NamedRegime<'_>, second: &NamedRegime<'_>) -> bool {
    let settings =
        |load: &NamedRegime<'_>| (load.regime.cell.block_bytes, load.regime.cell.in_flight.configured);
    let names = |load: &NamedRegime<'_>| {
        load.named.iter().map(|n| (n.segment, n.relation, n.scope)).collect::<Vec<_>>()
    };
    let mixes = first.regime.mixes_directions() || second.regime.mixes_directions();
    !mixes && settings(first) == settings(second) && names(first) == names(second)
}
