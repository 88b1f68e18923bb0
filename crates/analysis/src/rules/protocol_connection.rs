//! One connection to a server on which nothing of ours runs limits the load.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::method::{self, protocol};
use crate::thresholds::{FREE_RATIO, FULL_RATIO, INFERRED_CONFIDENCE};
use crate::view::SummaryView;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "protocol-connection-limited",
    slug: "connection_limited",
    segment: Segment::ClientConnection,
    title: "as many requests over more connections are faster",
    definition: "A storage protocol is spoken to a server on which nothing of ours runs. The same requests in flight, \
                 spread over twice as many connections, move clearly more: what all connections share has room, and one \
                 connection's window, its slots or the server's thread for it has none. Which of these is not seen, \
                 which limits the confidence. Where long replies of reads arrive at more than four times the rate, less than half a \
                 request is on its way at a time, the client's CPU is not busy and the gain is under 1.9, no window is full, and the server's CPU \
                 may need less for each request of several connections: connection and server are then not distinguished, and both are named. \
                 Where more connections, with as many requests on each, gain less than half \
                 as much at their best, the gain was one of a window and clears it; not so where they move clearly less than the load \
                 itself, for then the server has more requests than it serves well. Where each request has a connection of its own \
                 (S3), more of them only clear it. Nothing is said where one connection moves hot blocks clearly faster, or where each \
                 write waits for its commit.",
    formula: "rate over twice the connections, as many in flight >= 1.1 x the higher of rate and rate of hot blocks, and \
              above two standard errors; rate >= 0.7 x hot blocks",
    source: "Substitution of one stage (asymptotic bounds, Denning and Buzen 1978); X <= W / RTT",
    example: "1 MiB reads, 16 in flight: 52 MiB/s over one connection, 103 MiB/s over two",
    how_to_measure: Some("check nfs://HOST/EXPORT/PATH with several requests in flight"),
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
    let gain = protocol::more_connections(view, cell)?;
    // One connection that moves hot blocks faster has room, and writes that each wait for a flush wait beside each other
    // where there are more of them.
    let memory =
        protocol::hot(view, cell).and_then(|hot| ratio(cell.rate_bytes_per_s?.0, hot.rate_bytes_per_s?.0));
    if memory.is_some_and(|share| share < FREE_RATIO) || protocol::is_slow_to_write(view, cell) {
        return None;
    }
    let per_request = view.connects_per_request();
    let part = (1.0 / gain.ratio.max(1.0)).min(1.0) * 0.5;
    let (stance, load) = match gain {
        // More connections are more requests there: whether the one or the other was missing is not seen.
        gain if gain.is_real() && per_request => (Stance::Open, part),
        gain if gain.is_real() && protocol::is_gain_of_chance(view, cell, gain) => (Stance::Clears, part),
        gain if gain.is_real() && protocol::is_server_or_connection(view, cell) => (Stance::Open, FULL_RATIO),
        gain if gain.is_real() => (Stance::Limits, 1.0),
        gain if gain.is_none() => (Stance::Clears, part),
        _ => return None,
    };
    let requests = if per_request { "twice as many" } else { "as many" };
    let base = protocol::best_of_one_connection(view, cell);
    let of_base = if base.id == cell.id { String::new() } else { format!(" of {}", base.id) };
    let text = format!(
        "{}: {requests} requests over twice as many connections give {:.2} times the rate{of_base}",
        cell.id, gain.ratio
    );
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    let verdict = verdict.with_confidence_max(INFERRED_CONFIDENCE).with_load_error(method::error_ratio(cell));
    let verdict = verdict.with_relief_gain(Some(gain.ratio).filter(|gain| *gain > 1.0));
    Some(verdict.with_evidence(text, "rate of the path", "ss -ti"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::by_protocol::{named, spoken};

    #[test]
    fn twice_the_connections_and_twice_the_rate_name_the_connection() {
        let limited = spoken(|cell| cell.arrival(1.05).over_more_connections(2.0));
        assert_eq!(named(&limited, "bulk read"), [Segment::ClientConnection]);
    }

    #[test]
    fn a_connection_that_moves_hot_blocks_faster_is_not_named() {
        let behind = spoken(|cell| cell.arrival(4.0).hot(5.0).over_more_connections(2.0));
        assert_eq!(named(&behind, "bulk read and write"), [Segment::Device]);
    }

    #[test]
    fn hot_blocks_over_one_connection_count_as_what_one_connection_moves() {
        // A server's quota gave the load the slower of two windows: 1.41 times that is 1.18 times what one connection moves.
        let throttled = |arrival: f64, wider: f64| {
            let mut summary = spoken(|cell| cell.arrival(arrival).hot(1.185).over_more_connections(1.407));
            add_wider_loads(&mut summary, &[wider]);
            named(&summary, "bulk read")
        };
        for arrival in [3.0, 8.0] {
            assert_eq!(throttled(arrival, 1.08 * 1.185), [Segment::Server], "{arrival}");
        }
        assert_eq!(throttled(3.0, 1.7 * 1.185), [Segment::ClientConnection]);
        assert_eq!(throttled(8.0, 1.7 * 1.185), [Segment::Server, Segment::ClientConnection]);
    }

    /// A summary where twice the connections gained 1.4 times the rate, and two and more connections, as deep each, these.
    fn with_wider_loads(gains: &[f64]) -> narrows_model::Summary {
        let mut summary = spoken(|cell| cell.arrival(3.0).over_more_connections(1.4));
        add_wider_loads(&mut summary, gains);
        summary
    }

    fn add_wider_loads(summary: &mut narrows_model::Summary, gains: &[f64]) {
        let is_gained = |cell: &&CellSummary| cell.cut == narrows_model::Cut::MoreConnections;
        let block = summary.cells.iter().find(is_gained).unwrap().block_bytes;
        let bulk = |cell: &&CellSummary| {
            cell.cut == narrows_model::Cut::Path
                && cell.block_bytes == block
                && cell.in_flight.configured == 16
        };
        let plain: Vec<CellSummary> = summary.cells.iter().filter(bulk).cloned().collect();
        for (workers, gain) in (2_u32..).zip(gains) {
            for mut cell in plain.iter().cloned() {
                cell.id = cell.id.replace("/c1", &format!("/w{workers}/c1"));
                cell.requested.workers *= workers;
                cell.queue_depth *= u64::from(workers);
                cell.in_flight.configured *= u64::from(workers);
                cell.rate_bytes_per_s.as_mut().unwrap().0 *= gain;
                summary.cells.push(cell);
            }
        }
        summary.diagnosis = crate::diagnose(summary);
    }

    #[test]
    fn a_gain_that_one_more_connection_does_not_repeat_is_one_of_chance() {
        assert_eq!(named(&with_wider_loads(&[1.8]), "bulk read"), [Segment::ClientConnection]);
        for gain in [0.95, 1.15] {
            let by_chance = named(&with_wider_loads(&[gain]), "bulk read");
            assert_eq!(by_chance, [Segment::Server], "{gain}");
        }
    }

    #[test]
    fn a_wider_load_that_overloads_the_server_does_not_clear_the_connection() {
        // Twice the requests at three quarters of the rate: each takes 2.7 times as long.
        for gains in [&[0.75][..], &[1.8, 0.75], &[1.5, 1.1]] {
            let limited = named(&with_wider_loads(gains), "bulk read");
            assert_eq!(limited, [Segment::ClientConnection], "{gains:?}");
        }
    }

    #[test]
    fn the_same_rate_over_more_connections_clears_it() {
        let wire = spoken(|cell| cell.arrival(1.05).over_more_connections(1.0));
        assert_eq!(named(&wire, "bulk read"), [Segment::NetworkBandwidth]);
    }

    /// The same summary as of a bucket, where a request has a connection of its own.
    fn of_bucket(gain: f64) -> Vec<Segment> {
        let mut summary = spoken(|cell| cell.arrival(1.05).over_more_connections(gain));
        summary.target = "s3://bucket/prefix".parse().unwrap();
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::MoreConnections) {
            cell.in_flight.configured *= 2;
        }
        summary.diagnosis = crate::diagnose(&summary);
        named(&summary, "bulk read")
    }

    #[test]
    fn where_each_request_has_a_connection_more_of_them_only_clear_it() {
        assert_eq!(of_bucket(1.0), [Segment::NetworkBandwidth]);
        assert!(!of_bucket(2.0).contains(&Segment::ClientConnection));
        assert!(!of_bucket(2.0).contains(&Segment::NetworkBandwidth), "the wire had room for more");
    }
}
