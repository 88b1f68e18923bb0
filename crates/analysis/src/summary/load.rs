//! The load that a cell really put on: kinds of requests, open loops, requests in flight by Little's law.

use super::rates::Rates;
use crate::collect::CellData;
use narrows_model::summary::{InFlight, KindSummary, LatencySummary, OpenLoopSummary};
use narrows_model::trial::OpCounts;
use narrows_model::units::ratio;
use narrows_model::{BytesPerSec, Histogram, OpsPerSec};

/// Quantiles of a latency.
pub(super) fn latency(histogram: &Histogram) -> LatencySummary {
    LatencySummary {
        p50: histogram.quantile_ns(0.50),
        p90: histogram.quantile_ns(0.90),
        p99: histogram.quantile_ns(0.99),
        p999: histogram.quantile_ns(0.999),
        max: histogram.max_ns(),
        mean: histogram.mean_ns(),
    }
}

/// The figures of each kind of request, in the order of the workload; empty where all are alike.
pub(super) fn kinds(data: &CellData, rates: &Rates) -> Vec<KindSummary> {
    let over_window = |value: f64| ratio(value, rates.elapsed.last_done);
    let kind = |kind: &crate::collect::KindData| {
        let OpCounts { op, block_bytes, op_count, bytes } = kind.counts;
        KindSummary {
            op,
            block_bytes,
            op_count,
            rate_bytes_per_s: over_window(bytes.as_f64()).filter(|_| op_count > 0).map(BytesPerSec),
            ops_per_s: over_window(op_count as f64).filter(|_| op_count > 0).map(OpsPerSec),
            latency_ns: latency(&kind.response.whole()),
        }
    };
    data.kinds.iter().map(kind).collect()
}

/// The load that an open loop asks for; `None` in a closed one.
pub(super) fn offered(data: &CellData) -> Option<OpsPerSec> {
    data.cell.workload.arrivals.offered_ops_per_s().map(OpsPerSec)
}

/// What an open loop adds; `None` in a closed one.
pub(super) fn open_loop(data: &CellData, rates: &Rates) -> Option<OpenLoopSummary> {
    let totals = data.open_loop.as_ref()?;
    let achieved = || ratio(rates.ops_per_s?, offered(data)?.0);
    let censored = totals.censored.whole();
    Some(OpenLoopSummary {
        scheduled_count: totals.counts.scheduled_count,
        unstarted_count: totals.counts.unstarted_count,
        held_up_count: totals.counts.held_up_count,
        censored_count: censored.count(),
        censored_from_ns: censored.buckets().next().map(|least| least.low_ns),
        achieved_ratio: achieved(),
    })
}

/// Response times; a wait of an open loop that was never ended counts with what is known of it, so that a quantile is
/// exact below the shortest of those and at least what it says from there on.
///
/// # Source
/// Censored observations at their time of censoring give the sharpest lower bound of each quantile: the empirical law
/// of lower bounds is nowhere above that of the times (stochastic order).
pub(super) fn response(data: &CellData, completed: &Histogram) -> LatencySummary {
    let Some(totals) = &data.open_loop else { return latency(completed) };
    let mut all = totals.censored.whole();
    all.merge(completed);
    latency(&all)
}

/// Service times; `None` in a closed loop.
pub(super) fn service(data: &CellData) -> Option<LatencySummary> {
    data.open_loop.as_ref().map(|totals| latency(&totals.service.whole()))
}

/// Requests in flight by Little's law, N = X · R, beside what was asked for.
///
/// # Source
/// Little (1961), and the interactive response law N = X (R + Z) for think time Z (Denning and Buzen 1978). Requests of
/// an open loop that wait for their start are not in flight at the target: their service time counts.
pub(super) fn in_flight(data: &CellData, rates: &Rates) -> InFlight {
    let by_service =
        || ratio(data.open_loop.as_ref()?.counts.service_sum_ns as f64 / 1e9, rates.elapsed.last_done);
    let think_s = data.cell.workload.think_ns.as_secs_f64();
    InFlight {
        configured: data.cell.workload.in_flight_configured(),
        measured: if offered(data).is_some() {
            by_service().filter(|_| rates.ops_per_s.is_some())
        } else {
            rates.in_flight
        },
        at_end: data.in_flight_at_end,
        thinking: rates.ops_per_s.map(|rate| rate * think_s).filter(|_| think_s > 0.0),
    }
}
