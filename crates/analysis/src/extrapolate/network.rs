//! Rates by a closed network of queues: mean value analysis below, asymptotic bounds above, the truth between them.

use super::stations::Stations;
use super::{Computed, ExtrapolationRequest, NORMAL_WIDTH, point_error, rate_of, refusal, same_clients};
use crate::scaling::Curve;
use crate::text;
use crate::thresholds::{FULL_RATIO, UNEXPLAINED_RATIO};
use narrows_model::Segment;
use narrows_model::extrapolation::{ExtrapolatedRate, ExtrapolationMethod, ExtrapolationRefusal};
use narrows_model::units::{round_to_u64, saturate_u32};
use narrows_stats::mva::{Network, QueueStation, StationKind};

/// Most requests in flight of a network that is solved: the time grows with them.
const IN_FLIGHT_MAX: u64 = 4_000_000;
/// Halvings of the delay that fits the first point.
const HALVINGS: u32 = 60;

/// The rates that `request` asks for.
///
/// # Errors
/// Where a stage that can end the growth is not known, or the network does not explain the points.
pub(super) fn rates(
    curve: &Curve<'_>,
    stations: &Stations,
    request: &ExtrapolationRequest,
) -> Result<Computed, ExtrapolationRefusal> {
    stations.check()?;
    let model = PathModel::fitted(curve, stations)?;
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
    Ok(Computed { method: ExtrapolationMethod::Network, rates, stages: changed.as_measured(), assumptions })
}

/// The network of a path, whose delay fits the points.
struct PathModel {
    /// Requests in flight of one client.
    depth: u64,
    /// Time of a request in which it waits for nothing that others use, times the unit: seconds a unit of rate.
    delay_s: f64,
    /// How far its middle is from the measured points, in logarithms.
    misfit: f64,
}

/// Both estimates of a rate.
struct RateBounds {
    low: f64,
    high: f64,
    full: Option<Segment>,
}

impl PathModel {
    /// The network with the delay of the fewest clients.
    fn fitted(curve: &Curve<'_>, stations: &Stations) -> Result<Self, ExtrapolationRefusal> {
        let depth = curve.first().queue_depth.max(1);
        let first = curve.first();
        let ceilings = stations.ceilings(1);
        let mut model = Self { depth, delay_s: 0.0, misfit: 0.0 };
        model.delay_s = model.delay_of(first.clients, curve.rate(first), &ceilings);
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

    /// The delay with which `clients` have this rate; 0 where the stations alone are slower.
    fn delay_of(&self, clients: u32, rate: f64, ceilings: &[(Segment, f64)]) -> f64 {
        let in_flight = u64::from(clients) * self.depth;
        let (mut low, mut high) = (0.0, in_flight as f64 / rate);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            match mean_values(ceilings, middle, in_flight).last() {
                Some(found) if *found > rate => low = middle,
                _ => high = middle,
            }
        }
        f64::midpoint(low, high)
    }

    /// Both estimates at each number of clients.
    fn bounds(
        &self,
        ceilings: &[(Segment, f64)],
        clients: &[u32],
    ) -> Result<Vec<RateBounds>, ExtrapolationRefusal> {
        let in_flight = |clients: u32| u64::from(clients).saturating_mul(self.depth);
        let most = clients.iter().copied().max().map_or(0, in_flight);
        if most > IN_FLIGHT_MAX {
            return Err(refusal(
                &format!("{most} requests in flight are more than the {IN_FLIGHT_MAX} that are computed"),
                "ask for fewer clients",
            ));
        }
        let values = mean_values(ceilings, self.delay_s, most);
        let lowest = ceilings.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let alone_s = self.delay_s + ceilings.iter().map(|(_, ceiling)| 1.0 / ceiling).sum::<f64>();
        let bounds = clients.iter().filter_map(|clients| {
            let count = in_flight(*clients);
            let low = *values.get(usize::try_from(count).ok()?.checked_sub(1)?)?;
            let level = lowest.map_or(f64::INFINITY, |(_, ceiling)| ceiling);
            let high = (count as f64 / alone_s).min(level).max(low);
            let middle = (low * high).sqrt();
            let full =
                lowest.filter(|(_, ceiling)| middle >= FULL_RATIO * ceiling).map(|(segment, _)| segment);
            Some(RateBounds { low, high, full })
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
        let error = NORMAL_WIDTH * (point_error(curve).powi(2) + self.misfit.powi(2)).sqrt();
        let bounds = self.bounds(ceilings, clients)?;
        let rate = |(clients, bounds): (&u32, &RateBounds)| {
            let rate = (bounds.low * bounds.high).sqrt();
            let side = (bounds.high / bounds.low).sqrt().ln() + error;
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
    if curve.unit == "B/s" { text::storage_rate(rate) } else { text::op_rate(rate) }
}
