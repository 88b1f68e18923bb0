//! The laws that cells follow along one setting: time over block size, rate over the number in flight.

use super::rates::{relative_error, summary_interval};
use crate::facts::time_per_op_s;
use narrows_model::summary::{CellSummary, Saturation, SaturationState, SegmentFit};
use narrows_stats::Level;
use narrows_stats::hockney::{Hockney, Transfer, fit_hockney};
use narrows_stats::resample::BootstrapPlan;
use narrows_stats::saturation::{self, LoadPoint, SaturationVerdict};

pub(crate) use super::rates::{standard_error, turn_error};

/// Fewest block sizes whose law says more than the points do.
const FIT_POINTS_MIN: usize = 3;
/// Share of the variance of the times below which the law is no description of them.
const FIT_R_SQUARED_MIN: f64 = 0.9;
/// Deviation of a point from the law, over the law's time, above which the law is no description of the points.
const FIT_DEVIATION_MAX: f64 = 0.20;
/// A rate whose interval spans more than this factor is not known by order of magnitude.
const FIT_RATE_SPAN_MAX: f64 = 10.0;
/// Draws of the rates for the uncertainty of a knee.
const RESAMPLES: usize = 400;

/// The latency-bandwidth law over the block sizes of these cells, which have one request in flight each; `None` where
/// it does not describe them: fewer than three sizes, a negative time at no bytes, less than 90 % of the variance, a point
/// off by more than 20 %, or a time or rate that the points leave open.
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
    let is_valid = law.latency_s >= 0.0 && law.r_squared.is_none_or(|share| share >= FIT_R_SQUARED_MIN);
    (is_valid && is_close(&law) && is_known(&law, &transfers)).then(|| SegmentFit {
        a_s: law.latency_s,
        a_s_interval: law.latency_s_interval.map(summary_interval),
        b_bytes_per_s: law.rate_bytes_per_s,
        b_bytes_per_s_interval: law.rate_bytes_per_s_interval.map(summary_interval),
        n_half_bytes: law.n_half_bytes(),
        n_half_bytes_interval: law.n_half_bytes_interval.map(summary_interval),
        deviation_ratio_max: law.deviation_ratio_max,
        lack_of_fit_p_value: law.lack_of_fit_p_value,
        point_count: transfers.len() as u64,
    })
}

fn is_close(law: &Hockney) -> bool {
    law.rate_bytes_per_s.is_finite() && law.deviation_ratio_max <= FIT_DEVIATION_MAX
}

/// Whether the points determine both coefficients: the time at no bytes to within the time of the smallest block, the
/// rate to within an order of magnitude.
fn is_known(law: &Hockney, transfers: &[Transfer]) -> bool {
    let smallest = transfers.iter().map(|transfer| transfer.block_bytes).fold(f64::INFINITY, f64::min);
    let time = law.latency_s_interval.is_some_and(|found| found.half_width() <= law.elapsed_s(smallest));
    let rate = law
        .rate_bytes_per_s_interval
        .is_some_and(|found| found.low > 0.0 && found.high <= found.low * FIT_RATE_SPAN_MAX);
    time && rate
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
    // Without all intervals the errors are the least possible: enough for doubt, not for an interval.
    let known = cells.iter().all(|cell| cell.interval.is_some());
    Some(Saturation {
        state: match found.verdict {
            SaturationVerdict::Reached => SaturationState::Reached,
            SaturationVerdict::NotReached => SaturationState::NotReached,
            SaturationVerdict::Undecided => SaturationState::Undecided,
        },
        knee_in_flight: found.knee,
        knee_in_flight_interval: found.knee_interval.filter(|_| known).map(summary_interval),
        last_doubling_gain_ratio: found.last_gain_ratio,
        last_doubling_gain_ratio_interval: found.last_gain_interval.filter(|_| known).map(summary_interval),
    })
}

/// The number in flight that a cell asks for.
pub(crate) fn in_flight(cell: &CellSummary) -> f64 {
    cell.in_flight.configured as f64
}

/// Whether nothing but the number in flight bounds the load: no schedule, no cap, no think time.
#[must_use]
pub fn is_unbounded(cell: &CellSummary) -> bool {
    let load = &cell.requested;
    cell.offered_ops_per_s.is_none()
        && load.max_bytes_per_s.is_none()
        && load.max_ops_per_s.is_none()
        && load.think_ns.0 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gridded;

    /// The law over cells at one in flight, of these blocks and times of a request.
    fn law_of(points: &[(u64, f64)]) -> Option<SegmentFit> {
        let summary = gridded("local-ssd");
        let of = summary.cells.iter().find(|cell| cell.in_flight.configured == 1).unwrap();
        let cells: Vec<CellSummary> = points
            .iter()
            .map(|&(block_bytes, time_s)| {
                let mut cell = of.clone();
                cell.block_bytes = narrows_model::Bytes(block_bytes);
                cell.ops_per_s = Some(narrows_model::OpsPerSec(1.0 / time_s));
                cell.rate_bytes_per_s = Some(narrows_model::BytesPerSec(block_bytes as f64 / time_s));
                cell.interval = None;
                cell
            })
            .collect();
        fit(&cells.iter().collect::<Vec<_>>())
    }

    const BLOCKS: [u64; 5] = [4_096, 16_384, 65_536, 262_144, 1_048_576];

    #[test]
    fn points_of_a_law_give_it_and_points_that_break_it_give_none() {
        let on = |block: u64, factor: f64| (block, (50e-6 + block as f64 / 1e9) * factor);
        let law = law_of(&BLOCKS.map(|block| on(block, 1.0))).unwrap();
        assert!((law.a_s / 50e-6 - 1.0).abs() < 1e-6 && law.deviation_ratio_max < 1e-6, "{law:?}");
        // A cache that serves the smallest twice as fast, and the largest half as fast.
        let broken: Vec<_> =
            BLOCKS.into_iter().zip([0.5, 1.0, 1.0, 1.0, 2.0]).map(|(b, f)| on(b, f)).collect();
        assert_eq!(law_of(&broken), None);
    }

    #[test]
    fn blocks_too_small_for_a_rate_have_no_law() {
        let blocks = [512, 1024, 2048, 4096];
        let times = [10.0e-6, 10.8e-6, 9.9e-6, 10.9e-6];
        assert_eq!(law_of(&blocks.into_iter().zip(times).collect::<Vec<_>>()), None);
    }
}
