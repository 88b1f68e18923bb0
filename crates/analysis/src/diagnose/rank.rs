//! Which segment limits one regime, how the candidates relate, and how sure that is.

use super::Judged;
use crate::confidence::{self, Features};
use crate::rules::{Basis, NOT_ENOUGH_EVIDENCE, Stance, Tier};
use crate::view::{Regime, View};
use narrows_model::Segment;
use narrows_model::diagnosis::{Evidence, Relation};

/// Two loads this close cannot be told apart: cuts repeat within a few percent.
pub(super) const ONE_OF_RATIO: f64 = 0.10;
/// Below this the segment is not named, only what it is part of.
const NAMED_CONFIDENCE: f64 = 0.5;

/// From this load a resource that does not limit is near enough to name what it is part of.
const NEARLY_FULL_RATIO: f64 = 0.75;

/// A segment named for a regime.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub segment: Segment,
    pub confidence: f64,
    pub relation: Relation,
    pub codes: Vec<String>,
    pub evidence: Vec<Evidence>,
    pub relief_gain_ratio: Option<f64>,
    pub scope: Option<&'static str>,
}

/// A regime with the segments named for it, the likeliest first.
#[derive(Debug)]
pub(crate) struct Ranked<'a> {
    pub regime: Regime<'a>,
    pub named: Vec<Named>,
}

/// How the segments of one load are named.
pub(crate) struct Naming<'n> {
    /// How many alternatives there may be beside the first.
    pub one_of_max: usize,
    /// Whether the confidence of alternatives is that of all of them together.
    pub of_set: bool,
    /// The confidence in a verdict with its runner-up.
    pub sure: &'n dyn Fn(&Judged, Option<&Judged>) -> f64,
}

/// Names what limits `regime`.
pub(crate) fn rank<'a>(view: &View<'_>, regime: Regime<'a>, judged: &[Judged]) -> Ranked<'a> {
    let (limits, rest) = candidates(&regime.cell.id, judged);
    let sure = |first: &Judged, runner_up: Option<&Judged>| {
        let sure = confidence::confidence(view, &features(view, regime, first, runner_up));
        sure.min(first.verdict.confidence_max)
    };
    let naming = Naming { one_of_max: 1, of_set: false, sure: &sure };
    let named = name(&limits, &rest, &naming).unwrap_or_else(|| vec![unnamed(view, regime, &rest)]);
    Ranked { regime, named }
}

/// The segments to name of one load's candidates, the weightiest first in both lists; `None` where none limits.
pub(crate) fn name(limits: &[&Judged], rest: &[&Judged], naming: &Naming<'_>) -> Option<Vec<Named>> {
    let first = limits.first().copied()?;
    let confidence = (naming.sure)(first, runner_up(first, limits, rest));
    if confidence < NAMED_CONFIDENCE {
        return Some(vec![widened(first, confidence)]);
    }
    let others = others(first, limits, rest, naming.one_of_max);
    let Some((_, relation)) = others.first() else {
        let sole = named(first, confidence, Relation::Sole);
        return Some(vec![with_parts(sole, first, rest)]);
    };
    let one_of_count = others.iter().filter(|(_, relation)| *relation == Relation::OneOf).count();
    let split = naming.of_set && one_of_count > 0;
    let of_first = if split { confidence / (one_of_count + 1) as f64 } else { confidence };
    let of_other = |relation| if split { of_first } else { share(confidence, relation) };
    let mut all = vec![named(first, of_first, *relation)];
    all.extend(others.iter().map(|(other, relation)| named(other, of_other(*relation), *relation)));
    Some(all)
}

/// The segment that ranks first in `regime` with the features of its confidence: what the confidence is fitted on.
#[cfg(test)]
pub(crate) fn first(view: &View<'_>, regime: Regime<'_>, judged: &[Judged]) -> Option<(Segment, Features)> {
    let (limits, rest) = candidates(&regime.cell.id, judged);
    let first = limits.first().copied()?;
    Some((first.verdict.segment, features(view, regime, first, runner_up(first, &limits, &rest))))
}

/// The verdicts on `cell` that limit and those that do not, the weightiest first.
pub(crate) fn candidates<'j>(cell: &str, judged: &'j [Judged]) -> (Vec<&'j Judged>, Vec<&'j Judged>) {
    let mut candidates: Vec<&Judged> = judged
        .iter()
        .filter(|judged| judged.verdict.cell == cell && judged.verdict.stance != Stance::Notes)
        .collect();
    candidates.sort_by(|a, b| order(a).total_cmp(&order(b)).reverse());
    let (mut limits, rest): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|judged| judged.verdict.stance == Stance::Limits);
    if limits.iter().any(|judged| judged.verdict.tier == Tier::Offered) {
        // Users who mostly think wait for the smaller part of a cycle, and shares of time are shares of the waiting.
        limits.sort_by_key(|judged| is_of_waiting(judged));
    }
    (limits, rest)
}

/// Whether a verdict rests on a share of the time that a request takes.
fn is_of_waiting(judged: &Judged) -> bool {
    judged.verdict.basis == Basis::TimeShare && judged.verdict.tier == Tier::Resource
}

/// Tier first, then load: a load above 1 is measurement error and counts as full.
fn order(judged: &Judged) -> f64 {
    let tier = match judged.verdict.tier {
        Tier::Fallback => -10.0,
        Tier::Served => 0.0,
        Tier::Offered => 5.0,
        Tier::Resource => 10.0,
        Tier::Voids => 20.0,
    };
    tier + judged.verdict.load_ratio.clamp(0.0, 9.0)
}

/// The nearest other candidate on the same basis, whether it limits or not.
fn runner_up<'j>(first: &Judged, limits: &[&'j Judged], rest: &[&'j Judged]) -> Option<&'j Judged> {
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
    first: &Judged,
    limits: &[&'j Judged],
    rest: &[&'j Judged],
    one_of_max: usize,
) -> Vec<(&'j Judged, Relation)> {
    let others =
        || limits.iter().chain(rest).copied().filter(|other| other.verdict.segment != first.verdict.segment);
    let near = |other: &&Judged| {
        other.verdict.tier == first.verdict.tier
            && other.verdict.basis == first.verdict.basis
            && other.verdict.basis != Basis::State
            && other.verdict.load_ratio >= first.verdict.load_ratio.min(1.0) * (1.0 - ONE_OF_RATIO)
    };
    let mut nearest: Vec<&Judged> = others().filter(near).collect();
    nearest.sort_by(|a, b| order(b).total_cmp(&order(a)));
    let mut segments = Vec::new();
    nearest.retain(|other| {
        let news = !segments.contains(&other.verdict.segment);
        segments.push(other.verdict.segment);
        news
    });
    let joint = |judged: &&Judged| {
        let too_few = judged.verdict.segment == Segment::WorkloadConcurrency;
        first.verdict.basis == Basis::TimeShare
            && judged.verdict.stance == Stance::Limits
            && (too_few || (first.verdict.tier == Tier::Offered && is_of_waiting(judged)))
    };
    let one_of = nearest.into_iter().take(one_of_max).map(|other| (other, Relation::OneOf));
    one_of.chain(others().find(joint).map(|other| (other, Relation::Joint))).collect()
}

/// Confidence of the second entry: as sure as the first when both limit together, else what the first leaves.
fn share(confidence: f64, relation: Relation) -> f64 {
    if relation == Relation::OneOf { (1.0 - confidence).min(confidence) } else { confidence }
}

fn named(judged: &Judged, confidence: f64, relation: Relation) -> Named {
    Named {
        segment: judged.verdict.segment,
        confidence,
        relation,
        codes: vec![judged.code.to_owned()],
        evidence: judged.verdict.evidence.clone(),
        relief_gain_ratio: judged.verdict.relief_gain_ratio,
        scope: judged.verdict.scope,
    }
}

/// A missing concurrency, or users who think, with the largest parts of a request's time beside it: what the waiting
/// consists of.
fn with_parts(mut named: Named, first: &Judged, rest: &[&Judged]) -> Named {
    const PARTS_MAX: usize = 3;
    if matches!(first.verdict.tier, Tier::Fallback | Tier::Offered) {
        let mut parts: Vec<&Judged> =
            rest.iter().copied().filter(|judged| judged.verdict.basis == Basis::TimeShare).collect();
        parts.sort_by(|a, b| b.verdict.load_ratio.total_cmp(&a.verdict.load_ratio));
        named
            .evidence
            .extend(parts.iter().take(PARTS_MAX).flat_map(|part| part.verdict.evidence.iter().cloned()));
    }
    named
}

/// The wider segment, or `unknown` where there is none, when the evidence is too thin for the segment itself.
fn widened(judged: &Judged, confidence: f64) -> Named {
    let segment = judged.verdict.segment.parent().unwrap_or(Segment::Unknown);
    Named { segment, ..named(judged, confidence, Relation::Sole) }
}

/// Nothing that was measured is at its limit: what the fullest resource is part of when it is nearly full, else
/// unknown.
fn unnamed(view: &View<'_>, regime: Regime<'_>, rest: &[&Judged]) -> Named {
    // The load of a state compares with no resource's: threads that wait for the device are busy, and not full.
    let measured =
        |judged: &&Judged| judged.verdict.tier == Tier::Resource && judged.verdict.basis != Basis::State;
    let resources = || rest.iter().copied().filter(measured);
    let fullest = resources().max_by(|a, b| a.verdict.load_ratio.total_cmp(&b.verdict.load_ratio));
    let parent = fullest
        .filter(|judged| judged.verdict.load_ratio >= NEARLY_FULL_RATIO)
        .and_then(|judged| Some((judged, judged.verdict.segment.parent()?)));
    let Some((judged, segment)) = parent else {
        let evidence = fullest.map(|judged| judged.verdict.evidence.clone()).unwrap_or_default();
        return Named {
            segment: Segment::Unknown,
            confidence: 0.0,
            relation: Relation::Sole,
            codes: vec![NOT_ENOUGH_EVIDENCE.to_owned()],
            evidence,
            relief_gain_ratio: None,
            scope: None,
        };
    };
    let others: Vec<&Judged> =
        resources().filter(|other| other.verdict.segment != judged.verdict.segment).collect();
    let runner_up = runner_up(judged, &[], &others);
    let sure = confidence::confidence(view, &features(view, regime, judged, runner_up)).min(NAMED_CONFIDENCE);
    Named { segment, ..named(judged, sure, Relation::Sole) }
}

fn features(view: &View<'_>, regime: Regime<'_>, first: &Judged, runner_up: Option<&Judged>) -> Features {
    let residual = view.summary.prediction.cells.iter().find(|cell| cell.cell == regime.cell.id);
    Features::of(
        &first.verdict,
        runner_up.map(|judged| &judged.verdict),
        residual.map(|r| r.residual_ratio),
        view,
    )
}
