//! What the connections of a cell's load report about themselves, as metrics of the cell.
//!
//! Times and segments are those of the end that sends the data: the receiving end sends requests or acknowledgements alone.
//! What stayed on one host is counted where the rate is, at the client.

use crate::collect::CellData;
use crate::facts::network::TCP_LOOPBACK_RATIO;
use narrows_model::counters::TcpCounters;
use narrows_model::summary::Metric;
use narrows_model::units::ratio;
use narrows_model::{Nanos, Role};

/// Seconds with data to send.
pub(crate) const TCP_BUSY_S: &str = "tcp_busy_s";
/// Seconds limited by the peer's receive window.
pub(crate) const TCP_RECEIVE_WINDOW_LIMITED_S: &str = "tcp_receive_window_limited_s";
/// Seconds limited by the own send buffer.
pub(crate) const TCP_SEND_BUFFER_LIMITED_S: &str = "tcp_send_buffer_limited_s";
/// Segments that the sender of the data sent.
pub(crate) const TCP_SEGMENT_COUNT: &str = "tcp_segment_count";
/// Segments that the sender of the data sent again.
pub(crate) const TCP_RETRANSMIT_COUNT: &str = "tcp_retransmit_count";

/// Round trip of the data's sender, smoothed, when the window ended.
pub(crate) const TCP_ROUND_TRIP_S: &str = "tcp_round_trip_s";
/// Congestion window of the data's sender then, the mean of its connections.
pub(crate) const TCP_CONGESTION_WINDOW_BYTES: &str = "tcp_congestion_window_bytes";

/// The metrics of the sender's connections; none where its end was not read. Behind a proxy, which sends the data again, the
/// segments are those of the leg that lost the larger share, and none where the proxy's were not read.
pub(super) fn metrics(data: &CellData) -> Vec<Metric> {
    let sender = if data.cell.workload.op.moves_towards_device() { Role::Client } else { Role::Server };
    let Some(tcp) = of_role(data, sender) else { return Vec::new() };
    let lost = |tcp: &TcpCounters| ratio(tcp.retransmit_count as f64, tcp.segments_out_count as f64);
    let leg = match data.cell.target.via() {
        None => Some(tcp),
        Some(_) => of_role(data, Role::Proxy).map(|proxy| if lost(proxy) > lost(tcp) { proxy } else { tcp }),
    };
    let counted = of_role(data, Role::Client).unwrap_or(tcp);
    let segments = leg.map(of_segments).unwrap_or_default();
    [&of_times(tcp)[..], &segments, &of_window(tcp), &of_loopback(counted)].concat()
}

/// The smallest round trip from the client to the server. A proxy ends each connection, so that its two ends see a leg each:
/// both together are the way; `None` where one was not read.
pub(super) fn round_trip(data: &CellData) -> Option<Nanos> {
    let seen = |role: Option<Role>| {
        let own = data.deltas.iter().filter(|delta| role.is_none_or(|role| delta.role == role));
        own.filter_map(|delta| delta.tcp.as_ref())
            .map(|tcp| tcp.counted.rtt_min_ns)
            .filter(|rtt| rtt.0 > 0)
            .min()
    };
    match data.cell.target.via() {
        None => seen(None),
        Some(_) => Some(seen(Some(Role::Client))?.saturating_add(seen(Some(Role::Server))?)),
    }
}

/// What the client's connections counted.
pub(super) fn of_client(data: &CellData) -> Option<&TcpCounters> {
    of_role(data, Role::Client)
}

fn of_role(data: &CellData, role: Role) -> Option<&TcpCounters> {
    let tcp = data.deltas.iter().find(|delta| delta.role == role)?.tcp.as_ref()?;
    Some(&tcp.counted)
}

fn metric(id: &str, value: f64, unit: &str) -> Metric {
    Metric { id: id.to_owned(), value, unit: unit.to_owned(), interval: None }
}

fn of_times(tcp: &TcpCounters) -> [Metric; 3] {
    [
        metric(TCP_BUSY_S, tcp.busy_ns.as_secs_f64(), "s"),
        metric(TCP_RECEIVE_WINDOW_LIMITED_S, tcp.receive_window_limited_ns.as_secs_f64(), "s"),
        metric(TCP_SEND_BUFFER_LIMITED_S, tcp.send_buffer_limited_ns.as_secs_f64(), "s"),
    ]
}

/// The window and the round trip, where both were read.
fn of_window(tcp: &TcpCounters) -> Vec<Metric> {
    if tcp.rtt_ns.0 == 0 || tcp.congestion_window_bytes.0 == 0 {
        return Vec::new();
    }
    vec![
        metric(TCP_ROUND_TRIP_S, tcp.rtt_ns.as_secs_f64(), "s"),
        metric(TCP_CONGESTION_WINDOW_BYTES, tcp.congestion_window_bytes.as_f64(), "bytes"),
    ]
}

fn of_loopback(tcp: &TcpCounters) -> Vec<Metric> {
    let all = tcp.acked_bytes.saturating_add(tcp.received_bytes);
    let share = ratio(tcp.loopback_bytes.as_f64(), all.as_f64()).filter(|share| *share > 0.0);
    share.map(|share| metric(TCP_LOOPBACK_RATIO, share, "")).into_iter().collect()
}

fn of_segments(tcp: &TcpCounters) -> Vec<Metric> {
    vec![
        metric(TCP_SEGMENT_COUNT, tcp.segments_out_count as f64, "segments"),
        metric(TCP_RETRANSMIT_COUNT, tcp.retransmit_count as f64, "segments"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, cleared, machine, plan};
    use crate::{Input, RunFacts};
    use narrows_model::counters::TcpCounters;
    use narrows_model::{Event, Segment, Summary};

    const MILLISECOND: u64 = 1_000_000;

    /// A simulated machine behind a proxy whose legs have round trips of one and of three milliseconds, its proxy's sockets as
    /// `of_proxy` makes them; without them for `None`.
    fn behind_proxy(of_proxy: Option<fn(&mut TcpCounters)>) -> Summary {
        let profile = machine("gigabit-nfs");
        let mut plan = plan(&profile, Grid::default());
        let mut events = narrows_sim::simulate(&profile, &plan).unwrap();
        plan.target = "tcp://storage:7300/disk?via=proxy:7301".parse().unwrap();
        plan.segments.extend([Segment::ProxyCpu, Segment::ProxyQueue]);
        for cell in plan.cells.iter_mut().filter(|cell| cell.cut == narrows_model::Cut::Path) {
            cell.target = plan.target.clone();
        }
        for event in &mut events {
            let Event::TrialFinished(trial) = event else { continue };
            for pair in &mut trial.counters {
                let leg_ms = if pair.after.role == Role::Client { 1 } else { 3 };
                for tcp in [&mut pair.before.tcp, &mut pair.after.tcp].into_iter().flatten() {
                    tcp.rtt_min_ns = Nanos(leg_ms * MILLISECOND);
                }
            }
            let server = trial.counters.iter().find(|pair| pair.after.role == Role::Server).cloned();
            if let Some(mut pair) = server {
                (pair.before.role, pair.after.role) = (Role::Proxy, Role::Proxy);
                if let (Some(change), Some(tcp)) = (of_proxy, &mut pair.after.tcp) {
                    tcp.rtt_min_ns = Nanos(MILLISECOND);
                    tcp.segments_out_count += 100_000;
                    change(tcp);
                } else {
                    (pair.before.tcp, pair.after.tcp) = (None, None);
                }
                trial.counters.push(pair);
            }
        }
        let inventory = narrows_sim::inventory(&profile);
        let manifest = RunFacts::default();
        crate::analyse(&Input { manifest, plan: &plan, inventory: &inventory, events: &events })
    }

    fn path(summary: &Summary) -> impl Iterator<Item = &narrows_model::summary::CellSummary> {
        summary.cells.iter().filter(|cell| cell.target.via().is_some())
    }

    #[test]
    fn the_round_trip_through_a_proxy_is_that_of_both_legs() {
        let summary = behind_proxy(Some(|_| {}));
        assert!(path(&summary).count() > 4);
        assert!(path(&summary).all(|cell| cell.rtt_min_ns == Some(Nanos(4 * MILLISECOND))));
    }

    #[test]
    fn loss_on_the_proxys_side_is_reported_and_only_none_at_all_clears_the_network() {
        let lossless = behind_proxy(Some(|_| {}));
        assert!(cleared(&lossless, Segment::NetworkLoss));
        let few = behind_proxy(Some(|tcp| tcp.retransmit_count += 10));
        assert!(!cleared(&few, Segment::NetworkLoss) && !crate::testing::found(&few, "packets-lost"));
        let many = behind_proxy(Some(|tcp| tcp.retransmit_count += 5_000));
        assert!(crate::testing::found(&many, "packets-lost"));
        let unread = behind_proxy(None);
        assert!(!cleared(&unread, Segment::NetworkLoss));
    }
}
