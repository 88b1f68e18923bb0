//! The wire to a server on which nothing of ours runs is full, seen from how its replies arrive.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::protocol::{self, WireState};
use crate::method::{self, EvidenceSource};
use crate::thresholds::INFERRED_CONFIDENCE;
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "protocol-wire-full",
    slug: "network_bandwidth",
    segment: Segment::NetworkBandwidth,
    title: "the wire to the server is full, by how its replies arrive",
    definition: "A storage protocol is spoken to a server on which nothing of ours runs. A link passes the bytes of \
                 each reply at its own rate, however slowly the server makes replies: it is full where nine of ten long \
                 replies arrive no faster than all of them together, and has room where they arrive much faster. For \
                 writes it is full where data was on the way nearly all of the time, the server's window was open, and \
                 the round trip had grown by queues or twice as many connections move no more. Smaller requests are compared with the rate of the loads that \
                 filled it. Nothing is said where twice as many connections are faster. A server that sends no faster \
                 than this would look the same, which limits the confidence.",
    formula: "reads: rate >= 0.8 x the 90th percentile of (bytes of a reply / time from its first to its last byte), \
              cleared under 0.7 x; writes: (busy - receive-window-limited) / elapsed >= 0.8 and smoothed round trip >= \
              1.5 x the smallest, or twice the connections < 1.5 x the rate; one in flight: block / rate of the full wire >= half of the time of one request",
    source: "Packet dispersion: Dovrolis, Ramanathan, Moore, Packet-Dispersion Techniques and a Capacity-Estimation \
             Methodology, IEEE/ACM Transactions on Networking 12 (2004); TCP_INFO's limited times, RFC 4898",
    example: "1 MiB reads, 16 in flight: 94.1 Mbit/s in all, and nine of ten replies arrive at no more than 97 Mbit/s",
    how_to_measure: Some("check nfs://HOST/EXPORT/PATH with blocks of 1 MiB and 16 in flight"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    if !cases.view().is_some_and(SummaryView::speaks_protocol) {
        return Vec::new();
    }
    cases.evaluate_cells_over_network(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    if method::is_single(cell) {
        return single(view, cell);
    }
    let wire = protocol::wire(view, cell)?;
    let stance = match wire.state {
        WireState::Full => Stance::Limits,
        WireState::Free => Stance::Clears,
        WireState::Open => Stance::Open,
    };
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::Utilisation, wire.load_ratio);
    let verdict = verdict.with_confidence_max(INFERRED_CONFIDENCE).with_load_error(method::error_ratio(cell));
    Some(verdict.with_evidence(wire.text, wire.counter, "ss -ti; ip -s link"))
}

/// The share of one request's time that its block needs on the wire: all of it at most where the wire was full, and no more
/// than that where it was not.
fn single(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let best = protocol::best(view, cell)?;
    let part_s = cell.block_bytes.as_f64() / best.bytes_per_s;
    let shown = EvidenceSource { counter: "rates of the same protocol", command: "ss -ti" };
    let verdict = method::time_share(RULE.segment, cell, part_s, "moving the block over the wire", shown)?;
    let verdict = verdict.with_confidence_max(INFERRED_CONFIDENCE);
    (best.is_full || verdict.stance == Stance::Clears).then_some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_protocol::{named, spoken};

    #[test]
    fn replies_that_arrive_as_fast_as_all_together_name_the_wire() {
        let full = spoken(|cell| cell.arrival(1.05));
        assert_eq!(named(&full, "bulk read"), [Segment::NetworkBandwidth]);
        let entry =
            full.diagnosis.limiting.iter().find(|entry| entry.regime.starts_with("bulk read")).unwrap();
        assert!(entry.confidence <= INFERRED_CONFIDENCE && entry.codes == [RULE.code], "{entry:#?}");
    }

    #[test]
    fn what_the_connections_received_counts_and_not_how_many_requests_happened_to_end() {
        let named_by = |received: f64| {
            named(
                &spoken(|cell| cell.arrival(2.0).received(received).over_more_connections(1.0)),
                "bulk read",
            )
        };
        assert_eq!(named_by(1.95), [Segment::NetworkBandwidth]);
        assert!(!named_by(1.0).contains(&Segment::NetworkBandwidth));
    }

    #[test]
    fn replies_that_arrive_much_faster_clear_it() {
        let idle = spoken(|cell| cell.arrival(4.0));
        assert!(!named(&idle, "bulk read").contains(&Segment::NetworkBandwidth));
    }

    #[test]
    fn writes_that_queue_on_the_way_name_the_wire_and_those_before_a_closed_window_do_not() {
        let queued = spoken(|cell| cell.arrival(4.0).sender(1.0, 0.0, 8.0));
        assert_eq!(named(&queued, "bulk write"), [Segment::NetworkBandwidth]);
        let of = |window, queued| spoken(|cell| cell.arrival(4.0).sender(1.0, window, queued));
        for closed in [of(0.9, 8.0), of(0.0, 1.1)] {
            assert!(
                !named(&closed, "bulk write").contains(&Segment::NetworkBandwidth),
                "{:#?}",
                closed.diagnosis.limiting
            );
        }
    }

    #[test]
    fn writers_without_a_round_trip_that_share_one_rate_name_the_wire() {
        // Each request has its own connection, which is new or closed when its round trip is read.
        for queued in [0.0, 1.1] {
            let summary = spoken(|cell| cell.arrival(4.0).sender(1.0, 0.0, queued));
            assert_eq!(with_more_connections(summary), [Segment::NetworkBandwidth]);
        }
    }

    /// What limits bulk writes where four times as many connections move as much, and nothing else says that it is the wire.
    fn with_more_connections(mut summary: narrows_model::Summary) -> Vec<Segment> {
        assert!(!named(&summary, "bulk write").contains(&Segment::NetworkBandwidth));
        let view = SummaryView::new(&summary);
        let bulk =
            view.regimes().iter().map(|regime| regime.cell).find(|cell| {
                !crate::facts::reads(cell.op) && !method::is_single(cell) && !cell.is_small_block()
            });
        let mut more = bulk.unwrap().clone();
        more.requested.workers *= 4;
        more.id.push_str("/w4");
        summary.cells.push(more);
        summary.diagnosis = crate::diagnose(&summary);
        named(&summary, "bulk write")
    }
}
