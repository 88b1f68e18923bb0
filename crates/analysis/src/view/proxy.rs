//! Whether the proxy on a path shares a machine, and CPUs, with the roles at its ends.

use super::SummaryView;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CpuBasis};
use narrows_model::{Inventory, Target};

impl SummaryView<'_> {
    pub(crate) fn inventory(&self, role: Role) -> Option<&Inventory> {
        self.summary.hosts.iter().find(|host| host.roles.contains(&role)).map(|host| &host.inventory)
    }

    /// Whether a cell's requests pass a proxy: of a sweep over targets, some may and others not.
    pub(crate) fn passes_proxy(&self, cell: &CellSummary) -> bool {
        match &cell.target {
            Target::Tcp { via, .. } => via.is_some(),
            _ => self.summary.target.via().is_some(),
        }
    }

    /// Roles on the machine of the proxy, by their inventories.
    fn beside_proxy(&self) -> Vec<&Inventory> {
        let boot_id = |inventory: &Inventory| inventory.host.boot_id.clone().filter(|id| !id.is_empty());
        let own = self.inventory(Role::Proxy).and_then(boot_id);
        let others = [Role::Client, Role::Server].into_iter().filter_map(|role| self.inventory(role));
        others.filter(|other| own.is_some() && boot_id(other) == own).collect()
    }

    /// Whether the proxy runs on the machine that client and server share.
    pub(crate) fn proxy_shares_machine(&self) -> bool {
        self.sharing.one_machine && !self.beside_proxy().is_empty()
    }

    /// Whether the proxy has CPUs of its own: a machine, a CPU set apart from the others', or quotas of all roles there
    /// that fit side by side.
    pub(crate) fn proxy_apart(&self) -> bool {
        let Some(proxy) = self.inventory(Role::Proxy) else { return false };
        let beside = self.beside_proxy();
        let disjoint = |other: &&Inventory| {
            let (ours, theirs) = (&proxy.host.affinity_cpus, &other.host.affinity_cpus);
            !ours.is_empty() && !theirs.is_empty() && ours.iter().all(|cpu| !theirs.contains(cpu))
        };
        let all = beside.iter().map(|other| other.host.quota_cpus).chain([proxy.host.quota_cpus]);
        let quotas: Option<f64> = all.sum();
        let fits = quotas.is_some_and(|sum| sum <= f64::from(proxy.host.online_cpus));
        beside.iter().all(disjoint) || fits
    }

    /// Whether the proxy takes its CPU from the station that client and server share.
    pub(crate) fn proxy_is_in_station(&self) -> bool {
        self.proxy_shares_machine() && !self.proxy_apart()
    }

    /// CPUs of the station that client and server share: with a proxy in it, those that any of the three may use.
    pub(crate) fn station_cpus(&self) -> f64 {
        let shared = self.sharing.capacity_cpus;
        let server = self.server().map(|server| server.affinity_cpus.as_slice());
        let ends = [self.inventory(Role::Client), self.inventory(Role::Proxy)];
        let sets = ends.into_iter().map(|found| found.map(|found| found.host.affinity_cpus.as_slice()));
        let all: Option<Vec<&[u32]>> = sets.chain([server]).collect();
        let Some(sets) = all.filter(|_| self.proxy_is_in_station() && !self.sharing.one_group) else {
            return shared;
        };
        let union: std::collections::BTreeSet<u32> = sets.iter().copied().flatten().copied().collect();
        let known = sets.iter().all(|set| !set.is_empty());
        let online = f64::from(self.sharing.online_cpus);
        if known { online.min(union.len() as f64) } else { online }
    }

    /// Whether what a cell's proxy lacks is its own: its CPUs are apart, or it, the client and the server are each
    /// charged by a separate quota. On CPUs that others use too, their turns delay it as well.
    pub(crate) fn proxy_is_alone(&self, cell: &CellSummary) -> bool {
        let by_quota = |role: &Role| cell.cpu.get(role).is_some_and(|cpu| cpu.basis == CpuBasis::Cgroup);
        let each = [Role::Client, Role::Proxy, Role::Server].iter().all(by_quota);
        self.proxy_apart() || (each && !self.sharing.one_group)
    }
}
