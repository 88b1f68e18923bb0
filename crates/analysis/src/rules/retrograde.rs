//! More clients transfer less: they hinder each other.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::case::table::{self, Bracket, ObservationTable, RisingSeries, times};
use crate::method::given;
use crate::thresholds::{INFERRED_CONFIDENCE, NO_EFFECT_RATIO};
use narrows_model::diagnosis::Severity;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "retrograde-scaling",
    slug: "retrograde",
    segment: Segment::ServerContention,
    title: "more clients reduce the rate",
    definition: "The aggregate falls as clients, requests in flight or threads are added, or several of them together: they interfere with each other (locks, queues, seeks \
                 between files, a cache that is too small for all). The rates alone do not show the cause, so the \
                 confidence is at most 0.7. Fewer clients whose own CPU was busy while that of the many \
                 was not are no baseline. A server that was measured mostly idle is not named.",
    formula: "aggregate(N) < 1/1.05 x the largest aggregate of fewer clients",
    source: "Gunther, Guerrilla Capacity Planning (2007): the coherency term of the universal scalability law",
    example: "8 clients reach 112 MB/s, 32 clients 74 MB/s",
    how_to_measure: None,
    how_to_write: Some("give the rate for several numbers of clients or requests in flight"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    table.load_curves().iter().flat_map(|series| of_series(table, series)).collect()
}

fn of_series(table: &ObservationTable<'_>, series: &RisingSeries<'_>) -> Vec<SegmentVerdict> {
    let mut verdicts = Vec::new();
    let mut best: Option<&Observation> = None;
    for one in series.rows.iter().copied().filter(|one| table.modes(one).is_none()) {
        let Some(peak) = best else {
            best = Some(one);
            continue;
        };
        let Some(faster) = table::speed_up(peak, one) else { continue };
        if faster.low >= 1.0 {
            best = Some(one);
        } else if faster.high < 1.0 / NO_EFFECT_RATIO - table::doubt_ratio(one)
            && series.value(one) > series.value(peak)
            && !table::is_limited_by_itself(peak, one)
        {
            let text = format!(
                "{} reach {} times the rate of {} ({}, {})",
                series.describe(one),
                times(faster),
                series.value(peak).unwrap_or(1.0),
                peak.id,
                one.id
            );
            verdicts.push(fallen(table, one, faster, table::with_other_differences(peak, one, text)));
        }
    }
    verdicts
}

/// What is said of `one`, whose rate fell.
fn fallen(table: &ObservationTable<'_>, one: &Observation, faster: Bracket, text: String) -> SegmentVerdict {
    let is_idle = given::is_idle(table, Segment::Server, one);
    // A path that nothing says to cross a network has no server that could be blamed.
    let verdict = if table.has_network() && !is_idle {
        SegmentVerdict::new(RULE.segment, &one.id, Stance::Limits, Basis::State, 1.0 - faster.high)
    } else {
        SegmentVerdict::note(Segment::Unknown, &one.id, Severity::Warning)
    };
    let idle =
        if is_idle { "; the server was measured mostly idle, so it is not named for that" } else { "" };
    SegmentVerdict { severity: Severity::Warning, ..verdict }
        .with_confidence_max(INFERRED_CONFIDENCE)
        .with_evidence(text + idle, "aggregates of different numbers of clients", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{finding_text, first, read, slugs};
    use std::fmt::Write as _;

    fn observations(rates: [f64; 4]) -> narrows_model::Observations {
        let mut rows = String::new();
        for (clients, rate) in [1, 4, 8, 32].into_iter().zip(rates) {
            writeln!(rows, "[[observation]]\nid = \"c{clients}\"\nop = \"read\"\nclients = {clients}\nbytes_per_s = {rate}e6").unwrap();
        }
        read(&rows)
    }

    #[test]
    fn a_baseline_of_other_files_is_reported() {
        let mut all = observations([30.0, 100.0, 112.0, 74.0]);
        let remark = "the bytes of a client differ between them too";
        assert!(!finding_text(&all, "retrograde").contains(remark));
        all.observations[3].file_bytes = Some(narrows_model::Bytes(1 << 20));
        assert!(finding_text(&all, "retrograde").contains(remark), "{}", finding_text(&all, "retrograde"));
    }

    #[test]
    fn a_rate_that_falls_along_any_axis_of_load_is_reported() {
        let of = |key: &str, rates: [f64; 3]| {
            let mut rows = String::new();
            for (count, rate) in [1, 8, 32].into_iter().zip(rates) {
                let value = key.replace('N', &format!("{count}"));
                writeln!(
                    rows,
                    "[[observation]]\nid = \"q{count}\"\nop = \"read\"\nbytes_per_s = {rate}e6\n{value}"
                )
                .unwrap();
            }
            finding_text(&read(&rows), "retrograde")
        };
        let text = of("in_flight_configured = N", [10.0, 50.0, 30.0]);
        assert!(text.contains("32 requests in flight reach 0.60 times the rate of 8 (q8, q32)"), "{text}");
        assert!(of("factor = { threads = N }", [10.0, 50.0, 30.0]).contains("32 threads reach 0.60"));
        assert!(of("clients = N\nin_flight_configured = N", [10.0, 50.0, 30.0]).contains("32 clients"));
        assert_eq!(of("in_flight_configured = N", [10.0, 50.0, 50.0]), "");
    }

    #[test]
    fn an_aggregate_that_falls_is_contention() {
        let all = observations([30.0, 100.0, 112.0, 74.0]);
        assert!(slugs(&all).contains(&"retrograde".to_owned()));
        assert_eq!(first(&all), Segment::ServerContention);
        assert!(!slugs(&observations([30.0, 100.0, 112.0, 110.0])).contains(&"retrograde".to_owned()));
    }
}
