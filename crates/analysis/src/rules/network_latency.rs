//! Requests wait for round trips of the network.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::case::table::{self, ObservationTable};
use crate::facts::{TravelTime, time_per_op_s};
use crate::method::time::share_of_time;
use crate::method::{self, EvidenceSource, network};
use crate::text;
use crate::thresholds::{BARELY_RATIO, DOMINANT_RATIO, FULL_RATIO};
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Observation, Segment};
use narrows_stats::regression::{DataPoint, fit_line};

/// Round-trip times that make a line.
const RTT_COUNT_MIN: usize = 3;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "latency-bound",
    slug: "latency_bound",
    segment: Segment::NetworkLatency,
    title: "requests wait for round trips of the network",
    definition: "Each request needs a round trip, and with the requested number in flight the round trips take half \
                 of the time or more. More requests in flight would use the waiting time. Behind a proxy the round \
                 trips of both legs add up. Not evaluated over loopback. In an observation file each round trip waits \
                 for the one before it; half of the messages are taken as round trips where those were not counted. \
                 Over several round-trip times the slope of the elapsed time is the number of serial round trips. If \
                 there are a quarter more of them than fit into the time, they were not serial, and nothing is \
                 reported.",
    formula: "round trips x smallest round-trip time >= half of the time of one request (in flight / operation rate); in a \
              file round trips x RTT / (in flight x elapsed) >= 0.5, or slope of elapsed over RTT, x RTT / elapsed >= 0.5",
    source: "Little, Operations Research 9 (1961): in flight = rate x time; X <= Q x b / RTT; Radkov et al., A \
             Performance Comparison of NFS and iSCSI, FAST 2004, on wide-area latency",
    example: "4 KiB reads one at a time over 10 ms: 10.0 ms of 10.3 ms (97 %)",
    how_to_measure: Some(
        "run `narrows serve` on the storage server and give --server HOST:PORT; the smallest round trip is \
                     read from TCP_INFO",
    ),
    how_to_write: Some("give rtt_s with round_trips or messages, or repeat with another round-trip time"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let slopes = cases.table().map(slopes).unwrap_or_default();
    let mut verdicts = cases.evaluate_cells_over_network(evaluate);
    verdicts.extend(cases.evaluate_observations(|table, one| {
        let slope = slopes.iter().find(|(id, _)| *id == one.id).map(|(_, slope)| *slope);
        counted(table, one).or_else(|| by_slope(one, slope?))
    }));
    verdicts
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let travel = TravelTime::of_cell(cell)?;
    let travel_s = travel.whole_s();
    let command = format!("ss -ti dst {}; ping {}", method::server_host(view), method::server_host(view));
    let shown = EvidenceSource { counter: "smallest round trip (TCP_INFO)", command: &command };
    if method::is_single(cell) {
        let verdict = method::time_share(RULE.segment, cell, travel_s, travel.words(), shown)?;
        return Some(SegmentVerdict { scope: travel.scope(), ..verdict });
    }
    let waiting_s = time_per_op_s(cell)?;
    let share = ratio(travel_s, waiting_s)?.min(1.0);
    // With fewer in flight than asked for, a window delays the requests; where a segment is full, its queue does.
    let reached_depth = method::reached_depth(cell)?;
    let has_queue = is_saturated(view, cell) && !network::is_mostly_round_trip(cell);
    let limits = share >= DOMINANT_RATIO && reached_depth && !has_queue;
    let stance = if limits { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{}: {} of {} in the {} that a request takes with {} in flight ({})",
        cell.id,
        travel.words(),
        text::seconds(travel_s),
        text::seconds(waiting_s),
        cell.in_flight.configured,
        text::percent(share),
    );
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::TimeShare, share);
    let verdict = SegmentVerdict { scope: travel.scope(), ..verdict.unsure_if(share < BARELY_RATIO) };
    Some(verdict.with_load_error(method::error_ratio(cell)).with_evidence(text, shown.counter, shown.command))
}

/// Whether the path moves nearly what the wire or the storage alone moved.
fn is_saturated(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let rate = cell.rate_bytes_per_s.unwrap_or_default().0;
    let alone = [Cut::NetworkStream, Cut::ServerStorage].map(|cut| view.ceiling(cut, cell));
    alone.into_iter().flatten().any(|ceiling| rate >= ceiling.bytes_per_s * FULL_RATIO)
}

fn counted(table: &ObservationTable<'_>, one: &Observation) -> Option<SegmentVerdict> {
    let (rtt_s, count, elapsed_s) = (table::rtt_s(table, one)?, table::round_trips(one)?, one.elapsed_s?);
    let in_flight = table::in_flight(one).unwrap_or(1.0).max(1.0);
    let share = ratio(count * rtt_s, in_flight * elapsed_s)?;
    let each = if in_flight > 1.0 { format!(", {in_flight:.0} at a time,") } else { String::new() };
    let text = format!(
        "{}: {count:.0} round trips{each} at {} make {} of {} ({})",
        one.id,
        text::seconds(rtt_s),
        text::seconds(count * rtt_s / in_flight),
        text::seconds(elapsed_s),
        text::percent(share)
    );
    observed(one, share, text)
}

fn by_slope(one: &Observation, slope: f64) -> Option<SegmentVerdict> {
    let (rtt_s, elapsed_s) = (one.rtt_s?, one.elapsed_s?);
    let share = ratio(slope * rtt_s, elapsed_s)?;
    let text = format!(
        "{}: the time grows by {slope:.0} round trips, which at {} make {} of {}",
        one.id,
        text::seconds(rtt_s),
        text::percent(share),
        text::seconds(elapsed_s)
    );
    observed(one, share, text)
}

/// Observations that differ in the round-trip time, with the slope of the time over it.
fn slopes(table: &ObservationTable<'_>) -> Vec<(String, f64)> {
    let groups = table.groups(|one| one.rtt_s.zip(one.elapsed_s).map(|_| table::setting(one, "rtt_s")));
    let of_group = |group: &Vec<&Observation>| {
        let points: Vec<DataPoint> =
            group.iter().filter_map(|one| Some(DataPoint { x: one.rtt_s?, y: one.elapsed_s? })).collect();
        let mut times: Vec<f64> = points.iter().map(|point| point.x).collect();
        times.sort_by(f64::total_cmp);
        times.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * b.abs());
        if times.len() < RTT_COUNT_MIN {
            return None;
        }
        fit_line(&points).ok().map(|line| line.slope).filter(|slope| *slope > 0.0)
    };
    let each = |group: &Vec<&Observation>| {
        let slope = of_group(group)?;
        Some(group.iter().map(|one| (one.id.clone(), slope)).collect::<Vec<_>>())
    };
    groups.iter().filter_map(each).flatten().collect()
}

fn observed(one: &Observation, share: f64, text: String) -> Option<SegmentVerdict> {
    let shown =
        EvidenceSource { counter: "round trips, round-trip time and elapsed time", command: "ping HOST" };
    share_of_time(RULE.segment, &one.id, share, text, shown)
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::testing::{Grid, builtin, cleared, found, machine, measured, named};
        use narrows_model::Nanos;
        use narrows_model::Relation;
        use narrows_model::sim_profile::NetworkLaw;

        #[test]
        fn a_long_way_is_named_together_with_the_missing_concurrency() {
            let summary = builtin("wan-10ms");
            let small = named(&summary, "single");
            assert_eq!(small, [Segment::NetworkLatency, Segment::WorkloadConcurrency]);
            let joint = |entry: &&narrows_model::Limiting| entry.relation == Relation::Joint;
            assert_eq!(summary.diagnosis.limiting.iter().filter(joint).count(), 2);
        }

        #[test]
        fn many_requests_wait_for_a_very_long_way_until_something_is_full() {
            let mut far = machine("ten-gigabit-nfs");
            far.network = far.network.map(|network| NetworkLaw { rtt_ns: Nanos(40_000_000), ..network });
            let summary = measured(&far, Grid::default());
            assert_eq!(named(&summary, "bulk")[0], Segment::NetworkLatency);
            let full = builtin("gigabit-nfs");
            assert!(!named(&full, "bulk").contains(&Segment::NetworkLatency));
        }

        #[test]
        fn a_short_way_is_cleared() {
            let summary = builtin("slow-disk");
            assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::NetworkLatency));
        }
    }

    mod of_files {
        use super::super::*;
        use crate::testing::observed::{cleared, first, read};
        use std::fmt::Write as _;

        #[test]
        fn serial_requests_over_a_long_way_are_latency() {
            let of = |rtt: f64| {
                read(&format!(
                    "[[observation]]\nid = \"a\"\nop = \"read\"\nelapsed_s = 100\nround_trips = 16384\nrtt_s = {rtt}\n"
                ))
            };
            assert_eq!(first(&of(0.005)), Segment::NetworkLatency);
            assert!(cleared(&of(0.001), Segment::NetworkLatency));
            assert_eq!(first(&of(0.1)), Segment::Unknown, "they cannot have been serial");
        }

        #[test]
        fn the_published_latency_sweep_is_latency_bound_by_its_slope_alone() {
            let mut rows = String::new();
            for (rtt, elapsed) in [(10, 200), (20, 300), (30, 500), (50, 800), (90, 1600)] {
                writeln!(rows, "[[observation]]\nid = \"{rtt}ms\"\nop = \"read\"\nrtt_s = {}\nelapsed_s = {elapsed}\nquality = \"approximate\"", f64::from(rtt) / 1000.0).unwrap();
            }
            assert_eq!(first(&read(&rows)), Segment::NetworkLatency);
        }
    }
}
