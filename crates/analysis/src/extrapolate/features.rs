//! What of a path mean value analysis cannot express, as far as the record has it, and the rates of such a path by simulation.
//!
//! Not here: what fits the points, which is `network`'s, and memory that fills, which is `after_full`'s.

use super::refusal;
use super::stations::Stations;
use crate::facts::network::transferred_bytes_per_s;
use crate::facts::reads;
use crate::method::network::stream_limit;
use crate::scaling::{BYTES_UNIT, Curve, member_ceilings};
use crate::text;
use crate::view::SummaryView;
use narrows_model::extrapolation::ExtrapolationRefusal;
use narrows_model::summary::CellSummary;
use narrows_model::target::Stripe;
use narrows_model::units::{Bytes, ratio, round_to_u64, saturate_u32};
use narrows_model::{Cut, Nanos, Segment, Summary, Target};
use narrows_stats::simulation::{ClosedLoad, PathStep, ServiceStation, SimulationPlan, simulate};
use std::num::NonZeroU32;

/// Features of a path for which it is simulated.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathFeatures {
    /// Bytes of a request.
    block_bytes: f64,
    /// Connections of one client, each with its own window.
    connections: u32,
    /// Requests in flight of one connection.
    depth: NonZeroU32,
    window: Option<ConnectionWindow>,
    stripe: Option<StripedDevices>,
    seed: u64,
}

/// What a connection may have in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ConnectionWindow {
    window_bytes: f64,
    /// The requests that it has room for, the last of them perhaps in part.
    in_flight: NonZeroU32,
    /// Its rate, whatever the wire: bytes are on their way while others are acknowledged.
    bytes_per_s: f64,
}

impl ConnectionWindow {
    /// Time in which the requests of a window wait for acknowledgement, beyond that of one on a wire of this rate.
    fn round_s(&self, block_bytes: f64, network: f64) -> f64 {
        (f64::from(self.in_flight.get()) * block_bytes / self.bytes_per_s - block_bytes / network).max(0.0)
    }
}

/// The devices of a stripe.
#[derive(Debug, Clone, PartialEq)]
struct StripedDevices {
    /// The rate of each alone.
    rates: Vec<f64>,
    /// Members that one request is divided over.
    parts: NonZeroU32,
}

impl PathFeatures {
    /// Those of the path of `curve`; `None` where mean value analysis expresses all of it.
    ///
    /// # Errors
    /// A window of which the size does not follow from the record.
    pub(super) fn new(
        summary: &Summary,
        curve: &Curve<'_>,
        stations: &Stations,
    ) -> Result<Option<Self>, ExtrapolationRefusal> {
        let first = curve.first();
        let connections = first.requested.workers.max(1);
        let depth = counted(first.queue_depth / u64::from(connections));
        let known = |segment: Segment| stations.known.iter().any(|one| one.segment == segment);
        let has_network = curve.unit == BYTES_UNIT && known(Segment::NetworkBandwidth);
        let window = if has_network { window(summary, curve)? } else { None };
        let stripe = striped(summary, curve).filter(|_| known(Segment::DeviceBandwidth));
        let features = Self {
            block_bytes: first.block_bytes.as_f64(),
            connections,
            depth,
            window: window.filter(|window| window.in_flight < depth),
            stripe,
            seed: summary.seed,
        };
        Ok((features.window.is_some() || features.stripe.is_some()).then_some(features))
    }

    /// The rates of so many clients each, service times exponential.
    ///
    /// # Errors
    /// More requests in flight than are simulated.
    pub(super) fn rates(
        &self,
        ceilings: &[(Segment, f64)],
        delay_s: f64,
        clients: &[u32],
    ) -> Result<Vec<f64>, ExtrapolationRefusal> {
        let steps = self.steps(ceilings, delay_s);
        clients.iter().map(|clients| self.rate(&steps, *clients)).collect()
    }

    /// The most that the windows of so many clients let through; infinite without windows.
    pub(super) fn bound(&self, clients: u32) -> f64 {
        let of_one = self.window.map_or(f64::INFINITY, |window| window.bytes_per_s);
        f64::from(clients) * f64::from(self.connections) * of_one
    }

    /// The time of a request alone in which it waits for acknowledgement, in seconds a byte.
    pub(super) fn round_s(&self, ceilings: &[(Segment, f64)]) -> f64 {
        let network = ceilings.iter().find(|(segment, _)| *segment == Segment::NetworkBandwidth);
        let round_s = self.window.zip(network);
        round_s.map_or(0.0, |(window, (_, rate))| window.round_s(self.block_bytes, *rate) / self.block_bytes)
    }

    /// What is simulated, in sentences.
    pub(super) fn assumptions(&self) -> Vec<String> {
        let window = self.window.map(|window| {
            format!(
                "a connection has {} in flight at the most, as the window that limited the stream of one client shows",
                text::amount(Bytes(round_to_u64(window.window_bytes)))
            )
        });
        let stripe = self.stripe.as_ref().map(|stripe| {
            format!(
                "each request is divided over {} of {} members, and is done when the last of them is",
                stripe.parts,
                stripe.rates.len()
            )
        });
        window.into_iter().chain(stripe).collect()
    }

    fn rate(&self, steps: &[PathStep], clients: u32) -> Result<f64, ExtrapolationRefusal> {
        let clients = counted(u64::from(clients) * u64::from(self.connections));
        let load = ClosedLoad { clients, depth: self.depth };
        let found = simulate(steps, load, SimulationPlan::with_seed(self.seed));
        let found = found.map_err(|error| {
            refusal(&format!("{clients} connections cannot be simulated: {error}"), "ask for fewer clients")
        })?;
        Ok(found.rate_per_s * self.block_bytes)
    }

    /// The path of a request; `delay_s` is a byte's.
    fn steps(&self, ceilings: &[(Segment, f64)], delay_s: f64) -> Vec<PathStep> {
        let delay = PathStep::Delay { delay_s: delay_s * self.block_bytes };
        let stations = ceilings.iter().map(|(segment, ceiling)| self.step(*segment, *ceiling));
        [delay].into_iter().chain(stations).collect()
    }

    fn step(&self, segment: Segment, ceiling: f64) -> PathStep {
        let station = PathStep::Station(ServiceStation::exponential(self.block_bytes / ceiling));
        match (segment, self.window, &self.stripe) {
            (Segment::NetworkBandwidth, Some(window), _) => {
                let round = PathStep::Delay { delay_s: window.round_s(self.block_bytes, ceiling) };
                PathStep::Window { in_flight: window.in_flight, steps: vec![station, round] }
            }
            (Segment::DeviceBandwidth, _, Some(stripe)) => stripe.step(self.block_bytes, ceiling),
            _ => station,
        }
    }
}

impl StripedDevices {
    /// The devices when together they sustain `ceiling`: the slowest then has as much of it as each other.
    fn step(&self, block_bytes: f64, ceiling: f64) -> PathStep {
        let slowest = self.rates.iter().copied().fold(f64::INFINITY, f64::min);
        let times = ceiling / (slowest * self.rates.len() as f64);
        let part_bytes = block_bytes / f64::from(self.parts.get());
        let members = self.rates.iter().map(|rate| ServiceStation::exponential(part_bytes / (rate * times)));
        PathStep::Stripe { members: members.collect(), parts: self.parts }
    }
}

fn counted(count: u64) -> NonZeroU32 {
    NonZeroU32::new(saturate_u32(count)).unwrap_or(NonZeroU32::MIN)
}

/// The window of a connection: of the raw stream of the fewest clients, where a window or a buffer limited it.
///
/// # Source
/// X <= W / RTT, so that W = X RTT where it is reached.
fn window(summary: &Summary, curve: &Curve<'_>) -> Result<Option<ConnectionWindow>, ExtrapolationRefusal> {
    let path = curve.first();
    let is_stream = |cell: &&CellSummary| {
        cell.cut == Cut::NetworkStream
            && cell.block_bytes == path.block_bytes
            && reads(cell.op) == reads(path.op)
    };
    let streams = summary.cells.iter().filter(is_stream);
    let limited = |cell: &&CellSummary| stream_limit(&SummaryView::new(summary), cell).is_some();
    let Some(stream) = streams.min_by_key(|cell| cell.in_flight.configured).filter(limited) else {
        return Ok(None);
    };
    let connections = f64::from(stream.clients) * f64::from(stream.requested.workers.max(1));
    let round_trip = stream.rtt_min_ns.or(path.rtt_min_ns).filter(|rtt| rtt.0 > 0).map(Nanos::as_secs_f64);
    let found = ratio(transferred_bytes_per_s(stream), connections).zip(round_trip);
    let Some((bytes_per_s, round_trip_s)) = found.filter(|(rate, _)| *rate > 0.0) else {
        return Err(refusal(
            &format!("a window limited {}, and the record has no round trip that shows its size", stream.id),
            "measure over a connection of which the kernel reports the round trip (TCP_INFO)",
        ));
    };
    let window_bytes = bytes_per_s * round_trip_s;
    let requests = (window_bytes / path.block_bytes.as_f64()).ceil();
    Ok(Some(ConnectionWindow { window_bytes, in_flight: counted(round_to_u64(requests)), bytes_per_s }))
}

fn striped(summary: &Summary, curve: &Curve<'_>) -> Option<StripedDevices> {
    let first = curve.first();
    let Target::Stripe(stripe) = &first.target else { return None };
    let members = [Cut::ServerStorage, Cut::LocalDevice];
    let members = members.into_iter().find_map(|cut| member_ceilings(summary, curve, cut))?;
    Some(StripedDevices {
        rates: members.iter().map(|member| member.rate).collect(),
        parts: parts(stripe, first.block_bytes),
    })
}

/// Members that a block is divided over: one for each of its units.
fn parts(stripe: &Stripe, block_bytes: Bytes) -> NonZeroU32 {
    let units = block_bytes.0.div_ceil(stripe.unit_bytes().0.max(1));
    counted(units.min(stripe.members().len() as u64))
}
