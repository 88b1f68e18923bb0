//! Roles of the buffer experiment that share the CPUs of a machine: these are one station, and what one role uses the others
//! lack.
//!
//! Not here: quotas of control groups, which the roles do not report.

use narrows_model::counters::Role;
use narrows_model::relay::RelayMachine;
use narrows_model::summary::{RelayPointSummary, RelayRoleSummary, RelaySummary};
use narrows_model::units::ratio;
use std::collections::BTreeSet;

/// Roles whose CPU sets overlap.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SharedStation {
    /// Busy cores of each, from the client to the server; each has one thread.
    pub busy_cpus: Vec<(Role, f64)>,
    /// CPUs that any of them may use.
    pub cpu_count: usize,
}

impl SharedStation {
    /// The share of its CPUs that is used.
    pub(crate) fn load(&self) -> Option<f64> {
        ratio(self.busy_cpus.iter().map(|(_, busy)| busy).sum(), self.cpu_count as f64)
    }
}

/// The stations of a point, each once for every role in it.
pub(super) fn stations(point: &RelayPointSummary) -> Vec<SharedStation> {
    point.roles.iter().filter_map(|role| station_of(role, point)).collect()
}

/// The roles that share CPUs with `first`, themselves or through others; `None` where it has its own.
fn station_of(first: &RelayRoleSummary, point: &RelayPointSummary) -> Option<SharedStation> {
    let mut roles = vec![first];
    let mut shared: BTreeSet<u32> = cpus(first)?.iter().copied().collect();
    loop {
        let other = point.roles.iter().find(|other| {
            let is_new = roles.iter().all(|known| known.role != other.role);
            let overlaps = || cpus(other).is_some_and(|cpus| cpus.iter().any(|cpu| shared.contains(cpu)));
            is_new && is_one_machine(first, other) && overlaps()
        });
        let Some(other) = other else { break };
        roles.push(other);
        shared.extend(cpus(other).into_iter().flatten());
    }
    roles.sort_by_key(|role| role.role);
    let busy_cpus = roles.iter().map(|role| (role.role, role.busy_ratio)).collect();
    (roles.len() > 1).then_some(SharedStation { busy_cpus, cpu_count: shared.len() })
}

fn cpus(role: &RelayRoleSummary) -> Option<&[u32]> {
    let known = |machine: &&RelayMachine| !machine.affinity_cpus.is_empty() && machine.boot_id.is_some();
    role.machine.as_ref().filter(known).map(|machine| machine.affinity_cpus.as_slice())
}

/// Whether two roles were played on one machine: by their boot ids; by the names of their hosts where one reports none.
fn is_one_machine(a: &RelayRoleSummary, b: &RelayRoleSummary) -> bool {
    let id = |role: &RelayRoleSummary| role.machine.as_ref().and_then(|machine| machine.boot_id.clone());
    match (id(a), id(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.host == b.host,
    }
}

/// Whether every role of the experiment ran on one machine.
pub(crate) fn share_a_machine(relay: &RelaySummary) -> bool {
    let mut roles = relay.points.iter().flat_map(|point| &point.roles);
    roles.next().is_some_and(|first| roles.all(|role: &RelayRoleSummary| is_one_machine(first, role)))
}
