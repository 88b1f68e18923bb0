//! The verdict on the experiment: each sweep evaluated as a published one is, and all put into one set of lists.

use super::{SHARED_MACHINE, diagnose_cases};
use crate::case::relay::observations;
use crate::case::{Cases, share_a_machine};
use crate::thresholds::ELIMINATED_CONFIDENCE;
use narrows_model::diagnosis::Evidence;
use narrows_model::relay::RelaySweep;
use narrows_model::summary::{RelayPointSummary, RelaySummary};
use narrows_model::{Diagnosis, Segment};

/// Why a segment is neither limiting nor cleared; an observation file would be asked for more figures.
const NOT_COVERED: &str = "the experiment counts calls and CPU time, which do not measure it";

/// What verified trials add to the roles' work.
const VERIFIED: &str = "Every byte was verified (--verify): their CPU time and the elapsed time include generating \
                        the bytes at the client and comparing them at the server.";

/// What limits each sweep of `relay`.
pub(crate) fn diagnose_relay(relay: &RelaySummary) -> Diagnosis {
    let shared = share_a_machine(relay);
    let mut all = Diagnosis { preface: preface(relay, shared), ..Diagnosis::default() };
    for sweep in RelaySweep::ALL {
        let observed = observations(relay, sweep);
        if !observed.observations.is_empty() {
            let found = diagnose_cases(&Cases::of_sweep(relay, &observed)).diagnosis;
            add(&mut all, sweep, found, shared);
        }
    }
    in_one_list(&mut all);
    all
}

/// What must be known before any verdict of the experiment.
fn preface(relay: &RelaySummary, shared: bool) -> Option<String> {
    let measured = relay.points.iter().any(RelayPointSummary::is_measured);
    let said = [shared.then_some(SHARED_MACHINE), (relay.verify && measured).then_some(VERIFIED)];
    let said: Vec<&str> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(" "))
}

fn add(all: &mut Diagnosis, sweep: RelaySweep, mut one: Diagnosis, shared: bool) {
    let name = sweep.name();
    let mark = |evidence: &mut Vec<Evidence>| {
        for evidence in evidence {
            evidence.text = format!("sweep {name}: {}", evidence.text);
        }
    };
    for entry in &mut one.limiting {
        entry.regime = format!("sweep {name}: {}", entry.regime);
        if shared || entry.segment == Segment::HostCpu {
            entry.confidence = entry.confidence.min(ELIMINATED_CONFIDENCE);
        }
    }
    for entry in &mut one.exonerated {
        mark(&mut entry.evidence);
    }
    for finding in &mut one.findings {
        mark(&mut finding.evidence);
    }
    all.limiting.append(&mut one.limiting);
    for entry in one.exonerated {
        match all.exonerated.iter_mut().find(|known| known.segment == entry.segment) {
            Some(known) => known.evidence.extend(entry.evidence),
            None => all.exonerated.push(entry),
        }
    }
    for finding in one.findings {
        let same = |known: &&mut narrows_model::Finding| {
            (&known.code, known.severity) == (&finding.code, finding.severity)
        };
        match all.findings.iter_mut().find(same) {
            Some(known) => {
                known.cells.extend(finding.cells);
                known.evidence.extend(finding.evidence);
            }
            None => all.findings.push(finding),
        }
    }
    for mut entry in one.not_measured {
        NOT_COVERED.clone_into(&mut entry.why);
        if !all.not_measured.iter().any(|known| known.segment == entry.segment) {
            all.not_measured.push(entry);
        }
    }
}

/// Leaves each segment in one list: what limits any sweep is not cleared, and what any sweep cleared was measured.
fn in_one_list(all: &mut Diagnosis) {
    let Diagnosis { limiting, exonerated, not_measured, findings, .. } = all;
    let limits = |segment: Segment| limiting.iter().any(|entry| entry.segment == segment);
    exonerated.retain(|entry| !limits(entry.segment));
    not_measured.retain(|entry| {
        !limits(entry.segment) && !exonerated.iter().any(|known| known.segment == entry.segment)
    });
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
}

#[cfg(test)]
mod tests;
