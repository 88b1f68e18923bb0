//! Rates of more clients than were measured, with intervals, or why the record leaves them open.
//!
//! Past the knee the points themselves are extrapolated; before it only a network of measured demands can be, which is
//! simulated where it has what mean value analysis cannot express. Not here: the curve and its law, which are `scaling`'s.

mod after_full;
mod features;
mod network;
mod past_knee;
mod stations;

use crate::scaling::Curve;
use crate::text;
use after_full::WriteMemory;
use narrows_model::Summary;
use narrows_model::extrapolation::{
    EXTRAPOLATION_SCHEMA, ExtrapolatedRate, ExtrapolatedStage, Extrapolation, ExtrapolationMethod,
    ExtrapolationRefusal, LoadExtrapolation, StageChange,
};
use narrows_model::summary::{DoubtCode, Interval, SaturationState};
pub use stations::PAYLOAD_RATIO;
use stations::Stations;

/// Level of the intervals.
const LEVEL: f64 = 0.95;
/// Standard errors of a normal law to each side at that level.
const NORMAL_WIDTH: f64 = 1.96;

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtrapolationRequest {
    /// Numbers of clients.
    pub clients: Vec<u32>,
    /// Numbers of servers; one as was measured.
    pub servers: Vec<u32>,
    /// Stages that are supposed to be changed.
    pub changes: Vec<StageChange>,
}

impl ExtrapolationRequest {
    /// Whether it asks about another path than the one that was measured.
    fn is_changed(&self) -> bool {
        !self.changes.is_empty() || self.servers.iter().any(|servers| *servers != 1)
    }
}

/// The rates of every load of `summary` that was measured with several numbers of clients.
///
/// # Shape
/// `loads` is empty where no load was; a load has rates for every number of clients and servers, or a refusal.
#[must_use]
pub fn extrapolate(summary: &Summary, request: &ExtrapolationRequest, version: &str) -> Extrapolation {
    Extrapolation {
        schema: EXTRAPOLATION_SCHEMA.to_owned(),
        narrows_version: version.to_owned(),
        measured_at: summary.started_at.clone(),
        changes: request.changes.clone(),
        loads: Curve::all(summary).iter().map(|curve| load(summary, curve, request)).collect(),
    }
}

/// What one way to compute rates gives.
struct Computed {
    method: ExtrapolationMethod,
    rates: Vec<ExtrapolatedRate>,
    stages: Vec<ExtrapolatedStage>,
    assumptions: Vec<String>,
}

fn load(summary: &Summary, curve: &Curve<'_>, request: &ExtrapolationRequest) -> LoadExtrapolation {
    let stations = Stations::new(summary, curve);
    let computed = doubtful(summary).map_or_else(|| computed(summary, curve, &stations, request), Err);
    let first = curve.first();
    let mut load = LoadExtrapolation {
        target: first.target.clone(),
        op: first.op,
        block_bytes: first.block_bytes,
        queue_depth: first.queue_depth,
        unit: curve.unit.to_owned(),
        measured_clients_max: curve.last().clients,
        method: None,
        refusal: None,
        stages: stations.as_measured(),
        assumptions: Vec::new(),
        rates: Vec::new(),
    };
    match computed {
        Ok(mut computed) => {
            if let Some(memory) = WriteMemory::new(summary, curve, &request.changes) {
                memory.add_to(&mut computed, curve, request);
            }
            load.method = Some(computed.method);
            (load.rates, load.stages, load.assumptions) =
                (computed.rates, computed.stages, computed.assumptions);
        }
        Err(refusal) => load.refusal = Some(refusal),
    }
    load
}

fn computed(
    summary: &Summary,
    curve: &Curve<'_>,
    stations: &Stations,
    request: &ExtrapolationRequest,
) -> Result<Computed, ExtrapolationRefusal> {
    let saturation = curve.saturation(summary.seed);
    let is_past_knee = saturation.as_ref().is_some_and(|found| found.state == SaturationState::Reached);
    match saturation.filter(|_| is_past_knee && !request.is_changed()) {
        Some(found) => past_knee::rates(summary, curve, &found, request),
        None => network::rates(summary, curve, stations, request),
    }
}

/// Why no figure of a run is extrapolated; `None` where they can be relied on.
fn doubtful(summary: &Summary) -> Option<ExtrapolationRefusal> {
    let voids = |code: DoubtCode| {
        matches!(code, DoubtCode::GeneratorLimited | DoubtCode::OperationsFailed | DoubtCode::DataMismatch)
    };
    let doubt = summary.doubts.iter().find(|doubt| voids(doubt.code))?;
    Some(refusal(&doubt.text, "measure again without it"))
}

fn refusal(reason: &str, hint: &str) -> ExtrapolationRefusal {
    ExtrapolationRefusal { reason: reason.to_owned(), hint: hint.to_owned() }
}

/// A rate with an interval of so many natural logarithms below and above it.
fn rate_of(
    curve: &Curve<'_>,
    (clients, servers): (u32, u32),
    rate: f64,
    (below, above): (f64, f64),
) -> ExtrapolatedRate {
    let measured = curve.cells.iter().find(|cell| cell.clients == clients && servers == 1);
    ExtrapolatedRate {
        clients,
        servers,
        rate,
        interval: Interval {
            low: rate * (-below).exp(),
            high: rate * above.exp(),
            level: LEVEL,
            method: "extrapolation".to_owned(),
        },
        full: None,
        after_full: None,
        measured: measured.map(|cell| curve.rate(cell)),
    }
}

/// What a measured rate differs from its mean by, as the points show it: the median of their standard errors.
fn point_error(curve: &Curve<'_>) -> f64 {
    let errors: Vec<f64> = curve.law_points().iter().filter_map(|point| point.relative_error).collect();
    narrows_stats::quantile::median(&errors).unwrap_or(0.0)
}

/// The assumption of every method.
fn same_clients(curve: &Curve<'_>) -> String {
    format!(
        "further clients are like the measured ones ({} of {}, {} in flight each) and run where these did",
        curve.first().op,
        text::amount(curve.first().block_bytes),
        curve.first().queue_depth
    )
}

#[cfg(test)]
mod tests;
