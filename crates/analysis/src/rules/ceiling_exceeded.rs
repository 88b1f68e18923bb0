//! The path was faster than a part of it alone.

use super::{Rule, SegmentVerdict};
use crate::case::{Case, Cases};
use crate::facts::CEILING_CUTS;
use crate::facts::flags::{CEILING_EXCEEDED, has};
use crate::facts::network::passing_bytes_per_s;
use crate::method;
use crate::text;
use crate::view::{CutCeiling, SummaryView};
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "ceiling-exceeded",
    slug: "ceiling_exceeded",
    segment: Segment::Unknown,
    title: "the path was faster than one of its segments alone",
    definition: "A path cannot be faster than a stage that all its bytes pass. Where it was, the cut did not reach \
                 the stage's capacity (a measured ceiling is a lower bound, which the path has now raised), or a \
                 cache or a buffer kept bytes from the stage. Such a ceiling is not named as the limit, unless both \
                 rates were so unsteady that their spread explains the excess.",
    formula: "rate > 1.03 x rate of a cut at the same settings",
    source: "Measured ceilings are lower bounds (asymptotic bounds, Denning and Buzen 1978)",
    example: "1 MiB reads at 412 MiB/s where the server's storage alone moved 388 MiB/s",
    how_to_measure: Some(
        "repeat with more trials or a longer --cell-seconds; look at the bytes at wire and device for a cache",
    ),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(view) = cases.view() else { return Vec::new() };
    let exceeded = |case: &&Case<'_>| case.cell().is_some_and(|cell| has(cell, CEILING_EXCEEDED));
    method::notes(cases.all().iter().filter(exceeded), "rates of the path and of its cuts", |case| {
        case.cell().map(|cell| excess(view, cell)).unwrap_or_default()
    })
}

fn excess(view: &SummaryView<'_>, cell: &CellSummary) -> String {
    let found = CEILING_CUTS
        .into_iter()
        .filter_map(|cut| view.ceiling(cut, cell))
        .filter(|found| found.same_settings);
    let passing = |found: &CutCeiling<'_>| passing_bytes_per_s(cell, found.cell.cut);
    let excess = |found: &CutCeiling<'_>| passing(found) / found.bytes_per_s;
    match found.max_by(|a, b| excess(a).total_cmp(&excess(b))) {
        Some(most) => format!(
            "{} moves {}, {} alone {}",
            cell.id,
            text::storage_rate(passing(&most)),
            most.cell.cut.name(),
            text::storage_rate(most.bytes_per_s)
        ),
        None => format!("{} moves more than a cut of it", cell.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::{BytesPerSec, Cut, Summary};

    /// A path with as many bytes a second as its raw stream, times `factor`.
    fn at(factor: f64, flagged: bool) -> Summary {
        let mut summary = builtin("gigabit-nfs");
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.rate_bytes_per_s = cell.rate_bytes_per_s.map(|rate| BytesPerSec(rate.0 * factor));
            cell.interval = None;
            cell.flags.clear();
            cell.flags.extend(flagged.then(|| CEILING_EXCEEDED.to_owned()));
        }
        summary
    }

    #[test]
    fn a_path_above_a_cut_is_reported_and_the_cut_blames_nothing() {
        let diagnosis = crate::diagnose(&at(1.15, true));
        assert!(diagnosis.findings.iter().any(|finding| finding.code == RULE.code));
        let bulk = diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("bulk"));
        assert!(
            bulk.clone().all(|entry| entry.segment != Segment::NetworkBandwidth),
            "{:?}",
            diagnosis.limiting
        );
    }

    #[test]
    fn a_path_at_its_ceiling_is_not_reported_and_blames_it() {
        let diagnosis = crate::diagnose(&at(1.0, false));
        assert!(!diagnosis.findings.iter().any(|finding| finding.code == RULE.code));
        assert_eq!(diagnosis.limiting[0].segment, Segment::NetworkBandwidth);
    }
}
