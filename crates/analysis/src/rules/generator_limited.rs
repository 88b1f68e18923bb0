//! The load generator is the limit: what it measures is itself.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::{Case, Cases};
use crate::text;
use crate::thresholds::GENERATOR_LIMITED_RATIO;
use narrows_model::Segment;
use narrows_model::diagnosis::Severity;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "generator-limited",
    slug: "generator_limited",
    segment: Segment::Generator,
    title: "the load generator itself is the limit",
    definition: "The rate of the path is close to what the generator can issue when no work is done for a request; \
                 for an observation a [[ceiling]] of the segment `generator` gives that rate. The figure then shows \
                 the generator's speed, not the path's.",
    formula: "rate of the path >= 0.8 x rate of the null engine with the same settings (in a file 0.8 x count x ceiling of \
              `generator`)",
    source: "Netperf and fio documentation on null engines; Hoefler and Belli, SC'15, rule 9",
    example: "4 KiB reads from memory at 410 thousand op/s where the null engine reaches 480 thousand op/s: 85 %",
    how_to_measure: Some(
        "compare with the null engine at the same settings (cut `generator`); relieve it with more clients",
    ),
    how_to_write: Some(
        "run the same load against nothing (a null engine) and write it as a [[ceiling]] of `generator`",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_loads(evaluate)
}

fn evaluate(case: &Case<'_>) -> Option<SegmentVerdict> {
    let generator = case.generator.as_ref()?;
    let limited = generator.is_limited.unwrap_or(generator.load >= GENERATOR_LIMITED_RATIO);
    let (stance, severity, tier) = if limited {
        (Stance::Limits, Severity::Error, Tier::Voids)
    } else {
        (Stance::Clears, Severity::Info, Tier::Resource)
    };
    let text = format!(
        "{}: {}, {} of the {} that the generator issues when no work is done for a request",
        case.id,
        generator.rate,
        text::percent(generator.load),
        generator.most,
    );
    let verdict = SegmentVerdict::new(RULE.segment, case.id, stance, Basis::Utilisation, generator.load);
    let verdict =
        SegmentVerdict { severity, ..verdict }.with_tier(tier).with_load_error(generator.error_ratio);
    Some(verdict.with_evidence(text, "what the generator alone issues", ""))
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::facts::flags::GENERATOR_LIMITED;
        use crate::testing::{Grid, builtin, cleared, found, machine, measured, named};
        use narrows_model::Cut;
        use narrows_model::Nanos;
        use narrows_model::sim_profile::{SimProfile, StationLaw};

        fn slow_generator() -> SimProfile {
            let generator = StationLaw { per_op_ns: Nanos(2_000_000), ..StationLaw::default() };
            SimProfile { client_cpus: 1.0, generator, ..machine("ten-gigabit-nfs") }
        }

        #[test]
        fn a_generator_that_costs_more_than_the_path_is_named_first() {
            let summary = measured(&slow_generator(), Grid::default());
            assert_eq!(named(&summary, "bulk")[0], Segment::Generator);
            assert!(summary.generator.limited);
        }

        #[test]
        fn the_flag_of_the_cell_decides() {
            let mut summary = builtin("ten-gigabit-nfs");
            for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
                cell.flags.push(GENERATOR_LIMITED.to_owned());
            }
            assert_eq!(crate::diagnose(&summary).limiting[0].segment, Segment::Generator);
        }

        #[test]
        fn a_cheap_generator_is_cleared() {
            let summary = builtin("ten-gigabit-nfs");
            assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::Generator));
            assert!(summary.generator.headroom_ratio.is_some_and(|ratio| ratio > 10.0));
        }
    }

    mod of_files {
        use super::super::*;
        use crate::testing::observed::{cleared, first, read};

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
}
