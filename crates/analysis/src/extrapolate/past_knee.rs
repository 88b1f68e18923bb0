//! Rates past the knee: the law that six points or more support, else the level of the points behind the knee.

use super::{Computed, ExtrapolationRequest, NORMAL_WIDTH, point_error, rate_of, refusal, same_clients};
use crate::scaling::Curve;
use narrows_model::Summary;
use narrows_model::extrapolation::{ExtrapolatedRate, ExtrapolationMethod, ExtrapolationRefusal};
use narrows_model::summary::Saturation;
use narrows_stats::moments::mean;
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::scaling::{LawDraws, LawFit, ScalingLaw, choose_law, selected_draws};

/// Fewest points of a law that is extrapolated.
const LAW_POINTS_MIN: usize = 6;
/// Draws of the rates for an interval.
const RESAMPLES: usize = 1_000;
/// What a doubling may change of a level that counts as one: the saturation law's own limit.
const DRIFT_RATIO: f64 = 0.03;

/// The rates that `request` asks for, past the knee of `curve`.
///
/// # Errors
/// Where neither a law nor a level can be extrapolated.
pub(super) fn rates(
    summary: &Summary,
    curve: &Curve<'_>,
    found: &Saturation,
    request: &ExtrapolationRequest,
) -> Result<Computed, ExtrapolationRefusal> {
    let computed = law(summary, curve, request).or_else(|| level(curve, found, request));
    computed.ok_or_else(|| {
        let hint = "measure two numbers of clients or more past the knee";
        refusal("the points past the knee are too few", hint)
    })
}

/// By the law of the points; `None` where they are too few for one.
fn law(summary: &Summary, curve: &Curve<'_>, request: &ExtrapolationRequest) -> Option<Computed> {
    let points = curve.law_points();
    if points.len() < LAW_POINTS_MIN {
        return None;
    }
    let best = choose_law(&points, &ScalingLaw::ALL).ok()?.best?;
    let plan = BootstrapPlan { resample_count: RESAMPLES, ..BootstrapPlan::with_seed(summary.seed) };
    let draws = selected_draws(&points, &best, &ScalingLaw::ALL, plan).ok()?;
    let rates = request.clients.iter().map(|clients| by_law(curve, (&best, &draws), *clients));
    Some(Computed {
        method: ExtrapolationMethod::Law,
        rates: rates.collect::<Option<Vec<_>>>()?,
        stages: Vec::new(),
        assumptions: vec![
            same_clients(curve),
            format!("the law {} of the points holds beyond them", best.parameters.law().name()),
        ],
    })
}

fn by_law(curve: &Curve<'_>, (best, draws): (&LawFit, &LawDraws), clients: u32) -> Option<ExtrapolatedRate> {
    let rate = best.parameters.rate(f64::from(clients));
    let drawn = draws.interval(|law| Some(law.rate(f64::from(clients))))?;
    // A rate that is measured there has an error of its own.
    let own = NORMAL_WIDTH * point_error(curve);
    let side = |end: f64| ((end / rate).ln().powi(2) + own * own).sqrt();
    let below = side(drawn.low.min(rate));
    Some(rate_of(curve, (clients, 1), rate, (below, side(drawn.high.max(rate)))))
}

/// By the level behind the knee; points before it are as they were measured, in proportion between them.
fn level(curve: &Curve<'_>, found: &Saturation, request: &ExtrapolationRequest) -> Option<Computed> {
    let knee = found.knee_in_flight?;
    let points = curve.law_points();
    let behind: Vec<f64> =
        points.iter().filter(|point| point.clients >= knee).map(|point| point.rate.ln()).collect();
    let ceiling = mean(&behind).filter(|_| behind.len() > 1)?;
    let count = behind.len() as f64;
    let spread = behind.iter().map(|rate| (rate - ceiling).powi(2)).sum::<f64>() / (count - 1.0);
    let own = point_error(curve);
    let error = NORMAL_WIDTH * (spread.max(own * own) * (1.0 + 1.0 / count)).sqrt();
    let last = f64::from(curve.last().clients);
    let rate = |clients: u32| {
        let clients = f64::from(clients);
        let doublings = (clients / last).log2().max(0.0);
        let side = (error * error + (DRIFT_RATIO * doublings).powi(2)).sqrt();
        (before_knee(curve, clients).unwrap_or(f64::INFINITY).min(ceiling.exp()), side)
    };
    let rates = request.clients.iter().map(|clients| {
        let (rate, side) = rate(*clients);
        rate_of(curve, (*clients, 1), rate, (side, side))
    });
    Some(Computed {
        method: ExtrapolationMethod::Plateau,
        rates: rates.collect(),
        stages: Vec::new(),
        assumptions: vec![
            same_clients(curve),
            "what is full past the knee stays full, and each doubling changes the rate by 3 % at most"
                .to_owned(),
        ],
    })
}

/// The rate between two measured numbers of clients, by a power of them; `None` beyond the last, and below the first in
/// proportion to it.
fn before_knee(curve: &Curve<'_>, clients: f64) -> Option<f64> {
    let points = curve.law_points();
    let first = points.first()?;
    if clients <= first.clients {
        return Some(first.rate * clients / first.clients);
    }
    let pair = points.windows(2).find(|pair| clients <= pair[1].clients)?;
    let share = (clients / pair[0].clients).ln() / (pair[1].clients / pair[0].clients).ln();
    Some((pair[0].rate.ln() * (1.0 - share) + pair[1].rate.ln() * share).exp())
}
