//! One connection's window or buffer is the limit, not the wire that it runs over.

use super::{Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::one_more::{ExtraConnection, more_connections};
use crate::method::{self, network};
use crate::summary::SERVER_QUEUE_LENGTH;
use crate::thresholds::BARELY_RATIO;
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;

/// The same limit where one more connection made the path faster: a wire that is not full and an idle server leave the
/// connection, and the share shows which part of it limits.
const LIMITED_AND_HELPED_RATIO: f64 = 0.2;
/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "connection-limited",
    slug: "connection_limited",
    segment: Segment::ClientConnection,
    title: "a connection's window or buffer is the limit",
    definition: "The path moves nearly what a raw stream over the same connections moved, and that stream was limited \
                 by the peer's receive window or its own send buffer for half of its busy time or more, below the \
                 declared speed of the link, with no requests waiting for the server's workers, \
                 and requests that take more than 1.25 round trips (at most 80 % sure below 1.67). The wire may have \
                 capacity left; the connection has none. Where one more connection was measured, it must have raised \
                 the rate, and then a fifth of the busy time is enough.",
    formula: "rate >= 0.9 x raw stream, (receive-window-limited + send-buffer-limited) / busy >= 0.5 there (0.2 where \
              one more connection helped), raw stream < 0.9 x declared link; with one more connection >= 1.1 x the rate, \
              where measured",
    source: "X <= W / RTT; TCP_INFO's limited times, RFC 4898 section 4 and Linux tcp(7)",
    example: "94 MiB/s over a link of 10 Gbit/s, the stream limited by the receive window for 1.3 s of 1.5 s",
    how_to_measure: Some("repeat with one more connection and watch rwnd_limited in `ss -ti`"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells_over_network(evaluate)
}

/// Requests that wait for the server's workers on average from which the server's queue is not empty.
const QUEUE_LENGTH: f64 = 1.0;

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let stream = view.ceiling(network::stream_cut(view, cell), cell)?.cell;
    let more = more_connections(view, cell);
    let helped = more.is_some_and(ExtraConnection::helps);
    let limit = network::stream_limit_from(
        view,
        stream,
        if helped { LIMITED_AND_HELPED_RATIO } else { network::LIMITED_RATIO },
    )?;
    let queued = method::metric(cell, SERVER_QUEUE_LENGTH).is_some_and(|length| length >= QUEUE_LENGTH);
    if more.is_some_and(ExtraConnection::adds_nothing) || queued || network::is_mostly_round_trip(cell) {
        return None;
    }
    let wire = network::compare_with_stream(view, cell).filter(|wire| wire.stance == Stance::Limits)?;
    let command = format!("ss -ti dst {}", method::server_host(view));
    // A wider window leaves the round trip, which then takes most of the time.
    let is_near = network::round_trip_share(cell).is_some_and(|share| share >= BARELY_RATIO);
    let verdict = SegmentVerdict { segment: RULE.segment, ..wire }.unsure_if(is_near);
    let verdict = verdict.with_evidence(limit, "limited times of the sender (TCP_INFO)", &command);
    Some(match more {
        Some(more) => {
            let gain = verdict.relief_gain_ratio.map_or(more.gain.ratio, |gain| gain.max(more.gain.ratio));
            verdict.with_relief_gain(Some(gain)).with_evidence(more.text(), "rate of the path", "")
        }
        None => verdict,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{TCP_BUSY_S, TCP_RECEIVE_WINDOW_LIMITED_S};
    use crate::testing::builtin;
    use narrows_model::Summary;

    /// A path as fast as its stream, which was limited for `limited_s` of a busy second, over a link of `link_bits_per_s`.
    fn windowed(limited_s: f64, link_bits_per_s: Option<u64>) -> Summary {
        let mut summary = builtin("gigabit-nfs");
        for nic in summary.hosts.iter_mut().flat_map(|host| &mut host.inventory.host.nics) {
            nic.link_bits_per_s = link_bits_per_s;
        }
        for metric in summary.cells.iter_mut().flat_map(|cell| &mut cell.metrics) {
            match metric.id.as_str() {
                TCP_BUSY_S => metric.value = 1.0,
                TCP_RECEIVE_WINDOW_LIMITED_S => metric.value = limited_s,
                _ => {}
            }
        }
        summary
    }

    #[test]
    fn a_stream_that_a_window_slowed_names_the_connection_and_not_the_wire() {
        for link in [None, Some(10_000_000_000)] {
            let first = &crate::diagnose(&windowed(0.9, link)).limiting[0];
            assert_eq!(first.segment, Segment::ClientConnection);
            assert!(first.evidence.iter().any(|evidence| evidence.text.contains("receive window")));
        }
    }

    /// Whether bulk writes are limited by their connection where the sender was limited for `limited_s` of a busy second and
    /// so many workers and clients in the place of one move `gain` times as much.
    fn is_named(limited_s: f64, (workers, clients): (u32, u32), gain: f64) -> bool {
        let mut summary = windowed(limited_s, None);
        let cell = summary.cells.iter().find(|cell| cell.id == "path/write/1MiB/qd16/c1").unwrap().clone();
        let mut more = CellSummary { id: "more".into(), clients, ..cell.clone() };
        (more.requested.workers, more.requested.clients) = (workers, clients);
        more.in_flight.configured *= u64::from(workers * clients);
        more.rate_bytes_per_s = cell.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 * gain));
        more.ops_per_s = cell.ops_per_s.map(|rate| narrows_model::OpsPerSec(rate.0 * gain));
        summary.cells.push(more);
        let found = crate::diagnose(&summary).limiting;
        let of_bulk_writes = found.iter().filter(|entry| entry.regime.starts_with("bulk write"));
        of_bulk_writes.map(|entry| entry.segment).any(|segment| segment == Segment::ClientConnection)
    }

    #[test]
    fn where_one_more_connection_helps_a_fifth_of_the_busy_time_names_it_too() {
        assert!(is_named(0.45, (2, 1), 2.0));
        assert!(!is_named(0.1, (2, 1), 2.0) && !is_named(0.45, (2, 1), 1.0));
    }

    #[test]
    fn more_clients_have_more_connections() {
        assert!(is_named(0.45, (1, 4), 4.0));
        assert!(!is_named(0.1, (1, 4), 4.0) && !is_named(0.45, (1, 4), 1.0));
    }

    #[test]
    fn a_window_on_a_link_that_is_full_by_declaration_leaves_it_to_the_wire() {
        assert_eq!(
            crate::diagnose(&windowed(0.9, Some(1_000_000_000))).limiting[0].segment,
            Segment::NetworkBandwidth
        );
    }

    #[test]
    fn a_stream_that_nothing_slowed_measured_the_wire() {
        assert_eq!(crate::diagnose(&windowed(0.1, None)).limiting[0].segment, Segment::NetworkBandwidth);
    }
}
