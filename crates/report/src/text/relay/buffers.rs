//! Socket buffers that the kernel made smaller than they were asked for.

use narrows_model::Bytes;
use narrows_model::counters::Role;
use narrows_model::summary::{RelayRoleSummary, RelaySummary};
use std::collections::BTreeMap;

/// The kernel reports twice what it grants, as room for its own needs (socket(7)).
const REPORTED_OVER_GRANTED: u64 = 2;

/// One buffer: the option that asks for it, how much was asked for, what the kernel said of it, what bounds it.
struct BufferOption {
    option: &'static str,
    bytes: Option<Bytes>,
    reported: fn(&RelayRoleSummary) -> Option<Bytes>,
    setting: &'static str,
}

/// A line for each option and each size that was granted in its place, the roles named that have it.
pub(super) fn less_than_asked(relay: &RelaySummary) -> Vec<String> {
    let sockets = &relay.sockets;
    let asked = [
        BufferOption {
            option: "--send-buffer",
            bytes: sockets.send_buffer,
            reported: |role| role.granted_send_buffer,
            setting: "net.core.wmem_max",
        },
        BufferOption {
            option: "--receive-buffer",
            bytes: sockets.receive_buffer,
            reported: |role| role.granted_receive_buffer,
            setting: "net.core.rmem_max",
        },
    ];
    asked.iter().flat_map(|asked| option_lines(relay, asked)).collect()
}

fn option_lines(relay: &RelaySummary, asked: &BufferOption) -> Vec<String> {
    let Some(wanted) = asked.bytes else { return Vec::new() };
    // By role the least that any point of the experiment had.
    let mut granted: BTreeMap<Role, u64> = BTreeMap::new();
    for role in relay.points.iter().flat_map(|point| &point.roles) {
        let Some(reported) = (asked.reported)(role) else { continue };
        let least = granted.entry(role.role).or_insert(u64::MAX);
        *least = (*least).min(reported.0 / REPORTED_OVER_GRANTED);
    }
    let mut by_size: BTreeMap<u64, Vec<&'static str>> = BTreeMap::new();
    for (role, size) in granted.into_iter().filter(|(_, size)| *size < wanted.0) {
        by_size.entry(size).or_default().push(name(role));
    }
    let line = |(size, roles): (u64, Vec<&str>)| {
        format!(
            "{}: {} bytes were requested and the kernel grants {size} ({}), at {}",
            asked.option,
            wanted.0,
            asked.setting,
            roles.join(" and ")
        )
    };
    by_size.into_iter().map(line).collect()
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Client => "the client",
        Role::Proxy => "the proxy",
        Role::Server => "the server",
    }
}
