//! CPU that each role used in a cell, against what it may use.
//!
//! Roles on one machine are charged by control group or process; the machine as a whole, without what other programs used
//! there, only when it plays one role: then what the kernel does in interrupts and threads of its own is the role's. A
//! control group counts only under a quota: without one it may contain processes of others. In a window of few clock
//! ticks only the load's own threads are known, by their clocks.

use super::ticks::{TICK_NS, TICKS_MIN};
use super::{Machines, bytes, foreign};
use crate::collect::{CellData, RoleDelta};
use narrows_model::counters::{CgroupCpu, CounterOrigin, HostCpu, Role};
use narrows_model::summary::{CpuBasis, CpuWaiting, RoleCpu};
use narrows_model::trial::ClientTotals;
use narrows_model::units::ratio;
use narrows_model::{Nanos, Site};
use std::collections::BTreeMap;

/// Fewest CPUs that are left beside threads that poll.
const CPUS_MIN: f64 = 0.01;
/// A period of a quota, and ten times what a group's own count may lag behind.
const PERIOD_NS: u64 = 100_000_000;
/// More than this of the window no thread can have used: the two were not measured together.
const THREADS_MOST_RATIO: f64 = 1.25;

/// CPU by role. What an exporter reports of a server is of the cells alone whose requests go to it.
pub(super) fn by_role(data: &CellData, machines: &Machines<'_>) -> BTreeMap<Role, RoleCpu> {
    let ops: u64 = data.trials.values().map(|trial| trial.op_count).sum();
    let is_of_cell = |delta: &&RoleDelta| {
        delta.origin != CounterOrigin::NodeExporter || bytes::goes_to_foreign_server(data, machines)
    };
    let deltas = data.deltas.iter().filter(is_of_cell);
    deltas.filter_map(|delta| Some((delta.role, role_cpu(data, delta, ops, machines)?))).collect()
}

/// The fuller of two stations: what the role may use of its machine, and the threads that its load runs on, which cannot
/// use more CPUs than they are.
///
/// A thread that polls for submissions spins whatever the load is: its time is no request's, and the CPU that it spins on
/// is no other thread's. What the kernel's workers do for a ring is the load's, but not on its threads.
fn role_cpu(data: &CellData, delta: &RoleDelta, ops: u64, machines: &Machines<'_>) -> Option<RoleCpu> {
    let window = window(data, delta);
    if is_elsewhere(delta.role, machines) || (in_ticks(delta) && window.0 < TICKS_MIN * TICK_NS) {
        return short(data, delta, ops, machines, window);
    }
    let ring = delta.ring.unwrap_or_default();
    let (polling_s, kernel_s) = (ring.polling_ns.as_secs_f64(), ring.worker_ns.as_secs_f64());
    let elapsed_s = delta.elapsed.as_secs_f64();
    let left = capacity(delta, machines)? - ratio(polling_s, elapsed_s)?;
    let whole = used(delta, machines).map(|used| {
        let used = used.without(polling_s).within(left * elapsed_s);
        // Where polling takes all that there is, the load has what it uses.
        let least =
            if polling_s > 0.0 { ((used.user_s + used.system_s) / elapsed_s).max(CPUS_MIN) } else { 0.0 };
        CpuStation { cpus: left.max(least), used, aside_s: 0.0, elapsed_s }
    });
    let threads = threads(data, delta.role).filter(|threads| *threads < left);
    let threaded = process(delta).zip(threads).map(|(used, cpus)| CpuStation {
        used: used.without(polling_s + kernel_s),
        cpus,
        aside_s: kernel_s,
        elapsed_s,
    });
    let fuller = whole.into_iter().chain(threaded).max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let softirq_s = delta.host.map(|host| host.softirq_ns.as_secs_f64());
    let polling_s = (polling_s > 0.0).then_some(polling_s);
    let waiting = foreign::waiting(data, delta, throttled(delta));
    summarize_role(&fuller, delta, ops, &AuxiliaryCpu { softirq_s, polling_s, waiting })
}

/// What is reported beside a station.
struct AuxiliaryCpu {
    softirq_s: Option<f64>,
    polling_s: Option<f64>,
    waiting: Option<CpuWaiting>,
}

fn summarize_role(fuller: &CpuStation, delta: &RoleDelta, ops: u64, aside: &AuxiliaryCpu) -> Option<RoleCpu> {
    let CpuStation { used, cpus, aside_s, elapsed_s } = fuller;
    let busy_s = used.user_s + used.system_s;
    Some(RoleCpu {
        basis: used.basis,
        capacity_cpus: *cpus,
        user_s: used.user_s,
        system_s: used.system_s + aside_s,
        softirq_s: aside.softirq_s,
        throttled_s: throttled(delta),
        throttled_period_ratio: throttled_periods(delta),
        busy_ratio: ratio(busy_s, elapsed_s * cpus)?,
        busy_ratio_p99: None,
        service_demand_s_per_op: ratio(busy_s + aside_s, ops as f64),
        polling_s: aside.polling_s,
        waiting: aside.waiting,
    })
}

/// The measured time of a cell, or the time between the readings of its counters where that is less.
fn window(data: &CellData, delta: &RoleDelta) -> Nanos {
    let measured = data.trials.values().fold(Nanos(0), |sum, trial| sum.saturating_add(trial.last_done));
    measured.min(delta.elapsed)
}

/// Whether a role's CPU time was counted in ticks.
fn in_ticks(delta: &RoleDelta) -> bool {
    let process = delta.process.map(|process| [process.user_ns, process.system_ns]);
    let host = delta.host.map(|host| [host.user_ns, host.kernel_ns()]);
    [process, host].into_iter().flatten().flatten().all(|used| used.0 % TICK_NS == 0)
}

/// Whether a role's processes are on machines whose counters are not read: its threads report their own times.
fn is_elsewhere(role: Role, machines: &Machines<'_>) -> bool {
    role == Role::Client && machines.client.has_clients_elsewhere()
}

/// CPU of a role in a window of few ticks: by its quota's group, which counts without them, and at the client by the
/// clocks of the load's threads. Neither includes what the kernel's threads did for a ring.
fn short(
    data: &CellData,
    delta: &RoleDelta,
    ops: u64,
    machines: &Machines<'_>,
    window: Nanos,
) -> Option<RoleCpu> {
    let elsewhere = machines.client.cpus_elsewhere(data.cell.workload.clients);
    let allowed = match elsewhere.filter(|_| is_elsewhere(delta.role, machines)) {
        Some(cpus) => cpus,
        None => capacity(delta, machines)?,
    };
    let group = used(delta, machines)
        .filter(|used| used.basis == CpuBasis::Cgroup && window.0 >= PERIOD_NS)
        .map(|used| CpuStation { used, cpus: allowed, aside_s: 0.0, elapsed_s: delta.elapsed.as_secs_f64() });
    let alone = delta.ring.is_none_or(|ring| ring.polling_thread_count + ring.worker_thread_count == 0);
    let threads = threads(data, delta.role).filter(|_| alone);
    let threaded = threads.and_then(|threads| by_threads(data, threads.min(allowed), window));
    let fuller = group.into_iter().chain(threaded).max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let waiting = threads.and_then(|_| foreign::waiting(data, delta, throttled(delta)));
    summarize_role(&fuller, delta, ops, &AuxiliaryCpu { softirq_s: None, polling_s: None, waiting })
}

/// What the load's threads used by their own clocks; `None` where it was not reported, or not in this window.
fn by_threads(data: &CellData, cpus: f64, window: Nanos) -> Option<CpuStation> {
    let sum = |of: fn(&ClientTotals) -> Nanos| data.clients.iter().map(|one| of(one).as_secs_f64()).sum();
    let (user_s, system_s): (f64, f64) = (sum(|one| one.user_ns), sum(|one| one.system_ns));
    let (busy_s, most_s) = (user_s + system_s, window.as_secs_f64() * cpus);
    let share = ratio(busy_s, most_s).filter(|share| *share > 0.0 && *share <= THREADS_MOST_RATIO)?;
    // The clocks are read a little before and after the window: no thread used more than all of it.
    let within = 1.0 / share.max(1.0);
    let used = CpuSeconds { basis: CpuBasis::Thread, user_s: user_s * within, system_s: system_s * within };
    Some(CpuStation { used, cpus, aside_s: 0.0, elapsed_s: window.as_secs_f64() })
}

/// What runs on some CPUs.
struct CpuStation {
    used: CpuSeconds,
    cpus: f64,
    /// Seconds that the load costs elsewhere.
    aside_s: f64,
    /// Seconds in which it was used.
    elapsed_s: f64,
}

impl CpuStation {
    fn share(&self) -> f64 {
        (self.used.user_s + self.used.system_s) / (self.cpus * self.elapsed_s)
    }
}

struct CpuSeconds {
    basis: CpuBasis,
    user_s: f64,
    system_s: f64,
}

impl CpuSeconds {
    /// The rest where the kernel's own threads used so much of it.
    fn without(mut self, kernel_s: f64) -> Self {
        self.system_s = (self.system_s - kernel_s).max(0.0);
        self
    }

    /// Without what other programs used, and no less than what the role's `own` processes did.
    fn without_foreign(self, foreign_s: f64, own: Option<&Self>) -> Self {
        let least_s = own.map_or(0.0, Self::total_s);
        let left_s = (self.total_s() - foreign_s).max(least_s).min(self.total_s());
        self.scaled_to(left_s)
    }

    /// No more than `most_s` of a machine's: what the kernel does for a role may be done on CPUs that the role itself may
    /// not use. What a role's own processes use needs no limit.
    fn within(self, most_s: f64) -> Self {
        let left_s = if matches!(self.basis, CpuBasis::Host | CpuBasis::Exporter) {
            self.total_s().min(most_s)
        } else {
            self.total_s()
        };
        self.scaled_to(left_s)
    }

    fn scaled_to(self, total_s: f64) -> Self {
        let share = ratio(total_s, self.total_s()).unwrap_or(1.0);
        Self { user_s: self.user_s * share, system_s: self.system_s * share, ..self }
    }

    fn total_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

fn process(delta: &RoleDelta) -> Option<CpuSeconds> {
    delta.process.map(|process| CpuSeconds {
        basis: CpuBasis::Process,
        user_s: process.user_ns.as_secs_f64(),
        system_s: process.system_ns.as_secs_f64(),
    })
}

/// Threads on which the load of a cell runs at the client; `None` for other roles, whose threads are not reported.
fn threads(data: &CellData, role: Role) -> Option<f64> {
    let load = &data.cell.workload;
    let client = role == Role::Client && data.cell.site == Site::Client;
    client.then(|| f64::from(load.workers) * f64::from(load.clients))
}

fn used(delta: &RoleDelta, machines: &Machines<'_>) -> Option<CpuSeconds> {
    let process = process(delta);
    let group = delta
        .cgroup
        .as_ref()
        .filter(|group| group.quota_cpus.is_some() && !machines.shares_group(delta.role))
        .filter(|group| group.usage_ns.0 > 0)
        .map(|group| split(CpuBasis::Cgroup, group.usage_ns.as_secs_f64(), process.as_ref()));
    let alone = machines.alone(delta.role);
    let foreign_s = foreign::foreign_s(delta, machines);
    // Where the role may use only some of the CPUs, the others are busy with whatever else there is.
    let has_all = |host: &HostCpu| capacity(delta, machines) >= Some(f64::from(host.online_cpus));
    let stands = |host: &HostCpu| process.is_none() || (alone && (foreign_s.is_some() || has_all(host)));
    let basis = match delta.origin {
        CounterOrigin::Narrows => CpuBasis::Host,
        CounterOrigin::NodeExporter => CpuBasis::Exporter,
    };
    let host = delta.host.filter(stands).map(|host| {
        let all = CpuSeconds {
            basis,
            user_s: host.user_ns.as_secs_f64(),
            system_s: host.kernel_ns().as_secs_f64(),
        };
        all.without_foreign(foreign_s.unwrap_or(0.0), process.as_ref())
    });
    group.or(host).or(process)
}

/// A group's total in user and kernel mode, in the proportion of its processes.
fn split(basis: CpuBasis, total_s: f64, process: Option<&CpuSeconds>) -> CpuSeconds {
    let user_ratio = process.and_then(|p| ratio(p.user_s, p.user_s + p.system_s)).unwrap_or(0.0);
    CpuSeconds { basis, user_s: total_s * user_ratio, system_s: total_s * (1.0 - user_ratio) }
}

fn quota_group(delta: &RoleDelta) -> Option<&CgroupCpu> {
    delta.cgroup.as_ref().filter(|group| group.quota_cpus.is_some())
}

/// Time throttled by a quota; `None` without one.
fn throttled(delta: &RoleDelta) -> Option<f64> {
    quota_group(delta).map(|group| group.throttled_ns.as_secs_f64())
}

/// Share of the periods in which a quota ran out; `None` without one, or in less than a period.
fn throttled_periods(delta: &RoleDelta) -> Option<f64> {
    let group = quota_group(delta)?;
    ratio(group.throttled_count as f64, group.period_count as f64)
}

/// CPUs that the role may use: the smallest of those online, those in its affinity, and its quota.
fn capacity(delta: &RoleDelta, machines: &Machines<'_>) -> Option<f64> {
    let inventory = machines.inventory(delta.role);
    let online = delta.host.map(|host| f64::from(host.online_cpus)).filter(|count| *count > 0.0);
    let known = inventory.map(|inventory| f64::from(inventory.host.online_cpus)).filter(|count| *count > 0.0);
    let server = machines.server.filter(|_| delta.role == Role::Server).map(|(facts, _)| facts);
    let affinity = match server {
        Some(facts) => Some(facts.affinity_cpus.len()),
        None => inventory.map(|inventory| inventory.host.affinity_cpus.len()),
    };
    let quotas = [
        delta.cgroup.as_ref().and_then(|group| group.quota_cpus),
        server.and_then(|facts| facts.quota_cpus),
        inventory.and_then(|inventory| inventory.host.quota_cpus),
    ];
    online
        .or(known)
        .into_iter()
        .chain(affinity.filter(|count| *count > 0).map(|count| count as f64))
        .chain(quotas.into_iter().flatten().filter(|quota| *quota > 0.0))
        .reduce(f64::min)
}

/// Share of the machines' time that a hypervisor gave to others, the worst of the roles.
pub(super) fn steal_ratio(deltas: &[RoleDelta]) -> Option<f64> {
    deltas
        .iter()
        .filter_map(|delta| delta.host)
        .filter_map(|host| ratio(host.steal_ns.as_f64(), host.total_ns().as_f64()))
        .reduce(f64::max)
}

#[cfg(test)]
#[path = "cpu_tests.rs"]
mod tests;
