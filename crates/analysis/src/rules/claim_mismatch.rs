//! Arithmetic that the source prints and that is wrong.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::text;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::Claim;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "claim-mismatch",
    slug: "claim_mismatch",
    segment: Segment::Unknown,
    title: "a printed calculation is wrong",
    definition: "The left side of a [[claim]] does not give the value that the source states: neither the claim nor \
                 what follows from it must be used as printed.",
    formula: "|left - right| > tolerance x |right|",
    source: "docs/concepts/methodology.md, section 10: printed claims are recomputed",
    example: "9 x 1024 / 47 is 196, not 215",
    how_to_measure: None,
    how_to_write: Some("write the claims of the source as [[claim]]"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    table.all.claims.iter().filter_map(evaluate).collect()
}

fn evaluate(claim: &Claim) -> Option<SegmentVerdict> {
    let apart = (claim.left_value - claim.right).abs();
    if apart <= claim.tolerance_ratio * claim.right.abs() {
        return None;
    }
    let far = if claim.right.abs() > 0.0 {
        format!(", {} apart", text::percent(apart / claim.right.abs()))
    } else {
        String::new()
    };
    let text =
        format!("\"{}\": {} = {:.6}, not {}{far}", claim.text, claim.left, claim.left_value, claim.right);
    Some(SegmentVerdict::note(RULE.segment, "", Severity::Warning).with_evidence(
        text,
        "the claim, recomputed",
        "",
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::observed::{read, slugs};

    #[test]
    fn a_claim_that_does_not_compute_is_reported() {
        let of = |right: &str| {
            let all = read(&format!(
                "[[claim]]\ntext = \"9/47 = 215 kB/s\"\nleft = \"9 * 1024 / 47\"\nright = {right}\n"
            ));
            slugs(&all).contains(&"claim_mismatch".to_owned())
        };
        assert!(of("215") && of("0") && !of("196"));
    }
}
