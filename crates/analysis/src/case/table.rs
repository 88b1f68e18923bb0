//! Observations as the rules see them: figures of single observations, and those that differ in one thing alone.
//!
//! Not here: their evaluation.

mod factors;
mod figures;
mod rising;

pub use factors::known_factors;
pub(crate) use factors::{
    CLIENTS, PATH, TCP_NO_DELAY, TRANSPORT, UNIX_SOCKETS, buffer_bytes, is_local, setting, setting_under,
    with_other_differences,
};
pub(crate) use figures::{
    APPROXIMATE_RATIO, Bracket, ROLES, bytes_per_s, calls, cores, counted_calls, cpu, doubt_ratio, extreme,
    in_flight, ops_per_s, round_trips, speed_up, times, total_bytes, upstream,
};
pub(crate) use rising::{RisingAxis, RisingSeries};

use super::modes::ClientModeFinder;
use crate::thresholds::BUSY_RATIO;
use factors::{buffer_factor, by_value, known_segment, mentions, same_load, value_of};
use narrows_model::counters::Role;
use narrows_model::observation::{Capacity, Ceiling, ObservedOp, Scope};
use narrows_model::{Observation, Observations, Segment};
use narrows_stats::modes::ModeOfValues;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The observations of one file, with what is asked of all of them at once.
#[derive(Debug, Clone)]
pub(crate) struct ObservationTable<'a> {
    pub(crate) all: &'a Observations,
    has_network: bool,
    has_proxy: bool,
    /// Observations whose clients' rates have several modes.
    mixed: BTreeMap<&'a str, Vec<ModeOfValues>>,
}

impl<'a> ObservationTable<'a> {
    /// The table of `all`.
    pub(crate) fn new(all: &'a Observations) -> Self {
        let mut modes = ClientModeFinder::default();
        let mixed = all.observations.iter().filter_map(|one| Some((one.id.as_str(), modes.find(one)?)));
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

    /// Whether a proxy is on the path.
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

    /// How many times the value of `ceiling` applies to `one`: once for each of its scope. A count in the file is that
    /// number; without one it is the number that the observation has, else one.
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
        // More clients have more in flight and are offered more: that is their load, and not a second factor.
        let load = |one: &Observation| if factor == CLIENTS { String::new() } else { same_load(one) };
        let mut groups = self.groups(|one| value_of(one, factor).map(|_| setting(one, factor) + &load(one)));
        for group in &mut groups {
            group.sort_by(|a, b| by_value(a, b, factor));
        }
        groups
    }

    /// Observations that differ in the number of requests in flight alone, the fewest first; groups of two or more.
    pub(crate) fn in_flight_series(&self) -> Vec<Vec<&'a Observation>> {
        let without = |one: &Observation| Observation { in_flight_configured: None, ..one.clone() };
        let key = |one: &Observation| Some(setting(one, "") + &same_load(&without(one)));
        let mut groups = self.groups(|one| one.in_flight_configured.and_then(|_| key(one)));
        for group in &mut groups {
            group.sort_by(|a, b| {
                a.in_flight_configured.partial_cmp(&b.in_flight_configured).unwrap_or(Ordering::Equal)
            });
        }
        groups
    }

    /// Observations of one setting, as far as the file says: repeats; groups of two or more.
    pub(crate) fn repeats(&self) -> Vec<Vec<&'a Observation>> {
        let machine = |one: &Observation| {
            format!(
                " {:?} {:?} {:?} {:?} {:?}",
                one.connections, one.window_bytes, one.rtt_s, one.memory_bytes, one.cpus
            )
        };
        self.groups(|one| Some(setting(one, "") + &same_load(one) + &machine(one)))
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

/// Whether fewer clients, `few`, were busy by themselves, and the `many` were not: then the rate of the former says nothing of
/// what they and the latter share.
pub(crate) fn is_limited_by_itself(few: &Observation, many: &Observation) -> bool {
    let busy = |one: &Observation| cpu(one, Role::Client).map(|share| share.ratio);
    busy(few).zip(busy(many)).is_some_and(|(few, many)| few >= BUSY_RATIO && many < BUSY_RATIO / 2.0)
}

fn has_network(all: &Observations) -> bool {
    // A server that is distinguished from the client is reached over a network.
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

/// The round-trip time: that of the observation, else that of the network's ceiling.
pub(crate) fn rtt_s(table: &ObservationTable<'_>, one: &Observation) -> Option<f64> {
    let declared = || {
        table.all.ceilings.iter().find_map(|ceiling| match ceiling.capacity {
            Capacity::LatencyS(seconds) if ceiling.segment == Segment::NetworkLatency => Some(seconds),
            _ => None,
        })
    };
    one.rtt_s.or_else(declared)
}
