//! The laws that cells follow along one setting: time over block size, rate over the number in flight.

use super::rates::{relative_error, told};
use crate::view::time_per_op_s;
use narrows_model::summary::{CellSummary, Saturation, SaturationState, SegmentFit};
use narrows_stats::Level;
use narrows_stats::hockney::{Transfer, fit_hockney};
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::saturation::{self, LoadPoint, SaturationVerdict};

pub(crate) use super::rates::{standard_error, turn_error};

/// Fewest block sizes whose law says more than the points do.
const FIT_POINTS_MIN: usize = 3;
/// Share of the variance of the times below which the law is no description of them.
const FIT_R_SQUARED_MIN: f64 = 0.9;
/// Draws of the rates for the uncertainty of a knee.
const RESAMPLES: usize = 400;

/// The latency-bandwidth law over the block sizes of these cells, which have one request in flight each; `None` where
/// it does not describe them (fewer than three sizes, a negative time at no bytes, or less than 90 % of the variance).
pub(super) fn fit(cells: &[&CellSummary]) -> Option<SegmentFit> {
    let transfer = |cell: &&CellSummary| {
        Some(Transfer {
            block_bytes: cell.block_bytes.as_f64(),
            elapsed_s: time_per_op_s(cell)?,
            relative_error: relative_error(cell),
        })
    };
    let transfers: Vec<Transfer> = cells.iter().filter_map(transfer).collect();
    let law = fit_hockney(&transfers, Level::P95).ok().filter(|_| transfers.len() >= FIT_POINTS_MIN)?;
    let holds = law.latency_s >= 0.0 && law.r_squared.is_none_or(|share| share >= FIT_R_SQUARED_MIN);
    (holds && law.rate_bytes_per_s.is_finite()).then(|| SegmentFit {
        a_s: law.latency_s,
        a_s_interval: law.latency_s_interval.map(told),
        b_bytes_per_s: law.rate_bytes_per_s,
        b_bytes_per_s_interval: law.rate_bytes_per_s_interval.map(told),
        n_half_bytes: law.n_half_bytes(),
        n_half_bytes_interval: law.n_half_bytes_interval.map(told),
        deviation_ratio_max: law.deviation_ratio_max,
        lack_of_fit_p_value: law.lack_of_fit_p_value,
        point_count: transfers.len() as u64,
    })
}

/// Where the rate of these cells stops growing with `setting`; `None` where no two of them are a doubling apart.
pub(crate) fn saturation(
    cells: &[&CellSummary],
    setting: impl Fn(&CellSummary) -> f64,
    seed: u64,
) -> Option<Saturation> {
    let point = |cell: &&CellSummary| {
        Some(LoadPoint {
            concurrency: setting(cell),
            rate: cell.rate_bytes_per_s?.0,
            relative_error: Some(standard_error(cell)),
        })
    };
    let points: Vec<LoadPoint> = cells.iter().filter_map(point).collect();
    let plan = BootstrapPlan { resample_count: RESAMPLES, ..BootstrapPlan::with_seed(seed) };
    let found = saturation::saturation(&points, plan).ok()?;
    // Without all intervals the errors are the least that they can be: enough to doubt, not to tell an interval by.
    let known = cells.iter().all(|cell| cell.interval.is_some());
    Some(Saturation {
        state: match found.verdict {
            SaturationVerdict::Reached => SaturationState::Reached,
            SaturationVerdict::NotReached => SaturationState::NotReached,
            SaturationVerdict::Undecided => SaturationState::Undecided,
        },
        knee_in_flight: found.knee,
        knee_in_flight_interval: found.knee_interval.filter(|_| known).map(told),
        last_doubling_gain_ratio: found.last_gain_ratio,
        last_doubling_gain_ratio_interval: found.last_gain_interval.filter(|_| known).map(told),
    })
}

/// The number in flight that a cell asks for.
pub(crate) fn in_flight(cell: &CellSummary) -> f64 {
    cell.in_flight.configured as f64
}

/// Whether nothing but the number in flight bounds the load: no schedule, no cap, no think time.
pub(crate) fn is_unbounded(cell: &CellSummary) -> bool {
    let load = &cell.requested;
    cell.offered_ops_per_s.is_none()
        && load.max_bytes_per_s.is_none()
        && load.max_ops_per_s.is_none()
        && load.think_ns.0 == 0
}
