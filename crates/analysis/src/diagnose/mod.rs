//! From the rules' verdicts to the diagnosis: for each regime the segment that limits, what is cleared, what was not
//! measured, and the findings.
//!
//! Deliberately absent: any look at a counter; that is the rules'.

mod lists;
mod merge;
pub(crate) mod rank;
mod refuted;
mod unmeasured;

pub(crate) use unmeasured::how_to_measure;

use crate::rules::offered_load::is_held;
use crate::rules::{NOT_ENOUGH_EVIDENCE, RULES, Rule, Stance, Verdict, rule};
use crate::view::View;
use narrows_model::diagnosis::{Evidence, Severity};
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Diagnosis, Finding, Segment, Summary};
use std::collections::BTreeSet;

/// The sentence that comes first when client and server share a machine (DESIGN, "Sharing a machine").
pub(crate) const SHARED_MACHINE: &str =
    "Client and server share this machine: this shows software cost, not your network or server.";

/// A rule's verdict with the rule's names.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub code: &'static str,
    pub slug: &'static str,
    pub verdict: Verdict,
}

impl Judged {
    /// What `rule` says.
    pub(crate) fn by<Test>(rule: &'static Rule<Test>, verdict: Verdict) -> Self {
        Self { code: rule.code, slug: rule.slug, verdict }
    }
}

/// The verdict on a summary.
#[must_use]
pub fn diagnose(summary: &Summary) -> Diagnosis {
    diagnose_cells(summary).0
}

/// The verdict, and the segment that limits each regime's cell.
pub(crate) fn diagnose_cells(summary: &Summary) -> (Diagnosis, Vec<(String, Segment)>) {
    let view = View::of(summary);
    let judged = judge(&view);
    let ranked: Vec<rank::Ranked<'_>> =
        view.regimes().iter().map(|regime| rank::rank(&view, *regime, &judged)).collect();
    let by_cell = ranked
        .iter()
        .filter_map(|ranked| Some((ranked.regime.cell.id.clone(), ranked.named.first()?.segment)))
        .filter(|(_, segment)| *segment != Segment::Unknown)
        .collect();
    let limiting = merge::limiting(&ranked);
    let exonerated = lists::exonerated(&view, &judged, &limiting);
    let not_measured = lists::not_measured(&view, &limiting, &exonerated);
    let diagnosis = Diagnosis {
        preface: view.sharing.one_machine.then(|| SHARED_MACHINE.to_owned()),
        limiting,
        exonerated,
        not_measured,
        findings: findings(&judged, ranked.iter().filter_map(unknown_regime).collect()),
    };
    (diagnosis, by_cell)
}

pub(crate) fn judge(view: &View<'_>) -> Vec<Judged> {
    let judged = |rule: &'static Rule| {
        (rule.run)(view)
            .into_iter()
            .filter(|verdict| applies(view, rule.segment, verdict))
            .map(move |verdict| Judged::by(rule, verdict))
            .filter(|judged| !refuted::is_refuted(view, judged))
    };
    RULES.iter().copied().flat_map(judged).collect()
}

/// Whether a verdict says anything: where the load was held at its cap, only that and what must be known do; where it
/// went to no storage, only what must be known does.
fn applies(view: &View<'_>, judges: Segment, verdict: &Verdict) -> bool {
    let is_void = |cell: &CellSummary| {
        let nowhere = cell.cut == Cut::Path && !cell.target.is_storage();
        nowhere || (judges != Segment::OfferedLoad && is_held(cell))
    };
    verdict.stance == Stance::Notes
        || !view.summary.cells.iter().any(|cell| cell.id == verdict.cell && is_void(cell))
}

/// `found`, and what the rules found, one finding a rule and kind of stance, each of its cells and statements once, the graver
/// first.
pub(crate) fn findings(judged: &[Judged], mut found: Vec<Finding>) -> Vec<Finding> {
    for Judged { code, slug, verdict } in
        judged.iter().filter(|judged| judged.verdict.stance != Stance::Clears)
    {
        let same = found.iter_mut().find(|known| known.code == *code && known.severity == verdict.severity);
        match same {
            Some(known) => {
                known.cells.extend(Some(verdict.cell.clone()).filter(|cell| !cell.is_empty()));
                known.evidence.extend(verdict.evidence.iter().cloned());
            }
            None => found.push(Finding {
                code: (*code).to_owned(),
                slug: (*slug).to_owned(),
                severity: verdict.severity,
                cells: Some(verdict.cell.clone()).filter(|cell| !cell.is_empty()).into_iter().collect(),
                evidence: verdict.evidence.clone(),
            }),
        }
    }
    found.iter_mut().for_each(settle);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// Leaves each cell and each statement of `finding` once.
pub(crate) fn settle(finding: &mut Finding) {
    finding.cells = once(std::mem::take(&mut finding.cells), String::clone).collect();
    finding.evidence = told_once(std::mem::take(&mut finding.evidence)).collect();
}

/// Each statement once, in its order.
pub(crate) fn told_once(all: impl IntoIterator<Item = Evidence>) -> impl Iterator<Item = Evidence> {
    once(all, |one: &Evidence| (one.text.clone(), one.counter.clone(), one.command.clone()))
}

fn once<T, Key: Ord>(all: impl IntoIterator<Item = T>, key: impl Fn(&T) -> Key) -> impl Iterator<Item = T> {
    let mut seen = BTreeSet::new();
    all.into_iter().filter(move |one| seen.insert(key(one)))
}

/// The finding for a regime in which no segment could be named.
fn unknown_regime(ranked: &rank::Ranked<'_>) -> Option<Finding> {
    let named = ranked.named.first().filter(|named| named.segment == Segment::Unknown)?;
    let rule = rule(NOT_ENOUGH_EVIDENCE)?;
    Some(Finding {
        code: rule.code.to_owned(),
        slug: rule.slug.to_owned(),
        severity: Severity::Warning,
        cells: vec![ranked.regime.cell.id.clone()],
        evidence: named.evidence.clone(),
    })
}

#[cfg(test)]
mod tests;
