//! The load that was asked for is delivered: nothing else limits.

use super::super::table::{self, Table};
use super::ObservationRule;
use crate::rules::{Basis, Stance, Tier, Verdict};
use crate::text;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// A delivered load comes within a twentieth of what was asked for.
const DELIVERED_RATIO: f64 = 0.95;
/// More than was asked for by this cannot have been asked for: one of the figures is another's.
const BEYOND_RATIO: f64 = 1.1;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "load-delivered",
    slug: "offered_load",
    segment: Segment::OfferedLoad,
    title: "the load asked for is delivered",
    definition: "Load came at a rate of its own (open loop), and nearly all of it was carried. What the path can carry \
                 was not measured: the observation clears nothing else and blames nothing.",
    formula: "1.1 x offered rate >= rate >= 0.95 x offered rate",
    source: "Open and closed loads: a delivered load is below capacity, Jain (1991), chapter 31",
    example: "797 op/s of 800 op/s offered",
    how_to_measure: "ask for more than the path can carry",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.observations().iter().filter_map(judge).collect()
}

fn judge(one: &Observation) -> Option<Verdict> {
    let of_ops = || {
        let (rate, asked) = (table::ops_per_s(one)?, one.offered_ops_per_s?.0);
        Some((ratio(rate, asked)?, text::op_rate(rate), text::op_rate(asked)))
    };
    let of_bytes = || {
        let (rate, asked) = (table::bytes_per_s(one)?.low, one.offered_bytes_per_s?.0);
        Some((ratio(rate, asked)?, text::storage_rate(rate), text::storage_rate(asked)))
    };
    let (load, moved, wanted) = of_ops().or_else(of_bytes).filter(|(load, _, _)| *load <= BEYOND_RATIO)?;
    let delivered = load >= DELIVERED_RATIO - table::doubt_ratio(one);
    let stance = if delivered { Stance::Limits } else { Stance::Clears };
    let text = format!("{}: {moved}, {} of the {wanted} asked for", one.id, text::percent(load));
    let verdict = Verdict::on(RULE.segment, &one.id, stance, Basis::State, load.min(1.0));
    let tier = if delivered { Tier::Voids } else { Tier::Resource };
    Some(verdict.in_tier(tier).because(text, "rate and offered rate", ""))
}

/// Whether an observation's load was held at what was asked for.
pub(super) fn is_held(one: &Observation) -> bool {
    judge(one).is_some_and(|verdict| verdict.stance == Stance::Limits)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{first, read, slugs};
    use super::*;

    #[test]
    fn a_load_that_is_carried_blames_nothing() {
        let all = read(
            "[[observation]]\nid = \"a\"\nop = \"read\"\noffered_ops_per_s = 800\nops_per_s = 797\ncpu_ratio = { server = 0.98 }\n",
        );
        assert_eq!(first(&all), Segment::OfferedLoad);
        assert!(slugs(&all).contains(&"offered_load".to_owned()));
    }

    #[test]
    fn a_rate_above_what_was_asked_for_is_no_delivered_load() {
        let all =
            read("[[observation]]\nid = \"a\"\nop = \"read\"\noffered_ops_per_s = 800\nops_per_s = 1100\n");
        assert_eq!(first(&all), Segment::Unknown);
    }

    #[test]
    fn a_load_that_is_not_carried_is_limited_by_what_is_full() {
        let all = read(
            "[[observation]]\nid = \"a\"\nop = \"read\"\noffered_ops_per_s = 800\nops_per_s = 610\ncpu_ratio = { server = 0.98 }\n",
        );
        assert_eq!(first(&all), Segment::ServerCpu);
    }
}
