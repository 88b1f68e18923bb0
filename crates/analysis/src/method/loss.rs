//! What a share of lost segments allows a connection.

use super::one_more::{ExtraConnection, shares_one_rate};
use super::{connections, is_single, metric};
use crate::summary::{
    SERVER_WORKER_BUSY_RATIO, TCP_BUSY_S, TCP_CONGESTION_WINDOW_BYTES, TCP_RECEIVE_WINDOW_LIMITED_S,
    TCP_RETRANSMIT_COUNT, TCP_ROUND_TRIP_S, TCP_SEGMENT_COUNT, TCP_SEND_BUFFER_LIMITED_S,
};
use crate::text;
use crate::thresholds::{FREE_RATIO, FULL_RATIO};
use crate::view::SummaryView;
use narrows_model::Cut;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// Below this share of segments sent again, loss costs a window-limited stream under a percent.
pub(crate) const HARMLESS_RATIO: f64 = 0.001;
/// The constant of the law of loss for a receiver that acknowledges each segment: the square root of 3/2.
const MATHIS: f64 = 1.224_744_871_391_589;
/// A connection limited by loss moves what the law allows within this factor: losses come in bursts, acknowledgements
/// are delayed, congestion controls differ.
const LAW_FACTOR: f64 = 2.0;

/// The rate that the law of loss allows the connections of a load, beside its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LossLaw {
    /// Payload that all connections together may move.
    pub(crate) allowed_bytes_per_s: f64,
    /// The load's rate of that.
    pub(crate) load: f64,
    /// The smallest round trip.
    pub(crate) round_trip_s: f64,
}

impl LossLaw {
    /// The law `(segment / round trip) x sqrt(3/2 / share)` for each connection; `None` where a figure is not known, and
    /// where the connections are to several servers: the smallest round trip is that of the nearest alone, and the segments
    /// are lost on the way to another.
    ///
    /// # Source
    /// Mathis et al., ACM Computer Communication Review 27 (1997), equation 3.
    pub(crate) fn new(cell: &CellSummary) -> Option<Self> {
        let share = lost_ratio(cell).filter(|share| *share > 0.0 && cell.target.members().len() == 1)?;
        let round_trip_s = cell.rtt_min_ns.filter(|rtt| rtt.0 > 0)?.as_secs_f64();
        let segment_bytes = ratio(cell.bytes.wire?.as_f64(), metric(cell, TCP_SEGMENT_COUNT)?)?;
        let connections = connections(cell);
        let allowed_bytes_per_s = segment_bytes / round_trip_s * MATHIS / share.sqrt() * connections;
        let load = ratio(cell.rate_bytes_per_s?.0, allowed_bytes_per_s)?;
        Some(Self { allowed_bytes_per_s, load, round_trip_s })
    }

    /// Whether the load moves about what the law allows.
    pub(crate) fn explains_rate(self) -> bool {
        (1.0 / LAW_FACTOR..=LAW_FACTOR).contains(&self.load)
    }
}

/// From this share sent again on, the law leaves a connection a window of a dozen segments: on most paths that is less than
/// the wire has room for, and every second recovery waits for a timer.
const HEAVY_RATIO: f64 = 0.01;
/// A queue builds up before a full wire where the round trip is this many times the smallest.
const STANDING_QUEUE_RATIO: f64 = 2.0;
/// From this many times the smallest round trip on there is a queue, however little of the windows is in flight: the
/// round trips of a wire without one vary by less, also where the smallest is a few microseconds.
const LONG_QUEUE_RATIO: f64 = 100.0;
/// Below this share of its windows in flight a sender waits for timers, with the wire idle.
const IDLE_RATIO: f64 = 0.5;
/// From this share of the busy time on, limited by the receiver's window or the send buffer, a sender waits for its peer:
/// what is sent again is what the peer had no room for.
const WAITS_FOR_PEER_RATIO: f64 = 0.5;

/// Connections that lose so much that they do not fill the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StarvedConnections {
    lost_ratio: f64,
    round_trip_s: f64,
    smallest_s: f64,
    window_bytes: f64,
}

impl StarvedConnections {
    /// Whether the connections of many requests in flight lose segments with no full wire to drop them: a hundredth or more
    /// is sent again, they move no more than the law of loss allows, and no queue builds up before the wire (the round trip is
    /// near its smallest), or their windows are not in flight for most of the time. `None` where that is not so or not
    /// known, where the sender waits for a peer that does not read, and where one `more` connection shows that the wire is
    /// full.
    pub(crate) fn new(cell: &CellSummary, more: Option<ExtraConnection<'_>>) -> Option<Self> {
        let lost_ratio = lost_ratio(cell).filter(|share| *share >= HEAVY_RATIO && !is_single(cell))?;
        let law = LossLaw::new(cell).filter(|law| law.load <= LAW_FACTOR)?;
        let round_trip_s = metric(cell, TCP_ROUND_TRIP_S)?;
        let window_bytes = metric(cell, TCP_CONGESTION_WINDOW_BYTES)?;
        let connections = connections(cell);
        let in_flight = ratio(cell.rate_bytes_per_s?.0 * round_trip_s, window_bytes * connections)?;
        let stretch = ratio(round_trip_s, law.round_trip_s)?;
        let has_queue =
            stretch >= LONG_QUEUE_RATIO || (stretch >= STANDING_QUEUE_RATIO && in_flight >= IDLE_RATIO);
        // Each of several connections that lose gets its own rate: one more adds its share, of which chance takes a part.
        let half_share = 1.0 + 0.5 / connections.max(1.0);
        let is_full = more.is_some_and(|more| more.gain.ratio + more.gain.noise_ratio < half_share);
        let smallest_s = law.round_trip_s;
        (!has_queue && !is_full && !waits_for_peer(cell)).then_some(Self {
            lost_ratio,
            round_trip_s,
            smallest_s,
            window_bytes,
        })
    }

    /// Why in words.
    pub(crate) fn text(self) -> String {
        format!(
            "{} of the segments were sent again; the round trip of {} (smallest {}) and the congestion window of {} show no \
             queue before a full wire",
            text::percent(self.lost_ratio),
            text::seconds(self.round_trip_s),
            text::seconds(self.smallest_s),
            text::amount(narrows_model::Bytes(narrows_model::units::round_to_u64(self.window_bytes))),
        )
    }
}

/// The connections of `cell` where they are starved by loss: not of a proxy's two legs, and not where twice as many move no
/// more together, since a full wire drops packets too, nor where the storage alone is as slow.
pub(crate) fn starved(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    more: Option<ExtraConnection<'_>>,
) -> Option<StarvedConnections> {
    let found = StarvedConnections::new(cell, more)?;
    let is_excluded = view.passes_proxy(cell) || shares_one_rate(view, cell) || is_as_slow_behind(view, cell);
    (!is_excluded).then_some(found)
}

/// Whether the storage alone, measured at the server, moves no more than the path: what the network loses costs nothing then.
fn is_as_slow_behind(view: &SummaryView<'_>, cell: &CellSummary) -> bool {
    let alone = view.ceiling(Cut::ServerStorage, cell).filter(|found| found.same_settings);
    let load = alone.zip(cell.rate_bytes_per_s).and_then(|(alone, rate)| ratio(rate.0, alone.bytes_per_s));
    load.is_some_and(|load| load >= FULL_RATIO) || has_busy_workers(cell)
}

/// Whether the server's workers are busy most of the time: of a load that losses starve they wait for its data.
fn has_busy_workers(cell: &CellSummary) -> bool {
    metric(cell, SERVER_WORKER_BUSY_RATIO).is_some_and(|busy| busy >= FREE_RATIO)
}

/// Whether the sender spent its time waiting for room at its peer; not where that is not known.
fn waits_for_peer(cell: &CellSummary) -> bool {
    let waits_s = [TCP_RECEIVE_WINDOW_LIMITED_S, TCP_SEND_BUFFER_LIMITED_S].map(|id| metric(cell, id));
    let waited_s: f64 = waits_s.iter().flatten().sum();
    let share = metric(cell, TCP_BUSY_S).and_then(|busy_s| ratio(waited_s, busy_s));
    share.is_some_and(|share| share >= WAITS_FOR_PEER_RATIO)
}

/// The share of the segments that was sent again.
pub(crate) fn lost_ratio(cell: &CellSummary) -> Option<f64> {
    ratio(metric(cell, TCP_RETRANSMIT_COUNT)?, metric(cell, TCP_SEGMENT_COUNT)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Nanos;
    use narrows_model::summary::Metric;

    /// A bulk load of a gigabit path of which a thirtieth is sent again, with a round trip of this many times the smallest,
    /// few bytes in flight for the windows of its connections, and this share of its time waiting for the peer.
    fn lossy_cell(stretch: f64, waiting_ratio: f64) -> CellSummary {
        let summary = crate::testing::builtin("gigabit-nfs");
        let is_bulk =
            |cell: &&CellSummary| cell.cut == Cut::Path && !is_single(cell) && !cell.is_small_block();
        let mut cell = summary.cells.iter().find(is_bulk).unwrap().clone();
        let segments = cell.bytes.wire.unwrap().as_f64() / 1448.0;
        cell.rtt_min_ns = Some(Nanos(50_000));
        let values = [
            (TCP_SEGMENT_COUNT, segments),
            (TCP_RETRANSMIT_COUNT, segments / 30.0),
            (TCP_ROUND_TRIP_S, 50e-6 * stretch),
            (TCP_CONGESTION_WINDOW_BYTES, 100.0 * cell.rate_bytes_per_s.unwrap().0),
            (TCP_BUSY_S, 1.0),
            (TCP_RECEIVE_WINDOW_LIMITED_S, waiting_ratio),
            (TCP_SEND_BUFFER_LIMITED_S, 0.0),
        ];
        cell.metrics.retain(|metric| values.iter().all(|(id, _)| metric.id != *id));
        let unit = String::new();
        cell.metrics.extend(values.map(|(id, value)| Metric {
            id: id.to_owned(),
            value,
            unit: unit.clone(),
            interval: None,
        }));
        cell
    }

    #[test]
    fn connections_to_several_servers_have_no_law_of_their_mixed_round_trips() {
        let mut cell = lossy_cell(1.2, 0.1);
        assert!(LossLaw::new(&cell).is_some() && StarvedConnections::new(&cell, None).is_some());
        // One server is beside the client, the other behind a full link.
        cell.target = "stripe:tcp://a:1/disk,tcp://b:1/disk".parse().unwrap();
        assert!(LossLaw::new(&cell).is_none() && StarvedConnections::new(&cell, None).is_none());
    }

    #[test]
    fn connections_that_share_one_rate_are_not_starved_each_by_itself() {
        let mut summary = crate::testing::builtin("gigabit-nfs");
        let one = lossy_cell(1.2, 0.1);
        let mut many = one.clone();
        many.requested.workers = one.requested.workers * 4;
        let path = summary.cells.iter_mut().find(|cell| cell.id == one.id).unwrap();
        *path = one.clone();
        summary.cells.push(many);
        let is_starved =
            |summary: &narrows_model::Summary| starved(&SummaryView::new(summary), &one, None).is_some();
        assert!(!is_starved(&summary), "four times as many move as much");
        let many = summary.cells.last_mut().unwrap();
        many.rate_bytes_per_s.as_mut().unwrap().0 *= 4.0;
        assert!(is_starved(&summary), "each of four times as many moves as much");
        summary.cells.pop();
        assert!(is_starved(&summary));
    }

    #[test]
    fn losses_on_the_way_to_storage_that_is_as_slow_alone_cost_nothing() {
        let one = lossy_cell(1.2, 0.1);
        let is_starved = |factor: f64| {
            let mut summary = crate::testing::builtin("gigabit-nfs");
            *summary.cells.iter_mut().find(|cell| cell.id == one.id).unwrap() = one.clone();
            let alone = |cell: &&mut CellSummary| cell.cut == Cut::ServerStorage && cell.op == one.op;
            for cell in summary.cells.iter_mut().filter(alone) {
                cell.rate_bytes_per_s =
                    one.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 * factor));
            }
            starved(&SummaryView::new(&summary), &one, None).is_some()
        };
        assert!(is_starved(2.0) && !is_starved(1.02));
    }

    #[test]
    fn losses_on_the_way_to_workers_that_are_busy_cost_nothing() {
        let is_starved = |busy: f64| {
            let mut one = lossy_cell(1.2, 0.1);
            one.metrics.retain(|metric| metric.id != SERVER_WORKER_BUSY_RATIO);
            one.metrics.push(Metric {
                id: SERVER_WORKER_BUSY_RATIO.to_owned(),
                value: busy,
                unit: String::new(),
                interval: None,
            });
            let summary = crate::testing::builtin("gigabit-nfs");
            starved(&SummaryView::new(&summary), &one, None).is_some()
        };
        assert!(is_starved(0.3) && !is_starved(0.9));
    }

    #[test]
    fn a_peer_that_does_not_read_and_a_long_queue_are_no_loss() {
        for (stretch, waiting_ratio, is_starved) in
            [(1.2, 0.1, true), (20.0, 0.1, true), (20.0, 0.9, false), (700.0, 0.1, false)]
        {
            let cell = lossy_cell(stretch, waiting_ratio);
            let found = StarvedConnections::new(&cell, None).is_some();
            assert_eq!(found, is_starved, "round trip x{stretch}, {waiting_ratio} of the time waiting");
        }
    }
}
