//! Rates of a curve of which neither the knee nor every stage is known: from the rate of the most clients up to its growth,
//! continued.
//!
//! What all clients share makes a curve bend: a doubling adds no more than the one before it, and nothing passes a ceiling that
//! binds. So the points bound a rate where the network of their stages is not known; where they grow, the bound says little, and
//! nothing is computed.

use super::cost::{COST_ASSUMPTION, CostFall, CostLine};
use super::stations::Stations;
use super::{
    Computed, ExtrapolationRequest, HALF_WIDTH_RATIO_MAX, NORMAL_WIDTH, between, point_error, rate_of,
    same_clients, widened,
};
use crate::scaling::Curve;
use crate::text;
use narrows_model::Summary;
use narrows_model::extrapolation::{ExtrapolatedRate, ExtrapolationMethod, ExtrapolationRefusal};
use narrows_stats::scaling::ScalingPoint;

/// Times as few clients as the most whose points show what an operation costs.
const COST_SPAN: f64 = 4.0;

/// The rates that `request` asks for.
///
/// # Errors
/// Where an interval would be too wide: `refused`, which says what is not known, with the clients that are not too many.
pub(super) fn rates(
    summary: &Summary,
    curve: &Curve<'_>,
    stations: &Stations,
    request: &ExtrapolationRequest,
    refused: ExtrapolationRefusal,
) -> Result<Computed, ExtrapolationRefusal> {
    if request.is_changed() {
        return Err(refused);
    }
    let bounds = GrowthBounds::new(summary, curve, stations);
    let rates: Vec<ExtrapolatedRate> =
        request.clients.iter().map(|clients| bounds.rate(curve, *clients)).collect();
    let is_known = |rate: &&ExtrapolatedRate| {
        rate.interval.half_width_ratio(rate.rate).is_some_and(|half| half <= HALF_WIDTH_RATIO_MAX)
    };
    if rates.iter().all(|rate| is_known(&rate)) {
        return Ok(Computed {
            method: ExtrapolationMethod::Growth,
            rates,
            stages: Vec::new(),
            assumptions: bounds.assumptions(curve),
        });
    }
    let known = rates.iter().filter(is_known).map(|rate| rate.clients).max();
    let hint = known.filter(|known| *known > curve.last().clients).map_or(refused.hint.clone(), |known| {
        format!("{}; or ask for up to {known} clients, which the points bound", refused.hint)
    });
    Err(ExtrapolationRefusal { hint, ..refused })
}

/// What the points leave of the rate of more clients.
struct GrowthBounds {
    points: Vec<ScalingPoint>,
    last: ScalingPoint,
    /// The error of a rate that would be measured there.
    point_error: f64,
    /// How many logarithms above the last point the least ceiling of a cut is that binds, with its error.
    to_ceiling: f64,
    cost: Option<CostLine>,
}

impl GrowthBounds {
    fn new(summary: &Summary, curve: &Curve<'_>, stations: &Stations) -> Self {
        let mut points = curve.law_points();
        let last_clients = f64::from(curve.last().clients);
        let last = ScalingPoint {
            clients: last_clients,
            rate: curve.rate(curve.last()),
            relative_error: points.pop().and_then(|point| point.relative_error),
        };
        let cost = CostLine::of_software(summary, curve, last_clients / COST_SPAN);
        let ceilings = stations.of_cuts().map(|cut| {
            let own = last.relative_error.unwrap_or_default().hypot(cut.relative_error);
            (cut.ceiling / last.rate).ln().max(0.0) + NORMAL_WIDTH * own
        });
        let to_ceiling = ceilings.fold(f64::INFINITY, f64::min);
        Self { points, last, point_error: point_error(curve), to_ceiling, cost }
    }

    fn rate(&self, curve: &Curve<'_>, clients: u32) -> ExtrapolatedRate {
        let measured = curve.cells.iter().find(|cell| cell.clients == clients);
        let error = self.error_of(&self.last).hypot(self.point_error) * NORMAL_WIDTH;
        if let Some(cell) = measured {
            let side = widened(curve, clients, error);
            return rate_of(curve, (clients, 1), curve.rate(cell), (side, side));
        }
        if f64::from(clients) < self.last.clients {
            return self.between_points(curve, clients, error);
        }
        let doublings = super::doublings(curve, clients);
        let highest = self.points.iter().map(|point| self.highest(point, doublings));
        let highest = highest.fold(self.to_ceiling, f64::min).max(error);
        let wanted = f64::from(clients);
        let fall =
            self.cost.as_ref().map_or_else(CostFall::default, |cost| cost.fall(self.last.clients, wanted));
        let last = self.last.rate.ln();
        let low = last - fall.lowest(widened(curve, clients, error));
        between(curve, clients, (low, last + widened(curve, clients, highest)))
    }

    /// How many logarithms above the last point the rate is at the most, by the growth from `point` to it.
    fn highest(&self, point: &ScalingPoint, doublings: f64) -> f64 {
        let times = doublings / (self.last.clients / point.clients).log2();
        let growth = (self.last.rate / point.rate).ln().max(0.0) * times;
        let errors =
            [self.error_of(&self.last) * (1.0 + times), self.error_of(point) * times, self.point_error];
        growth + NORMAL_WIDTH * errors.iter().map(|error| error * error).sum::<f64>().sqrt()
    }

    /// A rate of a number of clients between two that were measured, or below the fewest: between their rates.
    fn between_points(&self, curve: &Curve<'_>, clients: u32, error: f64) -> ExtrapolatedRate {
        let wanted = f64::from(clients);
        let below = self.points.iter().rfind(|point| point.clients <= wanted);
        let above = self.points.iter().find(|point| point.clients >= wanted).unwrap_or(&self.last);
        let low = below.map_or(above.rate * wanted / above.clients, |point| point.rate);
        let side = widened(curve, clients, error);
        let (low, high) = (low.min(above.rate).ln(), low.max(above.rate).ln());
        between(curve, clients, (low - side, high + side))
    }

    fn error_of(&self, point: &ScalingPoint) -> f64 {
        point.relative_error.unwrap_or(self.point_error)
    }

    fn assumptions(&self, curve: &Curve<'_>) -> Vec<String> {
        let one_more =
            self.points.iter().map(|point| self.highest(point, 1.0)).fold(self.to_ceiling, f64::min);
        let mut all = vec![
            same_clients(curve),
            format!(
                "a doubling of the clients adds no more than the measured ones may have, and nothing passes a ceiling: {} at the \
                 most",
                text::percent(one_more.exp_m1())
            ),
        ];
        all.extend(self.cost.map(|_| COST_ASSUMPTION.to_owned()));
        all
    }
}
