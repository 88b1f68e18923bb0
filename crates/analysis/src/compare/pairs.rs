//! Which cell of A is the same work as which of B, and what of the two is compared.
//!
//! Nothing is dropped: what has no counterpart is listed with the reason.

use super::items::{Item, is_blocked};
use super::sides::{FigureKey, SideFigure, SidesOfFigure};
use narrows_model::Segment;
use narrows_model::comparison::{ComparedCell, Difference, UnpairedCell, Verdict};
use std::collections::BTreeMap;

/// Most cells of the other run among which the nearest to one without a counterpart is looked for.
const NEAREST_AMONG: usize = 500;
/// Longer values of settings are not shown.
const VALUE_CHARS_MAX: usize = 40;

/// The items of two sides, sorted.
#[derive(Debug)]
pub(super) struct PairedItems {
    /// Indices of those that are the same work.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) only_in_a: Vec<UnpairedCell>,
    pub(super) only_in_b: Vec<UnpairedCell>,
}

/// Pairs what is the same work. Where a run has several of one work (other files, other targets), those of one name or
/// of one place in the sweep belong together, and no others.
pub(super) fn pair(a: &[Item<'_>], b: &[Item<'_>]) -> PairedItems {
    let (groups_a, groups_b) = (groups(a), groups(b));
    let mut pairs = Vec::new();
    let mut taken = vec![false; b.len()];
    let mut alone = Vec::new();
    for (index, item) in a.iter().enumerate() {
        let key = item.key();
        let others = groups_b.get(&key).map_or(&[][..], Vec::as_slice);
        let free = || others.iter().copied().filter(|other| !taken.get(*other).copied().unwrap_or(true));
        let single = groups_a.get(&key).is_some_and(|group| group == &[index]) && others.len() == 1;
        let found = free()
            .find(|other| b[*other].id == item.id)
            .or_else(|| free().find(|other| b[*other].place == item.place))
            .or_else(|| free().next().filter(|_| single));
        match found {
            Some(other) => {
                taken[other] = true;
                pairs.push((index, other));
            }
            None => alone.push(item),
        }
    }
    let rest: Vec<&Item<'_>> =
        b.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(item, _)| item).collect();
    PairedItems { pairs, only_in_a: unpaired(&alone, b, "B"), only_in_b: unpaired(&rest, a, "A") }
}

/// Indices of the items of each work.
fn groups(items: &[Item<'_>]) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        groups.entry(item.key()).or_default().push(index);
    }
    groups
}

fn unpaired(alone: &[&Item<'_>], others: &[Item<'_>], run: &str) -> Vec<UnpairedCell> {
    let reason = |item: &Item<'_>| match nearest(item, others) {
        Some((other, apart)) if apart.is_empty() => {
            format!("{run} has {} of the same work, and it is not known which one corresponds", other.id)
        }
        Some((other, apart)) if apart.len() <= 3 => {
            format!("the nearest in {run} is {}, which differs: {}", other.id, apart.join(", "))
        }
        _ => format!("{run} has no similar load"),
    };
    alone.iter().map(|item| UnpairedCell { cell: item.id.to_owned(), reason: reason(item) }).collect()
}

/// The item that differs in the fewest settings, one of the same name first, and these settings.
fn nearest<'i, 'a>(item: &Item<'_>, others: &'i [Item<'a>]) -> Option<(&'i Item<'a>, Vec<String>)> {
    let named = others.iter().find(|other| other.id == item.id);
    let looked_at = others.iter().take(NEAREST_AMONG).filter(|other| other.cut == item.cut);
    let other = named.or_else(|| looked_at.min_by_key(|other| differing_settings(item, other).len()))?;
    Some((other, differing_settings(item, other)))
}

/// The settings in which two items differ: `depth 1 here, 16 there`.
fn differing_settings(item: &Item<'_>, other: &Item<'_>) -> Vec<String> {
    let both = item.work.iter().zip(&other.work);
    let differing = both.filter(|(here, there)| here != there);
    let phrases = differing.map(|((name, here), (_, there))| {
        if here.len().max(there.len()) > VALUE_CHARS_MAX {
            (*name).to_owned()
        } else {
            format!("{name} {here} here, {there} there")
        }
    });
    phrases.collect()
}

/// Two items of the same work, figure by figure; nothing is decided yet: each probability of a difference is that of the
/// figure alone. `noise` are the same item's runs that only show how much runs differ.
pub(super) fn compared(a: &Item<'_>, b: &Item<'_>, noise: Option<&Item<'_>>) -> ComparedCell {
    let decides = a.is_of_path() && b.is_of_path();
    let given = a.rate_is_given && b.rate_is_given;
    let (runs_a, runs_b) = (a.cell_runs(), b.cell_runs());
    let is_steady = given || (limited_by_network(a) && limited_by_network(b));
    let is_disturbed = is_blocked(runs_a, runs_b);
    let compare = |key: FigureKey| {
        let of = |item: &Item<'_>| SideFigure::from_runs(item, key);
        let all = SidesOfFigure { a: of(a), b: of(b), noise: noise.map(of), is_steady, is_disturbed };
        let mut found = all.compared(key)?;
        found.decides = decides && key.role.is_none() && (key.id.more_is_better() || given);
        Some(found)
    };
    ComparedCell {
        cell_a: a.id.to_owned(),
        cell_b: b.id.to_owned(),
        cut: a.cut,
        verdict: Verdict::Undecided,
        within_margin: false,
        runs_a,
        runs_b,
        figures: keys(a).into_iter().filter_map(compare).collect(),
        flags_a: a.flags(),
        flags_b: b.flags(),
        differences: differences(a, b),
        limiting_a: a.limiting(),
        limiting_b: b.limiting(),
    }
}

fn limited_by_network(item: &Item<'_>) -> bool {
    item.limiting() == Some(Segment::NetworkBandwidth)
}

/// The figures of an item, each once, in the order of its runs.
fn keys(item: &Item<'_>) -> Vec<FigureKey> {
    let mut keys: Vec<FigureKey> = Vec::new();
    for figure in item.used_runs().into_iter().flat_map(|run| &run.figures) {
        let key = FigureKey { id: figure.id, role: figure.role };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Conditions that both know and that are not the same.
pub(super) fn differences(a: &Item<'_>, b: &Item<'_>) -> Vec<Difference> {
    let both = a.conditions.iter().filter_map(|one| {
        let other = b.conditions.iter().find(|other| other.name == one.name)?;
        one.differs(other).then(|| Difference {
            what: one.name.to_owned(),
            a: one.text.clone(),
            b: other.text.clone(),
        })
    });
    both.collect()
}
