//! What to change about what limits, in words, beside the command that shows it.
//!
//! Not here: which load is advised about.

use super::wording::is_foreign;
use narrows_analysis::{CLIENT_LINK, FLUSHES, GROUP_LIMIT, OWN_CONNECTIONS, THROTTLED_RATIO};
use narrows_model::printable::one_line;
use narrows_model::summary::{CellSummary, ForeignResource, ForeignTransfer};
use narrows_model::{Limiting, Role, Segment, Summary};

/// What to change about the segment of `entry`; `None` where nothing of the path is to be changed.
pub(super) fn remedy(entry: &Limiting) -> Option<&'static str> {
    let is_named = |scope: &str| entry.scope.as_deref() == Some(scope);
    let words = match entry.segment {
        Segment::OfferedLoad | Segment::Unknown => return None,
        Segment::Device if is_named(FLUSHES) => {
            "commit several writes at once, or use a device whose write cache survives a power failure"
        }
        Segment::NetworkLatency if is_named(OWN_CONNECTIONS) => {
            "keep connections open, which the server or a proxy before it closes, and more requests in flight"
        }
        Segment::NetworkBandwidth if is_named(CLIENT_LINK) => {
            "faster links of the clients' hosts, or clients on more hosts"
        }
        Segment::HostCpu if is_foreign(entry) => "stop or move the programs that use the CPUs",
        segment => by_segment(segment),
    };
    Some(words)
}

/// From this share on that others move of a device's bytes they are what a load there waits for.
const OTHERS_MIN_RATIO: f64 = 0.5;

/// What to change about the CPU of a role where its control group has a quota, and not the machine too few CPUs.
pub(super) fn quota_remedy(summary: &Summary, entry: &Limiting) -> Option<String> {
    let role = match entry.segment {
        Segment::ClientCpu => Role::Client,
        Segment::ServerCpu => Role::Server,
        Segment::ProxyCpu => Role::Proxy,
        _ => return None,
    };
    let mut loads = summary.cells.iter().filter(|cell| cell.limiting == Some(entry.segment));
    let is_held = |cell: &&CellSummary| {
        let stopped_s = cell.cpu.get(&role).and_then(|cpu| cpu.throttled_s);
        stopped_s.is_some_and(|stopped_s| stopped_s >= cell.elapsed_s.last_done * THROTTLED_RATIO)
    };
    let cpu = loads.find(is_held)?.cpu.get(&role)?;
    Some(format!("raise the quota of the {}'s control group ({:.2} CPUs)", role.name(), cpu.capacity_cpus))
}

/// What to change about a device where it is not the device itself: programs that use it, or the limits that
/// its control group sets.
pub(super) fn device_remedy(summary: &Summary, entry: &Limiting) -> Option<String> {
    let scope = entry.scope.as_deref();
    if !entry.segment.is_within(Segment::Device) || scope == Some(FLUSHES) {
        return None;
    }
    if scope == Some(GROUP_LIMIT) {
        return Some(format!("raise the limit that the control group sets for {}", limited_device(summary)));
    }
    let loads = || summary.cells.iter().filter(|cell| cell.limiting == Some(entry.segment));
    // Without a program that moves as much, it may be the file system that reads what it writes in part.
    let is_of_programs = |transfer: &&ForeignTransfer| {
        let foreign = transfer.foreign_bytes_per_s.0;
        let known: f64 = transfer.programs.iter().map(|program| program.bytes_per_s.0).sum();
        transfer.resource == ForeignResource::Disk
            && foreign >= transfer.total_bytes_per_s.0 * OTHERS_MIN_RATIO
            && known >= foreign * OTHERS_MIN_RATIO
    };
    let others = loads().flat_map(|cell| &cell.foreign_transfers).find(is_of_programs)?;
    let programs: Vec<String> =
        others.programs.iter().map(|program| format!("`{}`", one_line(&program.name))).collect();
    let (device, names) = (one_line(&others.name), programs.join(", "));
    Some(format!("stop or move the programs that use {device} (the busiest: {names})"))
}

/// The name of the device for which a control group sets limits.
fn limited_device(summary: &Summary) -> String {
    // Where there is an endpoint, its process loads the device.
    let of_role = |role| summary.hosts.iter().filter(move |host| host.roles.contains(&role));
    let inventories = of_role(Role::Server).chain(of_role(Role::Client)).map(|host| &host.inventory);
    let paths = inventories.flat_map(|inventory| inventory.path.iter().chain(&inventory.more_paths));
    let limited = paths.flat_map(|path| &path.devices).find(|device| device.limits_text().is_some());
    limited.map_or_else(|| "the device".to_owned(), |device| one_line(&device.name).into_owned())
}

fn by_segment(segment: Segment) -> &'static str {
    match segment {
        Segment::WorkloadConcurrency => "more requests in flight: threads, queue depth, clients",
        Segment::Generator => "measure with more clients or machines: the path takes more than this load",
        Segment::HostCpu => "measure from another machine than the server's",
        Segment::ClientMemory => "avoid the copy (O_DIRECT), or give the client faster memory",
        Segment::ClientCache | Segment::ServerCache => {
            "to measure the storage, use files larger than the memory, or some that were not read for long"
        }
        Segment::ClientConnection => "more connections, or larger socket buffers",
        Segment::ClientDaemon => {
            "look for a rate limit or waits of that process; measure what it serves without it"
        }
        Segment::ClientFilesystem => "larger requests, or past the page cache (O_DIRECT)",
        Segment::ServerCommit => {
            "commit several writes at once, or give the server a device whose write cache survives a power failure"
        }
        Segment::ServerThreads => "let the server use more threads",
        Segment::NetworkBandwidth => "a faster link; look for a limit on this one: shaper, duplex, cable",
        Segment::NetworkLatency => "more requests in flight, or client and server nearer to each other",
        Segment::NetworkLoss => "find where packets are lost: errors of a link, a queue that is full",
        Segment::DeviceBandwidth => "a faster device, or more of them",
        Segment::DeviceIops => "larger requests, or a device with more operations a second",
        Segment::DeviceLatency => "more requests in flight, or a device that answers sooner",
        within if within.is_within(Segment::Client) => "a faster CPU for the client, or larger requests",
        within if within.is_within(Segment::Server) => {
            "look at the server's own CPU and threads while this load runs"
        }
        within if within.is_within(Segment::Proxy) => "more CPU for the proxy, or a way past it",
        within if within.is_within(Segment::Network) => "a faster network",
        within if within.is_within(Segment::Device) => "a faster device",
        _ => "change what is named, and measure again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::diagnosis::Relation;

    fn entry(segment: Segment, scope: Option<&str>) -> Limiting {
        Limiting {
            segment,
            confidence: 0.6,
            relation: Relation::Sole,
            scope: scope.map(str::to_owned),
            regime: String::new(),
            codes: Vec::new(),
            evidence: Vec::new(),
            relief_gain_ratio: None,
            confirmed: None,
        }
    }

    #[test]
    fn the_part_of_a_segment_decides_what_to_change() {
        let flushes = remedy(&entry(Segment::Device, Some("its flushes"))).unwrap_or_default();
        assert!(flushes.contains("survives a power failure"), "{flushes}");
        let device = remedy(&entry(Segment::Device, None)).unwrap_or_default();
        assert!(device.contains("faster device") && device != flushes);
        assert_eq!(remedy(&entry(Segment::Unknown, None)), None);
        assert_eq!(remedy(&entry(Segment::OfferedLoad, None)), None);
    }
}
