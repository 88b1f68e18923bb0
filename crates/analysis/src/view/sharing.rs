//! Whether client and server are one machine, and whether their CPUs are nevertheless apart.

use narrows_model::Inventory;
use narrows_model::server::ServerFacts;

/// How client and server share their machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sharing {
    /// Whether both are on one machine (same boot id).
    pub one_machine: bool,
    /// Whether each has CPUs of its own there: disjoint CPU sets, or quotas that fit side by side.
    pub cpus_apart: bool,
    /// CPUs of the shared machine; 0 where it is not shared.
    pub online_cpus: u32,
}

impl Sharing {
    /// How the client's machine and the endpoint's relate; a path without endpoint shares nothing.
    #[must_use]
    pub fn of(client: &Inventory, server: Option<&ServerFacts>) -> Self {
        let Some(server) = server else { return Self::default() };
        let same_boot =
            client.host.boot_id.as_ref().is_some_and(|id| !id.is_empty() && *id == server.boot_id);
        if !(same_boot || server.shares_machine) {
            return Self::default();
        }
        let online_cpus = client.host.online_cpus;
        Self { one_machine: true, cpus_apart: cpus_apart(client, server, online_cpus), online_cpus }
    }

    /// Whether the CPUs of the roles must be charged as one station.
    #[must_use]
    pub fn one_station(self) -> bool {
        self.one_machine && !self.cpus_apart
    }
}

fn cpus_apart(client: &Inventory, server: &ServerFacts, online_cpus: u32) -> bool {
    let (ours, theirs) = (&client.host.affinity_cpus, &server.affinity_cpus);
    let known = !ours.is_empty() && !theirs.is_empty();
    let disjoint = known && ours.iter().all(|cpu| !theirs.contains(cpu));
    let quotas = client.host.quota_cpus.zip(server.quota_cpus);
    disjoint || quotas.is_some_and(|(ours, theirs)| ours + theirs <= f64::from(online_cpus))
}
