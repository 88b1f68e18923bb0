//! Figures of single observations, each from what is given of it.

use super::factors::{buffer_bytes, mentions};
use crate::thresholds::{CONTRADICTION_RATIO, OVERLAP_RATIO};
use narrows_model::Observation;
use narrows_model::counters::Role;
use narrows_model::observation::{ObservedOp, Quality};
use narrows_model::units::ratio;

/// A figure read off a chart is good to this.
pub(crate) const APPROXIMATE_RATIO: f64 = 0.05;
/// The roles of a path, in the order in which bytes pass them.
pub(crate) const ROLES: [Role; 3] = [Role::Client, Role::Proxy, Role::Server];

/// A rate that is known, or is between two bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bracket {
    pub low: f64,
    pub high: f64,
}

impl Bracket {
    fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Whether the bounds differ.
    pub(crate) fn is_open(self) -> bool {
        self.high > self.low * 1.001
    }
}

/// How busy the CPU of a role was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuShare {
    /// 1 is full.
    pub ratio: f64,
    /// Of what it is a share.
    pub of: &'static str,
}

/// Bytes a second of all clients together.
///
/// The sum of clients' rates is an upper bound where they did not run together: bytes over the longest time is the lower.
pub(crate) fn bytes_per_s(one: &Observation) -> Option<Bracket> {
    let given = one.bytes_per_s.map(|rate| Bracket::exact(rate.0));
    given
        .or_else(|| of_clients(one))
        .or_else(|| {
            let mean = one.bytes_per_s_per_client_mean?.0;
            Some(Bracket::exact(mean * one.clients? as f64))
        })
        .or_else(|| ratio(total_bytes(one)?, one.elapsed_s?).map(Bracket::exact))
        .or_else(|| of_operations(one).map(Bracket::exact))
        .filter(|rate| rate.high > 0.0)
}

/// Operations a second times the block; operations on names move no block.
fn of_operations(one: &Observation) -> Option<f64> {
    let moves = one.op != ObservedOp::Metadata;
    one.ops_per_s
        .filter(|_| moves)
        .map(|rate| rate.0)
        .zip(one.block_bytes)
        .map(|(rate, block)| rate * block.as_f64())
}

fn of_clients(one: &Observation) -> Option<Bracket> {
    let rates = &one.per_client_bytes_per_s;
    let (least, most) = (extreme(rates, f64::min)?, extreme(rates, f64::max)?);
    let sum: f64 = rates.iter().sum();
    if most <= least * OVERLAP_RATIO {
        return Some(Bracket::exact(sum));
    }
    // Each moved as many bytes, so the slowest ended last.
    Some(Bracket { low: least * rates.len() as f64, high: sum })
}

/// The least or the most of values; `None` without any.
pub(crate) fn extreme(values: &[f64], pick: fn(f64, f64) -> f64) -> Option<f64> {
    values.iter().copied().reduce(pick)
}

/// Bytes that the application moved in all.
pub(crate) fn total_bytes(one: &Observation) -> Option<f64> {
    let given = one.bytes.application.map(narrows_model::Bytes::as_f64);
    let of_files = || Some(one.file_bytes?.as_f64() * one.clients.unwrap_or(1) as f64);
    let of_rate = || Some(one.bytes_per_s?.0 * one.elapsed_s?);
    given.filter(|bytes| *bytes > 0.0).or_else(of_files).or_else(of_rate)
}

/// Operations a second of all clients together.
pub(crate) fn ops_per_s(one: &Observation) -> Option<f64> {
    let of_bytes = || ratio(bytes_per_s(one)?.high, one.block_bytes?.as_f64());
    one.ops_per_s.map(|rate| rate.0).or_else(of_bytes).filter(|rate| *rate > 0.0)
}

/// How many times as fast `b` is as `a`, by the first figure that both have; the bounds where one is a bracket.
pub(crate) fn speed_up(a: &Observation, b: &Observation) -> Option<Bracket> {
    if let (Some(a), Some(b)) = (bytes_per_s(a), bytes_per_s(b)) {
        return Some(Bracket { low: ratio(b.low, a.high)?, high: ratio(b.high, a.low)? });
    }
    if let (Some(a), Some(b)) = (one_ops(a), one_ops(b)) {
        return ratio(b, a).map(Bracket::exact);
    }
    let of_time = || ratio(a.elapsed_s?, b.elapsed_s?);
    of_time().or_else(|| by_response_time(a, b)).map(Bracket::exact)
}

/// By response times alone, of closed loops with as much in flight: requests in flight over the response time are the rate
/// (Little's law).
fn by_response_time(a: &Observation, b: &Observation) -> Option<f64> {
    let is_open = |one: &Observation| one.offered_ops_per_s.is_some() || one.offered_bytes_per_s.is_some();
    let is_comparable = in_flight(a) == in_flight(b) && a.clients == b.clients && !is_open(a) && !is_open(b);
    ratio(a.latency_s?, b.latency_s?).filter(|_| is_comparable)
}

fn one_ops(one: &Observation) -> Option<f64> {
    one.ops_per_s.map(|rate| rate.0).filter(|rate| *rate > 0.0)
}

/// Calls of a role: those counted, or where its buffer alone decides them, bytes over the buffer.
pub(crate) fn calls(one: &Observation, role: Role) -> Option<f64> {
    counted_calls(one, role).or_else(|| {
        let buffer = buffer_bytes(one, role)?;
        let upstream = upstream(one, role).and_then(|role| buffer_bytes(one, role));
        // What is read fills the buffer where no smaller one wrote it.
        let is_full = role == Role::Client || upstream.is_some_and(|upstream| buffer <= upstream);
        is_full.then(|| total_bytes(one).map(|bytes| (bytes / buffer).ceil())).flatten()
    })
}

/// Calls of a role that were counted.
pub(crate) fn counted_calls(one: &Observation, role: Role) -> Option<f64> {
    let of_kind = if role == Role::Client { &one.write_calls } else { &one.read_calls };
    one.calls
        .get(&role)
        .or_else(|| of_kind.get(&role))
        .map(|count| *count as f64)
        .filter(|count| *count > 0.0)
}

/// The role that sends to `role`.
pub(crate) fn upstream(one: &Observation, role: Role) -> Option<Role> {
    let has_proxy = mentions(one, Role::Proxy) || buffer_bytes(one, Role::Proxy).is_some();
    match role {
        Role::Client => None,
        Role::Server if has_proxy => Some(Role::Proxy),
        Role::Proxy | Role::Server => Some(Role::Client),
    }
}

/// How busy the CPU of `role` was: the fullest of what is known. A share that cannot be says nothing.
pub(crate) fn cpu(one: &Observation, role: Role) -> Option<CpuShare> {
    let cpus = one.cpus.get(&role).copied();
    let of_all = one.cpu_ratio.get(&role).copied();
    let of_all = of_all.or_else(|| ratio(cores(one, role)?, cpus?));
    let of_all = of_all.map(|ratio| CpuShare { ratio, of: "of the CPUs that it may use" });
    let of_one = cores(one, role).filter(|_| cpus.is_none() && !one.cpu_ratio.contains_key(&role));
    let of_one = of_one.map(|ratio| CpuShare { ratio, of: "of one core" });
    let busiest = one.cpu_busiest_core_ratio.get(&role).copied();
    let busiest = busiest.map(|ratio| CpuShare { ratio, of: "of its busiest core" });
    let can_be = |share: &CpuShare| share.ratio <= CONTRADICTION_RATIO;
    let shares = [of_all.filter(can_be), of_one, busiest.filter(can_be)];
    shares.into_iter().flatten().max_by(|a, b| a.ratio.total_cmp(&b.ratio))
}

/// Busy cores of a role.
pub(crate) fn cores(one: &Observation, role: Role) -> Option<f64> {
    let time = || {
        let (user, system) = (one.user_s.get(&role), one.system_s.get(&role));
        let sum = user.copied().unwrap_or(0.0) + system.copied().unwrap_or(0.0);
        (user.is_some() || system.is_some()).then_some(sum)
    };
    one.cpu_cores.get(&role).copied().or_else(|| ratio(time()?, one.elapsed_s?))
}

/// How far a figure of this quality may be from the truth.
pub(crate) fn doubt_ratio(one: &Observation) -> f64 {
    if one.quality == Quality::Approximate { APPROXIMATE_RATIO } else { 0.0 }
}

/// Round trips that were made; half of the messages where they were not counted.
pub(crate) fn round_trips(one: &Observation) -> Option<f64> {
    let of_messages = || one.messages.map(|messages| messages as f64 / 2.0);
    one.round_trips.map(|count| count as f64).or_else(of_messages).filter(|count| *count > 0.0)
}

/// Requests in flight: those seen, else those asked for.
pub(crate) fn in_flight(one: &Observation) -> Option<f64> {
    one.in_flight_measured.or(one.in_flight_configured).filter(|count| *count > 0.0)
}

/// A ratio in words.
pub(crate) fn times(faster: Bracket) -> String {
    if faster.is_open() {
        format!("{:.2} to {:.2}", faster.low, faster.high)
    } else {
        format!("{:.2}", faster.high)
    }
}
