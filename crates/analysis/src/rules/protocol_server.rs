//! A server on which nothing of ours runs is what requests wait for: its software, whatever of it.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::{Case, Cases};
use crate::facts::{TravelTime, reads, time_per_op_s};
use crate::method::protocol::{self, WireState};
use crate::method::{self, EvidenceSource};
use crate::text;
use crate::thresholds::{DOMINANT_RATIO, ELIMINATED_CONFIDENCE, FREE_RATIO, INFERRED_CONFIDENCE};
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "protocol-server-bound",
    slug: "server",
    segment: Segment::Server,
    title: "requests wait for the server, on which nothing of ours runs",
    definition: "A storage protocol is spoken to a server on which nothing of ours runs. With one request in flight, \
                 what remains of its time in the server's memory without the network's round trip, the block's time on \
                 the wire and the client's CPU is the server's; of a durable write with what its commit takes, where neither is half of its time. With many, the same few blocks from the server's memory \
                 move hardly more than the path, the wire has room, the client's CPU is not full, round trips of the network are less \
                 than half of a request's time, and more connections add nothing: the server is left. Where more connections gain, but long replies of reads arrive at more than four \
                 times the rate, less than half a request is on its way at a time, the client's CPU is not busy and the gain is under 1.9, \
                 server and connection are not distinguished, and both are named. Its CPU, its threads and its protocol were not seen apart, so that the \
                 whole server is named, with a limited confidence.",
    formula: "one in flight: T(hot blocks) - round trip (TCP_INFO) - connecting, where each request does, - block / wire - client CPU >= half of the time of one \
              request; many: rate >= 0.7 x hot blocks, wire cleared, client CPU not full, round trip < half of a request's time, more \
              connections < 1.1 x, or < 1.9 x with arrival of replies > 4 x rate and rate x round trip < block / 2",
    source: "Hockney's law and asymptotic bounds (Denning and Buzen 1978), by elimination",
    example: "4 KiB reads one at a time: 0.31 ms of 0.42 ms in the server; a NULL round trip takes 0.28 ms, of which the \
              network takes 0.10 ms",
    how_to_measure: Some("read the server's own CPU and thread counters (top, nfsstat) while the load runs"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(view) = cases.view().filter(|view| view.speaks_protocol()) else { return Vec::new() };
    cases.evaluate_loads(|case| {
        let cell = case.cell()?;
        if method::is_single(cell) { single(view, case, cell) } else { many(view, case, cell) }
    })
}

const CAVEAT: &str = "the server's CPU, threads and protocol were not seen apart";
/// The same where the server's own counters were read.
const CAVEAT_BESIDE_CPU: &str = "the server's threads and protocol were not seen apart";

/// What of the server was not seen under a load.
fn caveat(cell: &CellSummary) -> String {
    let is_seen = cell.cpu.contains_key(&Role::Server);
    if is_seen { CAVEAT_BESIDE_CPU.to_owned() } else { CAVEAT.to_owned() }
}

fn single(view: &SummaryView<'_>, case: &Case<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let hot_s = time_per_op_s(protocol::hot(view, cell)?)?;
    let travel = TravelTime::of_cell(cell)?;
    let network_s = travel.whole_s();
    let wire_s = cell.block_bytes.as_f64() / protocol::best(view, cell)?.bytes_per_s;
    let client_s = case.cpu.get(&Role::Client).and_then(|cpu| cpu.s_per_op).unwrap_or(0.0);
    let elsewhere_s = network_s + wire_s + client_s;
    let part_s = (hot_s.min(time_per_op_s(cell)?) - elsewhere_s).max(0.0);
    let shown = EvidenceSource { counter: "reads of the same few blocks; TCP_INFO", command: "ss -ti" };
    let (part_s, what) = match with_commit_s(view, cell, part_s, elsewhere_s) {
        Some(both_s) => (both_s, "the server's handling of a request, and making it durable,"),
        None => (part_s, "the server's handling of a request"),
    };
    let verdict = method::time_share(RULE.segment, cell, part_s, what, shown)?;
    let verdict = match protocol::round_trip_s(view) {
        None => verdict,
        Some(round_trip_s) => {
            let text = format!(
                "the protocol's cheapest round trip ({}) takes {}, of which the network takes {}",
                view.probe().map_or("an empty call", |probe| probe.round_trip),
                text::seconds(round_trip_s),
                text::seconds(network_s.min(round_trip_s)),
            );
            verdict.with_evidence(text, "round trips without data; TCP_INFO", "")
        }
    };
    let verdict = verdict.with_confidence_max(INFERRED_CONFIDENCE);
    Some(verdict.with_evidence(caveat(cell), "", ""))
}

/// The time of a durable write at the server in all, where neither its handling nor its commit is most of it; `None` elsewhere.
fn with_commit_s(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    handling_s: f64,
    elsewhere_s: f64,
) -> Option<f64> {
    let whole_s = time_per_op_s(cell)?;
    let commit_s = whole_s - time_per_op_s(protocol::early(view, cell)?)?;
    let is_part = |part_s: f64| ratio(part_s, whole_s).is_some_and(|share| share < DOMINANT_RATIO);
    (is_part(handling_s) && is_part(commit_s)).then_some((whole_s - elsewhere_s).max(0.0))
}

fn many(view: &SummaryView<'_>, case: &Case<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let hot = slower_memory(view, cell)?;
    let load = ratio(cell.rate_bytes_per_s?.0, hot.rate_bytes_per_s?.0)?;
    let wire = protocol::wire(view, cell)?;
    let more = protocol::more_connections(view, cell);
    let client_is_full = case.cpu.get(&Role::Client).is_some_and(|cpu| cpu.is_full);
    let gains = protocol::gains_from_connections(view, cell);
    let has_room = gains && !protocol::is_server_or_connection(view, cell);
    let is_left = wire.state == WireState::Free && !client_is_full && !has_room && !mostly_travels(cell);
    // Writes that take long though reads do not are the commit's.
    if load < FREE_RATIO || !is_left || protocol::is_slow_to_write(view, cell) {
        return None;
    }
    let text = format!(
        "{} moves {}, {} of the {} that the same few blocks of the server's memory move: little is spent behind it",
        cell.id,
        text::storage_rate(cell.rate_bytes_per_s?.0),
        text::percent(load),
        text::storage_rate(hot.rate_bytes_per_s?.0),
    );
    let cap = if more.is_some() && !gains { INFERRED_CONFIDENCE } else { ELIMINATED_CONFIDENCE };
    let verdict =
        SegmentVerdict::new(RULE.segment, &cell.id, Stance::Limits, Basis::Utilisation, load.min(1.0));
    let verdict = verdict.with_load_error(method::joint_error(cell, hot)).with_confidence_max(cap);
    let verdict = verdict.with_evidence(text, "rate of hot blocks", "");
    Some(verdict.with_evidence(wire.text, wire.counter, "").with_evidence(caveat(cell), "", ""))
}

/// The hot blocks that the server moves more slowly at the settings of `cell`: of a load that writes, reads of them may be.
fn slower_memory<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    let own = protocol::hot(view, cell)?;
    let read = protocol::hot_reads(view, cell).filter(|_| !reads(cell.op)).unwrap_or(own);
    let rate = |cell: &CellSummary| cell.rate_bytes_per_s.map_or(0.0, |rate| rate.0);
    Some(if rate(read) < rate(own) { read } else { own })
}

/// Whether requests spend half of their time or more between client and server: hot blocks do too, and show no server.
fn mostly_travels(cell: &CellSummary) -> bool {
    let travel = TravelTime::of_cell(cell).zip(time_per_op_s(cell));
    let share = travel.and_then(|(travel, all_s)| ratio(travel.whole_s(), all_s));
    share.is_some_and(|share| share >= DOMINANT_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_protocol::{named, spoken, spoken_on};

    /// A connection whose replies arrive at so many times their rate, with so much of a block on its way, and what twice the
    /// connections gain.
    fn gaining(arrival: f64, blocks_on_the_way: f64, gain: f64) -> narrows_model::Summary {
        let mut summary = spoken(|cell| cell.arrival(arrival).over_more_connections(gain));
        for cell in &mut summary.cells {
            let rate = cell.rate_bytes_per_s.map_or(1.0, |rate| rate.0);
            let round_trip_s = blocks_on_the_way * cell.block_bytes.as_f64() / rate;
            cell.rtt_min_ns = Some(narrows_model::Nanos::from_secs_f64(round_trip_s));
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    #[test]
    fn a_gain_over_a_wire_that_is_idle_is_the_servers_or_the_connections() {
        let both = [Segment::Server, Segment::ClientConnection];
        let idle = gaining(8.0, 0.1, 1.5);
        assert_eq!(named(&idle, "bulk read"), both);
        let entry = |segment| idle.diagnosis.limiting.iter().find(|entry| entry.segment == segment).unwrap();
        assert_eq!(entry(Segment::Server).relation, narrows_model::Relation::OneOf);
        let text = &entry(Segment::ClientConnection).evidence[0].text;
        assert!(text.contains("give 1.50 times the rate"), "{text}");
        for (arrival, on_the_way, gain) in [(3.0, 0.1, 1.5), (8.0, 0.9, 1.5), (8.0, 0.1, 2.0)] {
            let limited = gaining(arrival, on_the_way, gain);
            assert_eq!(
                named(&limited, "bulk read"),
                [Segment::ClientConnection],
                "{arrival} {on_the_way} {gain}"
            );
        }
    }

    #[test]
    fn a_client_that_is_busy_may_be_what_separates_the_replies() {
        let mut busy = gaining(8.0, 0.1, 1.5);
        for cell in &mut busy.cells {
            let used_s = 0.9 * cell.elapsed_s.last_done * method::connections(cell);
            if let Some(cpu) = cell.cpu.get_mut(&Role::Client) {
                (cpu.user_s, cpu.system_s) = (used_s, 0.0);
            }
        }
        busy.diagnosis = crate::diagnose(&busy);
        assert!(!named(&busy, "bulk read").contains(&Segment::Server), "{:?}", named(&busy, "bulk read"));
    }

    #[test]
    fn a_wire_with_room_and_memory_as_slow_as_the_path_leave_the_server() {
        let slow = spoken(|cell| cell.arrival(4.0).over_more_connections(1.0));
        assert_eq!(named(&slow, "bulk read"), [Segment::Server]);
        let entry =
            slow.diagnosis.limiting.iter().find(|entry| entry.regime.starts_with("bulk read")).unwrap();
        assert!(entry.evidence.iter().any(|evidence| evidence.text.ends_with(CAVEAT)), "{entry:#?}");
    }

    #[test]
    fn many_requests_that_wait_for_the_networks_round_trip_are_not_the_servers() {
        let far = spoken_on("wan-10ms", |cell| cell.over_more_connections(1.0));
        let read = named(&far, "random read");
        assert!(read.contains(&Segment::NetworkLatency) && !read.contains(&Segment::Server), "{read:?}");
    }

    #[test]
    fn a_connection_for_each_request_is_the_networks_time_and_not_the_servers() {
        let named_with = |connect_count: f64| {
            let mut far = spoken_on("wan-10ms", |cell| cell);
            for cell in
                far.cells.iter_mut().filter(|cell| method::is_single(cell) && cell.rtt_min_ns.is_some())
            {
                // A round trip to connect and one for the request.
                let round_trip_s = cell.rtt_min_ns.unwrap().as_secs_f64();
                let ops = 1.0 / (2.1 * round_trip_s);
                cell.ops_per_s = Some(narrows_model::OpsPerSec(ops));
                cell.rate_bytes_per_s = Some(narrows_model::BytesPerSec(ops * cell.block_bytes.as_f64()));
                let count =
                    narrows_model::units::round_to_u64(ops * cell.elapsed_s.last_done * connect_count);
                cell.protocol_phases = vec![narrows_model::rpc::PhaseCounters {
                    phase: "connect".to_owned(),
                    before_load: false,
                    count,
                    latency_sum_ns: narrows_model::Nanos::from_secs_f64(round_trip_s * count as f64),
                }];
            }
            far.diagnosis = crate::diagnose(&far);
            let entries =
                far.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("one-at-a-time read"));
            entries.map(|entry| (entry.segment, entry.scope.clone().unwrap_or_default())).collect::<Vec<_>>()
        };
        let each = named_with(1.0);
        assert_eq!(each[0].0, Segment::NetworkLatency, "{each:?}");
        assert!(each[0].1.contains("connection of its own"), "{each:?}");
        assert_eq!(named_with(0.0)[0].0, Segment::Server);
    }

    #[test]
    fn a_full_wire_is_not_the_servers() {
        assert!(!named(&spoken(|cell| cell.arrival(1.05)), "bulk read").contains(&Segment::Server));
    }
}
