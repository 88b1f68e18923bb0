//! A cell that was not measured, as it may come out: the figures of the path's own cell at another rate.
//!
//! Not here: what the rules make of it.

use crate::facts::{is_in_memory, reads};
use crate::summary::{DEVICE_OP_COUNT, TCP_BUSY_S, TCP_RECEIVE_WINDOW_LIMITED_S, TCP_SEND_BUFFER_LIMITED_S};
use narrows_model::summary::{ByteTriangle, CellSummary, LatencySummary, Metric};
use narrows_model::{BytesPerSec, Cell, Cut, OpsPerSec, Segment, Summary};

/// How many times as fast as the path a cut is that has nothing to do with its rate.
const FREE_FACTOR: f64 = 20.0;
/// A cut that is as fast as the path limits it: 3 % beside each other are the same.
const FULL_FACTOR: f64 = 1.03;
/// A cut that takes half of a request's time, or has about half of its rate to spare.
const HALF_FACTOR: f64 = 1.9;
/// How often a cut of which nothing is known comes out as the limit, and half way, where nothing is known to limit: about
/// one of the stages does.
const FULL_PROBABILITY: f64 = 0.3;
const HALF_PROBABILITY: f64 = 0.2;
/// How many times as often as another stage a device is the limit of a storage path.
const DEVICE_WEIGHT: f64 = 1.3;
/// The same where a resource is known to be full: a second one is so by chance alone.
const FULL_TOO_PROBABILITY: f64 = 0.05;
const HALF_TOO_PROBABILITY: f64 = 0.03;
/// How often more in flight adds nothing, half, or nearly all of what it could.
const GROWTHS: [(f64, f64); 3] = [(0.0, 0.5), (0.35, 0.2), (0.9, 0.3)];
/// The same where a resource was measured to be full.
const FULL_GROWTHS: [(f64, f64); 3] = [(0.0, 0.8), (0.35, 0.1), (0.9, 0.1)];

/// A path below both is slow: a tenth of one CPU issues a million requests and copies a gigabyte a second.
const SLOW_BYTES_PER_S: f64 = 100e6;
const SLOW_OPS_PER_S: f64 = 20e3;
/// The weight of a cell that clears what is far faster than the path.
const CLEARING_WEIGHT: f64 = 0.1;

/// How a cell may come out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// Its rate over that of the path's cell.
    pub factor: f64,
    pub probability: f64,
    /// Whether the windows of its connection held it back, by the kernel's counters.
    pub is_windowed: bool,
}

impl Outcome {
    fn new(factor: f64, probability: f64) -> Self {
        Self { factor, probability, is_windowed: false }
    }
}

/// A cell that is left, with the cells of the path that it is compared with.
#[derive(Debug, Clone)]
pub(super) struct ImaginedCell {
    /// Its place among the cells that are left.
    pub index: usize,
    /// As it comes out where it has nothing to do with the path's rate.
    summary: CellSummary,
    /// The path's cells by their names and rates.
    paths: Vec<(String, f64)>,
    /// The path's cells in its direction.
    reads_as: Vec<String>,
    /// How many times as much it has in flight as the path's cell.
    in_flight_factor: f64,
}

impl ImaginedCell {
    /// Whether it is a cell of the path, with more in flight or more clients.
    pub(super) fn refines(&self) -> bool {
        self.summary.cut == Cut::Path
    }

    /// Whether it is the load of the path with more in flight, or over more connections.
    pub(super) fn has_more(&self) -> bool {
        self.refines() || self.summary.cut == Cut::MoreConnections
    }

    /// Whether it is the device alone under the load of this cell of the path.
    pub(super) fn is_device_under(&self, path: &str) -> bool {
        self.summary.cut == Cut::LocalDevice && self.concerns(path)
    }

    /// How early it is worth its time, as a factor: what stays in this machine's memory is far faster than a slow path, so that
    /// it clears and hardly ever names.
    pub(super) fn order_weight(&self) -> f64 {
        let block_bytes = self.summary.block_bytes.as_f64().max(1.0);
        let is_slow = |rate: f64| rate < SLOW_BYTES_PER_S && rate / block_bytes < SLOW_OPS_PER_S;
        let clears = is_in_memory(self.summary.cut) && self.paths.iter().all(|(_, rate)| is_slow(*rate));
        if clears { CLEARING_WEIGHT } else { 1.0 }
    }

    /// Whether the verdict on the load of this cell of the path may rest on it.
    pub(super) fn concerns(&self, path: &str) -> bool {
        self.paths.iter().any(|(known, _)| known == path)
    }

    /// Whether it is that, or a cut in the direction of this load under another one: what a device does with other blocks.
    pub(super) fn is_beside(&self, path: &str) -> bool {
        let same_direction = self.reads_as.iter().any(|known| known == path);
        self.concerns(path)
            || (self.summary.cut != Cut::Path && !is_in_memory(self.summary.cut) && same_direction)
    }

    /// How it may come out and change something, where `full` is a resource at its limit that is named already.
    pub(super) fn outcomes(&self, full: Option<Segment>) -> Vec<Outcome> {
        let outcome = Outcome::new;
        let is_full = full.is_some_and(|full| !self.replaces(full));
        let (full, half) = if is_full {
            (FULL_TOO_PROBABILITY, HALF_TOO_PROBABILITY)
        } else {
            (FULL_PROBABILITY, HALF_PROBABILITY)
        };
        match self.summary.cut {
            Cut::Path => {
                let growths = if is_full { FULL_GROWTHS } else { GROWTHS };
                let more = self.in_flight_factor - 1.0;
                growths.map(|(share, probability)| outcome(1.0 + more * share, probability)).to_vec()
            }
            // What the path does without: the more it gains, the more that takes.
            Cut::EarlyPath | Cut::DirectPath | Cut::UserClient => {
                vec![outcome(10.0, full), outcome(HALF_FACTOR, half)]
            }
            Cut::DirectStream => vec![outcome(FREE_FACTOR * 10.0, full)],
            Cut::NetworkStream => vec![
                outcome(FULL_FACTOR, full),
                Outcome { is_windowed: true, ..outcome(FULL_FACTOR, full / 2.0) },
                outcome(HALF_FACTOR, half),
            ],
            Cut::ServerStorage | Cut::LocalDevice => {
                vec![outcome(FULL_FACTOR, full * DEVICE_WEIGHT), outcome(HALF_FACTOR, half)]
            }
            _ => vec![outcome(FULL_FACTOR, full), outcome(HALF_FACTOR, half)],
        }
    }

    /// Whether it does without a part of what is named, and so says which part it is: of a device that writes
    /// wait for, the commit.
    fn replaces(&self, named: Segment) -> bool {
        let is_stored = named.is_within(Segment::Device) || named.is_within(Segment::Server);
        self.summary.cut == Cut::EarlyPath && is_stored
    }

    /// `base` with this cell as it comes out, compared with this cell of the path.
    pub(super) fn in_summary(&self, base: &Summary, path: &str, outcome: &Outcome) -> Summary {
        let mut summary = self.without(base);
        let rate = self.paths.iter().find(|(known, _)| known == path).map_or(0.0, |(_, rate)| *rate);
        let mut cell = at_rate(&self.summary, rate * outcome.factor);
        if outcome.is_windowed {
            let elapsed_s = cell.elapsed_s.last_done;
            cell.metrics.extend([TCP_BUSY_S, TCP_RECEIVE_WINDOW_LIMITED_S].map(|id| metric(id, elapsed_s)));
            cell.metrics.push(metric(TCP_SEND_BUFFER_LIMITED_S, 0.0));
        }
        summary.cells.push(cell);
        summary
    }

    /// `base` without it.
    pub(super) fn without(&self, base: &Summary) -> Summary {
        let mut summary = base.clone();
        summary.cells.retain(|cell| cell.id != self.summary.id);
        summary
    }
}

/// `summary` with these cells at their most innocent.
pub(super) fn with<'i>(summary: &Summary, cells: impl Iterator<Item = &'i ImaginedCell>) -> Summary {
    let mut summary = summary.clone();
    summary.cells.extend(cells.map(|cell| cell.summary.clone()));
    summary
}

/// What of `summary` the verdict on one load rests on: its cells of the path, and all cuts of its direction.
pub(super) fn scene(summary: &Summary, path: &str) -> Summary {
    let mut scene = summary.clone();
    let Some(load) = summary.cells.iter().find(|cell| cell.id == path) else { return scene };
    let belongs = |cell: &CellSummary| {
        let same_direction = reads(cell.op) == reads(load.op);
        is_in_memory(cell.cut)
            || (same_direction && (cell.cut != Cut::Path || cell.block_bytes == load.block_bytes))
    };
    scene.cells.retain(belongs);
    scene
}

/// Those of the cells that are left which a measured cell of the path is compared with.
pub(super) fn cells(summary: &Summary, left: &[Cell]) -> Vec<ImaginedCell> {
    left.iter().enumerate().filter_map(|(index, cell)| imagine(summary, index, cell)).collect()
}

fn imagine(summary: &Summary, index: usize, cell: &Cell) -> Option<ImaginedCell> {
    let measured = summary.cells.iter().filter(|path| path.cut == Cut::Path && is_compared(path, cell));
    let rated: Vec<(&CellSummary, f64)> = measured
        .filter_map(|path| Some((path, path.rate_bytes_per_s?.0)))
        .filter(|(_, rate)| *rate > 0.0)
        .collect();
    let (path, rate) = rated.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let factor = match cell.cut {
        Cut::Path | Cut::EarlyPath | Cut::DirectPath | Cut::UserClient => 1.0,
        _ => FREE_FACTOR,
    };
    let configured = cell.workload.in_flight_configured() as f64;
    let innocent = at_rate(&shaped(path, cell), rate * factor);
    Some(ImaginedCell {
        index,
        summary: innocent,
        reads_as: summary
            .cells
            .iter()
            .filter(|path| path.cut == Cut::Path && reads(path.op) == reads(cell.workload.op))
            .map(|path| path.id.clone())
            .collect(),
        paths: rated.iter().map(|(path, rate)| (path.id.clone(), *rate)).collect(),
        in_flight_factor: configured / path.in_flight.configured.max(1) as f64,
    })
}

/// Whether the rules compare this cell of the path with `cell`: cuts of the same requests, and the same load with more in
/// flight.
fn is_compared(path: &CellSummary, cell: &Cell) -> bool {
    let same_block = path.block_bytes == cell.workload.block_bytes;
    let same_direction = reads(path.op) == reads(cell.workload.op);
    let in_flight = cell.workload.in_flight_configured();
    same_block
        && match cell.cut {
            Cut::Path => same_direction && is_refinement(path, cell),
            Cut::NetworkStream | Cut::DirectStream => same_direction,
            Cut::Generator => path.in_flight.configured == in_flight,
            Cut::MemoryCopy => path.requested.workers == cell.workload.workers,
            _ => same_direction && path.in_flight.configured == in_flight,
        }
}

/// Whether `cell` is the load of `path` with more in flight by one setting, or by one connection more.
fn is_refinement(path: &CellSummary, cell: &Cell) -> bool {
    let (own, more) = (&path.requested, &cell.workload);
    let differing =
        [own.queue_depth != more.queue_depth, own.workers != more.workers, own.clients != more.clients];
    path.target == cell.target
        && own.op == more.op
        && differing.iter().filter(|differs| **differs).count() == 1
        && more.in_flight_configured() > path.in_flight.configured
}

/// The figures of `path` under the name and settings of `cell`, without what counters and other clocks say of it.
fn shaped(path: &CellSummary, cell: &Cell) -> CellSummary {
    let mut shaped = CellSummary {
        id: cell.id.0.clone(),
        cut: cell.cut,
        site: cell.site,
        target: cell.target.clone(),
        op: cell.workload.op,
        block_bytes: cell.workload.block_bytes,
        queue_depth: u64::from(cell.workload.workers) * u64::from(cell.workload.queue_depth),
        clients: cell.workload.clients,
        requested: cell.workload.clone(),
        refines: cell.refines,
        ..path.clone()
    };
    shaped.in_flight.configured = cell.workload.in_flight_configured();
    if cell.cut != Cut::Path {
        shaped.cpu.clear();
        shaped.metrics.clear();
        shaped.flags.clear();
        shaped.mixtures.clear();
        shaped.bytes = ByteTriangle::default();
        (shaped.time_shares, shaped.device_busy_ratio, shaped.cache_served_ratio) = (None, None, None);
    }
    shaped
}

/// `cell` at another rate; its times follow by the law of the closed system.
fn at_rate(cell: &CellSummary, rate_bytes_per_s: f64) -> CellSummary {
    let mut other = cell.clone();
    let factor = cell.rate_bytes_per_s.map_or(1.0, |rate| rate_bytes_per_s / rate.0);
    other.rate_bytes_per_s = Some(BytesPerSec(rate_bytes_per_s));
    other.ops_per_s = Some(OpsPerSec(rate_bytes_per_s / cell.block_bytes.as_f64().max(1.0)));
    if let Some(interval) = &mut other.interval {
        interval.low *= factor;
        interval.high *= factor;
    }
    if matches!(cell.cut, Cut::ServerStorage | Cut::LocalDevice) {
        let op_count = other.ops_per_s.unwrap_or_default().0 * cell.elapsed_s.last_done;
        other.metrics = vec![metric(DEVICE_OP_COUNT, op_count)];
    }
    other.latency_ns = LatencySummary::default();
    other.service_ns = None;
    other
}

fn metric(id: &str, value: f64) -> Metric {
    Metric { id: id.into(), value, unit: String::new(), interval: None }
}
