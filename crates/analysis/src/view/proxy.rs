//! Whether the proxy on a path shares a machine, and CPUs, with the roles at its ends.

use super::View;
use narrows_model::Inventory;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CpuBasis};

impl View<'_> {
    fn inventory(&self, role: Role) -> Option<&Inventory> {
        self.summary.hosts.iter().find(|host| host.roles.contains(&role)).map(|host| &host.inventory)
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

    /// Whether what a cell's proxy lacks is its own: its CPUs are apart, or it, the client and the server are each charged by
    /// a quota of their own. On CPUs that others use too, their turns hold it back as well.
    pub(crate) fn proxy_is_alone(&self, cell: &CellSummary) -> bool {
        let by_quota = |role: &Role| cell.cpu.get(role).is_some_and(|cpu| cpu.basis == CpuBasis::Cgroup);
        let each = [Role::Client, Role::Proxy, Role::Server].iter().all(by_quota);
        self.proxy_apart() || (each && !self.sharing.one_group)
    }
}
