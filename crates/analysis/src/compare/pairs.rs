//! Which cell of A is the same work as which of B, and what of the two is compared.
//!
//! Nothing is dropped: what has no counterpart is listed with the reason.

use super::decide::LEVEL;
use super::estimates::EstimatedFigure;
use super::items::Item;
use narrows_model::comparison::{ComparedCell, ComparedFigure, Difference, UnpairedCell, Verdict};
use narrows_stats::interval::LogRatio;
use std::collections::BTreeMap;

/// Most cells of the other run among which the nearest to one without a counterpart is looked for.
const NEAREST_AMONG: usize = 500;
/// Longer values of settings are not shown.
const VALUE_CHARS_MAX: usize = 40;

/// The items of two runs, sorted.
#[derive(Debug)]
pub(super) struct PairedItems<'i, 'a> {
    pub(super) pairs: Vec<(&'i Item<'a>, &'i Item<'a>)>,
    pub(super) only_in_a: Vec<UnpairedCell>,
    pub(super) only_in_b: Vec<UnpairedCell>,
}

/// Pairs what is the same work. Where a run has several of one work (other files, other targets), those of one name or
/// of one place in the sweep belong together, and no others.
pub(super) fn pair<'i, 'a>(a: &'i [Item<'a>], b: &'i [Item<'a>]) -> PairedItems<'i, 'a> {
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
                pairs.push((item, &b[other]));
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

/// Two items of the same work, figure by figure; nothing is decided yet: each probability of a ratio beyond the margin is
/// that of the figure alone.
pub(super) fn compared(a: &Item<'_>, b: &Item<'_>, margin_ratio: f64) -> ComparedCell {
    let decides = a.is_of_path() && b.is_of_path();
    let given = a.rate_is_given && b.rate_is_given;
    let counterpart = |figure: &EstimatedFigure| {
        b.figures.iter().find(|other| (other.id, other.role) == (figure.id, figure.role))
    };
    let figures = a.figures.iter().filter_map(|figure| {
        let of_load = figure.role.is_none() && (figure.id.more_is_better() || given);
        let mut found = compared_figure(figure, counterpart(figure)?, margin_ratio)?;
        found.decides = decides && of_load;
        Some(found)
    });
    ComparedCell {
        cell_a: a.id.to_owned(),
        cell_b: b.id.to_owned(),
        cut: a.cut,
        verdict: Verdict::Undecided,
        within_margin: false,
        figures: figures.collect(),
        flags_a: a.flags.clone(),
        flags_b: b.flags.clone(),
        differences: differences(a, b),
        limiting_a: a.limiting,
        limiting_b: b.limiting,
    }
}

/// Conditions that both know and that are not the same.
fn differences(a: &Item<'_>, b: &Item<'_>) -> Vec<Difference> {
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

/// `None` where there is no ratio.
fn compared_figure(a: &EstimatedFigure, b: &EstimatedFigure, margin_ratio: f64) -> Option<ComparedFigure> {
    let ratio = narrows_model::units::ratio(b.value, a.value).filter(|ratio| *ratio > 0.0)?;
    let found = match (&a.estimate, &b.estimate) {
        (Ok(a), Ok(b)) => LogRatio::new(*b, *a).map_err(|error| error.to_string()),
        (Err(why), Err(_)) => Err((*why).to_owned()),
        (Err(why), Ok(_)) => Err(format!("in A: {why}")),
        (Ok(_), Err(why)) => Err(format!("in B: {why}")),
    };
    let known = found.and_then(|found| {
        let known = found.interval(LEVEL).and_then(|interval| Ok((interval, found.p_beyond(margin_ratio)?)));
        known.map_err(|error| error.to_string())
    });
    let (known, no_interval_because) = match known {
        Ok(known) => (Some(known), None),
        Err(why) => (None, Some(why)),
    };
    Some(ComparedFigure {
        id: a.id,
        role: a.role,
        a: a.value,
        b: b.value,
        ratio,
        interval: known.map(|(interval, _)| crate::summary::summary_interval(interval)),
        p_value_adjusted: known.map(|(_, p)| p),
        decides: false,
        verdict: Verdict::Undecided,
        within_margin: false,
        no_interval_because,
    })
}
