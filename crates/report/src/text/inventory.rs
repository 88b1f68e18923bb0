//! A machine and the path to a folder on it, in a few lines.

use super::style::Style;
use super::units::counted;
use super::wrap::{Indent, paragraph};
use narrows_model::Inventory;
use narrows_model::inventory::{
    DeviceFacts, DeviceHealth, DeviceKind, HostFacts, NfsFacts, PathFacts, PathKind,
};
use narrows_model::quantity::{amount, cpus, network_rate, percent};

/// The machine, then the path: mount, layers, NFS, devices, and what could not be read.
#[must_use]
pub fn inventory(inventory: &Inventory, style: &Style) -> String {
    let mut lines = vec![("host", host(&inventory.host))];
    if let Some(path) = &inventory.path {
        lines.push(("path", mount(path)));
        lines.extend(path.nfs.as_ref().map(|facts| ("nfs", nfs(facts))));
        if !path.devices.is_empty() {
            let chain: Vec<String> = path.devices.iter().map(device).collect();
            lines.push(("device", chain.join(&format!(" {} ", style.arrow()))));
        }
    }
    if style.detail && !inventory.unknown.is_empty() {
        lines.push(("unknown", inventory.unknown.join("; ")));
    }
    lines.iter().fold(String::new(), |out, (name, text)| {
        let first = format!("{name:<8}");
        out + &paragraph(text, Indent { first: &first, rest: "        " }, style.width)
    })
}

fn host(host: &HostFacts) -> String {
    let usable = host.affinity_cpus.len();
    let online = counted(u64::from(host.online_cpus), "CPU");
    let restricted = usable > 0 && usable as u64 != u64::from(host.online_cpus);
    let parts = [
        Some(online),
        host.cpu_model.clone(),
        restricted.then(|| format!("{usable} of them usable here")),
        host.quota_cpus.map(|quota| format!("quota {}", cpus(quota))),
        host.memory_bytes.map(|bytes| format!("{} memory", amount(bytes))),
        host.memory_limit_bytes.map(|bytes| format!("limited to {}", amount(bytes))),
        host.kernel_release.as_ref().map(|release| format!("Linux {release}")),
        host.virtual_machine.filter(|&is| is).map(|_| "virtual machine".to_owned()),
        host.steal_ratio.filter(|share| *share > 0.01).map(|share| format!("{} stolen", percent(share))),
        host.governor.as_ref().map(|governor| format!("governor {governor}")),
        nics(host),
    ];
    format!("{}: {}", host.hostname, present(parts))
}

/// The network interfaces with hardware that are up.
fn nics(host: &HostFacts) -> Option<String> {
    let names: Vec<String> = host
        .nics
        .iter()
        .filter(|nic| !nic.is_virtual && nic.operstate != "down")
        .map(|nic| match nic.link_bits_per_s {
            Some(speed) => format!("{} {}", nic.name, network_rate(speed as f64 / 8.0)),
            None => nic.name.clone(),
        })
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn mount(path: &PathFacts) -> String {
    let kind = match path.kind {
        PathKind::LocalDevice => "local file system",
        PathKind::Memory => "file system in memory",
        PathKind::Nfs => "network file system",
        PathKind::Fuse => "file system served by a process (FUSE)",
        PathKind::Overlay => "overlay over other file systems",
        PathKind::BlockDevice => "block device",
        PathKind::OtherNetwork => "other network file system",
        PathKind::Other => "other file system",
    };
    let space = path.free_bytes.zip(path.size_bytes);
    let parts = [
        Some(kind.to_owned()),
        space.map(|(free, all)| format!("{} free of {}", amount(free), amount(all))),
        path.mount.read_only.then(|| "READ-ONLY".to_owned()),
        (!path.overlay_layers.is_empty()).then(|| format!("layers {}", path.overlay_layers.join(", "))),
    ];
    let mount = &path.mount;
    format!(
        "{} in {} ({} of {}): {}",
        path.path,
        mount.mount_point,
        mount.fs_type,
        mount.source,
        present(parts)
    )
}

fn nfs(facts: &NfsFacts) -> String {
    let parts = [
        Some(format!("version {}", facts.version)),
        facts.transport.clone(),
        facts.address.as_ref().map(|address| format!("address {address}")),
        facts.connection_count.map(|count| counted(u64::from(count), "connection")),
        facts.read_bytes_max.map(|bytes| format!("reads of at most {bytes}")),
        facts.write_bytes_max.map(|bytes| format!("writes of at most {bytes}")),
        facts.synchronous.then(|| "every write synchronous".to_owned()),
    ];
    format!("{}:{}, {}", facts.server, facts.export, present(parts))
}

fn device(device: &DeviceFacts) -> String {
    let kind = match device.kind {
        DeviceKind::Disk => "disk",
        DeviceKind::Partition => "partition",
        DeviceKind::Loop => "loop device",
        DeviceKind::Mapper => "device mapper",
        DeviceKind::Raid => "software RAID",
        DeviceKind::NetworkBlock => "network block device",
        DeviceKind::Memory => "disk in memory",
        DeviceKind::Virtual => "virtual disk, as this guest sees it",
    };
    let turning = device.rotational.map(|turns| if turns { "rotating" } else { "not rotating" });
    let parts = [
        Some(kind.to_owned()),
        device.description.clone(),
        device.size_bytes.map(amount),
        turning.map(str::to_owned),
        device.scheduler.as_ref().map(|name| format!("scheduler {name}")),
        device.write_cache.as_ref().map(|mode| format!("write cache {mode}")),
        device.limits_text().map(|limits| format!("limited to {limits} by its control group")),
        device.health.as_ref().and_then(health),
    ];
    format!("{} ({})", device.name, present(parts))
}

/// What is alarming about a device's health, or that it says it is well; `None` where it says neither.
fn health(health: &DeviceHealth) -> Option<String> {
    let errors = health.medium_error_count.filter(|count| *count > 0);
    let replaced = health.reallocated_sector_count.filter(|count| *count > 0);
    let used = health.used_ratio.filter(|used| *used >= 1.0);
    let parts = [
        (health.passed == Some(false)).then(|| "EXPECTS TO FAIL".to_owned()),
        errors.map(|count| format!("{} of its medium", counted(count, "error"))),
        replaced.map(|count| format!("{} replaced", counted(count, "sector"))),
        used.map(|used| format!("{} of its endurance used", percent(used))),
    ];
    let words = present(parts);
    match (words.is_empty(), health.passed) {
        (false, _) => Some(format!("health: {words}")),
        (true, Some(true)) => Some("health: passed".to_owned()),
        (true, _) => None,
    }
}

fn present<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
