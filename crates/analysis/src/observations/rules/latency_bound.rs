//! Round trips, one after the other, make the time.

use super::super::table::{self, Table};
use super::ObservationRule;
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::observation::Capacity;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};
use narrows_stats::regression::{Point, fit_line};

/// From this share of the time round trips dominate it, as in the rules of summaries.
const DOMINANT_RATIO: f64 = 0.5;
/// More round trips than fit into the time were not made one after the other.
const SERIAL_MAX: f64 = 1.15;
/// Round-trip times that make a line.
const POINTS_MIN: usize = 3;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "latency-bound",
    slug: "latency_bound",
    segment: Segment::NetworkLatency,
    title: "round trips make the time",
    definition: "Each round trip waits for the one before it, so their number times the round-trip time is time that no \
                 faster link, server or disk saves. Half of the messages are taken as round trips where those were not \
                 counted. Over several round-trip times the slope of the elapsed time is the number of serial round trips. \
                 More of them than fit into the time by 15 % were not serial, and then nothing is said.",
    formula: "round trips x RTT / (in flight x elapsed) >= 0.5; or slope of elapsed over RTT, x RTT / elapsed >= 0.5",
    source: "Radkov et al., A Performance Comparison of NFS and iSCSI, FAST 2004, on wide-area latency",
    example: "16384 reads of 8 KB at 90 ms: 1475 s of 1600 s",
    how_to_measure: "give rtt_s with round_trips or messages, or repeat with another round-trip time",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    let slopes = slopes(table);
    let of_one = |one: &Observation| {
        let counted = counted(table, one);
        let slope = slopes.iter().find(|(id, _)| *id == one.id).map(|(_, slope)| *slope);
        counted.or_else(|| by_slope(one, slope?))
    };
    table.observations().iter().filter_map(of_one).collect()
}

/// The round-trip time: that of the observation, else that of the network's ceiling.
pub(super) fn rtt_s(table: &Table<'_>, one: &Observation) -> Option<f64> {
    let declared = || {
        table.all.ceilings.iter().find_map(|ceiling| match ceiling.capacity {
            Capacity::LatencyS(seconds) if ceiling.segment == Segment::NetworkLatency => Some(seconds),
            _ => None,
        })
    };
    one.rtt_s.or_else(declared)
}

fn counted(table: &Table<'_>, one: &Observation) -> Option<Verdict> {
    let (rtt_s, count, elapsed_s) = (rtt_s(table, one)?, table::round_trips(one)?, one.elapsed_s?);
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
    verdict(one, share, text)
}

fn by_slope(one: &Observation, slope: f64) -> Option<Verdict> {
    let (rtt_s, elapsed_s) = (one.rtt_s?, one.elapsed_s?);
    let share = ratio(slope * rtt_s, elapsed_s)?;
    let text = format!(
        "{}: the time grows by {slope:.0} round trips, which at {} make {} of {}",
        one.id,
        text::seconds(rtt_s),
        text::percent(share),
        text::seconds(elapsed_s)
    );
    verdict(one, share, text)
}

fn verdict(one: &Observation, share: f64, text: String) -> Option<Verdict> {
    if share > SERIAL_MAX {
        return None;
    }
    let stance = if share >= DOMINANT_RATIO { Stance::Limits } else { Stance::Clears };
    let gain = ratio(1.0, 1.0 - share).filter(|gain| stance == Stance::Limits && *gain < 100.0);
    let verdict = Verdict::on(RULE.segment, &one.id, stance, Basis::TimeShare, share.min(1.0)).gains(gain);
    Some(verdict.because(text, "round trips, round-trip time and elapsed time", "ping HOST"))
}

/// Observations that differ in the round-trip time, with the slope of the time over it.
fn slopes(table: &Table<'_>) -> Vec<(String, f64)> {
    let groups = table.groups(|one| one.rtt_s.zip(one.elapsed_s).map(|_| table::setting(one, "rtt_s")));
    let of_group = |group: &Vec<&Observation>| {
        let points: Vec<Point> =
            group.iter().filter_map(|one| Some(Point { x: one.rtt_s?, y: one.elapsed_s? })).collect();
        let mut times: Vec<f64> = points.iter().map(|point| point.x).collect();
        times.sort_by(f64::total_cmp);
        times.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * b.abs());
        if times.len() < POINTS_MIN {
            return None;
        }
        fit_line(&points).ok().map(|line| line.slope).filter(|slope| *slope > 0.0)
    };
    let told = |group: &Vec<&Observation>| {
        let slope = of_group(group)?;
        Some(group.iter().map(|one| (one.id.clone(), slope)).collect::<Vec<_>>())
    };
    groups.iter().filter_map(told).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read};
    use super::*;
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
