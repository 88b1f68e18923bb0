//! What a machine is and what the path to a folder on it is made of.
//!
//! Facts only, read by `probe`; no judgement.

use crate::client_host::ClientHostFacts;
use crate::io_limits::{IoLimits, directions};
use crate::quantity::{op_rate, storage_rate};
use crate::rank::RankFacts;
use crate::units::{Bytes, BytesPerSec, Nanos, OpsPerSec};
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a machine is, and the path to one folder on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Inventory {
    /// The machine.
    pub host: HostFacts,
    /// The path to the target's folder or block device; `None` where the target is neither.
    pub path: Option<PathFacts>,
    /// The paths to the folders of further targets, where the load has several.
    #[serde(default)]
    pub more_paths: Vec<PathFacts>,
    /// The ranks of the MPI job that puts the load on, in their order; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankFacts>,
    /// The hosts on which clients run, in turn, where the command names them; empty where clients run on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_hosts: Vec<ClientHostFacts>,
    /// What could not be read, and why, for people.
    pub unknown: Vec<String>,
}

impl Inventory {
    /// The inventory of one machine with one path at most, whose clients run there, and what could not be read of it.
    #[must_use]
    pub fn new(host: HostFacts, path: Option<PathFacts>, unknown: Vec<String>) -> Self {
        Self { host, path, more_paths: Vec::new(), ranks: Vec::new(), client_hosts: Vec::new(), unknown }
    }

    /// Whether clients run on another machine: this one's counters are then not those of the load.
    #[must_use]
    pub fn has_clients_elsewhere(&self) -> bool {
        self.client_hosts.iter().any(|host| !host.shares_machine)
            || self.ranks.iter().any(|rank| !rank.shares_machine())
    }

    /// The hosts of the first `clients` clients, each once; none where all clients are on one host that no command has named.
    #[must_use]
    pub fn hosts_of_clients(&self, clients: u32) -> Vec<&str> {
        let named = self.client_hosts.iter().map(|host| host.name.as_str());
        let is_spread = self.ranks.iter().any(|rank| rank.host != self.ranks[0].host);
        let of_ranks = self.ranks.iter().filter(|_| is_spread).map(|rank| rank.host.as_str());
        let mut hosts = Vec::new();
        for host in named.chain(of_ranks).take(clients as usize) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }

    /// The memory that a client can use on the host with the least of it: that of this machine where no hosts are named and there
    /// are no ranks; `None` where that of any of them is not known.
    #[must_use]
    pub fn client_memory(&self) -> Option<Bytes> {
        let hosts = self.client_hosts.iter().map(|host| host.memory_bytes);
        let all: Vec<Option<Bytes>> = hosts.chain(self.ranks.iter().map(|rank| rank.memory_bytes)).collect();
        if all.is_empty() {
            return self.host.usable_memory();
        }
        let known: Option<Vec<Bytes>> = all.into_iter().collect();
        known.and_then(|known| known.into_iter().min())
    }

    /// CPUs that so many clients may use together on their hosts, each machine counted once; `None` where all clients run
    /// on this machine, or their CPUs are not known.
    #[must_use]
    pub fn cpus_elsewhere(&self, clients: u32) -> Option<f64> {
        if !self.has_clients_elsewhere() {
            return None;
        }
        let count = clients.max(1) as usize;
        let hosts = self
            .client_hosts
            .iter()
            .map(|host| (host.boot_id.as_deref().unwrap_or(&host.name), host.affinity_cpus.as_slice()));
        let ranks = self.ranks.iter().map(|rank| (rank.host.as_str(), rank.cpus.as_slice()));
        let mut machines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for (machine, cpus) in hosts.take(count).chain(ranks.take(count)) {
            machines.entry(machine).or_default().extend(cpus);
        }
        let cpus: usize = machines.values().map(BTreeSet::len).sum();
        (cpus > 0).then_some(cpus as f64)
    }
}

/// What a machine is. A fact that could not be read is `None` and listed in [`Inventory::unknown`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct HostFacts {
    /// Host name.
    pub hostname: String,
    /// Boot id: equal ids are one machine.
    pub boot_id: Option<String>,
    /// Kernel release.
    pub kernel_release: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs online.
    pub online_cpus: u32,
    /// CPUs on which this process may run.
    pub affinity_cpus: Vec<u32>,
    /// CPUs that the control group's quota allows; `None` without a quota.
    pub quota_cpus: Option<f64>,
    /// Frequency governor of the first CPU; `None` where frequency is not scaled.
    pub governor: Option<String>,
    /// Share of CPU time stolen by the hypervisor since boot.
    pub steal_ratio: Option<f64>,
    /// Whether a hypervisor is under the machine.
    pub virtual_machine: Option<bool>,
    /// Memory installed.
    pub memory_bytes: Option<Bytes>,
    /// Memory available.
    pub memory_available_bytes: Option<Bytes>,
    /// Memory limit of the control group; `None` without a limit.
    pub memory_limit_bytes: Option<Bytes>,
    /// Control group version in force for CPU: 1 or 2; `None` without.
    pub cgroup_version: Option<u8>,
    /// Resolution of the clock, measured.
    pub clock_resolution_ns: Option<Nanos>,
    /// Network interfaces.
    pub nics: Vec<NicFacts>,
}

impl HostFacts {
    /// The memory that a process can use: what is installed, or the limit of its control group if that is less; `None`
    /// if neither is known.
    #[must_use]
    pub fn usable_memory(&self) -> Option<Bytes> {
        self.memory_limit_bytes.into_iter().chain(self.memory_bytes).min()
    }
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct NicFacts {
    /// Kernel name.
    pub name: String,
    /// State as the kernel names it (`up`, `down`, `unknown`).
    pub operstate: String,
    /// Link speed; `None` where the device does not report it (virtual links).
    pub link_bits_per_s: Option<u64>,
    /// Largest packet.
    pub mtu_bytes: Option<Bytes>,
    /// Whether it has no hardware of its own (loopback, veth, bridge).
    pub is_virtual: bool,
}

/// What kind of path leads to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// A file system on a local block device.
    LocalDevice,
    /// A file system in memory.
    Memory,
    /// NFS.
    Nfs,
    /// A file system served by a process (FUSE).
    Fuse,
    /// An overlay over other file systems.
    Overlay,
    /// A block device itself, without a file system.
    BlockDevice,
    /// Another network file system.
    OtherNetwork,
    /// Something else.
    Other,
}

/// The path to one folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PathFacts {
    /// The folder, file or block device, resolved.
    pub path: String,
    /// The kind of path.
    pub kind: PathKind,
    /// The mount it is on; of a block device that of its node.
    pub mount: MountFacts,
    /// The upper and lower folders of an overlay; empty otherwise.
    pub overlay_layers: Vec<String>,
    /// What is known of an NFS mount; `None` otherwise.
    pub nfs: Option<NfsFacts>,
    /// Block devices from the file system down to the hardware.
    pub devices: Vec<DeviceFacts>,
    /// Free space for this user.
    pub free_bytes: Option<Bytes>,
    /// Size of the file system or block device.
    pub size_bytes: Option<Bytes>,
}

/// A mount, as in `/proc/self/mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct MountFacts {
    /// Where it is mounted.
    pub mount_point: String,
    /// What is mounted.
    pub source: String,
    /// File-system type.
    pub fs_type: String,
    /// Options, those of the mount and of the file system.
    pub options: Vec<String>,
    /// `major:minor` as the mount has it.
    pub device: String,
    /// Whether it is mounted read-only.
    pub read_only: bool,
}

impl MountFacts {
    /// The value of the mount option of this name.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

/// An NFS mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct NfsFacts {
    /// Server as in the mount's source.
    pub server: String,
    /// Exported path.
    pub export: String,
    /// Protocol version.
    pub version: String,
    /// Largest read request.
    pub read_bytes_max: Option<Bytes>,
    /// Largest write request.
    pub write_bytes_max: Option<Bytes>,
    /// Connections.
    pub connection_count: Option<u32>,
    /// Transport.
    pub transport: Option<String>,
    /// Server's address.
    pub address: Option<String>,
    /// Whether every write is synchronous.
    pub synchronous: bool,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct DeviceFacts {
    /// Kernel name.
    pub name: String,
    /// `major:minor`.
    pub device: String,
    /// What it is, where the kernel reports it (model, backing file).
    pub description: Option<String>,
    /// Kind of device.
    pub kind: DeviceKind,
    /// Size.
    pub size_bytes: Option<Bytes>,
    /// Whether seeks cost; `None` where the kernel does not report it.
    pub rotational: Option<bool>,
    /// I/O scheduler in force.
    pub scheduler: Option<String>,
    /// Requests that fit in the queue.
    pub queue_request_count: Option<u32>,
    /// Whether the device has a volatile write cache.
    pub write_cache: Option<String>,
    /// Smallest addressable unit.
    pub logical_block_bytes: Option<Bytes>,
    /// The limits of its queue; `None` of a partition, which has none of its own.
    #[serde(default)]
    pub queue: Option<QueueLimits>,
    /// What it reports of its own health; `None` where nothing was asked or it does not report any.
    #[serde(default)]
    pub health: Option<DeviceHealth>,
    /// The device it is a partition of or is built on; empty at the bottom.
    pub parents: Vec<String>,
    /// The lower of its control group's limits of reading and of writing in bytes, where one is set. Records that have no
    /// [`Self::group_limits`] know no more.
    pub throttle_bytes_per_s: Option<BytesPerSec>,
    /// What its control group allows.
    #[serde(default, skip_serializing_if = "IoLimits::is_empty")]
    pub group_limits: IoLimits,
}

impl DeviceFacts {
    /// The bytes a second that the control group allows a load of `op`; `None` also in records that do not know of which
    /// direction their limit is.
    #[must_use]
    pub fn limit_bytes_per_s(&self, op: Op) -> Option<BytesPerSec> {
        let limits = self.group_limits;
        if op.moves_towards_device() { limits.write_bytes_per_s } else { limits.read_bytes_per_s }
    }

    /// The requests a second that the control group allows a load of `op`.
    #[must_use]
    pub fn limit_ops_per_s(&self, op: Op) -> Option<OpsPerSec> {
        let limits = self.group_limits;
        if op.moves_towards_device() { limits.write_ops_per_s } else { limits.read_ops_per_s }
    }

    /// The limits of its control group for people; `None` where none is set.
    #[must_use]
    pub fn limits_text(&self) -> Option<String> {
        let bytes = |op| self.limit_bytes_per_s(op).map(|limit| storage_rate(limit.0));
        let ops = |op| self.limit_ops_per_s(op).map(|limit| op_rate(limit.0));
        let bytes = directions(bytes(Op::Read), bytes(Op::Write));
        let lowest = || self.throttle_bytes_per_s.map(|limit| storage_rate(limit.0));
        let bytes = bytes.or_else(lowest);
        let ops = directions(ops(Op::Read), ops(Op::Write));
        let limits: Vec<String> = bytes.into_iter().chain(ops).collect();
        (!limits.is_empty()).then(|| limits.join(" and "))
    }
}

/// The limits of a block device's queue, as `/sys/block/NAME/queue` reports them; `None` where it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct QueueLimits {
    /// Largest request that the kernel sends; larger ones are split.
    pub request_bytes_max: Option<Bytes>,
    /// Largest request that the hardware takes.
    pub hardware_request_bytes_max: Option<Bytes>,
    /// Most pieces of memory of one request.
    pub segment_count_max: Option<u32>,
    /// Smallest unit that the device writes without reading first.
    pub physical_block_bytes: Option<Bytes>,
    /// The size of requests that the device asks for.
    pub optimal_request_bytes: Option<Bytes>,
    /// How far buffered reads are read ahead.
    pub read_ahead_bytes: Option<Bytes>,
    /// Largest discard; `None` also where the device discards nothing.
    pub discard_bytes_max: Option<Bytes>,
    /// Whether a single write can be made durable (FUA).
    pub forced_unit_access: Option<bool>,
    /// Queues between the kernel and the device.
    pub hardware_queue_count: Option<u32>,
}

/// What a device reports of its own health (SMART of a disk, the health log of an NVM drive), as `smartctl` reads it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct DeviceHealth {
    /// Its own overall verdict: whether it expects no failure.
    pub passed: Option<bool>,
    /// Temperature in degrees Celsius.
    pub temperature_celsius: Option<i64>,
    /// Hours that it has been powered on.
    pub power_on_hours: Option<u64>,
    /// Share of its rated endurance that is used; it can be above 1.
    pub used_ratio: Option<f64>,
    /// Share of its spare blocks that is left.
    pub spare_ratio: Option<f64>,
    /// Errors of its medium that it could not correct.
    pub medium_error_count: Option<u64>,
    /// Sectors that were replaced by spare ones.
    pub reallocated_sector_count: Option<u64>,
}

/// A kind of block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A whole disk.
    Disk,
    /// A partition.
    Partition,
    /// A loop device over a file.
    Loop,
    /// Device mapper: LVM, encryption, multipath.
    Mapper,
    /// Software RAID.
    Raid,
    /// A network block device.
    NetworkBlock,
    /// A disk in memory.
    Memory,
    /// A disk of a virtual machine: the device as this guest sees it.
    Virtual,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usable_memory_is_the_lower_one_of_the_machines_and_the_limit() {
        let json = serde_json::json!({"hostname": "h", "online_cpus": 1, "affinity_cpus": [], "nics": []});
        let mut host: HostFacts = serde_json::from_value(json).unwrap();
        assert_eq!(host.usable_memory(), None);
        host.memory_limit_bytes = Some(Bytes(8));
        assert_eq!(host.usable_memory(), Some(Bytes(8)));
        host.memory_bytes = Some(Bytes(4));
        assert_eq!(host.usable_memory(), Some(Bytes(4)), "a limit above the memory is none");
        host.memory_limit_bytes = Some(Bytes(2));
        assert_eq!(host.usable_memory(), Some(Bytes(2)));
    }

    #[test]
    fn the_memory_of_clients_is_that_of_the_host_with_the_least_and_none_where_one_is_unknown() {
        let with = |memories: &[serde_json::Value], ranks: bool| -> Inventory {
            let one = |(rank, memory): (usize, &serde_json::Value)| {
                serde_json::json!({"name": "h", "hostname": "h", "boot_id": null, "kernel_release": null,
                    "shares_machine": false, "affinity_cpus": [], "clock_offset_ns": 0, "clock_uncertainty_ns": 9,
                    "rank": rank, "host": "h", "pid": 1, "cpus": [], "memory_bytes": memory})
            };
            let all: Vec<_> = memories.iter().enumerate().map(one).collect();
            let own = serde_json::json!({"hostname": "h", "online_cpus": 1, "affinity_cpus": [], "nics": [],
                "memory_bytes": 4});
            let place = if ranks { "ranks" } else { "client_hosts" };
            let all = serde_json::json!({"host": own, "path": null, "unknown": [], place: all});
            serde_json::from_value(all).unwrap()
        };
        assert_eq!(with(&[], false).client_memory(), Some(Bytes(4)), "this machine's");
        for ranks in [false, true] {
            assert_eq!(
                with(&[8.into(), 6.into()], ranks).client_memory(),
                Some(Bytes(6)),
                "not this machine's"
            );
            assert_eq!(with(&[8.into(), serde_json::Value::Null], ranks).client_memory(), None);
        }
    }

    #[test]
    fn the_cpus_of_clients_elsewhere_are_those_of_the_hosts_that_they_use_each_machine_once() {
        let host = |boot_id: &str, cpus: &[u32], shares_machine: bool| {
            serde_json::json!({"name": boot_id, "hostname": boot_id, "boot_id": boot_id, "kernel_release": null,
                "shares_machine": shares_machine, "affinity_cpus": cpus, "clock_offset_ns": 0, "clock_uncertainty_ns": 0})
        };
        let on = |hosts: &[serde_json::Value]| -> Inventory {
            let own = serde_json::json!({"hostname": "h", "online_cpus": 1, "affinity_cpus": [], "nics": []});
            let all = serde_json::json!({"host": own, "path": null, "unknown": [], "client_hosts": hosts});
            serde_json::from_value(all).unwrap()
        };
        let two = on(&[host("x", &[0, 1], false), host("y", &[0, 1, 2], false), host("x", &[0, 1], false)]);
        assert_eq!([1, 2, 9].map(|clients| two.cpus_elsewhere(clients)), [Some(2.0), Some(5.0), Some(5.0)]);
        assert_eq!(on(&[]).cpus_elsewhere(4), None);
        let here = on(&[host("x", &[0], true)]);
        assert_eq!((here.has_clients_elsewhere(), here.cpus_elsewhere(1)), (false, None));
        assert_eq!((two.hosts_of_clients(1), two.hosts_of_clients(9)), (vec!["x"], vec!["x", "y"]));
    }

    #[test]
    fn ranks_with_another_clock_are_elsewhere_and_those_of_a_host_share_its_cpus() {
        let rank = |rank: u32, host: &str, cpus: &[u32], uncertainty_ns: u64| {
            serde_json::json!({"rank": rank, "host": host, "pid": 1, "cpus": cpus, "clock_offset_ns": 0,
                "clock_uncertainty_ns": uncertainty_ns})
        };
        let of = |ranks: &[serde_json::Value]| -> Inventory {
            let own = serde_json::json!({"hostname": "a", "online_cpus": 1, "affinity_cpus": [], "nics": []});
            let all = serde_json::json!({"host": own, "path": null, "unknown": [], "ranks": ranks});
            serde_json::from_value(all).unwrap()
        };
        let far = of(&[
            rank(0, "a", &[0], 0),
            rank(1, "a", &[1], 0),
            rank(2, "b", &[0, 1], 9),
            rank(3, "b", &[0, 1], 9),
        ]);
        assert!(far.has_clients_elsewhere());
        assert_eq!([1, 2, 3, 4].map(|count| far.cpus_elsewhere(count)), [1.0, 2.0, 4.0, 4.0].map(Some));
        assert_eq!((far.hosts_of_clients(2), far.hosts_of_clients(4)), (vec!["a"], vec!["a", "b"]));
        // Hosts of one machine: network namespaces.
        let near = of(&[rank(0, "a", &[0], 0), rank(1, "b", &[0], 0)]);
        assert_eq!((near.has_clients_elsewhere(), near.cpus_elsewhere(2)), (false, None));
        assert_eq!(near.hosts_of_clients(2), ["a", "b"]);
        let one = of(&[rank(0, "a", &[0], 0), rank(1, "a", &[0], 0)]);
        assert!(one.hosts_of_clients(2).is_empty(), "nobody has named it");
    }
}
