//! A figure is a mixture: its mean describes none of its parts.

use super::{Rule, Verdict, judge};
use crate::text;
use crate::view::View;
use narrows_model::Segment;
use narrows_model::summary::{CellSummary, MixedFigure, Mixture};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "mixture",
    slug: "mixture",
    segment: Segment::Unknown,
    title: "a figure is a mixture of several",
    definition: "The rates over time, or the response times, of a cell have more than one mode: some requests were \
                 served in one way and some in another (a cache and the device behind it, a burst and the rate after \
                 it). The mean lies between and describes neither.",
    formula: "dip of the distribution from the nearest with one mode, p < 0.05, and two modes or more",
    source: "Hartigan and Hartigan, The Dip Test of Unimodality, Annals of Statistics 13 (1985)",
    example: "4 KiB reads: 62 % at 0.08 ms and 38 % at 5.9 ms",
    how_to_measure: "nothing to do: every cell is tested; part the loads, or read the modes instead of the mean",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    let cells = view.summary.cells.iter().filter(|cell| !cell.mixtures.is_empty());
    judge::notes(cells, "modes of the rate over time and of the response times", told)
}

fn told(cell: &CellSummary) -> String {
    let mixtures: Vec<String> = cell.mixtures.iter().map(modes).collect();
    format!("{}: {}", cell.id, mixtures.join("; "))
}

fn modes(mixture: &Mixture) -> String {
    let shown = |centre: f64| match mixture.figure {
        MixedFigure::RateBytesPerS => text::storage_rate(centre),
        MixedFigure::LatencyNs => text::seconds(centre / 1e9),
    };
    let modes: Vec<String> = mixture
        .modes
        .iter()
        .map(|mode| format!("{} at {}", text::percent(mode.share_ratio), shown(mode.centre)))
        .collect();
    modes.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::summary::Mode;

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
