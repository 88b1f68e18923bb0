//! Observations of which nothing is known to limit them, each with the reason: its place on a curve of its load, the slower
//! one that was blamed, or that no figure shows anything.

use super::{NAMES_MAX, notes, regime};
use crate::case::table::{self, ObservationTable, ROLES, times};
use crate::diagnose::not_enough_evidence;
use crate::diagnose::rank::RankedCase;
use crate::method::calls;
use crate::method::curve::{self, CurveStep, StepShape};
use crate::rules::NOT_ENOUGH_EVIDENCE;
use crate::text;
use narrows_model::diagnosis::Evidence;
use narrows_model::observation::PerCall;
use narrows_model::units::ratio;
use narrows_model::{Finding, Limiting, Observation, Relation, Segment};
use std::collections::{BTreeMap, BTreeSet};

/// Why nothing is known of an observation. What is of one kind is one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReasonKind {
    /// Fewer of its curve are limited by themselves, and more by what they share.
    Knee,
    /// It has the most of its curve, and the rate followed up to it.
    Top,
    /// One at a time that is as fast as more.
    FirstOfPlateau,
    /// Calls take a part of its time, and the rest takes most.
    FewCalls,
    /// What is raised adds little or nothing, and too many stages may be full.
    ManyStages,
    /// The slower one was limited by what it has more of.
    Relieved,
    /// No figure shows anything.
    Nothing,
}

/// Observations of one operation and kind of reason, with the reason of each where it has its own.
#[derive(Debug)]
pub(super) struct UnknownGroup<'a> {
    pub rows: Vec<&'a Observation>,
    reasons: Vec<String>,
}

/// All observations of which `ranked` names nothing.
pub(super) fn groups<'a>(
    table: &ObservationTable<'a>,
    ranked: &[RankedCase<'_, '_>],
) -> Vec<UnknownGroup<'a>> {
    let known: BTreeSet<&str> = ranked.iter().map(|ranked| ranked.case.id).collect();
    let curves = table.load_curves();
    let steps: Vec<CurveStep<'_, 'a>> =
        curves.iter().flat_map(|series| curve::steps(table, series)).collect();
    let relieved = relieved(table, ranked);
    let costs = calls::per_call(table.all);
    let mut groups: BTreeMap<(&'static str, ReasonKind), UnknownGroup<'a>> = BTreeMap::new();
    for one in table.observations().iter().filter(|one| !known.contains(one.id.as_str())) {
        let reason = on_curve(&steps, one)
            .or_else(|| Some((ReasonKind::Relieved, relieved.get(one.id.as_str())?.clone())))
            .or_else(|| Some((ReasonKind::FewCalls, beside_calls(&costs, one)?)));
        let (kind, text) = reason.unwrap_or((ReasonKind::Nothing, String::new()));
        let group = groups
            .entry((one.op.name(), kind))
            .or_insert_with(|| UnknownGroup { rows: Vec::new(), reasons: Vec::new() });
        group.rows.push(one);
        group.reasons.extend(Some(text).filter(|text| !text.is_empty()));
    }
    groups.into_values().collect()
}

/// What the place of `one` on a curve leaves open.
fn on_curve(steps: &[CurveStep<'_, '_>], one: &Observation) -> Option<(ReasonKind, String)> {
    let from = || steps.iter().filter(|step| step.more.id == one.id);
    let to = || steps.iter().filter(|step| step.fewer.id == one.id);
    let followed = from().find(|step| step.shape == StepShape::Follows);
    let held_back = to().find(|step| step.shape != StepShape::Follows);
    let id = &one.id;
    match (followed, held_back) {
        (Some(before), Some(after)) => {
            let what = before.series.first_name();
            let text = format!(
                "{id}: fewer {what} are limited by themselves, as {}, and more by what they share, as {}; what \
                 limits between the two is not shown",
                before.text(),
                after.text()
            );
            return Some((ReasonKind::Knee, text));
        }
        (Some(before), None) => {
            let what = before.series.first_name();
            let text = format!(
                "{id}: {}; no more {what} were measured, so nothing shows what limits these",
                before.text()
            );
            return Some((ReasonKind::Top, text));
        }
        (None, Some(after)) if after.is_from_one() => {
            let text = format!(
                "{id}: {}; what they share is full with one too, or its requests take one stage after the other",
                after.text()
            );
            return Some((ReasonKind::FirstOfPlateau, text));
        }
        _ => {}
    }
    let step = from().chain(to()).find(|step| step.shape != StepShape::Follows)?;
    let text = format!(
        "{id}: more {} add little or nothing: {}; which of the stages that they share is full is not shown",
        step.series.first_name(),
        step.text()
    );
    Some((ReasonKind::ManyStages, text))
}

/// What the line over calls leaves of the time of `one`.
fn beside_calls(costs: &[PerCall], one: &Observation) -> Option<String> {
    let cost = costs.iter().find(|cost| cost.observations.contains(&one.id))?;
    let rest = ratio(cost.fixed_s, one.elapsed_s?).filter(|rest| (0.0..=1.0).contains(rest))?;
    Some(format!(
        "{}: {} of its time is spent beside the calls, by T = {} + {} a call; on what is not shown",
        one.id,
        text::percent(rest),
        text::seconds(cost.fixed_s),
        text::seconds(cost.call_s),
    ))
}

/// The faster of observations that differ in a factor, by id, where a slower one is limited by what the factor varies.
fn relieved<'a>(table: &ObservationTable<'a>, ranked: &[RankedCase<'_, '_>]) -> BTreeMap<&'a str, String> {
    let blamed: BTreeSet<(&str, Segment)> = ranked
        .iter()
        .flat_map(|ranked| ranked.named.iter().map(|named| (ranked.case.id, named.segment)))
        .collect();
    let mut reasons = BTreeMap::new();
    // The line over calls says what a buffer does.
    let varied = table.factors().into_iter().filter(|factor| !factor.ends_with("_buffer_bytes"));
    for factor in varied {
        let Some(segment) = table.segment_of(factor) else { continue };
        for series in table.series(factor) {
            let slower = series.iter().filter(|one| blamed.contains(&(one.id.as_str(), segment)));
            for slow in slower {
                for fast in &series {
                    let Some(reason) = relief(slow, fast, factor, segment) else { continue };
                    reasons.entry(fast.id.as_str()).or_insert(reason);
                }
            }
        }
    }
    for series in table.tied_resources() {
        let is_blamed = |one: &&&Observation| {
            series
                .axes
                .iter()
                .filter_map(|axis| axis.segment(table))
                .any(|segment| blamed.contains(&(one.id.as_str(), segment)))
        };
        for slow in series.rows.iter().filter(is_blamed) {
            for fast in series.rows.iter().filter(|fast| series.value(fast) > series.value(slow)) {
                let Some(faster) = table::speed_up(slow, fast) else { continue };
                let text = format!(
                    "{}: with {} it is {} times as fast as {}; nothing shows what limits it now",
                    fast.id,
                    series.describe(fast),
                    times(faster),
                    slow.id
                );
                reasons.entry(fast.id.as_str()).or_insert(text);
            }
        }
    }
    reasons
}

/// What `fast` is where `slow` is limited by `segment`, which `factor` varies; `None` where it is not faster.
fn relief(slow: &Observation, fast: &Observation, factor: &str, segment: Segment) -> Option<String> {
    let faster = table::speed_up(slow, fast).filter(|faster| faster.low > 1.0)?;
    let value = fast.factors.get(factor)?;
    Some(format!(
        "{}: with {factor} of {value} it is faster than {}, {} times, which {segment} limits; nothing shows what \
         limits it now",
        fast.id,
        slow.id,
        times(faster)
    ))
}

/// The entry of a group.
pub(super) fn entry(table: &ObservationTable<'_>, group: &UnknownGroup<'_>) -> Limiting {
    Limiting {
        segment: Segment::Unknown,
        confidence: 0.0,
        relation: Relation::Sole,
        scope: None,
        regime: regime(table, &group.rows),
        codes: vec![NOT_ENOUGH_EVIDENCE.to_owned()],
        evidence: statements(group).into_iter().chain(notes(&group.rows)).collect(),
        relief_gain_ratio: None,
        confirmed: None,
    }
}

/// The finding on a group.
pub(super) fn finding(group: &UnknownGroup<'_>) -> Option<Finding> {
    not_enough_evidence(group.rows.iter().map(|one| one.id.clone()).collect(), statements(group))
}

fn statements(group: &UnknownGroup<'_>) -> Vec<Evidence> {
    let statement = |text: String| Evidence {
        text,
        counter: "figures of the observations".to_owned(),
        command: String::new(),
    };
    if group.reasons.is_empty() {
        vec![statement(nothing_known(&group.rows))]
    } else {
        group.reasons.iter().cloned().map(statement).collect()
    }
}

fn nothing_known(group: &[&Observation]) -> String {
    let known = group.iter().map(|one| one.id.as_str()).take(NAMES_MAX).collect::<Vec<_>>().join(", ");
    let has_shares = group.iter().any(|one| ROLES.iter().any(|role| table::cpu(one, *role).is_some()));
    let shares = if has_shares { "no given busy share" } else { "no busy share" };
    let has_buffers =
        group.iter().any(|one| ROLES.iter().any(|role| table::buffer_bytes(one, *role).is_some()));
    let line = match group.len() {
        count if has_buffers && count < calls::POINTS_MIN => {
            format!(
                "; the cost of calls is fitted over {} or more buffer sizes, and there are {count}",
                calls::POINTS_MIN
            )
        }
        _ => String::new(),
    };
    format!("{known}: no ceiling, {shares} and no change of one resource shows what is full{line}")
}
