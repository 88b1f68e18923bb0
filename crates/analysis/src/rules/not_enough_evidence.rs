//! The run has too little evidence to name a segment.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use narrows_model::diagnosis::Severity;
use narrows_model::{Cut, Segment};

/// The rule. A regime in which nothing limits is reported under the same code.
pub(super) static RULE: Rule = Rule {
    code: "not-enough-evidence",
    slug: "not_enough_evidence",
    segment: Segment::Unknown,
    title: "not enough evidence to name a segment",
    definition: "The path itself was not measured, or none of its segments was measured separately, or all measured \
                 segments are far from full. The verdict is then `unknown`: it names what to measure next instead of \
                 guessing.",
    formula: "no cell of the path, or no cut of it, or no segment at its limit",
    source: "Hoefler and Belli, SC'15: state what was not measured",
    example: "the path moves 210 MiB/s; the fullest segment, the wire, is at 61 % of its ceiling",
    how_to_measure: Some("measure more of the path: give --server HOST:PORT, more time, or more trials"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(view) = cases.view() else { return Vec::new() };
    let note = |text: &str| {
        SegmentVerdict::note(Segment::Unknown, "", Severity::Warning).with_evidence(
            text.to_owned(),
            "cells of the run",
            "",
        )
    };
    let mut path = view.summary.cells.iter().filter(|cell| cell.cut == Cut::Path).peekable();
    if path.peek().is_some() && path.all(|cell| !cell.target.is_storage()) {
        return Vec::new();
    }
    if view.regimes().is_empty() {
        return vec![note("no cell of the whole path was measured")];
    }
    if !view.has_cut() {
        return vec![note("no segment of the path was measured separately")];
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, found};

    #[test]
    fn a_run_without_any_cut_says_so_and_stays_below_the_cap() {
        let mut summary = builtin("local-ssd");
        summary.cells.retain(|cell| cell.cut == Cut::Path);
        summary.prediction = crate::predict(&summary);
        let diagnosis = crate::diagnose(&summary);
        assert!(diagnosis.findings.iter().any(|finding| finding.slug == "not_enough_evidence"));
        assert!(!diagnosis.limiting.is_empty());
        assert!(diagnosis.limiting.iter().all(|entry| entry.confidence <= 0.6));
    }

    #[test]
    fn a_full_grid_is_enough() {
        assert!(!found(&builtin("local-ssd"), RULE.code));
    }
}
