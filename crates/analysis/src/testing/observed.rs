//! Observations for tests, and what is looked for in their verdict.

use crate::diagnose_observations;
use narrows_model::{Observations, Segment};

/// The observations of a file with `rows`.
pub(crate) fn read(rows: &str) -> Observations {
    let text = format!("schema = \"narrows.observations/1\"\ntitle = \"test\"\n{rows}");
    match narrows_study::observations::parse(&text, "test") {
        Ok(observations) => observations,
        Err(problems) => panic!("{problems}"),
    }
}

/// The segment that is named first.
pub(crate) fn first(all: &Observations) -> Segment {
    diagnose_observations(all).limiting[0].segment
}

/// Every segment that is named.
pub(crate) fn named(all: &Observations) -> Vec<Segment> {
    diagnose_observations(all).limiting.iter().map(|entry| entry.segment).collect()
}

/// The scope of the first entry.
pub(crate) fn scope_of(all: &Observations) -> Option<String> {
    diagnose_observations(all).limiting[0].scope.clone()
}

/// Whether a segment is cleared.
pub(crate) fn cleared(all: &Observations, segment: Segment) -> bool {
    diagnose_observations(all).exonerated.iter().any(|entry| entry.segment == segment)
}

/// Slugs of the findings.
pub(crate) fn slugs(all: &Observations) -> Vec<String> {
    diagnose_observations(all).findings.iter().map(|finding| finding.slug.clone()).collect()
}

/// The statements of the findings with this slug.
pub(crate) fn finding_text(all: &Observations, slug: &str) -> String {
    let findings = diagnose_observations(all).findings;
    let of_slug = findings.iter().filter(|finding| finding.slug == slug);
    of_slug.flat_map(|finding| finding.evidence.iter().map(|evidence| evidence.text.clone() + "\n")).collect()
}
