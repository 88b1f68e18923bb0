//! What a simulated machine reports about itself: inventories, server facts, what a worker was granted.

use crate::machine::cpus;
use narrows_model::capabilities::Completion;
use narrows_model::effective::{ConnectionFacts, Effective};
use narrows_model::inventory::{
    DeviceFacts, DeviceKind, HostFacts, Inventory, MountFacts, NicFacts, PathFacts, PathKind,
};
use narrows_model::server::ServerFacts;
use narrows_model::sim_profile::SimProfile;
use narrows_model::{Bytes, Cell, Cut, IoLimits, Nanos, Role};

/// Kernel name of the simulated device.
pub(crate) const DISK: &str = "sda";
/// Its `major:minor`.
const DISK_NUMBER: &str = "8:0";
/// Server clock minus client clock of two machines: not zero, so that whoever forgets the offset is found out.
pub(crate) const CLOCK_OFFSET_NS: i64 = 5_000_000_000;
const SERVER_PORT: u16 = 7300;
const CLIENT_PORT: u16 = 40_000;
const MEMORY: Bytes = Bytes(16 << 30);
const SOCKET_BUFFER: Bytes = Bytes(4 << 20);

/// The packets of a network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packets {
    /// Interface that transfers them.
    pub(crate) nic: &'static str,
    /// Most payload of one.
    pub(crate) payload_bytes: u64,
    /// Headers of one: Ethernet 14, IPv4 20, TCP 32 with time stamps.
    pub(crate) header_bytes: u64,
    mtu_bytes: u64,
}

/// The packets between client and server: those of `lo` when they share a machine.
pub(crate) fn packets(profile: &SimProfile) -> Packets {
    if profile.shared_machine {
        Packets { nic: "lo", payload_bytes: 65_484, header_bytes: 66, mtu_bytes: 65_536 }
    } else {
        Packets { nic: "eth0", payload_bytes: 1_448, header_bytes: 66, mtu_bytes: 1_500 }
    }
}

/// The inventory of the client of this machine, with the path to its simulated file.
#[must_use]
pub fn inventory(profile: &SimProfile) -> Inventory {
    let path = if profile.network.is_some() { None } else { Some(path("/sim")) };
    Inventory::new(host(profile, Role::Client), path, Vec::new())
}

/// The inventory of the server, with the path to its store.
pub(crate) fn server_inventory(profile: &SimProfile) -> Inventory {
    Inventory::new(host(profile, Role::Server), Some(path("/sim/store")), Vec::new())
}

/// What the simulated endpoint reports about itself.
pub(crate) fn server_facts(profile: &SimProfile) -> ServerFacts {
    let host = host(profile, Role::Server);
    let round_trip_ns = profile.network.as_ref().map_or(Nanos(0), |network| network.rtt_ns);
    ServerFacts {
        address: format!("{}:{SERVER_PORT}", server_ip(profile)),
        narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id: host.boot_id.unwrap_or_default(),
        hostname: host.hostname,
        affinity_cpus: host.affinity_cpus,
        quota_cpus: host.quota_cpus,
        store_device: Some(DISK_NUMBER.to_owned()),
        store_root: Some("/sim/store".to_owned()),
        quota_bytes: None,
        clock_offset_ns: clock_offset_ns(profile),
        clock_offset_error_ns: Nanos(round_trip_ns.0 / 2),
        round_trip_ns,
        forwards_to: Vec::new(),
        shares_machine: profile.shared_machine,
        pid: None,
        pid_namespace: None,
    }
}

/// Server clock minus client clock.
pub(crate) fn clock_offset_ns(profile: &SimProfile) -> i64 {
    if profile.shared_machine { 0 } else { CLOCK_OFFSET_NS }
}

/// Name of the host on which a role runs.
pub(crate) fn hostname(profile: &SimProfile, role: Role) -> String {
    let side = if role == Role::Server && !profile.shared_machine { "server" } else { "client" };
    format!("sim-{side}")
}

/// CPUs online on the host of a role, and the role's quota where it is no whole number.
pub(crate) fn host_cpus(profile: &SimProfile, role: Role) -> (u32, Option<f64>) {
    if profile.shared_machine {
        return (profile.machine_cpus, None);
    }
    let declared = if role == Role::Server { profile.server_cpus } else { profile.client_cpus };
    let (online, slowdown) = cpus(declared);
    (online, (slowdown > 1.0).then_some(declared))
}

fn host(profile: &SimProfile, role: Role) -> HostFacts {
    let (online_cpus, quota_cpus) = host_cpus(profile, role);
    let name = hostname(profile, role);
    HostFacts {
        boot_id: Some(format!("{name}-{}", profile.name)),
        hostname: name,
        kernel_release: Some("simulated".to_owned()),
        cpu_model: Some("simulated".to_owned()),
        online_cpus,
        affinity_cpus: (0..online_cpus).collect(),
        quota_cpus,
        governor: None,
        steal_ratio: Some(0.0),
        virtual_machine: Some(false),
        memory_bytes: Some(MEMORY),
        memory_available_bytes: Some(MEMORY),
        memory_limit_bytes: None,
        cgroup_version: quota_cpus.map(|_| 2),
        clock_resolution_ns: Some(Nanos(1)),
        nics: nics(profile),
    }
}

fn nics(profile: &SimProfile) -> Vec<NicFacts> {
    let Some(network) = &profile.network else { return Vec::new() };
    let packets = packets(profile);
    vec![NicFacts {
        name: packets.nic.to_owned(),
        operstate: if profile.shared_machine { "unknown" } else { "up" }.to_owned(),
        link_bits_per_s: network.link_bits_per_s,
        mtu_bytes: Some(Bytes(packets.mtu_bytes)),
        is_virtual: profile.shared_machine || network.link_bits_per_s.is_none(),
    }]
}

fn path(folder: &str) -> PathFacts {
    PathFacts {
        path: folder.to_owned(),
        kind: PathKind::LocalDevice,
        mount: MountFacts {
            mount_point: "/sim".to_owned(),
            source: format!("/dev/{DISK}"),
            fs_type: "ext4".to_owned(),
            options: vec!["rw".to_owned()],
            device: DISK_NUMBER.to_owned(),
            read_only: false,
        },
        overlay_layers: Vec::new(),
        nfs: None,
        devices: vec![DeviceFacts {
            name: DISK.to_owned(),
            device: DISK_NUMBER.to_owned(),
            description: Some("simulated".to_owned()),
            kind: DeviceKind::Disk,
            size_bytes: None,
            rotational: None,
            scheduler: None,
            queue_request_count: None,
            write_cache: None,
            logical_block_bytes: Some(Bytes(512)),
            queue: None,
            health: None,
            parents: Vec::new(),
            throttle_bytes_per_s: None,
            group_limits: IoLimits::default(),
        }],
        free_bytes: None,
        size_bytes: None,
    }
}

/// What a worker of this cell is granted.
pub(crate) fn effective(profile: &SimProfile, cell: &Cell) -> Effective {
    let remote = matches!(
        cell.cut,
        Cut::NetworkStream
            | Cut::DirectStream
            | Cut::ServerMemory
            | Cut::RoundTrip
            | Cut::HotBlocks
            | Cut::MoreConnections
            | Cut::UserClient
            | Cut::DirectPath
            | Cut::EarlyPath
            | Cut::Path
    );
    let stored = matches!(
        cell.cut,
        Cut::ServerStorage
            | Cut::LocalDevice
            | Cut::DirectPath
            | Cut::EarlyPath
            | Cut::MoreConnections
            | Cut::UserClient
            | Cut::Path
    );
    Effective {
        engine: "sim".to_owned(),
        access: stored.then_some(cell.workload.access),
        queue_depth: cell.workload.queue_depth,
        sync: cell.workload.sync,
        acknowledgement: (remote && profile.network.is_some()).then_some(cell.workload.acknowledgement),
        write_completion: Completion::Simulated,
        alignment_bytes: Bytes(1),
        connection: (remote && profile.network.is_some()).then(|| connection(profile)),
        ring: None,
        has_own_file_table: false,
    }
}

fn connection(profile: &SimProfile) -> ConnectionFacts {
    let client_ip = if profile.shared_machine { "127.0.0.1" } else { "192.0.2.2" };
    ConnectionFacts {
        local: format!("{client_ip}:{CLIENT_PORT}"),
        remote: format!("{}:{SERVER_PORT}", server_ip(profile)),
        loopback: profile.shared_machine,
        nodelay: true,
        send_buffer_bytes: SOCKET_BUFFER,
        receive_buffer_bytes: SOCKET_BUFFER,
        segment_bytes: Bytes(packets(profile).payload_bytes),
        congestion_control: None,
    }
}

fn server_ip(profile: &SimProfile) -> &'static str {
    // 192.0.2.0/24 is set aside for documentation (RFC 5737): no real machine has it.
    if profile.shared_machine { "127.0.0.1" } else { "192.0.2.1" }
}
