//! One connection's window or buffer is the limit, not the wire that it runs over.

use super::judge;
use super::network_bandwidth;
use super::one_more::{OneMore, one_more_connection};
use super::{Rule, Stance, Verdict};
use crate::summary::{
    SERVER_QUEUE_LENGTH, TCP_BUSY_S, TCP_RECEIVE_WINDOW_LIMITED_S, TCP_SEND_BUFFER_LIMITED_S,
    network_bytes_per_s,
};
use crate::text;
use crate::view::View;
use narrows_model::Segment;
use narrows_model::counters::Role;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// From this share of its busy time held back by a window or a buffer a stream measured these, not the wire.
const LIMITED_RATIO: f64 = 0.5;
/// So it did from this share on where one more connection made the path faster: a wire that is not full and an idle
/// server leave the connection, and the share says what of it holds back.
const LIMITED_AND_HELPED_RATIO: f64 = 0.2;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "connection-limited",
    slug: "connection_limited",
    segment: Segment::ClientConnection,
    title: "a connection's window or buffer is the limit",
    definition: "The path moves nearly what a raw stream over the same connections moved, and that stream was held back \
                 by the peer's receive window or the own send buffer for half of its busy time or more, below the \
                 declared speed of the link, with no requests waiting for the server's workers. The wire may carry \
                 more; the connection does not. Where one more connection was measured, it must have helped, and then a \
                 fifth of the busy time is enough.",
    formula: "rate >= 0.9 x raw stream, (receive-window-limited + send-buffer-limited) / busy >= 0.5 there (0.2 where \
              one more connection helped), raw stream < 0.9 x declared link; with one more connection >= 1.1 x the rate, \
              where measured",
    source: "X <= W / RTT; TCP_INFO's limited times, RFC 4898 section 4 and Linux tcp(7)",
    example: "94 MiB/s over a link of 10 Gbit/s, the stream held back by the receive window for 1.3 s of 1.5 s",
    how_to_measure: "repeat with one more connection and watch rwnd_limited in `ss -ti`",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    judge::over_network(view, judge)
}

/// Requests that wait for the server's workers on average from which the server's queue is not empty.
const QUEUE_LENGTH: f64 = 1.0;

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let stream = view.ceiling(network_bandwidth::stream_cut(view, cell), cell)?.cell;
    let more = one_more_connection(view, cell);
    let helped = more.is_some_and(OneMore::helps);
    let held = held_from(view, stream, if helped { LIMITED_AND_HELPED_RATIO } else { LIMITED_RATIO })?;
    let queued = judge::metric(cell, SERVER_QUEUE_LENGTH).is_some_and(|length| length >= QUEUE_LENGTH);
    if more.is_some_and(OneMore::adds_nothing) || queued {
        return None;
    }
    let wire = network_bandwidth::against_stream(view, cell).filter(|wire| wire.stance == Stance::Limits)?;
    let command = format!("ss -ti dst {}", judge::server_host(view));
    let verdict = Verdict { segment: RULE.segment, ..wire };
    let verdict = verdict.because(held, "limited times of the sender (TCP_INFO)", &command);
    Some(match more {
        Some(more) => {
            let gain = verdict.relief_gain_ratio.map_or(more.gain.ratio, |gain| gain.max(more.gain.ratio));
            verdict.gains(Some(gain)).because(more.text(), "rate of the path", "")
        }
        None => verdict,
    })
}

/// What held a stream back other than the wire, in words; `None` where nothing did, or its link was full by declaration.
pub(super) fn held_back(view: &View<'_>, stream: &CellSummary) -> Option<String> {
    held_from(view, stream, LIMITED_RATIO)
}

/// The same from another share of the busy time on.
fn held_from(view: &View<'_>, stream: &CellSummary, least: f64) -> Option<String> {
    let seconds = |id: &str| judge::metric(stream, id);
    let (window, buffer) = (seconds(TCP_RECEIVE_WINDOW_LIMITED_S)?, seconds(TCP_SEND_BUFFER_LIMITED_S)?);
    let busy = seconds(TCP_BUSY_S)?;
    let limited = ratio(window + buffer, busy).is_some_and(|share| share >= least);
    (limited && !link_full(view, stream)).then(|| {
        format!(
            "{}: of {} with data to send, the peer's receive window held it back for {} and the send buffer for {}",
            stream.id,
            text::seconds(busy),
            text::seconds(window),
            text::seconds(buffer),
        )
    })
}

/// Whether a stream reached the declared speed of a link at either end.
fn link_full(view: &View<'_>, stream: &CellSummary) -> bool {
    let ends = view
        .summary
        .hosts
        .iter()
        .filter(|host| host.roles.contains(&Role::Client) || host.roles.contains(&Role::Server));
    let links = ends
        .flat_map(|host| &host.inventory.host.nics)
        .filter(|nic| !nic.is_virtual && nic.operstate == "up");
    let declared = links.filter_map(|nic| nic.link_bits_per_s).min();
    let rate = network_bytes_per_s(stream);
    declared.is_some_and(|bits| rate >= bits as f64 / 8.0 * judge::FULL_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::Summary;

    /// A path as fast as its stream, which was held back for `held_s` of a busy second, over a link of `link_bits_per_s`.
    fn windowed(held_s: f64, link_bits_per_s: Option<u64>) -> Summary {
        let mut summary = builtin("gigabit-nfs");
        for nic in summary.hosts.iter_mut().flat_map(|host| &mut host.inventory.host.nics) {
            nic.link_bits_per_s = link_bits_per_s;
        }
        for metric in summary.cells.iter_mut().flat_map(|cell| &mut cell.metrics) {
            match metric.id.as_str() {
                TCP_BUSY_S => metric.value = 1.0,
                TCP_RECEIVE_WINDOW_LIMITED_S => metric.value = held_s,
                _ => {}
            }
        }
        summary
    }

    #[test]
    fn a_stream_that_a_window_held_back_names_the_connection_and_not_the_wire() {
        for link in [None, Some(10_000_000_000)] {
            let first = &crate::diagnose(&windowed(0.9, link)).limiting[0];
            assert_eq!(first.segment, Segment::ClientConnection);
            assert!(first.evidence.iter().any(|evidence| evidence.text.contains("receive window")));
        }
    }

    #[test]
    fn where_one_more_connection_helps_a_fifth_of_the_busy_time_names_it_too() {
        let named = |held_s: f64, gain: f64| {
            let mut summary = windowed(held_s, None);
            let cell =
                summary.cells.iter().find(|cell| cell.id == "path/write/1MiB/qd16/c1").unwrap().clone();
            let mut more = CellSummary { id: "more".into(), ..cell.clone() };
            more.requested.workers = 2;
            more.in_flight.configured *= 2;
            more.rate_bytes_per_s =
                cell.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 * gain));
            more.ops_per_s = cell.ops_per_s.map(|rate| narrows_model::OpsPerSec(rate.0 * gain));
            summary.cells.push(more);
            let found = crate::diagnose(&summary).limiting;
            found.iter().any(|entry| {
                entry.regime.starts_with("bulk write") && entry.segment == Segment::ClientConnection
            })
        };
        assert!(named(0.45, 2.0) && !named(0.1, 2.0) && !named(0.45, 1.0));
    }

    #[test]
    fn a_window_on_a_link_that_is_full_by_declaration_leaves_it_to_the_wire() {
        assert_eq!(
            crate::diagnose(&windowed(0.9, Some(1_000_000_000))).limiting[0].segment,
            Segment::NetworkBandwidth
        );
    }

    #[test]
    fn a_stream_that_nothing_held_back_measured_the_wire() {
        assert_eq!(crate::diagnose(&windowed(0.1, None)).limiting[0].segment, Segment::NetworkBandwidth);
    }
}
