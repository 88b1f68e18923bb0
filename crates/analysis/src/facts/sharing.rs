//! Whether client and server are one machine, and whether their CPUs are nevertheless apart.

use narrows_model::Inventory;
use narrows_model::server::ServerFacts;
use std::collections::BTreeSet;

/// How client and server share their machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sharing {
    /// Whether both are on one machine (same boot id).
    pub one_machine: bool,
    /// Whether each has CPUs of its own there: disjoint CPU sets, or quotas that fit side by side.
    pub cpus_apart: bool,
    /// CPUs of the shared machine; 0 where it is not shared.
    pub online_cpus: u32,
    /// Whether both roles are charged to one control group under a quota.
    pub one_group: bool,
    /// CPUs that both roles together may use: the smallest of those online, the union of their CPU sets, and a quota that
    /// they share; 0 where no machine is shared.
    pub capacity_cpus: f64,
}

impl Sharing {
    /// How the client's machine and the endpoint's relate; a path without endpoint shares nothing. `one_group` states
    /// that the counters of both roles are of one control group under a quota.
    #[must_use]
    pub fn new(client: &Inventory, server: Option<&ServerFacts>, one_group: bool) -> Self {
        let Some(server) = server else { return Self::default() };
        // What the client's machine is says nothing of clients on others.
        if client.has_clients_elsewhere() {
            return Self::default();
        }
        let same_boot =
            client.host.boot_id.as_ref().is_some_and(|id| !id.is_empty() && *id == server.boot_id);
        if !(same_boot || server.shares_machine) {
            return Self::default();
        }
        let online_cpus = client.host.online_cpus;
        Self {
            one_machine: true,
            cpus_apart: !one_group && cpus_apart(client, server, online_cpus),
            online_cpus,
            one_group,
            capacity_cpus: capacity(client, server, one_group),
        }
    }

    /// Whether the CPUs of the roles must be charged as one station.
    #[must_use]
    pub fn one_station(self) -> bool {
        self.one_machine && !self.cpus_apart
    }
}

/// CPUs that both roles together may use.
fn capacity(client: &Inventory, server: &ServerFacts, one_group: bool) -> f64 {
    let (ours, theirs) = (&client.host.affinity_cpus, &server.affinity_cpus);
    let known = !ours.is_empty() && !theirs.is_empty();
    let union: BTreeSet<u32> = ours.iter().chain(theirs).copied().collect();
    let online = Some(f64::from(client.host.online_cpus));
    let sets = known.then_some(union.len() as f64);
    let quota = client.host.quota_cpus.or(server.quota_cpus).filter(|_| one_group);
    [online, sets, quota].into_iter().flatten().filter(|cpus| *cpus > 0.0).fold(f64::INFINITY, f64::min)
}

fn cpus_apart(client: &Inventory, server: &ServerFacts, online_cpus: u32) -> bool {
    let (ours, theirs) = (&client.host.affinity_cpus, &server.affinity_cpus);
    let known = !ours.is_empty() && !theirs.is_empty();
    let disjoint = known && ours.iter().all(|cpu| !theirs.contains(cpu));
    let quotas = client.host.quota_cpus.zip(server.quota_cpus);
    disjoint || quotas.is_some_and(|(ours, theirs)| ours + theirs <= f64::from(online_cpus))
}
