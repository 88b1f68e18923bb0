//! A figure is a mixture: its mean describes none of its parts.

use super::{Rule, SegmentVerdict};
use crate::case::{Cases, ModalFigure};
use crate::method;
use crate::text;
use narrows_model::Segment;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "mixture",
    slug: "mixture",
    segment: Segment::Unknown,
    title: "a figure is a mixture of several",
    definition: "The rates over time, the response times, or the rates of the clients have more than one mode: some \
                 requests, or clients, were served in one way and some in another (a cache and the device behind it, \
                 a burst and the rate after it). The mean is between the modes and describes neither; the sum of such \
                 clients is not used either.",
    formula: "dip of the distribution from the nearest with one mode, p < 0.05, and two modes or more; of the rates of 8 \
              clients or more, 1.2 apart",
    source: "Hartigan and Hartigan, The Dip Test of Unimodality, Annals of Statistics 13 (1985)",
    example: "4 KiB reads: 62 % at 0.08 ms and 38 % at 5.9 ms",
    how_to_measure: Some(
        "nothing to do: every cell is tested; separate the loads, or use the modes instead of the mean",
    ),
    how_to_write: Some("give the rate of every client (per_client_bytes_per_s), not their mean"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let mixed = cases.all().iter().filter(|case| !case.mixtures.is_empty());
    method::notes(
        mixed,
        "modes of the rate over time, of the response times, of the clients' rates",
        |case| {
            let mixtures: Vec<String> = case.mixtures.iter().map(modes).collect();
            format!("{}: {}", case.id, mixtures.join("; "))
        },
    )
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
        fn two_modes_are_told_with_their_shares_and_places() {
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

        fn observations(rate: impl Fn(u32) -> f64) -> narrows_model::Observations {
            let rates: Vec<String> = (0..47).map(|client| rate(client).to_string()).collect();
            read(&format!(
                "[[observation]]\nid = \"a\"\nop = \"read\"\nper_client_bytes_per_s = [{}]\n",
                rates.join(", ")
            ))
        }

        #[test]
        fn two_ways_of_being_served_are_told_and_one_is_not() {
            let mixed =
                observations(|client| if client % 3 == 0 { 4e5 } else { 2.5e8 } + f64::from(client) * 1e3);
            assert!(slugs(&mixed).contains(&"mixture".to_owned()));
            let even = observations(|client| 2e5 + f64::from(client) * 1e3);
            assert!(!slugs(&even).contains(&"mixture".to_owned()));
        }
    }
}
