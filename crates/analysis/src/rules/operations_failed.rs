//! Operations failed while the path was measured.

use super::{Rule, SegmentVerdict};
use crate::case::{Case, Cases};
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "operations-failed",
    slug: "errors",
    segment: Segment::Unknown,
    title: "operations failed",
    definition: "Some requests returned an error. A run counts them and does not time them: the rate is that of the \
                 others and may be higher than that of a working path. Rates and times of an observation include \
                 failed operations.",
    formula: "failed operations > 0",
    source: "Errors first: the USE method, Gregg (brendangregg.com/usemethod.html)",
    example: "write EIO 3 times, first at offset 1048576",
    how_to_measure: Some("nothing to do: every failure is counted in the cell it happened in"),
    how_to_write: Some("give errors"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let failed = cases.all().iter().flat_map(|case| case.failures.iter().map(move |failure| (case, failure)));
    let note = |(case, failure): (&Case<'_>, &String)| {
        let command = if case.cell().is_some() { "dmesg" } else { "" };
        let note = SegmentVerdict::note(RULE.segment, case.id, Severity::Error);
        note.with_evidence(format!("{}: {failure}", case.id), "results of the requests", command)
    };
    failed.map(note).collect()
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::testing::{Grid, builtin, found, machine, measured};
        use narrows_model::sim_profile::{Fault, SimProfile};

        #[test]
        fn failures_are_reported_as_errors_with_their_name() {
            let faults = vec![Fault::Error { every: 100, errno: "EIO".into() }];
            let summary = measured(&SimProfile { faults, ..machine("local-ssd") }, Grid::default());
            let finding =
                summary.diagnosis.findings.iter().find(|finding| finding.code == RULE.code).unwrap();
            assert_eq!(finding.severity, Severity::Error);
            assert!(finding.evidence[0].text.contains("EIO"));
        }

        #[test]
        fn a_machine_without_faults_has_none() {
            assert!(!found(&builtin("local-ssd"), RULE.code));
        }
    }

    mod of_files {
        use crate::testing::observed::{read, slugs};

        #[test]
        fn failures_are_reported() {
            let of = |errors: u32| {
                slugs(&read(&format!("[[observation]]\nid = \"a\"\nerrors = {errors}\n")))
                    .contains(&"errors".to_owned())
            };
            assert!(of(3) && !of(0));
        }
    }
}
