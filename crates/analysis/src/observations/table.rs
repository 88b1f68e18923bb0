//! Observations as the rules see them: figures of single observations, and those that differ in one thing alone.
//!
//! Not here: judging them.

use super::rules::mixture;
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::{Ceiling, ObservedOp, Quality, Scope};
use narrows_model::units::ratio;
use narrows_model::{Observation, Observations, Segment};
use narrows_stats::modes::ModeOfValues;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Clients that end this much apart did not run together all of the time: their rates may not be summed.
pub(crate) const TOGETHER_RATIO: f64 = 1.2;
/// A figure read off a chart is good to this.
pub(crate) const APPROXIMATE_RATIO: f64 = 0.05;
/// Measured shares pass the whole by a few percent; beyond a tenth the figure is something else.
const CPU_MAX: f64 = 1.1;

/// A rate that is known, or lies between two bounds.
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

/// The observations of one file, with what is asked of all of them at once.
#[derive(Debug, Clone)]
pub struct Table<'a> {
    pub(crate) all: &'a Observations,
    has_network: bool,
    has_proxy: bool,
    /// Observations whose clients' rates have several modes.
    mixed: BTreeMap<&'a str, Vec<ModeOfValues>>,
}

/// How busy the CPU of a role was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuShare {
    /// 1 is full.
    pub ratio: f64,
    /// Of what it is a share.
    pub of: &'static str,
}

impl<'a> Table<'a> {
    /// The table of `all`.
    pub(crate) fn of(all: &'a Observations) -> Self {
        let mut modes = mixture::Modes::default();
        let mixed = all.observations.iter().filter_map(|one| Some((one.id.as_str(), modes.of(one)?)));
        let mixed = mixed.collect();
        Self { all, has_network: has_network(all), has_proxy: has_proxy(all), mixed }
    }

    /// Whether the path crosses a network.
    pub(crate) fn has_network(&self) -> bool {
        self.has_network
    }

    /// Whether `one` crossed it.
    pub(crate) fn is_remote(&self, one: &Observation) -> bool {
        self.has_network && !is_local(one)
    }

    /// Whether a proxy stands on the path.
    pub(crate) fn has_proxy(&self) -> bool {
        self.has_proxy
    }

    /// The modes of the rates of an observation's clients, where there are several.
    pub(crate) fn modes(&self, one: &Observation) -> Option<&[ModeOfValues]> {
        self.mixed.get(one.id.as_str()).map(Vec::as_slice)
    }

    pub(crate) fn observations(&self) -> &'a [Observation] {
        &self.all.observations
    }

    /// The segment that a factor varies; `None` for one that is compared and not blamed.
    pub(crate) fn segment_of(&self, factor: &str) -> Option<Segment> {
        self.all.factor_segments.get(factor).copied().or_else(|| known_segment(factor))
    }

    /// What `ceiling` carries for `one`: as many times its value as there are of its scope. A count that the file gives
    /// is that; without one there are as many as the observation has of them, else one.
    pub(crate) fn count_of(ceiling: &Ceiling, one: &Observation) -> f64 {
        let clients = one.clients.unwrap_or(1).max(1) as f64;
        let of_observation = match ceiling.scope {
            Scope::Client => clients,
            Scope::Connection => one.connections.map_or(1.0, |connections| connections as f64 * clients),
            _ => 1.0,
        };
        ceiling.count.map_or(of_observation, |count| count as f64)
    }

    /// Observations that differ from each other in `factor` alone, in the order of its values; groups of two or more.
    pub(crate) fn series(&self, factor: &str) -> Vec<Vec<&'a Observation>> {
        let mut groups = self.groups(|one| value_of(one, factor).map(|_| setting(one, factor)));
        for group in &mut groups {
            group.sort_by(|a, b| by_value(a, b, factor));
        }
        groups
    }

    /// Observations of which `key` says the same, in the order of the file; groups of two or more.
    pub(crate) fn groups(&self, key: impl Fn(&Observation) -> Option<String>) -> Vec<Vec<&'a Observation>> {
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut groups: Vec<Vec<&'a Observation>> = Vec::new();
        for one in self.observations() {
            let Some(key) = key(one) else { continue };
            let place = *places.entry(key).or_insert(groups.len());
            match groups.get_mut(place) {
                Some(group) => group.push(one),
                None => groups.push(vec![one]),
            }
        }
        groups.retain(|group| group.len() > 1);
        groups
    }

    /// Names of factors, in the order in which the file first has them.
    pub(crate) fn factors(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.observations().iter().flat_map(|one| one.factors.keys()) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

fn has_network(all: &Observations) -> bool {
    // Who has a server, told apart from the client, reaches it over a network.
    let is_behind = |ceiling: &Ceiling| {
        let segment = ceiling.segment;
        segment.is_within(Segment::Network)
            || segment.is_within(Segment::Server)
            || ceiling.scope == Scope::Server
    };
    let crosses = |one: &Observation| {
        let shared = one.clients.is_some_and(|clients| clients > 1);
        let roles = [Role::Server, Role::Proxy];
        let has_memory = roles.iter().any(|role| one.memory_bytes.contains_key(role));
        one.rtt_s.is_some()
            || one.bytes.wire.is_some()
            || one.op == ObservedOp::Send
            || ((shared || has_memory) && !is_local(one))
            || roles.iter().any(|role| mentions(one, *role))
    };
    all.ceilings.iter().any(is_behind) || all.observations.iter().any(crosses)
}

fn has_proxy(all: &Observations) -> bool {
    let is_proxy = |segment: Segment| segment.is_within(Segment::Proxy);
    let passes = |one: &Observation| {
        mentions(one, Role::Proxy) || one.factors.contains_key(buffer_factor(Role::Proxy))
    };
    all.ceilings.iter().any(|ceiling| is_proxy(ceiling.segment))
        || all.factor_segments.values().any(|segment| is_proxy(*segment))
        || all.observations.iter().any(passes)
}

/// The factor that says whose path an observation took, and its value where that is one without a network.
pub(crate) const PATH: &str = "path";
const LOCAL: &str = "local";

/// Whether an observation is said to have crossed no network: measured on the server itself.
pub(crate) fn is_local(one: &Observation) -> bool {
    matches!(one.factors.get(PATH), Some(FactorValue::Text(path)) if path == LOCAL)
}

/// The factor that stands for the number of clients, which has a key of its own.
pub(crate) const CLIENTS: &str = "clients";

fn value_of(one: &Observation, factor: &str) -> Option<FactorValue> {
    if factor == CLIENTS {
        return one.clients.map(|clients| FactorValue::Number(clients as f64));
    }
    one.factors.get(factor).cloned()
}

fn by_value(a: &Observation, b: &Observation, factor: &str) -> Ordering {
    match (value_of(a, factor), value_of(b, factor)) {
        (Some(FactorValue::Number(a)), Some(FactorValue::Number(b))) => a.total_cmp(&b),
        _ => Ordering::Equal,
    }
}

/// What was the same about observations that differ in `factor` alone: operation, block, clients, other factors.
pub(crate) fn setting(one: &Observation, factor: &str) -> String {
    setting_under(one, one.op, &|name| name == factor)
}

/// The same, as if the operation were `op`, and without the factors that `left_out` holds of.
pub(crate) fn setting_under(one: &Observation, op: ObservedOp, left_out: &dyn Fn(&str) -> bool) -> String {
    let kept = one.factors.iter().filter(|(name, _)| !left_out(name));
    let factors: Vec<String> =
        kept.map(|(name, value)| format!("{name:?}={:?}", value.to_string())).collect();
    let clients = if left_out(CLIENTS) { None } else { one.clients };
    format!("{} {:?} {clients:?} {}", op.name(), one.block_bytes, factors.join(" "))
}

/// The segment that a factor of this name varies, where the name says it.
fn known_segment(factor: &str) -> Option<Segment> {
    match factor {
        "server_threads" => Some(Segment::ServerThreads),
        "connections" | "nconnect" | "mounts" | "window_bytes" => Some(Segment::ClientConnection),
        "disks" | "spindles" | "devices" | "disk_rate" => Some(Segment::Device),
        "links" | "network" => Some(Segment::NetworkBandwidth),
        "server_cpus" | "server_buffer_bytes" => Some(Segment::ServerCpu),
        "client_cpus" | "processors" | "client_buffer_bytes" => Some(Segment::ClientCpu),
        "proxy_buffer_bytes" => Some(Segment::ProxyCpu),
        _ => None,
    }
}

/// Factors whose name says which segment they vary, with it, for the reference.
#[must_use]
pub fn known_factors() -> Vec<(&'static str, Segment)> {
    const NAMES: [&str; 17] = [
        "server_threads",
        "connections",
        "nconnect",
        "mounts",
        "window_bytes",
        "disks",
        "spindles",
        "devices",
        "disk_rate",
        "links",
        "network",
        "server_cpus",
        "client_cpus",
        "processors",
        "client_buffer_bytes",
        "proxy_buffer_bytes",
        "server_buffer_bytes",
    ];
    NAMES.iter().filter_map(|name| Some((*name, known_segment(name)?))).collect()
}

/// The factor of a role's buffer size.
pub(crate) fn buffer_factor(role: Role) -> &'static str {
    match role {
        Role::Client => "client_buffer_bytes",
        Role::Proxy => "proxy_buffer_bytes",
        Role::Server => "server_buffer_bytes",
    }
}

/// A role's buffer size.
pub(crate) fn buffer_bytes(one: &Observation, role: Role) -> Option<f64> {
    match one.factors.get(buffer_factor(role)) {
        Some(FactorValue::Number(bytes)) if *bytes >= 1.0 => Some(*bytes),
        _ => None,
    }
}

fn mentions(one: &Observation, role: Role) -> bool {
    let counts = [&one.calls, &one.read_calls, &one.write_calls, &one.tcp_segments];
    let shares =
        [&one.cpu_ratio, &one.cpu_cores, &one.cpu_busiest_core_ratio, &one.user_s, &one.system_s, &one.cpus];
    counts.iter().any(|table| table.contains_key(&role))
        || shares.iter().any(|table| table.contains_key(&role))
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
        .filter(|rate| rate.high > 0.0)
}

fn of_clients(one: &Observation) -> Option<Bracket> {
    let rates = &one.per_client_bytes_per_s;
    let (least, most) = (extreme(rates, f64::min)?, extreme(rates, f64::max)?);
    let sum: f64 = rates.iter().sum();
    if most <= least * TOGETHER_RATIO {
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
    ratio(a.elapsed_s?, b.elapsed_s?).map(Bracket::exact)
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
    let can_be = |share: &CpuShare| share.ratio <= CPU_MAX;
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

/// How far a figure of this quality may lie from the truth.
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
