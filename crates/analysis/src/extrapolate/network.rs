//! Rates by a closed network of queues: mean value analysis below, or the simulation of what that cannot express, asymptotic
//! bounds above, the truth between them.

use super::features::PathFeatures;
use super::stations::Stations;
use super::{
    Computed, ExtrapolationRequest, NORMAL_WIDTH, point_error, rate_of, refusal, same_clients, widened,
};
use crate::scaling::{BYTES_UNIT, Curve};
use crate::text;
use crate::thresholds::{FULL_RATIO, UNEXPLAINED_RATIO};
use narrows_model::extrapolation::{ExtrapolatedRate, ExtrapolationMethod, ExtrapolationRefusal};
use narrows_model::units::{round_to_u64, saturate_u32};
use narrows_model::{Segment, Summary};
use narrows_stats::mva::{Network, QueueStation, StationKind};

/// Most requests in flight of a network that is solved: the time grows with them.
const IN_FLIGHT_MAX: u64 = 4_000_000;
/// Halvings of the delay that fits the first point.
const HALVINGS: u32 = 60;
/// The same where each is a simulation: more of them than its error shows.
const SIMULATED_HALVINGS: u32 = 14;
/// Standard error of a simulated rate over it: that of 50 000 exponential times is 1 / sqrt(50 000).
const SIMULATION_ERROR: f64 = 0.005;

/// The rates that `request` asks for; `grows`: whether the rate may still grow with the clients that were measured.
///
/// # Errors
/// Where a stage that can end the growth is not known, or the network does not explain the points.
pub(super) fn rates(
    summary: &Summary,
    curve: &Curve<'_>,
    stations: &Stations,
    request: &ExtrapolationRequest,
    grows: bool,
) -> Result<Computed, ExtrapolationRefusal> {
    stations.check(grows)?;
    let model = PathModel::fitted(summary, curve, stations)?;
    let changed = stations.changed(&request.changes)?;
    let mut rates = Vec::new();
    for servers in &request.servers {
        let ceilings = changed.ceilings(*servers);
        rates.extend(model.rates(curve, &ceilings, *servers, &request.clients)?);
    }
    let mut assumptions = vec![
        same_clients(curve),
        "each operation uses as much of every stage as it did when this was measured by itself".to_owned(),
    ];
    if request.servers.iter().any(|servers| *servers != 1) {
        assumptions.push(
            "load is spread evenly over servers, which share the network as it was measured".to_owned(),
        );
    }
    assumptions.extend(model.features.iter().flat_map(PathFeatures::assumptions));
    Ok(Computed { method: model.method(), rates, stages: changed.as_measured(), assumptions })
}

/// The network of a path, whose delay fits the points.
struct PathModel {
    /// Requests in flight of one client.
    depth: u64,
    /// Time of a request in which it waits for nothing that others use, times the unit: seconds a unit of rate.
    delay_s: f64,
    /// How far its middle is from the measured points, in logarithms.
    misfit: f64,
    /// What has to be simulated; `None` where mean value analysis expresses the path.
    features: Option<PathFeatures>,
}

/// Both estimates of a rate.
struct RateBounds {
    low: f64,
    high: f64,
    full: Option<Segment>,
}

impl PathModel {
    /// The network with the delay of the fewest clients.
    fn fitted(
        summary: &Summary,
        curve: &Curve<'_>,
        stations: &Stations,
    ) -> Result<Self, ExtrapolationRefusal> {
        let depth = curve.first().queue_depth.max(1);
        let first = curve.first();
        let ceilings = stations.ceilings(1);
        let features = PathFeatures::new(summary, curve, stations)?;
        let mut model = Self { depth, delay_s: 0.0, misfit: 0.0, features };
        model.delay_s = model.delay_of(first.clients, curve.rate(first), &ceilings)?;
        let mut squares = 0.0;
        for cell in &curve.cells {
            let bounds = model.bounds(&ceilings, &[cell.clients])?;
            let Some(bounds) = bounds.first() else { continue };
            let measured = curve.rate(cell);
            // Between both estimates is explained; beyond them the nearer one decides.
            let beyond = (measured / bounds.high).ln().max((bounds.low / measured).ln()).max(0.0);
            squares += beyond * beyond;
            if beyond.exp_m1() > UNEXPLAINED_RATIO {
                return Err(refusal(
                    &format!(
                        "with {} clients {} was measured, and the ceilings of the stages give {} to {}: they do not explain \
                         the curve",
                        cell.clients,
                        rate_text(curve, measured),
                        rate_text(curve, bounds.low),
                        rate_text(curve, bounds.high)
                    ),
                    "measure with more clients, until the rate stops to grow; without --add and --servers no stage need be \
                     known then",
                ));
            }
        }
        model.misfit = (squares / curve.cells.len() as f64).sqrt();
        Ok(model)
    }

    fn method(&self) -> ExtrapolationMethod {
        if self.features.is_some() { ExtrapolationMethod::Simulation } else { ExtrapolationMethod::Network }
    }

    /// The delay with which `clients` have this rate; 0 where the stations alone are slower.
    fn delay_of(
        &self,
        clients: u32,
        rate: f64,
        ceilings: &[(Segment, f64)],
    ) -> Result<f64, ExtrapolationRefusal> {
        let in_flight = u64::from(clients) * self.depth;
        let (mut low, mut high) = (0.0, in_flight as f64 / rate);
        let halvings = if self.features.is_some() { SIMULATED_HALVINGS } else { HALVINGS };
        for _ in 0..halvings {
            let middle = f64::midpoint(low, high);
            match self.lower(ceilings, middle, &[clients])?.first() {
                Some(found) if *found > rate => low = middle,
                _ => high = middle,
            }
        }
        Ok(f64::midpoint(low, high))
    }

    /// The lower estimate at each number of clients.
    fn lower(
        &self,
        ceilings: &[(Segment, f64)],
        delay_s: f64,
        clients: &[u32],
    ) -> Result<Vec<f64>, ExtrapolationRefusal> {
        if let Some(features) = &self.features {
            return features.rates(ceilings, delay_s, clients);
        }
        let in_flight = |clients: u32| u64::from(clients).saturating_mul(self.depth);
        let most = clients.iter().copied().max().map_or(0, in_flight);
        if most > IN_FLIGHT_MAX {
            return Err(refusal(
                &format!("{most} requests in flight are more than the {IN_FLIGHT_MAX} that are computed"),
                "ask for fewer clients",
            ));
        }
        let values = mean_values(ceilings, delay_s, most);
        let at = |clients: &u32| {
            let index = usize::try_from(in_flight(*clients)).ok()?.checked_sub(1)?;
            values.get(index).copied()
        };
        Ok(clients.iter().filter_map(at).collect())
    }

    /// Both estimates at each number of clients.
    fn bounds(
        &self,
        ceilings: &[(Segment, f64)],
        clients: &[u32],
    ) -> Result<Vec<RateBounds>, ExtrapolationRefusal> {
        let lowest = ceilings.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let level = lowest.map_or(f64::INFINITY, |(_, ceiling)| ceiling);
        let round_s = self.features.as_ref().map_or(0.0, |features| features.round_s(ceilings));
        let alone_s = self.delay_s + round_s + ceilings.iter().map(|(_, ceiling)| 1.0 / ceiling).sum::<f64>();
        let windows =
            |clients: u32| self.features.as_ref().map_or(f64::INFINITY, |features| features.bound(clients));
        let lower = self.lower(ceilings, self.delay_s, clients)?;
        let bounds = clients.iter().zip(lower).map(|(clients, low)| {
            let in_flight = u64::from(*clients).saturating_mul(self.depth);
            let high = (in_flight as f64 / alone_s).min(level).min(windows(*clients)).max(low);
            let middle = (low * high).sqrt();
            let full =
                lowest.filter(|(_, ceiling)| middle >= FULL_RATIO * ceiling).map(|(segment, _)| segment);
            RateBounds { low, high, full }
        });
        Ok(bounds.collect())
    }

    fn rates(
        &self,
        curve: &Curve<'_>,
        ceilings: &[(Segment, f64)],
        servers: u32,
        clients: &[u32],
    ) -> Result<Vec<ExtrapolatedRate>, ExtrapolationRefusal> {
        let simulation = if self.features.is_some() { SIMULATION_ERROR } else { 0.0 };
        let error = [point_error(curve), self.misfit, simulation].iter().map(|part| part * part).sum::<f64>();
        let error = NORMAL_WIDTH * error.sqrt();
        let bounds = self.bounds(ceilings, clients)?;
        let rate = |(clients, bounds): (&u32, &RateBounds)| {
            let rate = (bounds.low * bounds.high).sqrt();
            let side = (bounds.high / bounds.low).sqrt().ln() + widened(curve, *clients, error);
            ExtrapolatedRate { full: bounds.full, ..rate_of(curve, (*clients, servers), rate, (side, side)) }
        };
        Ok(clients.iter().zip(&bounds).map(rate).collect())
    }
}

/// The rates with 1, 2, ... requests in flight by mean value analysis.
fn mean_values(ceilings: &[(Segment, f64)], delay_s: f64, in_flight: u64) -> Vec<f64> {
    let queue =
        |(_, ceiling): &(Segment, f64)| QueueStation { demand_s: 1.0 / ceiling, kind: StationKind::Queue };
    let network = Network::new(ceilings.iter().map(queue).collect(), delay_s);
    network.map_or_else(|_| Vec::new(), |network| network.rates(saturate_u32(round_to_u64(in_flight as f64))))
}

fn rate_text(curve: &Curve<'_>, rate: f64) -> String {
    if curve.unit == BYTES_UNIT { text::storage_rate(rate) } else { text::op_rate(rate) }
}
