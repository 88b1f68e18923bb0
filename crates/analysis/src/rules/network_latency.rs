//! Requests wait for round trips of the network.

use super::judge::{self, Shown};
use super::{Basis, Rule, Stance, Verdict};
use crate::text;
use crate::view::{View, time_per_op_s};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "latency-bound",
    slug: "latency_bound",
    segment: Segment::NetworkLatency,
    title: "requests wait for round trips of the network",
    definition: "Each request needs a round trip, and with as many requests in flight as were asked for the round \
                 trips take half of the time or more. More requests at once would fill the waiting. Behind a proxy \
                 the round trips of both legs add up. Not judged over loopback.",
    formula: "round trips x smallest round-trip time >= half of the time of one request (in flight / operation rate)",
    source: "Little, Operations Research 9 (1961): in flight = rate x time; X <= Q x b / RTT",
    example: "4 KiB reads one at a time over 10 ms: 10.0 ms of 10.3 ms (97 %)",
    how_to_measure: "run `narrows serve` on the storage server and give --server HOST:PORT; the smallest round trip is \
                     read from TCP_INFO",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    judge::over_network(view, judge)
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let rtt_s = cell.rtt_min_ns.filter(|rtt| rtt.0 > 0)?.as_secs_f64();
    let command = format!("ss -ti dst {}; ping {}", judge::server_host(view), judge::server_host(view));
    let shown = Shown { counter: "smallest round trip (TCP_INFO)", command: &command };
    if judge::is_single(cell) {
        return judge::time_share(RULE.segment, cell, rtt_s, "one round trip", shown);
    }
    let waiting_s = time_per_op_s(cell)?;
    let share = ratio(rtt_s, waiting_s)?.min(1.0);
    // Below what was asked for, a window holds the requests back; where a segment is full, its queue does.
    let as_asked = judge::as_asked(cell)?;
    let limits = share >= judge::DOMINANT_RATIO && as_asked && !is_saturated(view, cell);
    let stance = if limits { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{}: one round trip of {} in the {} that a request takes with {} in flight ({})",
        cell.id,
        text::seconds(rtt_s),
        text::seconds(waiting_s),
        cell.in_flight.configured,
        text::percent(share),
    );
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::TimeShare, share);
    Some(verdict.within(judge::error_ratio(cell)).because(text, shown.counter, shown.command))
}

/// Whether the path moves nearly what the wire or the storage alone moved.
fn is_saturated(view: &View<'_>, cell: &CellSummary) -> bool {
    let rate = cell.rate_bytes_per_s.unwrap_or_default().0;
    let alone = [Cut::NetworkStream, Cut::ServerStorage].map(|cut| view.ceiling(cut, cell));
    alone.into_iter().flatten().any(|ceiling| rate >= ceiling.bytes_per_s * judge::FULL_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, builtin, cleared, found, machine, measured, named};
    use narrows_model::Nanos;
    use narrows_model::Relation;
    use narrows_model::sim_profile::NetworkLaw;

    #[test]
    fn a_long_way_is_named_together_with_the_missing_concurrency() {
        let summary = builtin("wan-10ms");
        let small = named(&summary, "small synchronous");
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
