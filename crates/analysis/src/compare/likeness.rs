//! What is not the same around the load of two runs: versions, machines, limits, paths, devices, clocks.
//!
//! Facts that are measured anew by every run and vary by themselves (free memory, free space) are left out.

use narrows_model::comparison::Difference;
use narrows_model::counters::Role;
use narrows_model::inventory::{DeviceFacts, Inventory, NicFacts, PathFacts};
use narrows_model::quantity::amount;
use narrows_model::summary::HostSummary;
use narrows_model::{Bytes, Summary, Target};

/// A named fact; `None` where it is not known or there is no such thing.
type Fact = (String, Option<String>);

/// Everything that is not the same, the runs first, then each machine.
pub(super) fn differences(a: &Summary, b: &Summary) -> Vec<Difference> {
    let mut found = differing_facts(&of_run(a), &of_run(b));
    for role in [Role::Client, Role::Proxy, Role::Server] {
        match (host(a, role), host(b, role)) {
            (Some(a), Some(b)) => found.extend(differing_facts(&of_host(role, a), &of_host(role, b))),
            (None, None) => {}
            (a, b) => found.push(Difference {
                what: format!("a machine as {}", role.name()),
                a: named(a),
                b: named(b),
            }),
        }
    }
    found
}

fn host(summary: &Summary, role: Role) -> Option<&HostSummary> {
    summary.hosts.iter().find(|host| host.roles.contains(&role))
}

fn named(host: Option<&HostSummary>) -> String {
    host.map_or_else(|| "none".to_owned(), |host| host.inventory.host.hostname.clone())
}

/// The facts that differ, those that one side alone has among them.
fn differing_facts(a: &[Fact], b: &[Fact]) -> Vec<Difference> {
    let value_of = |facts: &[Fact], what: &str| {
        facts.iter().find(|(other, _)| other == what).and_then(|(_, value)| value.clone())
    };
    let mut names: Vec<String> = Vec::new();
    for (what, _) in a.iter().chain(b) {
        if !names.contains(what) {
            names.push(what.clone());
        }
    }
    let both = names.into_iter().map(|what| (value_of(a, &what), value_of(b, &what), what));
    let unknown = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    both.filter(|(a, b, _)| a != b)
        .map(|(a, b, what)| Difference { what, a: unknown(a), b: unknown(b) })
        .collect()
}

/// Where the path leads: a folder as it is found from everywhere, else as it was named.
pub(super) fn target(summary: &Summary) -> String {
    let path = host(summary, Role::Client).and_then(|host| host.inventory.path.as_ref());
    match (&summary.target, path) {
        (Target::File { .. }, Some(path)) => path.path.clone(),
        (Target::Block(_), Some(path)) => format!("blk:{}", path.path),
        (target, _) => target.to_string(),
    }
}

fn of_run(summary: &Summary) -> Vec<Fact> {
    let fact = |what: &str, value: String| (what.to_owned(), Some(value));
    vec![
        fact("narrows", summary.narrows_version.clone()),
        fact("target", target(summary)),
        fact("topology", word(&summary.topology)),
        (
            "suite".to_owned(),
            summary.suite.as_ref().map(|suite| suite.name.clone()).or(Some("none".to_owned())),
        ),
    ]
}

fn word(value: &impl std::fmt::Debug) -> String {
    super::load::debug_word(value)
}

fn of_host(role: Role, summary: &HostSummary) -> Vec<Fact> {
    let Inventory { host, path, .. } = &summary.inventory;
    let of = role.name();
    let fact = |what: &str, value: Option<String>| (format!("{what} of the {of}"), value);
    let size = |bytes: Option<Bytes>| bytes.map(amount);
    let cpus =
        |count: Option<f64>| Some(count.map_or_else(|| "none".to_owned(), |count| format!("{count:.2}")));
    let mut facts = vec![
        fact("host name", Some(host.hostname.clone())),
        fact("boot", host.boot_id.clone()),
        fact("kernel", host.kernel_release.clone()),
        fact("CPU", host.cpu_model.clone()),
        fact("CPUs online", Some(host.online_cpus.to_string())),
        fact("CPUs allowed", Some(host.affinity_cpus.len().to_string())),
        fact("CPU quota", cpus(host.quota_cpus)),
        fact("CPU governor", Some(host.governor.clone().unwrap_or_else(|| "none".to_owned()))),
        fact("virtual machine", host.virtual_machine.map(super::load::yes_no)),
        fact("memory", size(host.memory_bytes)),
        fact("memory limit", Some(size(host.memory_limit_bytes).unwrap_or_else(|| "none".to_owned()))),
        fact("links", Some(links(&host.nics))),
        fact("clock resolution", host.clock_resolution_ns.map(|ns| decade(ns.0))),
    ];
    if role == Role::Client {
        let names = summary.inventory.hosts_of_clients(u32::MAX);
        let hosts = if names.is_empty() { "this machine".to_owned() } else { names.join(", ") };
        facts.push(("hosts of the clients".to_owned(), Some(hosts)));
    }
    if let Some(server) = &summary.server {
        facts.push(fact("narrows", Some(server.narrows_version.clone())));
        facts.push(fact("CPU quota of the endpoint", cpus(server.quota_cpus)));
        facts.push(fact(
            "store device",
            Some(server.store_device.clone().unwrap_or_else(|| "none".to_owned())),
        ));
    }
    facts.extend(path.iter().flat_map(of_path).map(|(what, value)| (format!("{what} of the {of}"), value)));
    facts
}

/// Only a power of ten distinguishes clocks: the resolution is measured.
fn decade(ns: u64) -> String {
    format!("10^{} ns", ns.max(1).ilog10())
}

/// Speeds and packets of links with hardware or a declared speed, in the kernel's order.
fn links(nics: &[NicFacts]) -> String {
    let real = nics.iter().filter(|nic| !nic.is_virtual && nic.operstate != "down");
    let descriptions = real.map(|nic| {
        let speed = nic.link_bits_per_s.map_or_else(
            || "unknown speed".to_owned(),
            |speed| crate::text::network_rate(speed as f64 / 8.0),
        );
        let mtu = nic.mtu_bytes.map_or_else(String::new, |mtu| format!(", MTU {}", mtu.0));
        format!("{}: {speed}{mtu}", nic.name)
    });
    let descriptions: Vec<String> = descriptions.collect();
    if descriptions.is_empty() { "none".to_owned() } else { descriptions.join("; ") }
}

fn of_path(path: &PathFacts) -> Vec<Fact> {
    let fact = |what: &str, value: String| (what.to_owned(), Some(value));
    let mut facts = vec![
        fact("kind of path", word(&path.kind)),
        fact("file system", path.mount.fs_type.clone()),
        fact("mounted", path.mount.source.clone()),
        fact("mount options", path.mount.options.join(",")),
        fact("devices", devices(&path.devices)),
    ];
    if let Some(nfs) = &path.nfs {
        let size = |bytes: Option<Bytes>| bytes.map(amount);
        facts.push(fact("NFS version", nfs.version.clone()));
        facts.push(("NFS read size".to_owned(), size(nfs.read_bytes_max)));
        facts.push(("NFS write size".to_owned(), size(nfs.write_bytes_max)));
        facts.push(("NFS connections".to_owned(), nfs.connection_count.map(|count| count.to_string())));
        facts.push(("NFS transport".to_owned(), nfs.transport.clone()));
    }
    facts
}

/// Block devices as far as they decide how fast they are.
fn devices(devices: &[DeviceFacts]) -> String {
    let descriptions: Vec<String> = devices.iter().map(device).collect();
    if descriptions.is_empty() { "none".to_owned() } else { descriptions.join("; ") }
}

fn device(device: &DeviceFacts) -> String {
    let words = [
        Some(device.name.clone()),
        device.description.clone(),
        device.size_bytes.map(amount),
        device.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        device.write_cache.as_ref().map(|cache| format!("write cache {cache}")),
        device.limits_text().map(|limits| format!("limited to {limits}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
