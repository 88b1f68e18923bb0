//! Observations as the text of an observation file, `narrows.observations/1`: what is not known is not written.
//!
//! The counterpart of the reader in `study`; a test there and back holds the two together. Deliberately absent: files,
//! and any check of the values, which the reader makes.

use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::observation::{Capacity, Ceiling, CeilingBasis, Claim, Quality, SCHEMA, Scope};
use narrows_model::{Bytes, Observation, Observations};
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

/// Columns at which remarks are broken.
const REMARK_COLUMNS: usize = 110;

/// The file that holds `all`, with `remarks` as comments above it.
///
/// # Shape
/// TOML; keys in the order of the reference. Numbers are written to the last digit, so that reading gives them back.
#[must_use]
pub fn observations_text(all: &Observations, remarks: &[String]) -> String {
    let mut out = String::new();
    for remark in remarks {
        comment(&mut out, remark);
    }
    entry(&mut out, "schema", quoted(SCHEMA));
    entry(&mut out, "title", quoted(&all.title));
    optional(&mut out, "source", all.source.as_deref().map(quoted));
    if !all.factor_segments.is_empty() {
        out.push_str("\n[factor_segment]\n");
        for (factor, segment) in &all.factor_segments {
            entry(&mut out, &quoted(factor), quoted(segment.id()));
        }
    }
    for one in &all.ceilings {
        ceiling(&mut out, one);
    }
    for one in &all.observations {
        observation(&mut out, one);
    }
    for one in &all.claims {
        claim(&mut out, one);
    }
    out
}

fn comment(out: &mut String, remark: &str) {
    let mut line = String::from("#");
    for word in remark.split_whitespace() {
        let word: String = word.chars().filter(|c| !c.is_control()).collect();
        if line.len() > 1 && line.chars().count() + word.chars().count() >= REMARK_COLUMNS {
            out.push_str(&line);
            out.push('\n');
            line = String::from("# ");
        }
        line.push(' ');
        line.push_str(&word);
    }
    out.push_str(&line);
    out.push('\n');
}

fn ceiling(out: &mut String, one: &Ceiling) {
    out.push_str("\n[[ceiling]]\n");
    entry(out, "segment", quoted(one.segment.id()));
    match one.capacity {
        Capacity::BytesPerS(rate) => entry(out, "bytes_per_s", rate.0),
        Capacity::OpsPerS(rate) => entry(out, "ops_per_s", rate.0),
        Capacity::LatencyS(seconds) => entry(out, "latency_s", seconds),
    }
    if one.scope != Scope::default() {
        entry(out, "scope", quoted(one.scope.name()));
    }
    optional(out, "count", one.count);
    optional(out, "op", one.op.map(|op| quoted(op.name())));
    let basis = if one.basis == CeilingBasis::Declared { "declared" } else { "measured" };
    entry(out, "basis", quoted(basis));
    optional(out, "note", one.note.as_deref().map(quoted));
}

fn claim(out: &mut String, one: &Claim) {
    out.push_str("\n[[claim]]\n");
    entry(out, "text", quoted(&one.text));
    entry(out, "left", quoted(&one.left));
    entry(out, "right", one.right);
    entry(out, "tolerance_ratio", one.tolerance_ratio);
}

fn observation(out: &mut String, one: &Observation) {
    out.push_str("\n[[observation]]\n");
    entry(out, "id", quoted(&one.id));
    entry(out, "op", quoted(one.op.name()));
    rates(out, one);
    load(out, one);
    counts(out, one);
    shares(out, one);
    if !one.factors.is_empty() {
        let factors = one.factors.iter().map(|(name, value)| format!("{} = {}", key(name), factor(value)));
        entry(out, "factor", inline(factors));
    }
    optional(out, "sequence", one.sequence);
    if one.quality != Quality::default() {
        entry(out, "quality", quoted(one.quality.name()));
    }
    optional(out, "note", one.note.as_deref().map(quoted));
}

fn rates(out: &mut String, one: &Observation) {
    optional(out, "clients", one.clients);
    optional(out, "bytes_per_s", one.bytes_per_s.map(|rate| rate.0));
    optional(out, "ops_per_s", one.ops_per_s.map(|rate| rate.0));
    optional(out, "bytes_per_s_per_client_mean", one.bytes_per_s_per_client_mean.map(|rate| rate.0));
    if !one.per_client_bytes_per_s.is_empty() {
        let rates: Vec<String> = one.per_client_bytes_per_s.iter().map(ToString::to_string).collect();
        entry(out, "per_client_bytes_per_s", format!("[{}]", rates.join(", ")));
    }
    optional(out, "offered_ops_per_s", one.offered_ops_per_s.map(|rate| rate.0));
    optional(out, "offered_bytes_per_s", one.offered_bytes_per_s.map(|rate| rate.0));
    optional(out, "latency_s", one.latency_s);
}

fn load(out: &mut String, one: &Observation) {
    let whole = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.0);
    optional(out, "in_flight_configured", one.in_flight_configured);
    optional(out, "in_flight_measured", one.in_flight_measured);
    optional(out, "window_bytes", whole(one.window_bytes));
    optional(out, "connections", one.connections);
    optional(out, "block_bytes", whole(one.block_bytes));
    optional(out, "file_bytes", whole(one.file_bytes));
    optional(out, "elapsed_s", one.elapsed_s);
    optional(out, "elapsed_half_width_ratio", one.elapsed_half_width_ratio);
    optional(out, "elapsed_first_s", one.elapsed_first_s);
}

fn counts(out: &mut String, one: &Observation) {
    by_role(out, "calls", &one.calls);
    by_role(out, "read_calls", &one.read_calls);
    by_role(out, "write_calls", &one.write_calls);
    by_role(out, "tcp_segments", &one.tcp_segments);
    optional(out, "round_trips", one.round_trips);
    optional(out, "messages", one.messages);
    optional(out, "rtt_s", one.rtt_s);
}

fn shares(out: &mut String, one: &Observation) {
    by_role(out, "cpu_ratio", &one.cpu_ratio);
    by_role(out, "cpu_cores", &one.cpu_cores);
    by_role(out, "cpu_busiest_core_ratio", &one.cpu_busiest_core_ratio);
    by_role(out, "user_s", &one.user_s);
    by_role(out, "system_s", &one.system_s);
    by_role(out, "cpus", &one.cpus);
    if !one.busy_ratio.is_empty() {
        let busy = one.busy_ratio.iter().map(|(segment, busy)| format!("{} = {busy}", quoted(segment.id())));
        entry(out, "busy_ratio", inline(busy));
    }
    optional(out, "hit_ratio", one.hit_ratio);
    optional(out, "errors", one.errors);
    let places =
        [("application", one.bytes.application), ("wire", one.bytes.wire), ("device", one.bytes.device)];
    let known: Vec<String> =
        places.iter().filter_map(|(name, bytes)| Some(format!("{name} = {}", (*bytes)?.0))).collect();
    if !known.is_empty() {
        entry(out, "bytes", inline(known.into_iter()));
    }
    let memory = one.memory_bytes.iter().map(|(role, bytes)| (*role, bytes.0)).collect();
    by_role(out, "memory_bytes", &memory);
}

fn by_role<T: Display>(out: &mut String, name: &str, values: &BTreeMap<Role, T>) {
    if !values.is_empty() {
        entry(
            out,
            name,
            inline(values.iter().map(|(role, value)| format!("{} = {value}", role_name(*role)))),
        );
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Client => "client",
        Role::Proxy => "proxy",
        Role::Server => "server",
    }
}

fn inline(entries: impl Iterator<Item = String>) -> String {
    format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
}

fn factor(value: &FactorValue) -> String {
    match value {
        FactorValue::Number(number) => number.to_string(),
        FactorValue::Text(text) => quoted(text),
    }
}

fn optional(out: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        entry(out, name, value);
    }
}

fn entry(out: &mut String, name: &str, value: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{name} = {value}");
}

/// A name as a key: bare where TOML takes it so.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { name.to_owned() } else { quoted(name) }
}

/// `text` as a string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
