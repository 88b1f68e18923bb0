//! What a simulated machine has done since it started, and its counters as a sampler would read them.
//!
//! Bytes and operations are booked when a request completes, so that they match the operations counted to the byte;
//! CPU and busy times are booked as they pass.

use crate::facts::{DISK, Packets, clock_offset_ns, host_cpus, packets};
use crate::route::{CpuCharge, RequestTraffic, Slowdown};
use narrows_model::counters::{
    CgroupCpu, CounterOrigin, CounterSample, DiskCounters, HostCpu, MemoryCounters, NicCounters, ProcessCpu,
    TcpCounters, WorkerCounters,
};
use narrows_model::sim_profile::SimProfile;
use narrows_model::units::round_to_u64;
use narrows_model::{Bytes, Nanos, Role};

/// Period of a CPU quota, the kernel's default.
const QUOTA_PERIOD_NS: u64 = 100_000_000;
/// A quota has run out in a period in which so much of it was used: services are booked as they end, so that one of them may
/// count for the next period.
const RAN_OUT_RATIO: f64 = 0.95;
const MEMORY_AVAILABLE: Bytes = Bytes(8 << 30);
const CONGESTION_WINDOW: Bytes = Bytes(4 << 20);

/// Time in which at least one request was somewhere.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OccupiedTime {
    total_ns: u64,
    covered_to_ns: u64,
}

impl OccupiedTime {
    /// Books a stay; stays are booked in the order of their arrivals.
    pub(crate) fn stay(&mut self, arrival_ns: u64, finish_ns: u64) {
        self.total_ns += finish_ns.saturating_sub(arrival_ns.max(self.covered_to_ns));
        self.covered_to_ns = self.covered_to_ns.max(finish_ns);
    }

    /// The time until `now_ns`, which no booked arrival is later than.
    fn until(&self, now_ns: u64) -> u64 {
        self.total_ns - self.covered_to_ns.saturating_sub(now_ns)
    }
}

/// Payload and packets in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct LinkTraffic {
    payload_bytes: u64,
    packet_count: u64,
}

impl LinkTraffic {
    fn link_bytes(&self, packets: &Packets) -> u64 {
        self.payload_bytes + self.packet_count * packets.header_bytes
    }
}

/// Operations of the device in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct DeviceUse {
    count: u64,
    bytes: u64,
    stay_ns: u64,
    flush_count: u64,
}

/// What worker threads did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ThreadUse {
    served_count: u64,
    busy_ns: u64,
    queued_ns: u64,
}

impl ThreadUse {
    /// Books a request that arrived, was taken by a thread and left it.
    pub(crate) fn book(&mut self, arrival_ns: u64, start_ns: u64, finish_ns: u64) {
        self.served_count += 1;
        self.busy_ns += finish_ns - start_ns;
        self.queued_ns += start_ns - arrival_ns;
    }
}

/// The periods of a CPU quota in which it ran out.
#[derive(Debug, Clone, Copy, Default)]
struct QuotaPeriods {
    /// What may be used in a period; `None` without a quota.
    quota_ns: Option<f64>,
    ended_count: u64,
    /// CPU time that was used until the last of them ended.
    used_ns: f64,
    ran_out_count: u64,
}

impl QuotaPeriods {
    fn new(quota_cpus: Option<f64>) -> Self {
        Self { quota_ns: quota_cpus.map(|cpus| cpus * QUOTA_PERIOD_NS as f64), ..Self::default() }
    }

    /// Ends the periods before `now_ns`, until when `used_ns` of CPU time was used.
    fn end_until(&mut self, now_ns: u64, used_ns: f64) {
        let Some(quota_ns) = self.quota_ns else { return };
        let ended_count = now_ns / QUOTA_PERIOD_NS;
        let more_count = ended_count.saturating_sub(self.ended_count);
        if more_count == 0 {
            return;
        }
        if used_ns - self.used_ns >= quota_ns * more_count as f64 * RAN_OUT_RATIO {
            self.ran_out_count += more_count;
        }
        (self.ended_count, self.used_ns) = (ended_count, used_ns);
    }
}

/// Everything booked so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct SimLedger {
    /// CPU time used.
    cpu: CpuCharge,
    client_quota: QuotaPeriods,
    server_quota: QuotaPeriods,
    /// Presence on the wire towards the server.
    pub(crate) on_wire_up: OccupiedTime,
    /// Presence on the wire towards the client.
    pub(crate) on_wire_down: OccupiedTime,
    /// Presence at what one connection may have under way.
    pub(crate) in_window: OccupiedTime,
    /// The server's worker threads.
    pub(crate) threads: ThreadUse,
    /// Presence at the device.
    pub(crate) at_device: OccupiedTime,
    up: LinkTraffic,
    down: LinkTraffic,
    reads: DeviceUse,
    writes: DeviceUse,
}

/// How a ledger is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LedgerReader<'a> {
    pub(crate) profile: &'a SimProfile,
    pub(crate) slowdown: Slowdown,
    /// Connections of the load; 0 without any.
    pub(crate) connection_count: u32,
}

impl CpuCharge {
    /// Adds a share of `other`.
    pub(crate) fn add(&mut self, other: &CpuCharge, share: f64) {
        self.generator_ns += other.generator_ns * share;
        self.client_ns += other.client_ns * share;
        self.server_ns += other.server_ns * share;
    }
}

impl SimLedger {
    /// That of a machine on which nothing has happened yet.
    pub(crate) fn new(profile: &SimProfile) -> Self {
        let quota = |role| QuotaPeriods::new(host_cpus(profile, role).1);
        Self { client_quota: quota(Role::Client), server_quota: quota(Role::Server), ..Self::default() }
    }

    /// Books a share of the CPU time of a service that has come so far at `now_ns`.
    pub(crate) fn use_cpu(&mut self, cpu: &CpuCharge, share: f64, now_ns: u64) {
        self.end_periods(now_ns);
        self.cpu.add(cpu, share);
    }

    /// Ends the periods of quotas that are over at `now_ns`.
    pub(crate) fn end_periods(&mut self, now_ns: u64) {
        self.client_quota.end_until(now_ns, role_cpu_ns(&self.cpu, Role::Client));
        self.server_quota.end_until(now_ns, role_cpu_ns(&self.cpu, Role::Server));
    }

    /// Books what a completed request has moved; it stayed at the device for `device_stay_ns`.
    pub(crate) fn book(&mut self, moved: &RequestTraffic, device_stay_ns: u64, packets: &Packets) {
        let up_count = moved.up_bytes.div_ceil(packets.payload_bytes);
        let down_count = moved.down_bytes.div_ceil(packets.payload_bytes);
        // A request or a reply without payload is one packet; every second full packet is acknowledged (RFC 1122).
        let message = |count: u64| u64::from(moved.exchange && count == 0);
        self.up.payload_bytes += moved.up_bytes;
        self.up.packet_count += up_count + message(up_count) + down_count.div_ceil(2);
        self.down.payload_bytes += moved.down_bytes;
        self.down.packet_count += down_count + message(down_count) + up_count.div_ceil(2);
        for (bytes, device) in
            [(moved.device_read_bytes, &mut self.reads), (moved.device_write_bytes, &mut self.writes)]
        {
            if let Some(bytes) = bytes {
                device.count += 1;
                device.bytes += bytes;
                device.stay_ns += device_stay_ns;
                device.flush_count += u64::from(moved.flushed);
            }
        }
    }
}

impl LedgerReader<'_> {
    /// The counters of `role` at `at_ns` on the client's clock.
    pub(crate) fn sample(&self, ledger: &SimLedger, role: Role, at_ns: u64) -> CounterSample {
        let offset_ns = if role == Role::Server { clock_offset_ns(self.profile) } else { 0 };
        let here_ns = at_ns.saturating_add_signed(offset_ns);
        let has_disk =
            self.profile.shared_machine || (role == Role::Server) == self.profile.network.is_some();
        CounterSample {
            role,
            origin: CounterOrigin::Narrows,
            at_ns: Nanos(here_ns),
            host_cpu: Some(self.host_cpu(ledger, role, here_ns)),
            ring_cpu: None,
            process_cpu: Some(process_cpu(ledger, role)),
            cgroup_cpu: self.cgroup_cpu(ledger, role, here_ns),
            disks: if has_disk { vec![self.disk(ledger, at_ns)] } else { Vec::new() },
            block_trace: None,
            nics: self.nics(ledger, role),
            tcp: (self.connection_count > 0).then(|| self.tcp(ledger, role, at_ns)),
            memory: Some(self.memory(role)),
            workers: self.workers(ledger, role),
            threads: None,
            foreign_cpu: None,
            nfs_mounts: Vec::new(),
            memory_pressure: None,
            group_memory_pressure: None,
            daemon: None,
        }
    }

    fn workers(&self, ledger: &SimLedger, role: Role) -> Option<WorkerCounters> {
        let worker_count = self.profile.server_cpu.threads.filter(|_| role == Role::Server)?;
        let ThreadUse { served_count, busy_ns, queued_ns } = ledger.threads;
        Some(WorkerCounters {
            worker_count,
            served_count,
            busy_ns: Nanos(busy_ns),
            queued_ns: Nanos(queued_ns),
        })
    }

    fn host_cpu(&self, ledger: &SimLedger, role: Role, here_ns: u64) -> HostCpu {
        let (online_cpus, _) = host_cpus(self.profile, role);
        let mut used = process_cpu(ledger, role);
        if self.profile.shared_machine {
            let other = process_cpu(ledger, if role == Role::Server { Role::Client } else { Role::Server });
            used.user_ns = used.user_ns.saturating_add(other.user_ns);
            used.system_ns = used.system_ns.saturating_add(other.system_ns);
        }
        let all_ns = Nanos(u64::from(online_cpus).saturating_mul(here_ns));
        HostCpu {
            online_cpus,
            user_ns: used.user_ns,
            system_ns: used.system_ns,
            idle_ns: all_ns.saturating_sub(used.user_ns).saturating_sub(used.system_ns),
            ..HostCpu::default()
        }
    }

    fn cgroup_cpu(&self, ledger: &SimLedger, role: Role, here_ns: u64) -> Option<CgroupCpu> {
        let quota_cpus = host_cpus(self.profile, role).1?;
        let usage_ns = role_cpu_ns(&ledger.cpu, role);
        let slowdown = if role == Role::Server { self.slowdown.server } else { self.slowdown.client };
        let throttled_ns = usage_ns * (slowdown - 1.0);
        let periods = if role == Role::Server { ledger.server_quota } else { ledger.client_quota };
        let period_count = here_ns / QUOTA_PERIOD_NS;
        Some(CgroupCpu {
            path: "/narrows".to_owned(),
            usage_ns: Nanos(round_to_u64(usage_ns)),
            throttled_ns: Nanos(round_to_u64(throttled_ns)),
            throttled_count: periods.ran_out_count.min(period_count),
            period_count,
            quota_cpus: Some(quota_cpus),
        })
    }

    fn nics(&self, ledger: &SimLedger, role: Role) -> Vec<NicCounters> {
        if self.profile.network.is_none() {
            return Vec::new();
        }
        let packets = packets(self.profile);
        let (mut sent, mut received) = directions(ledger, role);
        if self.profile.shared_machine {
            // The loopback interface sends and receives everything.
            sent.payload_bytes += received.payload_bytes;
            sent.packet_count += received.packet_count;
            received = sent;
        }
        vec![NicCounters {
            name: packets.nic.to_owned(),
            receive_bytes: Bytes(received.link_bytes(&packets)),
            receive_packet_count: received.packet_count,
            receive_drop_count: 0,
            send_bytes: Bytes(sent.link_bytes(&packets)),
            send_packet_count: sent.packet_count,
            send_drop_count: 0,
        }]
    }

    fn tcp(&self, ledger: &SimLedger, role: Role, at_ns: u64) -> TcpCounters {
        let (sent, received) = directions(ledger, role);
        let wire = if role == Role::Server { &ledger.on_wire_down } else { &ledger.on_wire_up };
        let network = self.profile.network.as_ref();
        let rtt_ns = network.map_or(Nanos(0), |network| network.rtt_ns);
        let lost = network.map_or(0.0, |network| network.loss_ratio) * sent.packet_count as f64;
        let in_window_ns = ledger.in_window.until(at_ns);
        let windowed = network.is_some_and(|network| network.window_bytes.is_some());
        TcpCounters {
            at_ns: Nanos(at_ns),
            connection_count: self.connection_count,
            acked_bytes: Bytes(sent.payload_bytes),
            received_bytes: Bytes(received.payload_bytes),
            loopback_bytes: Bytes(0),
            segments_out_count: sent.packet_count,
            segments_in_count: received.packet_count,
            retransmit_count: round_to_u64(lost),
            rtt_min_ns: rtt_ns,
            rtt_ns,
            congestion_window_bytes: CONGESTION_WINDOW,
            busy_ns: Nanos(wire.until(at_ns).max(in_window_ns)),
            receive_window_limited_ns: Nanos(if windowed { in_window_ns } else { 0 }),
            send_buffer_limited_ns: Nanos(0),
        }
    }

    fn disk(&self, ledger: &SimLedger, at_ns: u64) -> DiskCounters {
        DiskCounters {
            name: DISK.to_owned(),
            read_count: ledger.reads.count,
            read_bytes: Bytes(ledger.reads.bytes),
            read_ns: Nanos(ledger.reads.stay_ns),
            write_count: ledger.writes.count,
            write_bytes: Bytes(ledger.writes.bytes),
            write_ns: Nanos(ledger.writes.stay_ns),
            flush_count: ledger.writes.flush_count,
            flush_ns: Nanos(ledger.writes.flush_count.saturating_mul(self.profile.device.flush_ns.0)),
            busy_ns: Nanos(ledger.at_device.until(at_ns)),
            queue_ns: Nanos(ledger.reads.stay_ns + ledger.writes.stay_ns),
        }
    }

    fn memory(&self, role: Role) -> MemoryCounters {
        let cache = &self.profile.cache;
        let ratio = if role == Role::Server { cache.server_hit_ratio } else { cache.client_hit_ratio };
        MemoryCounters {
            available_bytes: MEMORY_AVAILABLE,
            cached_bytes: Bytes(round_to_u64(self.profile.file_bytes.as_f64() * ratio)),
            ..MemoryCounters::default()
        }
    }
}

fn role_cpu_ns(cpu: &CpuCharge, role: Role) -> f64 {
    if role == Role::Server { cpu.server_ns } else { cpu.generator_ns + cpu.client_ns }
}

/// The generator runs in user mode; protocol, copies and file systems in the kernel.
fn process_cpu(ledger: &SimLedger, role: Role) -> ProcessCpu {
    let (user_ns, system_ns) = match role {
        Role::Server => (0.0, ledger.cpu.server_ns),
        _ => (ledger.cpu.generator_ns, ledger.cpu.client_ns),
    };
    ProcessCpu { user_ns: Nanos(round_to_u64(user_ns)), system_ns: Nanos(round_to_u64(system_ns)) }
}

/// What a role has sent and what it has received.
fn directions(ledger: &SimLedger, role: Role) -> (LinkTraffic, LinkTraffic) {
    if role == Role::Server { (ledger.down, ledger.up) } else { (ledger.up, ledger.down) }
}
