//! Which segment limits one regime, how the candidates relate, and how sure that is.

use super::RuleVerdict;
use crate::case::{Case, Cases};
use crate::confidence;
#[cfg(test)]
use crate::confidence::Features;
use crate::method::confirmation::confirmation;
use crate::rules::NOT_ENOUGH_EVIDENCE;
use crate::thresholds::{NAMED_CONFIDENCE, NEARLY_FULL_RATIO, ONE_OF_RATIO};
use crate::verdict::{Basis, Stance, Tier, UsedShare};
#[cfg(test)]
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::change::Confirmation;
use narrows_model::diagnosis::{Evidence, Relation};

/// A segment named for a regime.
#[derive(Debug, Clone)]
pub(crate) struct NamedSegment {
    pub segment: Segment,
    pub confidence: f64,
    pub relation: Relation,
    pub codes: Vec<String>,
    pub evidence: Vec<Evidence>,
    pub relief_gain_ratio: Option<f64>,
    pub scope: Option<&'static str>,
    /// How far the load used it, by the verdict that names it.
    pub used: Option<UsedShare>,
    /// Whether the path moved as predicted when it was changed.
    pub confirmed: Option<Confirmation>,
}

/// A load with the segments named for it, the likeliest first.
#[derive(Debug)]
pub(crate) struct RankedCase<'c, 'a> {
    pub case: &'c Case<'a>,
    pub named: Vec<NamedSegment>,
    /// How full the first is.
    pub load_ratio: f64,
}

/// How many alternatives there may be beside the first.
///
/// Cuts separate the stages of a run, so that two remain at most. Figures that were only written down may leave it open
/// between network, proxy, server and device, and their confidence is then that of all of them together.
fn one_of_max(cases: &Cases<'_>) -> usize {
    if cases.table().is_some() { 3 } else { 1 }
}

/// Names what limits `case`; `None` for an observation without a known limit: the unknowns of all observations of an
/// operation are reported together.
pub(crate) fn rank<'c, 'a>(
    cases: &Cases<'a>,
    case: &'c Case<'a>,
    evaluated: &[RuleVerdict],
) -> Option<RankedCase<'c, 'a>> {
    let (limits, rest) = candidates(case.id, evaluated);
    let mut named = match name(cases, &limits, &rest) {
        Some(named) => named,
        None if case.cell().is_some() => vec![unnamed(cases, &rest)],
        None => return None,
    };
    for entry in &mut named {
        add_agreeing(entry, &limits);
        add_confirmation(cases, case, entry);
    }
    let load_ratio = limits.first().map_or(0.0, |first| first.verdict.load_ratio);
    Some(RankedCase { case, named, load_ratio })
}

/// Adds what changing the segment did: it makes the verdict surer, or less sure.
fn add_confirmation(cases: &Cases<'_>, case: &Case<'_>, entry: &mut NamedSegment) {
    let Some((view, cell)) = cases.view().zip(case.cell()) else { return };
    let Some((outcome, evidence)) = confirmation(view, cell, entry.segment) else { return };
    entry.confidence = confidence::changed(entry.confidence, outcome);
    entry.confirmed = Some(outcome);
    entry.evidence.insert(0, evidence);
}

/// Adds what other rules say that name the same segment.
fn add_agreeing(entry: &mut NamedSegment, limits: &[&RuleVerdict]) {
    for other in limits.iter().filter(|other| other.verdict.segment == entry.segment) {
        if !entry.codes.iter().any(|code| code == other.code) {
            entry.codes.push(other.code.to_owned());
            entry.evidence.extend(other.verdict.evidence.iter().cloned());
        }
        entry.relief_gain_ratio = entry.relief_gain_ratio.or(other.verdict.relief_gain_ratio);
    }
}

/// The segments to name of one load's candidates, the weightiest first in both lists; `None` where none limits.
fn name(cases: &Cases<'_>, limits: &[&RuleVerdict], rest: &[&RuleVerdict]) -> Option<Vec<NamedSegment>> {
    let first = limits.first().copied()?;
    let runner_up = runner_up(first, limits, rest).map(|evaluated| &evaluated.verdict);
    let confidence = confidence::confidence(cases, &first.verdict, runner_up);
    if confidence < NAMED_CONFIDENCE {
        return Some(vec![widened(first, confidence)]);
    }
    let others = others(first, limits, rest, one_of_max(cases));
    let Some((_, relation)) = others.first() else {
        let sole = named(first, confidence, Relation::Sole);
        return Some(vec![with_parts(sole, first, rest)]);
    };
    let one_of_count = others.iter().filter(|(_, relation)| *relation == Relation::OneOf).count();
    let split = cases.table().is_some() && one_of_count > 0;
    let of_first = if split { confidence / (one_of_count + 1) as f64 } else { confidence };
    let of_other = |relation| if split { of_first } else { share(confidence, relation) };
    let mut all = vec![named(first, of_first, *relation)];
    all.extend(others.iter().map(|(other, relation)| named(other, of_other(*relation), *relation)));
    Some(all)
}

/// The segment that ranks first under a load with the features of its confidence: what the confidence is fitted on.
#[cfg(test)]
pub(crate) fn first(
    view: &SummaryView<'_>,
    cell: &str,
    evaluated: &[RuleVerdict],
) -> Option<(Segment, Features)> {
    let (limits, rest) = candidates(cell, evaluated);
    let first = limits.first().copied()?;
    let runner_up = runner_up(first, &limits, &rest).map(|evaluated| &evaluated.verdict);
    Some((first.verdict.segment, Features::new(&first.verdict, runner_up, view)))
}

/// The verdicts on `cell` that limit and those that do not, the weightiest first.
fn candidates<'j>(cell: &str, evaluated: &'j [RuleVerdict]) -> (Vec<&'j RuleVerdict>, Vec<&'j RuleVerdict>) {
    let mut candidates: Vec<&RuleVerdict> = evaluated
        .iter()
        .filter(|evaluated| evaluated.verdict.cell == cell && evaluated.verdict.stance != Stance::Notes)
        .collect();
    candidates.sort_by(|a, b| order(a).total_cmp(&order(b)).reverse());
    let (mut limits, rest): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|evaluated| evaluated.verdict.stance == Stance::Limits);
    if limits.iter().any(|evaluated| evaluated.verdict.tier == Tier::Offered) {
        // Users who mostly think wait for the smaller part of a cycle, and shares of time are shares of the waiting.
        limits.sort_by_key(|evaluated| is_of_waiting(evaluated));
    }
    (limits, rest)
}

/// Whether a verdict rests on a share of the time that a request takes.
fn is_of_waiting(evaluated: &RuleVerdict) -> bool {
    evaluated.verdict.basis == Basis::TimeShare && evaluated.verdict.tier == Tier::Resource
}

/// Tier first, then load: a load above 1 is measurement error and counts as full.
fn order(evaluated: &RuleVerdict) -> f64 {
    let tier = match evaluated.verdict.tier {
        Tier::Fallback => -10.0,
        Tier::Spent => -5.0,
        Tier::Served => 0.0,
        Tier::Offered => 5.0,
        Tier::Resource => 10.0,
        Tier::Voids => 20.0,
    };
    tier + evaluated.verdict.load_ratio.clamp(0.0, 9.0)
}

/// The nearest other candidate on the same basis, whether it limits or not.
fn runner_up<'j>(
    first: &RuleVerdict,
    limits: &[&'j RuleVerdict],
    rest: &[&'j RuleVerdict],
) -> Option<&'j RuleVerdict> {
    limits
        .iter()
        .skip(1)
        .chain(rest)
        .copied()
        .filter(|other| {
            other.verdict.tier == first.verdict.tier && other.verdict.basis == first.verdict.basis
        })
        .max_by(|a, b| a.verdict.load_ratio.total_cmp(&b.verdict.load_ratio))
}

/// The segments to name beside the first, where there are any.
///
/// Two resources within a tenth of each other, or two shares of the time of one request, leave it open which, also where
/// the second one alone would not count as full. A share of time limits together with the missing concurrency, and users
/// who think together with what takes most of the waiting.
fn others<'j>(
    first: &RuleVerdict,
    limits: &[&'j RuleVerdict],
    rest: &[&'j RuleVerdict],
    one_of_max: usize,
) -> Vec<(&'j RuleVerdict, Relation)> {
    let others =
        || limits.iter().chain(rest).copied().filter(|other| other.verdict.segment != first.verdict.segment);
    let near = |other: &&RuleVerdict| {
        other.verdict.tier == first.verdict.tier
            && other.verdict.basis == first.verdict.basis
            && other.verdict.basis != Basis::State
            && other.verdict.load_ratio >= first.verdict.load_ratio.min(1.0) * (1.0 - ONE_OF_RATIO)
    };
    let mut nearest: Vec<&RuleVerdict> = others().filter(near).collect();
    nearest.sort_by(|a, b| order(b).total_cmp(&order(a)));
    let mut segments = Vec::new();
    nearest.retain(|other| {
        let news = !segments.contains(&other.verdict.segment);
        segments.push(other.verdict.segment);
        news
    });
    let joint = |evaluated: &&RuleVerdict| {
        let too_few = evaluated.verdict.segment == Segment::WorkloadConcurrency;
        first.verdict.basis == Basis::TimeShare
            && evaluated.verdict.stance == Stance::Limits
            && (too_few || (first.verdict.tier == Tier::Offered && is_of_waiting(evaluated)))
    };
    let together = others().find(joint).map(|other| (other, Relation::Joint));
    if first.verdict.tier == Tier::Spent {
        return parts_in_series(others()).chain(together).collect();
    }
    let one_of = nearest.into_iter().take(one_of_max).map(|other| (other, Relation::OneOf));
    one_of.chain(together).collect()
}

/// The other parts that take a load's time: they add up, and each of them is named.
fn parts_in_series<'j>(
    others: impl Iterator<Item = &'j RuleVerdict>,
) -> impl Iterator<Item = (&'j RuleVerdict, Relation)> {
    let is_part =
        |other: &&RuleVerdict| other.verdict.tier == Tier::Spent && other.verdict.stance == Stance::Limits;
    others.filter(is_part).map(|other| (other, Relation::Joint))
}

/// Confidence of the second entry: as sure as the first when both limit together, else what the first leaves.
fn share(confidence: f64, relation: Relation) -> f64 {
    if relation == Relation::OneOf { (1.0 - confidence).min(confidence) } else { confidence }
}

fn named(evaluated: &RuleVerdict, confidence: f64, relation: Relation) -> NamedSegment {
    NamedSegment {
        segment: evaluated.verdict.segment,
        confidence,
        relation,
        codes: vec![evaluated.code.to_owned()],
        evidence: evaluated.verdict.evidence.clone(),
        relief_gain_ratio: evaluated.verdict.relief_gain_ratio,
        scope: evaluated.verdict.scope,
        used: evaluated.verdict.used,
        confirmed: None,
    }
}

/// A missing concurrency, or users who think, with the largest parts of a request's time beside it: what the waiting
/// consists of.
fn with_parts(mut named: NamedSegment, first: &RuleVerdict, rest: &[&RuleVerdict]) -> NamedSegment {
    const PARTS_MAX: usize = 3;
    if matches!(first.verdict.tier, Tier::Fallback | Tier::Offered) {
        let mut parts: Vec<&RuleVerdict> =
            rest.iter().copied().filter(|evaluated| evaluated.verdict.basis == Basis::TimeShare).collect();
        parts.sort_by(|a, b| b.verdict.load_ratio.total_cmp(&a.verdict.load_ratio));
        named
            .evidence
            .extend(parts.iter().take(PARTS_MAX).flat_map(|part| part.verdict.evidence.iter().cloned()));
    }
    named
}

/// The wider segment, or `unknown` where there is none, when the evidence is too thin for the segment itself.
fn widened(evaluated: &RuleVerdict, confidence: f64) -> NamedSegment {
    let segment = evaluated.verdict.segment.parent().unwrap_or(Segment::Unknown);
    NamedSegment { segment, ..named(evaluated, confidence, Relation::Sole) }
}

/// Nothing that was measured is at its limit: what the fullest resource is part of when it is nearly full, else
/// unknown.
fn unnamed(cases: &Cases<'_>, rest: &[&RuleVerdict]) -> NamedSegment {
    // The load of a state compares with no resource's: threads that wait for the device are busy, and not full.
    let measured = |evaluated: &&RuleVerdict| {
        evaluated.verdict.tier == Tier::Resource && evaluated.verdict.basis != Basis::State
    };
    let resources = || rest.iter().copied().filter(measured);
    let fullest = resources().max_by(|a, b| a.verdict.load_ratio.total_cmp(&b.verdict.load_ratio));
    let parent = fullest
        .filter(|evaluated| evaluated.verdict.load_ratio >= NEARLY_FULL_RATIO)
        .and_then(|evaluated| Some((evaluated, evaluated.verdict.segment.parent()?)));
    let Some((evaluated, segment)) = parent else {
        let evidence = fullest.map(|evaluated| evaluated.verdict.evidence.clone()).unwrap_or_default();
        return NamedSegment {
            segment: Segment::Unknown,
            confidence: 0.0,
            relation: Relation::Sole,
            codes: vec![NOT_ENOUGH_EVIDENCE.to_owned()],
            evidence,
            relief_gain_ratio: None,
            scope: None,
            used: None,
            confirmed: None,
        };
    };
    let others: Vec<&RuleVerdict> =
        resources().filter(|other| other.verdict.segment != evaluated.verdict.segment).collect();
    let runner_up = runner_up(evaluated, &[], &others);
    let runner_up = runner_up.map(|evaluated| &evaluated.verdict);
    let sure = confidence::confidence(cases, &evaluated.verdict, runner_up).min(NAMED_CONFIDENCE);
    NamedSegment { segment, ..named(evaluated, sure, Relation::Sole) }
}
