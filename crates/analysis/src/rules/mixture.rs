//! A figure is a mixture: its mean describes none of its parts.

use super::{Rule, SegmentVerdict};
use crate::case::table;
use crate::case::{Cases, ModalFigure};
use crate::method;
use crate::text;
use crate::thresholds::STRONG_GAIN_RATIO;
use narrows_model::diagnosis::Severity;
use narrows_model::observation::Quality;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "mixture",
    slug: "mixture",
    segment: Segment::Unknown,
    title: "a figure is a mixture of several",
    definition: "The rates over time, the response times, or the rates of the clients have more than one mode: some \
                 requests, or clients, were served in one way and some in another (a cache and the device behind it, \
                 a burst and the rate after it). The mean is between the modes and describes neither; the sum of such \
                 clients is not used either. In a file, observations of one setting that are a quarter apart are \
                 reported too: something that the file does not say differed.",
    formula: "dip of the distribution from the nearest with one mode, p < 0.05, and two modes or more; of the rates of 8 \
              clients or more, 1.2 apart; of repeats in a file, fastest / slowest >= 1.25",
    source: "Hartigan and Hartigan, The Dip Test of Unimodality, Annals of Statistics 13 (1985)",
    example: "4 KiB reads: 62 % at 0.08 ms and 38 % at 5.9 ms",
    how_to_measure: Some(
        "nothing to do: every cell is tested; separate the loads, or use the modes instead of the mean",
    ),
    how_to_write: Some("give the rate of every client (per_client_bytes_per_s), not their mean"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let mut verdicts = repeats(cases);
    let mixed = cases.all().iter().filter(|case| !case.mixtures.is_empty());
    verdicts.extend(method::notes(
        mixed,
        "modes of the rate over time, of the response times, of the clients' rates",
        |case| {
            let mixtures: Vec<String> = case.mixtures.iter().map(modes).collect();
            format!("{}: {}", case.id, mixtures.join("; "))
        },
    ));
    verdicts
}

/// Observations of one setting whose rates are further apart than repeats are.
fn repeats(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let is_bound = |one: &Observation| matches!(one.quality, Quality::LowerBound | Quality::UpperBound);
    let of_group = |group: Vec<&Observation>| {
        let measured: Vec<&Observation> = group.into_iter().filter(|one| !is_bound(one)).collect();
        let slowest = measured.iter().copied().reduce(|a, b| if is_faster(a, b) { b } else { a })?;
        let fastest = measured.iter().copied().reduce(|a, b| if is_faster(b, a) { b } else { a })?;
        let apart = table::speed_up(slowest, fastest)?;
        let doubt = table::doubt_ratio(slowest).max(table::doubt_ratio(fastest));
        (apart.low >= STRONG_GAIN_RATIO + doubt).then(|| {
            let text = format!(
                "{} observations of one setting differ: {} is {} times as fast as {}",
                measured.len(),
                fastest.id,
                table::times(apart),
                slowest.id
            );
            let note = SegmentVerdict::note(RULE.segment, &slowest.id, Severity::Warning);
            note.with_evidence(text, "rates of repeats", "")
        })
    };
    table.repeats().into_iter().filter_map(of_group).collect()
}

/// Whether `a` is faster than `b`.
fn is_faster(a: &Observation, b: &Observation) -> bool {
    table::speed_up(b, a).is_some_and(|faster| faster.low > 1.0)
}

fn modes(parts: &ModalFigure) -> String {
    let of = parts.of.as_ref().map(|of| format!("{of}, ")).unwrap_or_default();
    let modes: Vec<String> =
        parts.modes.iter().map(|(share, centre)| format!("{} at {centre}", text::percent(*share))).collect();
    format!("{of}{}", modes.join(" and "))
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::testing::builtin;
        use narrows_model::summary::Mode;
        use narrows_model::summary::{MixedFigure, Mixture};

        #[test]
        fn two_modes_are_reported_with_their_shares_and_places() {
            let mut summary = builtin("local-ssd");
            let mode = |centre: f64, share_ratio: f64| Mode { centre, share_ratio };
            summary.cells[0].mixtures = vec![Mixture {
                figure: MixedFigure::LatencyNs,
                p_value: 0.001,
                modes: vec![mode(80_000.0, 0.62), mode(5.9e6, 0.38)],
            }];
            let found = crate::diagnose(&summary).findings;
            let finding = found.iter().find(|finding| finding.code == RULE.code).unwrap();
            assert_eq!(finding.cells, [summary.cells[0].id.clone()]);
            let text = &finding.evidence[0].text;
            assert!(text.ends_with("62 % at 80.0 us and 38 % at 5.90 ms"), "{text}");
        }

        #[test]
        fn one_mode_is_no_mixture() {
            let mut summary = builtin("local-ssd");
            for cell in &mut summary.cells {
                cell.mixtures.clear();
            }
            assert!(!crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code));
        }
    }

    mod of_files {
        use crate::testing::observed::{read, slugs};

        #[test]
        fn repeats_that_disagree_are_reported_and_others_are_not() {
            let of = |rate: &str, rest: &str| {
                slugs(&read(&format!(
                    "[[observation]]\nid = \"a\"\nop = \"write\"\nbytes_per_s = 50e6\n\
                     [[observation]]\nid = \"b\"\nop = \"write\"\nbytes_per_s = {rate}\n{rest}\n"
                )))
                .contains(&"mixture".to_owned())
            };
            assert!(of("150e6", "") && !of("55e6", ""));
            assert!(!of("150e6", "connections = 4") && !of("150e6", "block_bytes = 4096"));
        }

        fn observations(rate: impl Fn(u32) -> f64) -> narrows_model::Observations {
            let rates: Vec<String> = (0..47).map(|client| rate(client).to_string()).collect();
            read(&format!(
                "[[observation]]\nid = \"a\"\nop = \"read\"\nper_client_bytes_per_s = [{}]\n",
                rates.join(", ")
            ))
        }

        #[test]
        fn two_ways_of_being_served_are_reported_and_one_is_not() {
            let mixed =
                observations(|client| if client % 3 == 0 { 4e5 } else { 2.5e8 } + f64::from(client) * 1e3);
            assert!(slugs(&mixed).contains(&"mixture".to_owned()));
            let even = observations(|client| 2e5 + f64::from(client) * 1e3);
            assert!(!slugs(&even).contains(&"mixture".to_owned()));
        }
    }
}
