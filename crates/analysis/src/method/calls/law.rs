//! The line over the calls in words.

use super::BufferSweep;
use crate::text;
use narrows_model::Segment;
use narrows_model::counters::Role;

/// The line in words.
pub(crate) fn law(sweep: &BufferSweep<'_>) -> String {
    let names: Vec<&str> = sweep.roles.iter().map(|role| role.name()).collect();
    let cost = &sweep.cost;
    let interval = cost.call_s_interval.map_or_else(String::new, |[low, high]| {
        format!(" ({} to {} at 95 %)", text::seconds(low.max(0.0)), text::seconds(high))
    });
    let calls = match sweep.roles.as_slice() {
        [Role::Client] => "each write of the client".to_owned(),
        [Role::Proxy] => "each read and write of the proxy".to_owned(),
        [Role::Server] => "each read of the server".to_owned(),
        _ => format!("one call of each of {}", names.join(", ")),
    };
    let left_out = match cost.breaks.len() {
        0 => String::new(),
        count => format!(", without {count} that the number of calls does not explain"),
    };
    let slope = text::seconds(cost.call_s);
    let count = cost.observations.len();
    if sweep.is_below_nothing() {
        return format!(
            "no line fits: the one over {count} observations{left_out} has {slope}{interval} for {calls}, but {} \
             without calls, a negative time",
            fixed(cost.fixed_s),
        );
    }
    let open = if cost.fixed_s < 0.0 { "; the negative part is within its error" } else { "" };
    format!(
        "T = {} + {slope}{interval} for {calls}, over {count} observations{left_out}{open}",
        fixed(cost.fixed_s)
    )
}

/// The time without calls that a line promises, which may be below zero.
pub(crate) fn fixed(fixed_s: f64) -> String {
    let sign = if fixed_s < 0.0 { "-" } else { "" };
    format!("{sign}{}", text::seconds(fixed_s.abs()))
}

/// The segment of a role's calls.
pub(crate) fn segment(role: Role) -> Segment {
    match role {
        Role::Client => Segment::ClientCpu,
        Role::Proxy => Segment::ProxyCpu,
        Role::Server => Segment::ServerCpu,
    }
}
