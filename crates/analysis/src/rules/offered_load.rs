//! The load that was asked for is delivered: nothing of the path is at its limit.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::{Case, Cases};
use crate::text;
use narrows_model::Segment;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "load-delivered",
    slug: "offered_load",
    segment: Segment::OfferedLoad,
    title: "the offered load is delivered",
    definition: "The rate was capped, or requests arrived by a schedule (open loop) or after a think time, and the \
                 path completed nearly all that was requested. The capacity of the path was not measured: no other \
                 verdict on such a load is valid. In an observation file a rate a tenth above the offered one is not \
                 a delivered load: one of the figures is wrong.",
    formula: "rate >= 0.95 x cap on bytes or operations a second, or x the offered operations a second, or x \
              requests in flight / think time; in a file 1.1 x offered rate >= rate >= 0.95 x offered rate",
    source: "Open and closed loads: a delivered load is below capacity, Jain (1991), chapter 31",
    example: "1 MiB reads at 9.96 MiB/s under a cap of 10.0 MiB/s",
    how_to_measure: Some("set a rate below the capacity of the path; omit --max-rate to find what limits"),
    how_to_write: Some("offer more than the path can complete"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_loads(evaluate)
}

fn evaluate(case: &Case<'_>) -> Option<SegmentVerdict> {
    let offered = case.offered.as_ref()?;
    let delivered = case.is_delivered();
    let stance = if delivered { Stance::Limits } else { Stance::Clears };
    let share = text::percent(offered.share);
    let text = format!("{}: {}, {share} of the {} requested", case.id, offered.moved, offered.wanted);
    let verdict = SegmentVerdict::new(RULE.segment, case.id, stance, Basis::State, offered.share.min(1.0));
    let tier = if delivered { Tier::Voids } else { Tier::Resource };
    Some(verdict.with_tier(tier).with_evidence(text, "rate and offered load", ""))
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::testing::{Grid, cleared, found, machine, measured_by, plan};
        use narrows_model::{Cut, Summary};

        /// A file server of which every cell but the generator's is capped.
        fn capped(bytes_per_s: u64) -> Summary {
            let profile = machine("gigabit-nfs");
            let mut plan = plan(&profile, Grid::default());
            plan.segments.push(Segment::OfferedLoad);
            for cell in plan.cells.iter_mut().filter(|cell| cell.cut != Cut::Generator) {
                cell.workload.max_bytes_per_s = Some(bytes_per_s);
                cell.stop.measure_ns = narrows_model::Nanos(20_000_000_000);
            }
            measured_by(&profile, &plan)
        }

        #[test]
        fn a_load_limited_to_its_cap_is_delivered_and_blames_nothing() {
            let summary = capped(20_000_000);
            let bulk: Vec<_> =
                summary.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("bulk")).collect();
            assert!(
                !bulk.is_empty() && bulk.iter().all(|entry| entry.segment == Segment::OfferedLoad),
                "{bulk:?}"
            );
            assert!(!cleared(&summary, Segment::NetworkBandwidth), "a capped load shows no spare bandwidth");
            assert!(summary.prediction.cells.iter().all(|cell| !cell.cell.contains("1MiB")));
            assert!(!found(&summary, "ceiling-exceeded"));
        }

        #[test]
        fn a_load_that_thinks_nearly_all_of_the_time_is_delivered() {
            let mut summary = crate::testing::builtin("local-ssd");
            for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
                let each_s = cell.in_flight.configured as f64 / cell.ops_per_s.unwrap().0;
                cell.requested.think_ns =
                    narrows_model::Nanos(narrows_model::units::round_to_u64(each_s * 0.97e9));
            }
            let limiting = crate::diagnose(&summary).limiting;
            assert!(!limiting.is_empty());
            assert!(limiting.iter().all(|entry| entry.segment == Segment::OfferedLoad), "{limiting:?}");
        }

        #[test]
        fn a_cap_above_what_the_path_transfers_does_not_change_the_verdict() {
            let summary = capped(1_000_000_000);
            assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::OfferedLoad));
            assert_eq!(summary.diagnosis.limiting[0].segment, Segment::NetworkBandwidth);
        }

        #[test]
        fn a_cut_limited_to_its_cap_convicts_nothing() {
            let mut summary = capped(20_000_000);
            for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
                cell.rate_bytes_per_s =
                    cell.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 * 0.94));
            }
            let diagnosis = crate::diagnose(&summary);
            let convicted = |segment| diagnosis.limiting.iter().any(|entry| entry.segment == segment);
            assert!(
                !convicted(Segment::NetworkBandwidth) && !convicted(Segment::DeviceBandwidth),
                "{:?}",
                diagnosis.limiting
            );
        }
    }

    mod of_files {
        use super::super::*;
        use crate::testing::observed::{first, read, slugs};

        #[test]
        fn a_load_that_is_transferred_blames_nothing() {
            let all = read(
                "[[observation]]\nid = \"a\"\nop = \"read\"\noffered_ops_per_s = 800\nops_per_s = 797\ncpu_ratio = { server = 0.98 }\n",
            );
            assert_eq!(first(&all), Segment::OfferedLoad);
            assert!(slugs(&all).contains(&"offered_load".to_owned()));
        }

        #[test]
        fn a_rate_above_what_was_asked_for_is_no_delivered_load() {
            let all = read(
                "[[observation]]\nid = \"a\"\nop = \"read\"\noffered_ops_per_s = 800\nops_per_s = 1100\n",
            );
            assert_eq!(first(&all), Segment::Unknown);
        }

        #[test]
        fn a_load_that_is_not_transferred_is_limited_by_what_is_full() {
            let all = read(
                "[[observation]]\nid = \"a\"\nop = \"read\"\noffered_ops_per_s = 800\nops_per_s = 610\ncpu_ratio = { server = 0.98 }\n",
            );
            assert_eq!(first(&all), Segment::ServerCpu);
        }
    }
}
