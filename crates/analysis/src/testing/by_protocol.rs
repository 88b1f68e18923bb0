//! A simulated machine's path as one to a server on which nothing of ours runs, with the cuts that a protocol has.

use super::builtin;
pub(crate) use super::named;
use crate::facts::reads;
use crate::summary::{
    RECEIVED_BYTES_PER_S, REPLY_ARRIVAL_BYTES_PER_S, TCP_BUSY_S, TCP_RECEIVE_WINDOW_LIMITED_S,
    TCP_ROUND_TRIP_S, TCP_SEND_BUFFER_LIMITED_S,
};
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, Metric};
use narrows_model::workload::SyncPolicy;
use narrows_model::{Cut, Op, Summary, Target};

/// What the protocol shows, as multiples of the path's own figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpokenProtocol {
    arrival: f64,
    received: Option<f64>,
    busy: f64,
    window: f64,
    queued: f64,
    hot: f64,
    hot_writes: f64,
    writes: f64,
    early: f64,
    more_connections: Option<f64>,
}

impl SpokenProtocol {
    /// Long replies arrive at so many times the rate of all.
    pub(crate) fn arrival(self, arrival: f64) -> Self {
        Self { arrival, ..self }
    }

    /// The connections receive so many times what ended in the window.
    pub(crate) fn received(self, received: f64) -> Self {
        Self { received: Some(received), ..self }
    }

    /// The sender's share of time with data on the way, its share before a closed window, and how often the smallest round
    /// trip goes into the smoothed one.
    pub(crate) fn sender(self, busy: f64, window: f64, queued: f64) -> Self {
        Self { busy, window, queued, ..self }
    }

    /// Hot blocks move so many times as much.
    pub(crate) fn hot(self, hot: f64) -> Self {
        Self { hot, ..self }
    }

    /// Writes of hot blocks, besides.
    pub(crate) fn hot_writes(self, hot_writes: f64) -> Self {
        Self { hot_writes, ..self }
    }

    /// The path's writes move so many times what they did.
    pub(crate) fn writes(self, writes: f64) -> Self {
        Self { writes, ..self }
    }

    /// Durable writes that need not be durable are so many times as fast.
    pub(crate) fn early(self, early: f64) -> Self {
        Self { early, ..self }
    }

    /// The same over twice the connections.
    pub(crate) fn over_more_connections(self, gain: f64) -> Self {
        Self { more_connections: Some(gain), ..self }
    }

    fn metrics(self, cell: &CellSummary) -> Vec<Metric> {
        let (rate, elapsed) = (cell.rate_bytes_per_s.unwrap().0, cell.elapsed_s.last_done);
        let rtt = cell.rtt_min_ns.unwrap().as_secs_f64();
        let all = [
            (REPLY_ARRIVAL_BYTES_PER_S, rate * self.arrival, reads(cell.op) && !cell.is_small_block()),
            (
                RECEIVED_BYTES_PER_S,
                rate * self.received.unwrap_or(1.0),
                reads(cell.op) && self.received.is_some(),
            ),
            (TCP_BUSY_S, elapsed * self.busy, !reads(cell.op)),
            (TCP_RECEIVE_WINDOW_LIMITED_S, elapsed * self.window, !reads(cell.op)),
            (TCP_SEND_BUFFER_LIMITED_S, 0.0, !reads(cell.op)),
            (TCP_ROUND_TRIP_S, rtt * self.queued, true),
        ];
        let metric = |(id, value, _): (&str, f64, bool)| Metric {
            id: id.to_owned(),
            value,
            unit: String::new(),
            interval: None,
        };
        all.into_iter().filter(|(.., is_there)| *is_there).map(metric).collect()
    }
}

/// The cell at `factor` times its rate.
pub(crate) fn scaled(cell: &CellSummary, factor: f64) -> CellSummary {
    let mut cell = cell.clone();
    for rate in [
        cell.rate_bytes_per_s.as_mut().map(|rate| &mut rate.0),
        cell.ops_per_s.as_mut().map(|rate| &mut rate.0),
    ]
    .into_iter()
    .flatten()
    {
        *rate *= factor;
    }
    for edge in cell.interval.iter_mut().flat_map(|seen| [&mut seen.low, &mut seen.high]) {
        *edge *= factor;
    }
    cell
}

fn cut_of(path: &CellSummary, cut: Cut, factor: f64) -> CellSummary {
    let made = scaled(path, factor);
    CellSummary { cut, id: made.id.replace("path", cut.name()), ..made }
}

/// A path of which the protocol shows what `change` makes of a healthy one.
pub(crate) fn spoken(change: impl Fn(SpokenProtocol) -> SpokenProtocol) -> Summary {
    spoken_on("gigabit-nfs", change)
}

/// The same on another of the built-in machines.
pub(crate) fn spoken_on(machine: &str, change: impl Fn(SpokenProtocol) -> SpokenProtocol) -> Summary {
    let shown = change(SpokenProtocol {
        arrival: 1.0,
        received: None,
        busy: 0.3,
        window: 0.0,
        queued: 1.0,
        hot: 1.0,
        hot_writes: 1.0,
        writes: 1.0,
        early: 1.0,
        more_connections: None,
    });
    let mut summary = builtin(machine);
    summary.target = "nfs://storage/export".parse::<Target>().unwrap();
    summary.hosts.retain(|host| host.server.is_none());
    summary.cells.retain(|cell| matches!(cell.cut, Cut::Generator | Cut::MemoryCopy | Cut::Path));
    let mut cuts = Vec::new();
    for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
        cell.target = summary.target.clone();
        cell.requested.acknowledgement = narrows_model::workload::Acknowledgement::Early;
        let is_single_write = !reads(cell.op) && cell.in_flight.configured == 1 && cell.is_small_block();
        cell.requested.sync = match cell.op {
            Op::Write if is_single_write => SyncPolicy::Dsync,
            Op::Write => SyncPolicy::AtEnd,
            _ => SyncPolicy::None,
        };
        cell.cpu.remove(&Role::Server);
        (cell.bytes.device, cell.cache_served_ratio, cell.device_busy_ratio) = (None, None, None);
        cell.metrics = shown.metrics(cell);
        let of_writes = if reads(cell.op) { 1.0 } else { shown.hot_writes };
        cuts.push(cut_of(cell, Cut::HotBlocks, shown.hot * of_writes));
        if is_single_write {
            cuts.push(cut_of(cell, Cut::EarlyPath, shown.early * of_writes));
        }
        let bulk = (cell.block_bytes.0, cell.in_flight.configured) == (1 << 20, 16);
        cuts.extend(
            shown.more_connections.filter(|_| bulk).map(|gain| cut_of(cell, Cut::MoreConnections, gain)),
        );
        if !reads(cell.op) {
            *cell = scaled(cell, shown.writes);
            cell.metrics = shown.metrics(cell);
        }
    }
    summary.cells.extend(cuts);
    summary.prediction = crate::predict::predict(&summary);
    summary.diagnosis = crate::diagnose(&summary);
    summary
}

/// The same with an endpoint beside the server, whose storage is so many times as fast as the path.
pub(crate) fn with_endpoint(mut summary: Summary, storage: f64) -> Summary {
    summary.hosts.extend(builtin("gigabit-nfs").hosts.into_iter().filter(|host| host.server.is_some()));
    let paths = summary.cells.iter().filter(|cell| cell.cut == Cut::Path);
    let stored: Vec<CellSummary> = paths.map(|cell| cut_of(cell, Cut::ServerStorage, storage)).collect();
    summary.cells.extend(stored);
    summary.prediction = crate::predict::predict(&summary);
    summary.diagnosis = crate::diagnose(&summary);
    summary
}
