//! The load generator is the limit: what was measured is itself.

use super::super::table::{self, Table};
use super::ObservationRule;
use crate::rules::{Basis, Stance, Tier, Verdict};
use crate::text;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::{Capacity, Ceiling};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// From this share of what it can issue a generator measures itself.
const LIMITED_RATIO: f64 = 0.8;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "generator-limited",
    slug: "generator_limited",
    segment: Segment::Generator,
    title: "the load generator itself is the limit",
    definition: "The rate is near the most that the load generator issues when nothing is done for it, which a \
                 [[ceiling]] of the segment `generator` says. The figure is then the generator's.",
    formula: "rate >= 0.8 x count x ceiling of `generator`",
    source: "Netperf and fio documentation on null engines; Hoefler and Belli, SC'15, rule 9",
    example: "410 thousand op/s where the generator issues 480 thousand op/s into nothing",
    how_to_measure: "run the same load against nothing (a null engine) and write it as a [[ceiling]] of `generator`",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    let own = table.all.ceilings.iter().filter(|ceiling| ceiling.segment == Segment::Generator);
    own.flat_map(|ceiling| table.observations().iter().filter_map(move |one| judge(ceiling, one))).collect()
}

fn judge(ceiling: &Ceiling, one: &Observation) -> Option<Verdict> {
    let count = Table::count_of(ceiling, one);
    let (rate, most, told): (f64, f64, fn(f64) -> String) = match ceiling.capacity {
        Capacity::BytesPerS(most) => (table::bytes_per_s(one)?.low, most.0 * count, text::storage_rate),
        Capacity::OpsPerS(most) => (table::ops_per_s(one)?, most.0 * count, text::op_rate),
        Capacity::LatencyS(_) => return None,
    };
    let load = ratio(rate, most)?;
    let limited = load >= LIMITED_RATIO;
    let stance = if limited { Stance::Limits } else { Stance::Clears };
    let severity = if limited { Severity::Error } else { Severity::Info };
    let text = format!(
        "{}: {}, {} of the {} that the generator issues into nothing",
        one.id,
        told(rate),
        text::percent(load),
        told(most)
    );
    let verdict = Verdict::on(RULE.segment, &one.id, stance, Basis::Utilisation, load);
    let tier = if limited { Tier::Voids } else { Tier::Resource };
    Some(Verdict { severity, ..verdict }.in_tier(tier).because(text, "ceiling of the generator", ""))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read};
    use super::*;

    const CEILING: &str = "[[ceiling]]\nsegment = \"generator\"\nops_per_s = 480e3\n[[observation]]\nid = \"a\"\nop = \"read\"\n";

    #[test]
    fn a_rate_near_the_generators_own_is_its_own() {
        assert_eq!(first(&read(&format!("{CEILING}ops_per_s = 410e3\n"))), Segment::Generator);
    }

    #[test]
    fn a_generator_with_room_is_cleared() {
        assert!(cleared(&read(&format!("{CEILING}ops_per_s = 41e3\n")), Segment::Generator));
    }
}
