//! From observations to a verdict: numbers measured elsewhere, or told so by a run, are judged by rules of their own and
//! named, ranked and listed as those of a summary are.
//!
//! In the order of the steps: `table` has the figures of single observations, `rules` judge each, `regimes` names what limits
//! each and joins those that agree, `lists` has what is cleared and what is not known. Pure. Deliberately absent:
//! reading files, and rendering.

mod breaks;
mod confidence;
mod fit;
mod lists;
mod payers;
mod regimes;
mod rules;
mod table;
#[cfg(test)]
mod testing;

/// The factor that tells what joins the roles: [`UNIX_SOCKETS`], [`TCP_NO_DELAY`], or a name of the user's own.
pub(crate) const TRANSPORT: &str = "transport";
/// Unix sockets: what is written is not joined at the sender.
pub(crate) const UNIX_SOCKETS: &str = "unix";
/// TCP without Nagle's algorithm.
pub(crate) const TCP_NO_DELAY: &str = "tcp_no_delay";

pub use fit::per_call;
pub use rules::{ObservationRule, ObservationTest};
pub use table::{Table as ObservationTable, known_factors};

use crate::diagnose::{Judged, findings};
use narrows_model::observation::{ANSWER_SCHEMA, DiagnosisDocument};
use narrows_model::{Diagnosis, Observations};
use rules::RULES;
use table::Table;

/// Every rule on observations.
#[must_use]
pub fn observation_rules() -> &'static [&'static ObservationRule] {
    RULES
}

/// The verdict on `observations`.
///
/// # Shape
/// A segment of the path stands in exactly one of the lists. `limiting` has an entry for each set of observations that are
/// limited by the same; one with `unknown` for each operation of which nothing is known to limit.
///
/// # Cost
/// Linear in the observations times the ceilings, with sorts.
///
/// # Source
/// The method of `docs/concepts/methodology.md`; each rule names its own.
#[must_use]
pub fn diagnose_observations(observations: &Observations) -> Diagnosis {
    diagnose_with(observations, |judged| judged)
}

/// The verdict on `observations`, with `knowing` beside the rules: what is known of them that no file holds.
pub(crate) fn diagnose_with(
    observations: &Observations,
    knowing: impl FnOnce(Vec<Judged>) -> Vec<Judged>,
) -> Diagnosis {
    let table = Table::of(observations);
    let judged = RULES
        .iter()
        .flat_map(|rule| (rule.run)(&table).into_iter().map(|verdict| Judged::by(rule, verdict)))
        .collect();
    let judged = knowing(judged);
    let regimes = regimes::regimes(&table, &judged);
    let exonerated = lists::exonerated(&table, &judged, &regimes.limiting);
    let not_measured = lists::not_measured(&table, &regimes.limiting, &exonerated);
    Diagnosis {
        preface: None,
        findings: findings(&judged, regimes.unknown),
        limiting: regimes.limiting,
        exonerated,
        not_measured,
    }
}

/// The verdict as the document that `--json` prints.
#[must_use]
pub fn diagnosis_document(observations: &Observations, narrows_version: &str) -> DiagnosisDocument {
    DiagnosisDocument {
        schema: ANSWER_SCHEMA.to_owned(),
        narrows_version: narrows_version.to_owned(),
        title: observations.title.clone(),
        source: observations.source.clone(),
        observation_count: observations.observations.len() as u64,
        per_call: per_call(observations),
        diagnosis: diagnose_observations(observations),
    }
}

#[cfg(test)]
mod tests;
