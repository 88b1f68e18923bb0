//! Rows become values of the model.
//!
//! Not here: what is wrong with rows, which is `whole`'s: whatever is missing is left out of the values, which nobody
//! sees where something is wrong.

use super::table::{Row, Rows};
use super::value::Value;
use narrows_model::counters::Role;
use narrows_model::observation::{
    Capacity, Ceiling, CeilingBasis, Claim, Observation, ObservedBytes, ObservedOp, Quality, Scope,
};
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, BytesPerSec, Observations, OpsPerSec, Segment};
use std::collections::BTreeMap;

/// How far the sides of a claim may lie apart where the file does not say it.
const TOLERANCE_RATIO: f64 = 0.01;

pub(super) fn observations(rows: &Rows) -> Observations {
    Observations {
        title: text(&rows.top, "title").unwrap_or_default(),
        source: text(&rows.top, "source"),
        ceilings: rows.ceilings.iter().filter_map(ceiling).collect(),
        observations: rows.observations.iter().map(observation).collect(),
        factor_segments: rows.factor_segments.clone(),
        claims: rows.claims.iter().filter_map(claim).collect(),
    }
}

fn ceiling(row: &Row) -> Option<Ceiling> {
    let capacity = None
        .or_else(|| number(row, "bytes_per_s").map(|rate| Capacity::BytesPerS(BytesPerSec(rate))))
        .or_else(|| number(row, "ops_per_s").map(|rate| Capacity::OpsPerS(OpsPerSec(rate))))
        .or_else(|| number(row, "latency_s").map(Capacity::LatencyS))?;
    Some(Ceiling {
        segment: segment(row, "segment")?,
        capacity,
        scope: named(row, "scope", &Scope::ALL, Scope::name),
        count: count(row, "count"),
        op: name(row, "op").map(|_| named(row, "op", &ObservedOp::ALL, ObservedOp::name)),
        basis: if name(row, "basis") == Some("declared") {
            CeilingBasis::Declared
        } else {
            CeilingBasis::Measured
        },
        note: text(row, "note"),
    })
}

fn claim(row: &Row) -> Option<Claim> {
    let Some(Value::Arithmetic { text: left, value }) = row.value("left") else { return None };
    Some(Claim {
        text: text(row, "text")?,
        left: left.clone(),
        left_value: *value,
        right: number(row, "right")?,
        tolerance_ratio: number(row, "tolerance_ratio").unwrap_or(TOLERANCE_RATIO),
    })
}

fn observation(row: &Row) -> Observation {
    let bytes_of = |name: &str| count(row, name).map(Bytes);
    let byte_rate = |name: &str| number(row, name).map(BytesPerSec);
    let op_rate = |name: &str| number(row, name).map(OpsPerSec);
    let per_client = match row.value("per_client_bytes_per_s") {
        Some(Value::Numbers(numbers)) => numbers.clone(),
        _ => Vec::new(),
    };
    Observation {
        id: text(row, "id").unwrap_or_default(),
        op: named(row, "op", &ObservedOp::ALL, ObservedOp::name),
        clients: count(row, "clients").or(Some(per_client.len() as u64).filter(|count| *count > 0)),
        bytes_per_s: byte_rate("bytes_per_s"),
        ops_per_s: op_rate("ops_per_s"),
        bytes_per_s_per_client_mean: byte_rate("bytes_per_s_per_client_mean"),
        per_client_bytes_per_s: per_client,
        offered_ops_per_s: op_rate("offered_ops_per_s"),
        offered_bytes_per_s: byte_rate("offered_bytes_per_s"),
        latency_s: number(row, "latency_s"),
        in_flight_configured: number(row, "in_flight_configured"),
        in_flight_measured: number(row, "in_flight_measured"),
        window_bytes: bytes_of("window_bytes"),
        connections: count(row, "connections"),
        block_bytes: bytes_of("block_bytes"),
        file_bytes: bytes_of("file_bytes"),
        elapsed_s: number(row, "elapsed_s"),
        elapsed_half_width_ratio: number(row, "elapsed_half_width_ratio"),
        elapsed_first_s: number(row, "elapsed_first_s"),
        calls: counts_by_role(row, "calls"),
        read_calls: counts_by_role(row, "read_calls"),
        write_calls: counts_by_role(row, "write_calls"),
        tcp_segments: counts_by_role(row, "tcp_segments"),
        round_trips: count(row, "round_trips"),
        messages: count(row, "messages"),
        rtt_s: number(row, "rtt_s"),
        cpu_ratio: by_role(row, "cpu_ratio"),
        cpu_cores: by_role(row, "cpu_cores"),
        cpu_busiest_core_ratio: by_role(row, "cpu_busiest_core_ratio"),
        user_s: by_role(row, "user_s"),
        system_s: by_role(row, "system_s"),
        cpus: by_role(row, "cpus"),
        busy_ratio: by_segment(row, "busy_ratio"),
        hit_ratio: number(row, "hit_ratio"),
        errors: count(row, "errors"),
        bytes: observed_bytes(row),
        memory_bytes: counts_by_role(row, "memory_bytes")
            .into_iter()
            .map(|(role, n)| (role, Bytes(n)))
            .collect(),
        factors: factors(row),
        sequence: count(row, "sequence"),
        quality: named(row, "quality", &Quality::ALL, Quality::name),
        note: text(row, "note"),
    }
}

fn text(row: &Row, name: &str) -> Option<String> {
    match row.value(name) {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn number(row: &Row, name: &str) -> Option<f64> {
    match row.value(name) {
        Some(Value::Number(number)) => Some(*number),
        _ => None,
    }
}

fn count(row: &Row, name: &str) -> Option<u64> {
    match row.value(name) {
        Some(Value::Whole(count)) => Some(*count),
        _ => None,
    }
}

fn name(row: &Row, key: &str) -> Option<&'static str> {
    match row.value(key) {
        Some(Value::Name(name)) => Some(name),
        _ => None,
    }
}

fn segment(row: &Row, name: &str) -> Option<Segment> {
    match row.value(name) {
        Some(Value::Segment(segment)) => Some(*segment),
        _ => None,
    }
}

/// The value of this name among `all`; the default where there is none.
fn named<T: Copy + Default>(row: &Row, key: &str, all: &[T], name_of: fn(T) -> &'static str) -> T {
    let found = name(row, key);
    all.iter().copied().find(|one| Some(name_of(*one)) == found).unwrap_or_default()
}

fn each<'r>(row: &'r Row, name: &str) -> impl Iterator<Item = (&'static str, f64)> + 'r {
    let table = match row.value(name) {
        Some(Value::Each(table)) => Some(table),
        _ => None,
    };
    table.into_iter().flatten().filter_map(|(name, value)| match value {
        Value::Number(number) => Some((*name, *number)),
        Value::Whole(count) => Some((*name, *count as f64)),
        _ => None,
    })
}

fn role(name: &str) -> Option<Role> {
    match name {
        "client" => Some(Role::Client),
        "proxy" => Some(Role::Proxy),
        "server" => Some(Role::Server),
        _ => None,
    }
}

fn by_role(row: &Row, name: &str) -> BTreeMap<Role, f64> {
    each(row, name).filter_map(|(name, value)| Some((role(name)?, value))).collect()
}

/// Counts are below 2^53, so nothing is lost on the way.
fn counts_by_role(row: &Row, name: &str) -> BTreeMap<Role, u64> {
    by_role(row, name).into_iter().map(|(role, count)| (role, round_to_u64(count))).collect()
}

fn by_segment(row: &Row, name: &str) -> BTreeMap<Segment, f64> {
    match row.value(name) {
        Some(Value::EachSegment(table)) => table.clone(),
        _ => BTreeMap::new(),
    }
}

fn observed_bytes(row: &Row) -> ObservedBytes {
    let at = |place: &str| {
        each(row, "bytes").find(|(name, _)| *name == place).map(|(_, bytes)| Bytes(round_to_u64(bytes)))
    };
    ObservedBytes { application: at("application"), wire: at("wire"), device: at("device") }
}

fn factors(row: &Row) -> BTreeMap<String, narrows_model::cell::FactorValue> {
    match row.value("factor") {
        Some(Value::Factors(factors)) => factors.clone(),
        _ => BTreeMap::new(),
    }
}
