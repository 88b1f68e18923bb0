//! Writes that memory acknowledges before a device has them: what they come to once that memory is full.
//!
//! Not here: the rate until then, which is that of a path that ends in memory.

use super::{Computed, ExtrapolationRequest, LEVEL, NORMAL_WIDTH, point_error};
use crate::facts::reads;
use crate::scaling::{BYTES_UNIT, Curve, StageCeiling, stage_ceilings};
use crate::text;
use crate::thresholds::DOMINANT_RATIO;
use narrows_model::counters::Role;
use narrows_model::extrapolation::{ExtrapolatedRate, FullMemoryRate, StageChange};
use narrows_model::summary::{CellSummary, Interval};
use narrows_model::units::{ratio, saturate_u32};
use narrows_model::{Bytes, Cut, Segment, Summary};
use narrows_stats::simulation::{ClosedLoad, PathStep, ServiceStation, SimulationPlan, simulate};
use std::num::NonZeroU32;

/// Requests that the simulated memory has room for. A device that is never idle, and more of them change nothing.
const ROOM_LEN: u64 = 1_000;

/// Memory that acknowledges writes, with the device behind it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WriteMemory {
    device: StageCeiling,
    /// Times as many devices as were measured.
    device_times: f64,
    /// Memory that was available; `None` where the record does not have it.
    available_bytes: Option<f64>,
    seed: u64,
}

/// Whether memory took the writes of `curve`: at each of its points less than half of their bytes reached a device in the
/// same time.
pub(super) fn is_absorbed(curve: &Curve<'_>) -> bool {
    let in_memory = |cell: &&CellSummary| {
        let device =
            cell.bytes.device.and_then(|device| ratio(device.as_f64(), cell.bytes.application.as_f64()));
        !reads(cell.op) && device.is_some_and(|share| share < DOMINANT_RATIO)
    };
    curve.unit == BYTES_UNIT && curve.cells.iter().all(in_memory)
}

impl WriteMemory {
    /// That of the path of `curve`; `None` where no memory took the writes, or what the device behind it sustains is not
    /// known.
    pub(super) fn new(summary: &Summary, curve: &Curve<'_>, changes: &[StageChange]) -> Option<Self> {
        let is_device = |one: &StageCeiling| one.segment == Segment::DeviceBandwidth && one.binds;
        let device =
            stage_ceilings(summary, curve).into_iter().find(is_device).filter(|_| is_absorbed(curve))?;
        let role = if device.cut == Cut::ServerStorage { Role::Server } else { Role::Client };
        let host = summary.hosts.iter().find(|host| host.roles.contains(&role));
        let disks = changes.iter().filter_map(|change| match change {
            StageChange::Disks(times) => Some(*times),
            StageChange::Link(_) | StageChange::ServerCpu(_) => None,
        });
        Some(Self {
            device,
            device_times: disks.product(),
            available_bytes: host
                .and_then(|host| host.inventory.host.memory_available_bytes)
                .map(Bytes::as_f64),
            seed: summary.seed,
        })
    }

    /// Adds to each rate what it comes to.
    pub(super) fn add_to(&self, computed: &mut Computed, curve: &Curve<'_>, request: &ExtrapolationRequest) {
        for rate in &mut computed.rates {
            rate.after_full = self.after_full(curve, rate);
        }
        if computed.rates.iter().any(|rate| rate.after_full.is_some()) {
            let each =
                if request.servers.iter().any(|servers| *servers != 1) { " of each server" } else { "" };
            computed.assumptions.push(format!(
                "memory acknowledges the writes until it is full, and then by the simulation of it the device{each} \
                 limits them, which sustains {}",
                text::storage_rate(self.device.rate * self.device_times)
            ));
        }
    }

    /// `None` where the device is fast enough for memory never to fill, or the simulation is too large.
    fn after_full(&self, curve: &Curve<'_>, rate: &ExtrapolatedRate) -> Option<FullMemoryRate> {
        let servers = f64::from(rate.servers);
        let device = self.device.rate * self.device_times * servers;
        if rate.rate <= device {
            return None;
        }
        let (full, simulation_error) = self.simulated(curve, rate, device)?;
        let errors = [self.device.relative_error, point_error(curve), simulation_error];
        let side = NORMAL_WIDTH * errors.iter().map(|error| error * error).sum::<f64>().sqrt();
        let interval = Interval {
            low: full * (-side).exp(),
            high: full * side.exp(),
            level: LEVEL,
            method: "simulation".to_owned(),
        };
        let room = self.available_bytes.map(|bytes| bytes * servers);
        Some(FullMemoryRate {
            rate: full,
            interval,
            full_after_s_max: room.and_then(|bytes| ratio(bytes, rate.rate - device)),
        })
    }

    /// The rate of so many requests in flight that come at the rate of memory, before memory that is full, with its relative
    /// error.
    fn simulated(&self, curve: &Curve<'_>, rate: &ExtrapolatedRate, device: f64) -> Option<(f64, f64)> {
        let block_bytes = curve.first().block_bytes.as_f64();
        let clients = NonZeroU32::new(rate.clients)?;
        let depth = NonZeroU32::new(saturate_u32(curve.first().queue_depth.max(1)))?;
        let in_flight = f64::from(clients.get()) * f64::from(depth.get());
        let device = ServiceStation::exponential(block_bytes / device);
        let steps = [
            PathStep::Delay { delay_s: in_flight * block_bytes / rate.rate },
            PathStep::Memory { room_len: ROOM_LEN, stored_len: ROOM_LEN, device },
        ];
        let plan = SimulationPlan::with_seed(self.seed);
        let found = simulate(&steps, ClosedLoad { clients, depth }, plan).ok()?;
        Some((found.rate_per_s * block_bytes, found.relative_error))
    }
}
