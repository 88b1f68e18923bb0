//! Rates of more clients than were measured, with intervals, or why the record leaves them open.
//!
//! Past the knee the points themselves are extrapolated; before it a network of measured demands is, which is simulated where
//! it has what mean value analysis cannot express; where neither is known, what growth the points leave bounds the rate. Not
//! here: the curve and its law, which are `scaling`'s.

mod after_full;
mod cost;
mod features;
mod growth;
mod network;
mod past_knee;
mod stations;

use crate::scaling::{CLIENTS, Curve};
use crate::summary::laws::is_unbounded;
use crate::text;
use after_full::WriteMemory;
use narrows_model::extrapolation::{
    EXTRAPOLATION_SCHEMA, ExtrapolatedRate, ExtrapolatedStage, Extrapolation, ExtrapolationMethod,
    ExtrapolationRefusal, LoadExtrapolation, StageChange,
};
use narrows_model::summary::{DoubtCode, Interval, SaturationState};
use narrows_model::{Cut, Summary};
use stations::Stations;

/// Level of the intervals.
const LEVEL: f64 = 0.95;
/// Standard errors of a normal law to each side at that level.
const NORMAL_WIDTH: f64 = 1.96;
/// What a rate differs by from one run of a steady path to another, which the errors of the points of one run do not show:
/// steady cells repeat within 3 %.
const REPEAT_RATIO: f64 = 0.03;
/// What a doubling of the clients may change of a level, or of a ceiling, that counts as one: the saturation law's own limit.
const DRIFT_RATIO: f64 = 0.03;
/// The widest interval that says enough, as its half over the rate: beyond it the points leave the rate open.
const HALF_WIDTH_RATIO_MAX: f64 = 0.25;

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

/// Why a summary has no load of which rates are computed, and what to do.
#[must_use]
pub fn why_no_curve(summary: &Summary) -> &'static str {
    let is_scaled = summary.sweeps.iter().any(|sweep| sweep.factor == CLIENTS && sweep.points.len() > 1);
    let mut path = summary.cells.iter().filter(|cell| cell.cut == Cut::Path);
    if is_scaled && path.any(|cell| !is_unbounded(cell)) {
        return "a cap, a schedule or think time limited its load, so that the clients show nothing of the path; measure \
                without it (--max-rate, max_rate, max_ops, offered, think)";
    }
    "no load of this record was measured with several numbers of clients; measure with `narrows scale TARGET`"
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
    if let Some(found) = saturation.filter(|_| is_past_knee && !request.is_changed()) {
        return past_knee::rates(summary, curve, &found, request);
    }
    let found = network::rates(summary, curve, stations, request, !is_past_knee);
    found.or_else(|refusal| growth::rates(summary, curve, stations, request, refusal))
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

/// The rate in the middle of two natural logarithms, which are its interval.
fn between(curve: &Curve<'_>, clients: u32, (low, high): (f64, f64)) -> ExtrapolatedRate {
    let side = (high - low) / 2.0;
    rate_of(curve, (clients, 1), f64::midpoint(low, high).exp(), (side, side))
}

/// What a measured rate differs from its mean by, as the points show it: the median of their standard errors.
fn point_error(curve: &Curve<'_>) -> f64 {
    let errors: Vec<f64> = curve.law_points().iter().filter_map(|point| point.relative_error).collect();
    narrows_stats::quantile::median(&errors).unwrap_or(0.0)
}

/// Doublings from the most clients that were measured to `clients`; 0 for fewer.
fn doublings(curve: &Curve<'_>, clients: u32) -> f64 {
    (f64::from(clients) / f64::from(curve.last().clients)).log2().max(0.0)
}

/// How far, in logarithms, a rate of `clients` may be from one that is known to within `side`: runs differ, and what is full
/// may serve more clients otherwise.
fn widened(curve: &Curve<'_>, clients: u32, side: f64) -> f64 {
    [side, REPEAT_RATIO, DRIFT_RATIO * doublings(curve, clients)]
        .iter()
        .map(|part| part * part)
        .sum::<f64>()
        .sqrt()
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
