//! Requests failed.

use super::super::table::Table;
use super::ObservationRule;
use crate::rules::Verdict;
use narrows_model::diagnosis::Severity;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "operations-failed",
    slug: "errors",
    segment: Segment::Unknown,
    title: "operations failed",
    definition: "Requests failed, so rates and times are partly those of failures.",
    formula: "errors > 0",
    source: "Gregg, The USE Method: errors first",
    example: "12 of 4000 requests failed",
    how_to_measure: "give errors",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.observations().iter().filter_map(judge).collect()
}

fn judge(one: &Observation) -> Option<Verdict> {
    let errors = one.errors.filter(|errors| *errors > 0)?;
    let text = format!("{}: {errors} requests failed", one.id);
    Some(Verdict::note(RULE.segment, &one.id, Severity::Error).because(text, "errors", ""))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{read, slugs};

    #[test]
    fn failures_are_told() {
        let of = |errors: u32| {
            slugs(&read(&format!("[[observation]]\nid = \"a\"\nerrors = {errors}\n")))
                .contains(&"errors".to_owned())
        };
        assert!(of(3) && !of(0));
    }
}
