//! Arithmetic that the source prints and that does not hold.

use super::super::table::Table;
use super::ObservationRule;
use crate::rules::Verdict;
use crate::text;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::Claim;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "claim-mismatch",
    slug: "claim_mismatch",
    segment: Segment::Unknown,
    title: "a printed claim does not compute",
    definition: "The left side of a [[claim]] does not come to what the source says: the claim, or what follows from it, \
                 must not be used as it stands.",
    formula: "|left - right| > tolerance x |right|",
    source: "DESIGN of narrows: printed claims are recomputed",
    example: "9 x 1024 / 47 is 196, not 215",
    how_to_measure: "write the claims of the source as [[claim]]",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.all.claims.iter().filter_map(judge).collect()
}

fn judge(claim: &Claim) -> Option<Verdict> {
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
    Some(Verdict::note(RULE.segment, "", Severity::Warning).because(text, "the claim, computed again", ""))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{read, slugs};

    #[test]
    fn a_claim_that_does_not_compute_is_told() {
        let of = |right: &str| {
            let all = read(&format!(
                "[[claim]]\ntext = \"9/47 = 215 kB/s\"\nleft = \"9 * 1024 / 47\"\nright = {right}\n"
            ));
            slugs(&all).contains(&"claim_mismatch".to_owned())
        };
        assert!(of("215") && of("0") && !of("196"));
    }
}
