//! The figure shown for a segment in the table of the path: what it sustains, and how far the path used it.

use super::units::{counted, op_column, storage_column};
use narrows_model::counters::Role;
use narrows_model::quantity::{cpus, network_rate, percent, span};
use narrows_model::summary::{CellSummary, CurvePoint, RoleCpu, SegmentSummary, UsedOf};
use narrows_model::units::ratio;
use narrows_model::{BytesPerSec, Cut, Nanos, OpsPerSec, Segment, Summary};

/// What is shown of one segment.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct SegmentReading {
    /// The most it sustains, or the figure by which it was seen; `None` where it was only seen by a state.
    pub most: Option<String>,
    /// How full the path made it; `None` where that is no share.
    pub used_ratio: Option<f64>,
    /// What that is a share of.
    pub of: Option<UsedOf>,
}

impl SegmentReading {
    /// The share in words: `45 %`, `62 % of the time`; `None` where there is none.
    pub(crate) fn used(&self) -> Option<String> {
        let share = percent(self.used_ratio?.min(1.0));
        Some(if self.of == Some(UsedOf::Time) { format!("{share} of the time") } else { share })
    }
}

/// The reading of `segment` in `summary`: how full it was by the verdict on it, where there is one.
pub(crate) fn reading(segment: &SegmentSummary, summary: &Summary) -> SegmentReading {
    let measured = measured(segment, summary);
    match segment.uses.first() {
        Some(used) => SegmentReading { used_ratio: Some(used.used_ratio), of: Some(used.of), ..measured },
        None => measured,
    }
}

/// The reading by the figures of the segment alone.
fn measured(segment: &SegmentSummary, summary: &Summary) -> SegmentReading {
    match segment.id {
        Segment::ClientCpu => cpu(summary, Role::Client),
        Segment::ServerCpu => cpu(summary, Role::Server),
        Segment::ProxyCpu => cpu(summary, Role::Proxy),
        Segment::HostCpu => host_cpu(summary),
        Segment::NetworkLatency => {
            shown(smallest(summary, |cell| cell.rtt_min_ns), |rtt| format!("{} round trip", span(rtt)))
        }
        Segment::NetworkLoss => shown(largest(summary, |cell| cell.retransmit_count), |count| {
            format!("{} resent", counted(count, "segment"))
        }),
        Segment::ClientCache | Segment::ServerCache if segment.ceiling_bytes_per_s.is_none() => {
            shown(cache_share(summary), |share| format!("{} of bytes", percent(share)))
        }
        Segment::DeviceLatency => shown(device_wait(summary), |wait| format!("{} a request", span(wait))),
        // Without data the generator's rate of bytes would only be the block size in other words.
        Segment::DeviceIops | Segment::Generator => operations(segment, summary),
        Segment::NetworkBandwidth => SegmentReading {
            most: ceiling(segment, summary).map(|rate| network_rate(rate.0)),
            used_ratio: segment.utilisation_ratio,
            of: None,
        },
        _ => SegmentReading {
            most: ceiling(segment, summary).map(|rate| storage_column(Some(rate))),
            used_ratio: segment.utilisation_ratio,
            of: None,
        },
    }
}

/// What a segment sustains in the direction of the load whose use is shown: what it does in the other one is another figure.
/// A ceiling that the path raised, or that of all members of a stripe, is above the curve of any cut.
fn ceiling(segment: &SegmentSummary, summary: &Summary) -> Option<BytesPerSec> {
    let best = |points: &mut dyn Iterator<Item = &CurvePoint>| {
        points.map(|point| point.value).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let of_any = best(&mut segment.curve.iter());
    let is_above_curve = segment.ceiling_bytes_per_s.zip(of_any).is_some_and(|(most, any)| most.0 > any.0);
    let of_direction = best(&mut same_direction(segment, summary));
    of_direction.filter(|_| !is_above_curve).or(segment.ceiling_bytes_per_s)
}

/// The points of a segment's curve in the direction of the load whose use is shown.
fn same_direction<'s>(
    segment: &'s SegmentSummary,
    summary: &Summary,
) -> impl Iterator<Item = &'s CurvePoint> {
    let shown = segment.uses.first().and_then(|used| summary.cells.iter().find(|cell| cell.id == used.cell));
    let towards_device = shown.map(|cell| cell.op.moves_towards_device());
    segment
        .curve
        .iter()
        .filter(move |point| towards_device.is_none_or(|towards| point.op.moves_towards_device() == towards))
}

/// The cells of the whole path.
pub(crate) fn path_cells(summary: &Summary) -> impl Iterator<Item = &CellSummary> {
    summary.cells.iter().filter(|cell| cell.cut == Cut::Path)
}

fn shown<T>(value: Option<T>, text: impl Fn(T) -> String) -> SegmentReading {
    SegmentReading { most: value.map(text), ..SegmentReading::default() }
}

fn cpu(summary: &Summary, role: Role) -> SegmentReading {
    let fullest = path_cells(summary)
        .filter_map(|cell| cell.cpu.get(&role))
        .max_by(|a, b| a.busy_ratio.total_cmp(&b.busy_ratio));
    SegmentReading {
        most: fullest.map(|cpu| cpus(cpu.capacity_cpus)),
        used_ratio: fullest.map(|cpu| cpu.busy_ratio.min(1.0)),
        of: None,
    }
}

/// CPU of all roles together on the machine that they share, and what other programs used there.
fn host_cpu(summary: &Summary) -> SegmentReading {
    let Some(host) = summary.hosts.first() else { return SegmentReading::default() };
    let online = f64::from(host.inventory.host.online_cpus);
    let used = path_cells(summary).filter(|cell| !cell.cpu.is_empty()).map(busy_cpus).reduce(f64::max);
    let used_ratio = used.and_then(|used| ratio(used, online)).map(|share| share.min(1.0));
    SegmentReading { most: Some(cpus(online)), used_ratio, of: None }
}

/// CPUs that all roles of a cell and other programs keep busy, with the soft interrupts, which are the machine's and
/// counted once.
fn busy_cpus(cell: &CellSummary) -> f64 {
    let roles: f64 = cell.cpu.values().map(|cpu: &RoleCpu| cpu.busy_ratio * cpu.capacity_cpus).sum();
    let softirq_s = cell.cpu.values().filter_map(|cpu| cpu.softirq_s).reduce(f64::max);
    let foreign = cell.foreign_cpu.iter().map(|load| load.used_cpus).fold(0.0, f64::max);
    roles
        + foreign
        + softirq_s.and_then(|softirq_s| ratio(softirq_s, cell.elapsed_s.last_done)).unwrap_or(0.0)
}

fn cache_share(summary: &Summary) -> Option<f64> {
    path_cells(summary).filter_map(|cell| cell.cache_served_ratio).reduce(f64::max)
}

fn operations(segment: &SegmentSummary, summary: &Summary) -> SegmentReading {
    let of_point = |point: &CurvePoint| ratio(point.value.0, point.block_bytes.as_f64());
    let of_direction = same_direction(segment, summary).filter_map(of_point).max_by(f64::total_cmp);
    // A ceiling that the path raised is above the curve of any cut.
    let of_any = segment.curve.iter().filter_map(of_point).max_by(f64::total_cmp);
    let most = segment.ceiling_ops_per_s.map(|most| {
        let is_above_curve = of_any.is_none_or(|any| most.0 > any * (1.0 + f64::EPSILON));
        OpsPerSec(of_direction.filter(|_| !is_above_curve).unwrap_or(most.0))
    });
    SegmentReading {
        most: most.map(|rate| format!("{} op/s", op_column(Some(rate)))),
        used_ratio: segment.utilisation_ratio,
        of: None,
    }
}

/// The median time of the smallest single request to the device alone.
fn device_wait(summary: &Summary) -> Option<Nanos> {
    let device = |cell: &&CellSummary| matches!(cell.cut, Cut::ServerStorage | Cut::LocalDevice);
    let single = |cell: &&CellSummary| cell.in_flight.configured == 1;
    let smallest = summary.cells.iter().filter(device).filter(single).min_by_key(|cell| cell.block_bytes)?;
    smallest.latency_ns.p50.map(Nanos)
}

fn smallest<T: Ord>(summary: &Summary, of: impl Fn(&CellSummary) -> Option<T>) -> Option<T> {
    path_cells(summary).filter_map(of).min()
}

fn largest<T: Ord>(summary: &Summary, of: impl Fn(&CellSummary) -> Option<T>) -> Option<T> {
    path_cells(summary).filter_map(of).max()
}
