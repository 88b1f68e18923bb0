//! What was varied on purpose: the names of factors, what they vary, and what two observations have in common beside one.

use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::ObservedOp;
use narrows_model::{Observation, Segment};
use std::cmp::Ordering;

/// The factor that says what joins the roles: [`UNIX_SOCKETS`], [`TCP_NO_DELAY`], or a name of the user's own.
pub(crate) const TRANSPORT: &str = "transport";

/// Unix sockets: what is written is not joined at the sender.
pub(crate) const UNIX_SOCKETS: &str = "unix";

/// TCP without Nagle's algorithm.
pub(crate) const TCP_NO_DELAY: &str = "tcp_no_delay";

/// The factor that says whose path an observation took, and its value where that is one without a network.
pub(crate) const PATH: &str = "path";

const LOCAL: &str = "local";

/// Whether an observation is said to have crossed no network: measured on the server itself.
pub(crate) fn is_local(one: &Observation) -> bool {
    matches!(one.factors.get(PATH), Some(FactorValue::Text(path)) if path == LOCAL)
}

/// The factor that is the number of clients, for which there is a separate key.
pub(crate) const CLIENTS: &str = "clients";

pub(super) fn value_of(one: &Observation, factor: &str) -> Option<FactorValue> {
    if factor == CLIENTS {
        return one.clients.map(|clients| FactorValue::Number(clients as f64));
    }
    one.factors.get(factor).cloned()
}

pub(super) fn by_value(a: &Observation, b: &Observation, factor: &str) -> Ordering {
    match (value_of(a, factor), value_of(b, factor)) {
        (Some(FactorValue::Number(a)), Some(FactorValue::Number(b))) => a.total_cmp(&b),
        _ => Ordering::Equal,
    }
}

/// What was the same about observations that differ in `factor` alone: operation, block, clients, other factors.
pub(crate) fn setting(one: &Observation, factor: &str) -> String {
    setting_under(one, one.op, &|name| name == factor)
}

/// The same, as if the operation were `op`, and without the factors that `left_out` selects.
pub(crate) fn setting_under(one: &Observation, op: ObservedOp, left_out: &dyn Fn(&str) -> bool) -> String {
    let kept = one.factors.iter().filter(|(name, _)| !left_out(name));
    let factors: Vec<String> =
        kept.map(|(name, value)| format!("{name:?}={:?}", value.to_string())).collect();
    let clients = if left_out(CLIENTS) { None } else { one.clients };
    format!("{} {:?} {clients:?} {}", op.name(), one.block_bytes, factors.join(" "))
}

/// The load of an observation, beside its setting: what was offered, what was in flight, and how large the files were.
pub(super) fn same_load(one: &Observation) -> String {
    format!(
        " {:?} {:?} {:?} {:?}",
        one.offered_ops_per_s, one.offered_bytes_per_s, one.in_flight_configured, one.file_bytes
    )
}

/// Names of factors with the segment that they vary: those of the schema first, then the words that servers, clusters and
/// load generators have for them.
const KNOWN: [(&str, Segment); 33] = [
    ("server_threads", Segment::ServerThreads),
    ("connections", Segment::ClientConnection),
    ("nconnect", Segment::ClientConnection),
    ("mounts", Segment::ClientConnection),
    ("window_bytes", Segment::ClientConnection),
    ("disks", Segment::Device),
    ("spindles", Segment::Device),
    ("devices", Segment::Device),
    ("disk_rate", Segment::Device),
    ("links", Segment::NetworkBandwidth),
    ("network", Segment::NetworkBandwidth),
    ("server_cpus", Segment::ServerCpu),
    ("client_cpus", Segment::ClientCpu),
    ("processors", Segment::ClientCpu),
    ("client_buffer_bytes", Segment::ClientCpu),
    ("proxy_buffer_bytes", Segment::ProxyCpu),
    ("server_buffer_bytes", Segment::ServerCpu),
    ("nfsd_threads", Segment::ServerThreads),
    ("nfsd", Segment::ServerThreads),
    ("streams", Segment::ClientConnection),
    ("sessions", Segment::ClientConnection),
    ("drives", Segment::Device),
    ("ssds", Segment::Device),
    ("hdds", Segment::Device),
    ("luns", Segment::Device),
    ("nics", Segment::NetworkBandwidth),
    ("link_rate", Segment::NetworkBandwidth),
    ("server_cores", Segment::ServerCpu),
    ("client_cores", Segment::ClientCpu),
    ("proxy_cpus", Segment::ProxyCpu),
    ("proxy_cores", Segment::ProxyCpu),
    ("queue_depth", Segment::WorkloadConcurrency),
    ("iodepth", Segment::WorkloadConcurrency),
];

/// The segment that a factor of this name varies, where the name says it.
pub(super) fn known_segment(factor: &str) -> Option<Segment> {
    KNOWN.iter().find(|(name, _)| *name == factor).map(|(_, segment)| *segment)
}

/// Factors whose name says which segment they vary, with it, for the reference.
#[must_use]
pub fn known_factors() -> Vec<(&'static str, Segment)> {
    KNOWN.to_vec()
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

pub(super) fn mentions(one: &Observation, role: Role) -> bool {
    let counts = [&one.calls, &one.read_calls, &one.write_calls, &one.tcp_segments];
    let shares =
        [&one.cpu_ratio, &one.cpu_cores, &one.cpu_busiest_core_ratio, &one.user_s, &one.system_s, &one.cpus];
    counts.iter().any(|table| table.contains_key(&role))
        || shares.iter().any(|table| table.contains_key(&role))
}

/// What else differs between the two.
pub(crate) fn with_other_differences(few: &Observation, many: &Observation, text: String) -> String {
    let differs = few.file_bytes != many.file_bytes;
    if differs { format!("{text}; the bytes of a client differ between them too") } else { text }
}
