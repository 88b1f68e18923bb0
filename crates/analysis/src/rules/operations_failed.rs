//! Operations failed while the path was measured.

use super::{Rule, Verdict};
use crate::view::View;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "operations-failed",
    slug: "errors",
    segment: Segment::Unknown,
    title: "operations failed",
    definition: "Some requests came back with an error. They are counted, not timed; the rate is that of the others \
                 and may be higher than a working path's.",
    formula: "failed operations > 0",
    source: "Errors first: the USE method, Gregg (brendangregg.com/usemethod.html)",
    example: "write EIO 3 times, first at offset 1048576",
    how_to_measure: "nothing to do: every failure is counted in the cell it happened in",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    let failed =
        view.summary.cells.iter().flat_map(|cell| cell.errors.iter().map(move |error| (cell, error)));
    let told = failed.map(|(cell, error)| {
        let text = format!(
            "{}: {} {} {} times, first: {}",
            cell.id, error.op, error.errno, error.count, error.first_message
        );
        Verdict::note(Segment::Unknown, &cell.id, Severity::Error).because(
            text,
            "results of the requests",
            "dmesg",
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, builtin, found, machine, measured};
    use narrows_model::sim_profile::{Fault, SimProfile};

    #[test]
    fn failures_are_told_as_errors_with_their_name() {
        let faults = vec![Fault::Error { every: 100, errno: "EIO".into() }];
        let summary = measured(&SimProfile { faults, ..machine("local-ssd") }, Grid::default());
        let finding = summary.diagnosis.findings.iter().find(|finding| finding.code == RULE.code).unwrap();
        assert_eq!(finding.severity, Severity::Error);
        assert!(finding.evidence[0].text.contains("EIO"));
    }

    #[test]
    fn a_machine_without_faults_has_none() {
        assert!(!found(&builtin("local-ssd"), RULE.code));
    }
}
