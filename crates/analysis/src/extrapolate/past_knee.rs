//! Rates past the knee: the law that six points or more support, else the level of the points behind the knee.

use super::cost::{COST_ASSUMPTION, CostFall, CostLine};
use super::{
    Computed, ExtrapolationRequest, HALF_WIDTH_RATIO_MAX, NORMAL_WIDTH, between, point_error, rate_of,
    refusal, same_clients, widened,
};
use crate::scaling::Curve;
use crate::text;
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

/// The rates that `request` asks for, past the knee of `curve`.
///
/// # Errors
/// Where neither a law nor a level can be extrapolated, and a level of which the points leave every rate that is asked for open.
pub(super) fn rates(
    summary: &Summary,
    curve: &Curve<'_>,
    found: &Saturation,
    request: &ExtrapolationRequest,
) -> Result<Computed, ExtrapolationRefusal> {
    if let Some(computed) = law(summary, curve, request) {
        return Ok(computed);
    }
    let computed = level(summary, curve, found, request).ok_or_else(|| {
        let hint = "measure two numbers of clients or more past the knee";
        refusal("the points past the knee are too few", hint)
    })?;
    let narrowest = computed.rates.iter().filter_map(|rate| rate.interval.half_width_ratio(rate.rate));
    let narrowest = narrowest.fold(f64::INFINITY, f64::min);
    if narrowest > HALF_WIDTH_RATIO_MAX {
        let reason = format!(
            "the points past the knee leave the rate open by {} to each side at the least",
            text::percent(narrowest)
        );
        return Err(refusal(
            &reason,
            "measure longer, more often or with more clients (narrows scale --cell-seconds, --trials, --clients)",
        ));
    }
    Ok(computed)
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
    // A rate that is measured there has an error of its own, and is of another run.
    let own = widened(curve, clients, NORMAL_WIDTH * point_error(curve));
    let side = |end: f64| (end / rate).ln().hypot(own);
    let below = side(drawn.low.min(rate));
    Some(rate_of(curve, (clients, 1), rate, (below, side(drawn.high.max(rate)))))
}

/// By the level behind the knee; points before it are as they were measured, in proportion between them.
fn level(
    summary: &Summary,
    curve: &Curve<'_>,
    found: &Saturation,
    request: &ExtrapolationRequest,
) -> Option<Computed> {
    let knee = found.knee_in_flight?;
    let points = curve.law_points();
    let behind: Vec<f64> =
        points.iter().filter(|point| point.clients >= knee).map(|point| point.rate.ln()).collect();
    let ceiling = mean(&behind).filter(|_| behind.len() > 1)?;
    let count = behind.len() as f64;
    let spread = behind.iter().map(|rate| (rate - ceiling).powi(2)).sum::<f64>() / (count - 1.0);
    let own = point_error(curve);
    let error = NORMAL_WIDTH * (spread.max(own * own) * (1.0 + 1.0 / count)).sqrt();
    let cost = CostLine::of_software(summary, curve, knee);
    let last = f64::from(curve.last().clients);
    let rates = request.clients.iter().map(|&clients| {
        let side = widened(curve, clients, error);
        let wanted = f64::from(clients);
        if wanted <= last {
            let rate = before_knee(curve, wanted).unwrap_or(f64::INFINITY).min(ceiling.exp());
            return rate_of(curve, (clients, 1), rate, (side, side));
        }
        let fall = cost.as_ref().map_or_else(CostFall::default, |cost| cost.fall(cost.clients_mean, wanted));
        between(curve, clients, (ceiling - fall.lowest(side), ceiling - fall.least + side))
    });
    let mut assumptions = vec![
        same_clients(curve),
        "what is full past the knee stays full, and each doubling changes the rate by 3 % at most".to_owned(),
    ];
    assumptions.extend(cost.map(|_| COST_ASSUMPTION.to_owned()));
    Some(Computed {
        method: ExtrapolationMethod::Plateau,
        rates: rates.collect(),
        stages: Vec::new(),
        assumptions,
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
