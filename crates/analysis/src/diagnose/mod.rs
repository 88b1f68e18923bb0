//! From the rules' verdicts to the diagnosis: for each load the segment that limits, what is cleared, what was not measured,
//! and the findings. A run, a file and each sweep of the buffer experiment are diagnosed alike.
//!
//! Deliberately absent: any look at a counter; that is the rules'.

mod export;
mod lists;
mod merge;
mod observed;
pub(crate) mod rank;
mod refuted;
mod relay;
mod unmeasured;
mod used;
mod uses;

pub(crate) use relay::diagnose_relay;
pub(crate) use unmeasured::how_to_measure;

use crate::case::Cases;
use crate::method::calls::per_call;
use crate::rules::{NOT_ENOUGH_EVIDENCE, RULES, Rule, rule};
use crate::verdict::{SegmentVerdict, Stance, Tier};
use narrows_model::diagnosis::{Evidence, Severity};
use narrows_model::observation::{ANSWER_SCHEMA, DiagnosisDocument};
use narrows_model::summary::SegmentUse;
use narrows_model::{Cut, Diagnosis, Finding, Observations, Segment, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// The sentence that comes first when client and server share a machine (methodology, section 7).
pub(crate) const SHARED_MACHINE: &str =
    "Client and server share this machine: this shows software cost, not your network or server.";

/// A rule's verdict with the rule's names.
#[derive(Debug, Clone)]
pub(crate) struct RuleVerdict {
    pub code: &'static str,
    pub slug: &'static str,
    pub verdict: SegmentVerdict,
}

/// The verdict on a summary.
#[must_use]
pub fn diagnose(summary: &Summary) -> Diagnosis {
    diagnose_cells(summary).diagnosis
}

/// The verdict on `observations`.
///
/// # Shape
/// A segment of the path is in exactly one of the lists. `limiting` has an entry for each set of observations that are
/// limited by the same; one with `unknown` for each operation of which nothing is known to limit.
///
/// # Cost
/// Linear in the observations times the ceilings, with sorts.
///
/// # Source
/// The method of `docs/concepts/methodology.md`; each rule names its own.
#[must_use]
pub fn diagnose_observations(observations: &Observations) -> Diagnosis {
    diagnose_cases(&Cases::of_file(observations)).diagnosis
}

/// The verdict on `observations` as the document that `--json` prints.
#[must_use]
pub fn diagnosis_document(observations: &Observations, narrows_version: &str) -> DiagnosisDocument {
    let cases = Cases::of_file(observations);
    let evaluated = evaluate_rules(&cases);
    let uses = cases.table().map(|table| used::uses(table, &evaluated)).unwrap_or_default();
    DiagnosisDocument {
        schema: ANSWER_SCHEMA.to_owned(),
        narrows_version: narrows_version.to_owned(),
        title: observations.title.clone(),
        source: observations.source.clone(),
        observation_count: observations.observations.len() as u64,
        per_call: per_call(observations),
        diagnosis: diagnose_evaluated(&cases, &evaluated).diagnosis,
        observations: uses,
    }
}

/// The verdict on cases, with what it says of each load and of each segment.
pub(crate) struct CaseDiagnosis {
    pub diagnosis: Diagnosis,
    /// The segment that limits each load.
    pub by_load: Vec<(String, Segment)>,
    /// How far each load used each segment of a run's path.
    pub uses: BTreeMap<Segment, Vec<SegmentUse>>,
}

/// The verdict on a run.
pub(crate) fn diagnose_cells(summary: &Summary) -> CaseDiagnosis {
    diagnose_cases(&Cases::of_run(summary))
}

/// The verdict on cases.
fn diagnose_cases(cases: &Cases<'_>) -> CaseDiagnosis {
    diagnose_evaluated(cases, &evaluate_rules(cases))
}

/// The same from what the rules stated.
fn diagnose_evaluated(cases: &Cases<'_>, evaluated: &[RuleVerdict]) -> CaseDiagnosis {
    let ranked: Vec<rank::RankedCase<'_, '_>> =
        cases.loads().filter_map(|case| rank::rank(cases, case, evaluated)).collect();
    let by_load = ranked
        .iter()
        .filter_map(|ranked| Some((ranked.case.id.to_owned(), ranked.named.first()?.segment)))
        .filter(|(_, segment)| *segment != Segment::Unknown)
        .collect();
    let (limiting, unknown) = match cases.table() {
        Some(table) => observed::limiting(table, &ranked),
        None => (merge::limiting(cases, &ranked), ranked.iter().filter_map(unknown_load).collect()),
    };
    let exonerated = lists::exonerated(cases, evaluated, &limiting);
    let not_measured = lists::not_measured(cases, evaluated, &limiting, &exonerated);
    let one_machine = cases.view().is_some_and(|view| view.sharing.one_machine);
    let diagnosis = Diagnosis {
        preface: one_machine.then(|| SHARED_MACHINE.to_owned()),
        limiting,
        exonerated,
        not_measured,
        findings: findings(evaluated, unknown),
    };
    let uses = uses::of_segments(cases, &ranked, evaluated, &diagnosis);
    CaseDiagnosis { diagnosis, by_load, uses }
}

/// What every rule says, of a mounted folder also of the export behind it.
pub(crate) fn evaluate_rules(cases: &Cases<'_>) -> Vec<RuleVerdict> {
    let mut evaluated = rule_verdicts(cases);
    let is_of_mount = |one: &RuleVerdict| {
        applies(cases, one.verdict.segment, &one.verdict) && !refuted::is_refuted(cases, &one.verdict)
    };
    evaluated.extend(export::verdicts(cases).into_iter().filter(is_of_mount));
    drop_outranked_parts(&mut evaluated);
    evaluated
}

/// What every rule says of the cells of the path.
fn rule_verdicts(cases: &Cases<'_>) -> Vec<RuleVerdict> {
    let of_rule = |rule: &'static Rule| {
        (rule.run)(cases)
            .into_iter()
            .filter(|verdict| applies(cases, rule.segment, verdict))
            .map(|verdict| RuleVerdict { code: rule.code, slug: rule.slug, verdict })
            .filter(|evaluated| !refuted::is_refuted(cases, &evaluated.verdict))
    };
    RULES.iter().copied().flat_map(of_rule).collect()
}

/// Removes the parts of a load's time where something ranks before them: what the time was spent on is no limit then.
fn drop_outranked_parts(evaluated: &mut Vec<RuleVerdict>) {
    let limits = |one: &&RuleVerdict| one.verdict.stance == Stance::Limits && one.verdict.tier > Tier::Spent;
    let limited: BTreeSet<String> =
        evaluated.iter().filter(limits).map(|one| one.verdict.cell.clone()).collect();
    evaluated.retain(|one| one.verdict.tier != Tier::Spent || !limited.contains(&one.verdict.cell));
}

/// Whether a verdict says anything: where all that was asked for was delivered, only that and what must be known do; where
/// the load went to no storage, only what must be known does.
fn applies(cases: &Cases<'_>, rule_segment: Segment, verdict: &SegmentVerdict) -> bool {
    let evaluated = Some(&verdict.cell).filter(|_| verdict.stance != Stance::Notes);
    let Some(case) = evaluated.and_then(|id| cases.find(id)) else { return true };
    let nowhere = case.cell().is_some_and(|cell| cell.cut == Cut::Path && !cell.target.is_storage());
    !nowhere && (rule_segment == Segment::OfferedLoad || !case.is_delivered())
}

/// `found`, and what the rules found, one finding a rule and kind of stance, each of its cells and statements once, the graver
/// first.
pub(crate) fn findings(evaluated: &[RuleVerdict], mut found: Vec<Finding>) -> Vec<Finding> {
    for RuleVerdict { code, slug, verdict } in evaluated
        .iter()
        .filter(|evaluated| matches!(evaluated.verdict.stance, Stance::Limits | Stance::Notes))
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
    found.iter_mut().for_each(deduplicate);
    found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    found
}

/// Leaves each cell and each statement of `finding` once.
pub(crate) fn deduplicate(finding: &mut Finding) {
    finding.cells = once(std::mem::take(&mut finding.cells), String::clone).collect();
    finding.evidence = each_once(std::mem::take(&mut finding.evidence)).collect();
}

/// Each statement once, in its order.
pub(crate) fn each_once(all: impl IntoIterator<Item = Evidence>) -> impl Iterator<Item = Evidence> {
    once(all, |one: &Evidence| (one.text.clone(), one.counter.clone(), one.command.clone()))
}

fn once<T, Key: Ord>(all: impl IntoIterator<Item = T>, key: impl Fn(&T) -> Key) -> impl Iterator<Item = T> {
    let mut seen = BTreeSet::new();
    all.into_iter().filter(move |one| seen.insert(key(one)))
}

/// The finding for a load of a run for which no segment could be named.
fn unknown_load(ranked: &rank::RankedCase<'_, '_>) -> Option<Finding> {
    let named = ranked.named.first().filter(|named| named.segment == Segment::Unknown)?;
    not_enough_evidence(vec![ranked.case.id.to_owned()], named.evidence.clone())
}

/// The finding that nothing is known to limit these loads.
fn not_enough_evidence(cells: Vec<String>, evidence: Vec<Evidence>) -> Option<Finding> {
    let rule = rule(NOT_ENOUGH_EVIDENCE)?;
    Some(Finding {
        code: rule.code.to_owned(),
        slug: rule.slug.to_owned(),
        severity: Severity::Warning,
        cells,
        evidence,
    })
}

#[cfg(test)]
mod tests;
