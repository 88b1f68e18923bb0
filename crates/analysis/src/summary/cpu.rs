//! CPU that each role used in a cell, against what it may use.
//!
//! Roles on one machine are charged by control group or process; the machine as a whole only when it plays one
//! role. A control group counts only under a quota: without one it may hold processes of others.

use super::Machines;
use crate::collect::{CellData, RoleDelta};
use narrows_model::Site;
use narrows_model::counters::Role;
use narrows_model::summary::{CpuBasis, RoleCpu};
use narrows_model::units::ratio;
use std::collections::BTreeMap;

/// Fewest CPUs that are left beside threads that poll.
const CPUS_MIN: f64 = 0.01;

/// CPU by role.
pub(super) fn by_role(data: &CellData, machines: &Machines<'_>) -> BTreeMap<Role, RoleCpu> {
    let ops: u64 = data.trials.values().map(|trial| trial.op_count).sum();
    data.deltas.iter().filter_map(|delta| Some((delta.role, role_cpu(data, delta, ops, machines)?))).collect()
}

/// The fuller of two stations: what the role may use of its machine, and the threads that its load runs on, which cannot
/// use more CPUs than they are.
///
/// A thread that polls for submissions spins whatever the load is: its time is no request's, and the CPU that it spins on
/// is no other thread's. What the kernel's workers do for a ring is the load's, but not on its threads.
fn role_cpu(data: &CellData, delta: &RoleDelta, ops: u64, machines: &Machines<'_>) -> Option<RoleCpu> {
    let elapsed_s = delta.elapsed.as_secs_f64();
    let ring = delta.ring.unwrap_or_default();
    let (polling_s, kernel_s) = (ring.polling_ns.as_secs_f64(), ring.worker_ns.as_secs_f64());
    let allowed = capacity(delta, machines)?;
    let left = allowed - ratio(polling_s, elapsed_s)?;
    let whole = used(delta, machines).map(|used| {
        let used = used.without(polling_s);
        // Where polling takes all that there is, the load has what it uses.
        let least =
            if polling_s > 0.0 { ((used.user_s + used.system_s) / elapsed_s).max(CPUS_MIN) } else { 0.0 };
        Station { cpus: left.max(least), used, aside_s: 0.0 }
    });
    let threads = threads(data, delta.role).filter(|threads| *threads < left);
    let threaded = process(delta).zip(threads).map(|(used, cpus)| Station {
        used: used.without(polling_s + kernel_s),
        cpus,
        aside_s: kernel_s,
    });
    let Station { used, cpus: capacity_cpus, aside_s } =
        whole.into_iter().chain(threaded).max_by(|a, b| a.share().total_cmp(&b.share()))?;
    let busy_s = used.user_s + used.system_s;
    Some(RoleCpu {
        basis: used.basis,
        capacity_cpus,
        user_s: used.user_s,
        system_s: used.system_s + aside_s,
        softirq_s: delta.host.map(|host| host.softirq.as_secs_f64()),
        throttled_s: throttled(delta),
        throttled_period_ratio: throttled_periods(delta),
        busy_ratio: ratio(busy_s, elapsed_s * capacity_cpus)?,
        busy_ratio_p99: None,
        service_demand_s_per_op: ratio(busy_s + aside_s, ops as f64),
        polling_s: (polling_s > 0.0).then_some(polling_s),
    })
}

/// What runs on some CPUs.
struct Station {
    used: Used,
    cpus: f64,
    /// Seconds that the load costs elsewhere.
    aside_s: f64,
}

impl Station {
    fn share(&self) -> f64 {
        (self.used.user_s + self.used.system_s) / self.cpus
    }
}

struct Used {
    basis: CpuBasis,
    user_s: f64,
    system_s: f64,
}

impl Used {
    /// The rest where the kernel's own threads used so much of it.
    fn without(mut self, kernel_s: f64) -> Self {
        self.system_s = (self.system_s - kernel_s).max(0.0);
        self
    }
}

fn process(delta: &RoleDelta) -> Option<Used> {
    delta.process.map(|process| Used {
        basis: CpuBasis::Process,
        user_s: process.user_ns.as_secs_f64(),
        system_s: process.system_ns.as_secs_f64(),
    })
}

/// Threads on which the load of a cell runs at the client; `None` for other roles, whose threads are not told.
fn threads(data: &CellData, role: Role) -> Option<f64> {
    let load = &data.cell.workload;
    let client = role == Role::Client && data.cell.site == Site::Client;
    client.then(|| f64::from(load.workers) * f64::from(load.clients))
}

fn used(delta: &RoleDelta, machines: &Machines<'_>) -> Option<Used> {
    let process = process(delta);
    let group = delta
        .cgroup
        .filter(|group| group.quota_cpus.is_some() && !machines.shares_group(delta.role))
        .map(|group| split(CpuBasis::Cgroup, group.usage.as_secs_f64(), process.as_ref()));
    let alone = machines.alone(delta.role);
    let host = delta.host.filter(|_| alone || process.is_none()).map(|host| Used {
        basis: CpuBasis::Host,
        user_s: host.user.as_secs_f64(),
        system_s: host.system.as_secs_f64(),
    });
    group.or(host).or(process)
}

/// A group's total in user and kernel mode, in the proportion of its processes.
fn split(basis: CpuBasis, total_s: f64, process: Option<&Used>) -> Used {
    let user_ratio = process.and_then(|p| ratio(p.user_s, p.user_s + p.system_s)).unwrap_or(0.0);
    Used { basis, user_s: total_s * user_ratio, system_s: total_s * (1.0 - user_ratio) }
}

/// Time held back by a quota; `None` without one.
fn throttled(delta: &RoleDelta) -> Option<f64> {
    delta.cgroup.filter(|group| group.quota_cpus.is_some()).map(|group| group.throttled.as_secs_f64())
}

/// Share of the periods in which a quota ran out; `None` without one, or in less than a period.
fn throttled_periods(delta: &RoleDelta) -> Option<f64> {
    let group = delta.cgroup.filter(|group| group.quota_cpus.is_some())?;
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
        delta.cgroup.and_then(|group| group.quota_cpus),
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
        .filter_map(|host| ratio(host.steal.as_f64(), host.total.as_f64()))
        .reduce(f64::max)
}
