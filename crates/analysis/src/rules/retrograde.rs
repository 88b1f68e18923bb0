//! More clients transfer less: they hinder each other.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::case::table::{self, CLIENTS, ObservationTable, times};
use crate::thresholds::{INFERRED_CONFIDENCE, NO_EFFECT_RATIO};
use narrows_model::cell::FactorValue;
use narrows_model::diagnosis::Severity;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "retrograde-scaling",
    slug: "retrograde",
    segment: Segment::ServerContention,
    title: "more clients reduce the rate",
    definition: "The aggregate falls as clients, requests in flight or threads are added: they interfere with each other (locks, queues, seeks \
                 between files, a cache that is too small for all). The rates alone do not show the cause, so the \
                 confidence is at most 0.7. Fewer clients whose own CPU was busy while they moved less \
                 than half the bytes of each of many idle ones are no baseline.",
    formula: "aggregate(N) < 1/1.05 x the largest aggregate of fewer clients",
    source: "Gunther, Guerrilla Capacity Planning (2007): the coherency term of the universal scalability law",
    example: "8 clients reach 112 MB/s, 32 clients 74 MB/s",
    how_to_measure: None,
    how_to_write: Some("give the rate for several numbers of clients or requests in flight"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let of_axis = |axis: LoadAxis<'_>| -> Vec<SegmentVerdict> {
        axis.series(table).iter().flat_map(|series| of_series(table, axis, series)).collect()
    };
    let threads = table.factors().into_iter().filter(|name| OF_LOAD.contains(name)).map(LoadAxis::Factor);
    [LoadAxis::Clients, LoadAxis::InFlight].into_iter().chain(threads).flat_map(of_axis).collect()
}

/// Factors that are how much is asked for at once, under the names that load generators have for them.
const OF_LOAD: [&str; 7] = ["threads", "jobs", "numjobs", "workers", "processes", "queue_depth", "iodepth"];

/// What is raised along a curve.
#[derive(Debug, Clone, Copy)]
enum LoadAxis<'f> {
    Clients,
    InFlight,
    Factor(&'f str),
}

impl LoadAxis<'_> {
    fn series<'a>(self, table: &ObservationTable<'a>) -> Vec<Vec<&'a Observation>> {
        match self {
            Self::Clients => table.series(CLIENTS),
            Self::InFlight => table.in_flight_series(),
            Self::Factor(name) => table.series(name),
        }
    }

    fn value(self, one: &Observation) -> Option<f64> {
        match self {
            Self::Clients => one.clients.map(|clients| clients as f64),
            Self::InFlight => one.in_flight_configured,
            Self::Factor(name) => match one.factors.get(name) {
                Some(FactorValue::Number(number)) => Some(*number),
                _ => None,
            },
        }
    }

    fn name(self) -> String {
        match self {
            Self::Clients => "clients".to_owned(),
            Self::InFlight => "requests in flight".to_owned(),
            Self::Factor(name) => name.replace('_', " "),
        }
    }
}

fn of_series(
    table: &ObservationTable<'_>,
    axis: LoadAxis<'_>,
    series: &[&Observation],
) -> Vec<SegmentVerdict> {
    let mut verdicts = Vec::new();
    let mut best: Option<&Observation> = None;
    for one in series.iter().copied().filter(|one| table.modes(one).is_none()) {
        let Some(peak) = best else {
            best = Some(one);
            continue;
        };
        let Some(faster) = table::speed_up(peak, one) else { continue };
        if faster.low >= 1.0 {
            best = Some(one);
        } else if faster.high < 1.0 / NO_EFFECT_RATIO - table::doubt_ratio(one)
            && axis.value(one) > axis.value(peak)
            && !table::is_limited_by_itself(peak, one)
        {
            let clients = |one: &Observation| axis.value(one).unwrap_or(1.0);
            let text = format!(
                "{} {} reach {} times the rate of {} ({}, {})",
                clients(one),
                axis.name(),
                times(faster),
                clients(peak),
                peak.id,
                one.id
            );
            let verdict =
                SegmentVerdict::new(RULE.segment, &one.id, Stance::Limits, Basis::State, 1.0 - faster.high);
            // A path that nothing says to cross a network has no server that could be blamed.
            let verdict = if table.has_network() {
                verdict
            } else {
                SegmentVerdict::note(Segment::Unknown, &one.id, Severity::Warning)
            };
            let verdict = SegmentVerdict { severity: Severity::Warning, ..verdict }
                .with_confidence_max(INFERRED_CONFIDENCE);
            let text = table::with_other_differences(peak, one, text);
            verdicts.push(verdict.with_evidence(text, "aggregates of different numbers of clients", ""));
        }
    }
    verdicts
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
