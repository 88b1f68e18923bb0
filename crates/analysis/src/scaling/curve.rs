//! The cells of one load by their numbers of clients, and the figures of each.

use crate::spread::ClientSpread;
use crate::summary::laws::{is_unbounded, saturation, standard_error};
use crate::thresholds::OVERLAP_RATIO;
use narrows_model::summary::{CellSummary, ClientSummary, RateBracket, Saturation, ScalingPointSummary};
use narrows_model::units::ratio;
use narrows_model::{Cut, Summary};
use narrows_stats::scaling::{ScalingParameters, ScalingPoint};

/// The factor of a study that varies the clients.
pub(crate) const CLIENTS: &str = "clients";
/// The unit of a load that moves bytes.
pub(crate) const BYTES_UNIT: &str = "B/s";

/// One load by several numbers of clients.
#[derive(Debug)]
pub(crate) struct Curve<'a> {
    /// By rising number of clients, each number once, each with a rate.
    pub(crate) cells: Vec<&'a CellSummary>,
    /// The unit of its rates.
    pub(crate) unit: &'static str,
}

impl<'a> Curve<'a> {
    /// Every load of `summary` that several numbers of clients put on the path.
    pub(crate) fn all(summary: &'a Summary) -> Vec<Self> {
        let sweeps = summary.sweeps.iter().filter(|sweep| sweep.factor == CLIENTS);
        let cells = sweeps.map(|sweep| {
            let of_point = |id: &str| summary.cells.iter().find(|cell| cell.id == id);
            sweep.points.iter().filter_map(|point| of_point(&point.cell)).collect::<Vec<_>>()
        });
        cells.filter_map(Self::new).collect()
    }

    /// `None` for fewer than two numbers of clients with a rate, for cuts, and for a load that something paces.
    fn new(cells: Vec<&'a CellSummary>) -> Option<Self> {
        let moves_bytes = cells.iter().any(|cell| cell.rate_bytes_per_s.is_some_and(|rate| rate.0 > 0.0));
        let unit = if moves_bytes { BYTES_UNIT } else { "1/s" };
        let mut curve = Self { cells, unit };
        let is_whole = curve.cells.iter().all(|cell| is_unbounded(cell) && cell.cut == Cut::Path);
        curve.cells = std::mem::take(&mut curve.cells)
            .into_iter()
            .filter(|cell| rate(cell, unit).is_some_and(|rate| rate > 0.0))
            .collect();
        curve.cells.sort_by_key(|cell| cell.clients);
        curve.cells.dedup_by_key(|cell| cell.clients);
        (is_whole && curve.cells.len() > 1).then_some(curve)
    }

    /// The cell of the fewest clients.
    pub(crate) fn first(&self) -> &'a CellSummary {
        self.cells[0]
    }

    /// The cell of the most clients.
    pub(crate) fn last(&self) -> &'a CellSummary {
        self.cells[self.cells.len() - 1]
    }

    /// The rate of a cell, in the unit of the curve.
    pub(crate) fn rate(&self, cell: &CellSummary) -> f64 {
        rate(cell, self.unit).unwrap_or(0.0)
    }

    /// The points for a law.
    pub(crate) fn law_points(&self) -> Vec<ScalingPoint> {
        let point = |cell: &&CellSummary| ScalingPoint {
            clients: f64::from(cell.clients),
            rate: self.rate(cell),
            relative_error: Some(standard_error(cell)),
        };
        self.cells.iter().map(point).collect()
    }

    /// Where more clients stop to help.
    pub(crate) fn saturation(&self, seed: u64) -> Option<Saturation> {
        saturation(&self.cells, |cell| f64::from(cell.clients), seed)
    }

    /// The rate of the most clients over that of the fewest.
    pub(crate) fn gain_ratio(&self) -> Option<f64> {
        ratio(self.rate(self.last()), self.rate(self.first()))
    }

    /// The figures of every point, with the rates of `law`.
    pub(crate) fn points(&self, law: Option<&ScalingParameters>) -> Vec<ScalingPointSummary> {
        self.cells.iter().map(|cell| self.point(cell, law)).collect()
    }

    fn point(&self, cell: &CellSummary, law: Option<&ScalingParameters>) -> ScalingPointSummary {
        let rates: Vec<f64> =
            cell.per_client.iter().filter_map(|client| client_rate(client, self.unit)).collect();
        let spread = ClientSpread::from_rates(&rates).filter(|_| rates.len() == cell.clients as usize);
        let several = spread.as_ref().filter(|_| rates.len() > 1);
        let (clients, total) = (f64::from(cell.clients), self.rate(cell));
        let alone = self.rate(self.first()) / f64::from(self.first().clients);
        ScalingPointSummary {
            clients: cell.clients,
            cell: cell.id.clone(),
            rate: total,
            interval: cell.interval.clone().filter(|_| self.unit == BYTES_UNIT),
            bracket: several.and_then(|spread| bracket(cell, self.unit, spread.sum)),
            client_rate_mean: total / clients,
            client_rate_min: several.map(|spread| spread.min),
            client_rate_max: several.map(|spread| spread.max),
            fairness_ratio: several.map(|spread| spread.fairness),
            efficiency_ratio: ratio(total, alone * clients),
            law_rate: law.map(|law| law.rate(clients)),
            flags: cell.flags.clone(),
        }
    }
}

fn rate(cell: &CellSummary, unit: &str) -> Option<f64> {
    if unit == BYTES_UNIT {
        cell.rate_bytes_per_s.map(|rate| rate.0)
    } else {
        cell.ops_per_s.map(|rate| rate.0)
    }
}

fn client_rate(client: &ClientSummary, unit: &str) -> Option<f64> {
    ratio(amount(client, unit), client.elapsed_s)
}

fn amount(client: &ClientSummary, unit: &str) -> f64 {
    if unit == BYTES_UNIT { client.bytes.as_f64() } else { client.ops as f64 }
}

/// What all bytes over the longest time and the sum of rates leave open; `None` where clients ended together.
fn bracket(cell: &CellSummary, unit: &str, sum: f64) -> Option<RateBracket> {
    let times = || cell.per_client.iter().map(|client| client.elapsed_s);
    let (longest, shortest) = (times().reduce(f64::max)?, times().reduce(f64::min)?);
    let moved: f64 = cell.per_client.iter().map(|client| amount(client, unit)).sum();
    let low = ratio(moved, longest)?;
    let apart = ratio(longest, shortest).is_none_or(|apart| apart > OVERLAP_RATIO);
    apart.then_some(RateBracket { low, high: sum.max(low) })
}
