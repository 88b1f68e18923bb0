//! From a run's events to its summary: every figure, no judgement.
//!
//! What limits the path is decided in `diagnose`; here numbers are only derived and marked with what
//! must be known to read them.

mod again;
mod binding;
mod block_trace;
mod bytes;
mod cell;
mod clients;
mod commit;
mod connection;
mod cpu;
mod exported;
mod flagging;
mod foreign;
mod foreign_transfers;
mod generator;
pub(crate) mod laws;
mod load;
mod mixture;
mod protocol;
mod quality;
mod rates;
pub(crate) mod relay;
mod repeat;
mod segments;
mod service;
mod spread;
mod stalls;
mod study;
mod sweeps;
mod ticks;
mod time_shares;

pub(crate) use connection::{
    TCP_BUSY_S, TCP_CONGESTION_WINDOW_BYTES, TCP_RECEIVE_WINDOW_LIMITED_S, TCP_RETRANSMIT_COUNT,
    TCP_ROUND_TRIP_S, TCP_SEGMENT_COUNT, TCP_SEND_BUFFER_LIMITED_S,
};
pub(crate) use protocol::{RECEIVED_BYTES_PER_S, REPLY_ARRIVAL_BYTES_PER_S};
pub(crate) use quality::TRIALS_MIN;
pub(crate) use rates::summary_interval;
pub(crate) use service::{
    DEVICE_FLUSH_COUNT, DEVICE_FLUSH_S, DEVICE_OP_COUNT, SERVER_QUEUE_LENGTH, SERVER_WORKER_BUSY_RATIO,
    SERVER_WORKER_COUNT,
};

pub(crate) use spread::RateSpread;

use crate::collect::{CellData, RunData};
use crate::facts::Sharing;
use crate::facts::flags::{FOREIGN_LOAD, has};
use crate::fail_if::outcomes;
use crate::input::{Input, RunFacts};
use narrows_model::counters::Role;
use narrows_model::server::ServerFacts;
use narrows_model::summary::{CellSummary, HostSummary, Prediction, SUMMARY_SCHEMA};
use narrows_model::{Cut, Diagnosis, Event, Inventory, Plan, Segment, Summary, Target};

/// The summary of a run without its prediction and its verdict.
///
/// # Cost
/// Linear in the events.
#[must_use]
pub fn summarize(input: &Input<'_>) -> Summary {
    let mut summarizer = Summarizer::new(input.manifest.clone(), input.plan, input.inventory);
    for event in input.events {
        summarizer.event(event);
    }
    summarizer.finish()
}

/// Takes a run's events one after the other, so that a record need not fit into memory.
#[derive(Debug)]
pub struct Summarizer<'a> {
    facts: RunFacts,
    plan: &'a Plan,
    inventory: &'a Inventory,
    collected: RunData,
}

impl<'a> Summarizer<'a> {
    /// A summary of `plan` in which nothing has happened yet.
    #[must_use]
    pub fn new(facts: RunFacts, plan: &'a Plan, inventory: &'a Inventory) -> Self {
        Self { facts, plan, inventory, collected: RunData::new(plan) }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        self.collected.event(event);
    }

    /// The summary without its prediction and its verdict; trials that never ended are marked `incomplete`.
    #[must_use]
    pub fn finish(mut self) -> Summary {
        self.collected.close();
        let mut failed = self.collected.failed();
        if let Some(relay) = &self.plan.relay {
            failed.extend(self.collected.relay.failed(relay));
            let missed = self.collected.relay.missed(relay, &self.collected.skipped);
            self.collected.skipped.extend(missed);
        }
        let machines = Machines::new(self.inventory, &self.collected);
        let mut cells: Vec<_> = self
            .collected
            .cells
            .iter()
            .filter(|data| data.measured())
            .enumerate()
            .map(|(index, data)| {
                let summary =
                    |data| cell::summary(data, self.plan, &machines, mixture::Search::of_cell(index));
                match self.collected.earlier(&data.cell.id) {
                    Some(earlier) => again::better(summary(earlier), summary(data)),
                    None => summary(data),
                }
            })
            .collect();
        flagging::mark_exceeded_ceilings(&mut cells);
        let generator = generator::summary(&mut cells);
        let on_path = path_segments(&self.plan.segments, machines.sharing, &cells);
        let segments = segments::summaries(&on_path, &cells, &machines, self.plan.seed);
        let sweeps = sweeps::sweeps(&cells, &failed, self.plan);
        let mut summary = Summary {
            schema: SUMMARY_SCHEMA.to_owned(),
            narrows_version: self.facts.narrows_version,
            started_at: self.facts.started_at,
            command: self.facts.command,
            target: self.plan.target.clone(),
            topology: self.plan.topology,
            complete: self.collected.complete(self.plan.relay.as_ref()),
            ended_by: self.collected.end_detail.clone(),
            seed: self.plan.seed,
            study: self.plan.study.as_ref().map(study::summary),
            suite: self.plan.suite.clone(),
            relay: self.plan.relay.as_ref().map(|plan| relay::summary(plan, &self.collected.relay)),
            hosts: machines.hosts(),
            server_metrics: self.collected.metrics.take(),
            skipped: std::mem::take(&mut self.collected.skipped),
            failed,
            generator,
            segments,
            cells,
            sweeps,
            scaling: None,
            more_scaling: Vec::new(),
            prediction: Prediction::default(),
            doubts: Vec::new(),
            thresholds: Vec::new(),
            diagnosis: Diagnosis::default(),
        };
        summary.thresholds = outcomes(&summary, &self.plan.fail_if);
        summary
    }
}

/// The machines of a run and how they share their parts.
#[derive(Debug)]
pub(crate) struct Machines<'a> {
    pub client: &'a Inventory,
    pub server: Option<(&'a ServerFacts, &'a Inventory)>,
    pub proxy: Option<(&'a ServerFacts, &'a Inventory)>,
    /// The server is an endpoint beside the one whose protocol the path speaks, and stores the same: no cell of the path is
    /// that of an endpoint, which might be another machine's.
    pub is_beside_protocol: bool,
    pub sharing: Sharing,
    /// Roles that are charged to one control group with the proxy, under a quota.
    pub with_proxy: Vec<Role>,
}

impl<'a> Machines<'a> {
    fn new(client: &'a Inventory, collected: &'a RunData) -> Self {
        let server = collected.server.as_ref().map(|(facts, inventory)| (facts, inventory));
        let sharing = Sharing::new(
            client,
            server.map(|(facts, _)| facts),
            one_group(collected, Role::Client, Role::Server),
        );
        let proxy = collected.proxy.as_ref().map(|(facts, inventory)| (facts, inventory));
        let with_proxy = [Role::Client, Role::Server]
            .into_iter()
            .filter(|role| one_group(collected, *role, Role::Proxy))
            .collect();
        let is_of_endpoint = |data: &CellData| {
            data.cell.cut == Cut::Path && matches!(data.cell.target.form(), Target::Tcp { .. })
        };
        let is_beside_protocol = server.is_some() && !collected.cells.iter().any(is_of_endpoint);
        Self { client, server, proxy, is_beside_protocol, sharing, with_proxy }
    }

    /// Whether `role` is the only one on its machine.
    pub(crate) fn alone(&self, role: Role) -> bool {
        self.server.is_some() && self.roles_beside(role).len() == 1
    }

    /// The roles on the machine of `role`, itself included.
    pub(crate) fn roles_beside(&self, role: Role) -> Vec<Role> {
        let boot_id = |inventory: &Inventory| {
            let known = inventory.host.boot_id.clone().filter(|id| !id.is_empty());
            known.filter(|_| !inventory.has_clients_elsewhere())
        };
        let own = self.inventory(role).and_then(boot_id);
        let shares = |other: &Role| {
            let with_proxy = role == Role::Proxy || *other == Role::Proxy;
            let same = self.inventory(*other).and_then(boot_id).is_some_and(|id| Some(id) == own);
            *other == role || if with_proxy { same } else { self.sharing.one_machine }
        };
        [Role::Client, Role::Proxy, Role::Server].into_iter().filter(shares).collect()
    }

    /// Whether a quota that `role` is charged under is another role's too.
    pub(crate) fn shares_group(&self, role: Role) -> bool {
        let with_proxy =
            self.with_proxy.contains(&role) || (role == Role::Proxy && !self.with_proxy.is_empty());
        with_proxy || (role != Role::Proxy && self.sharing.one_group)
    }

    /// The inventory of the machine on which `role` runs.
    pub(crate) fn inventory(&self, role: Role) -> Option<&'a Inventory> {
        match role {
            Role::Client => Some(self.client),
            Role::Server => self.server.map(|(_, inventory)| inventory),
            Role::Proxy => self.proxy.map(|(_, inventory)| inventory),
        }
    }

    fn hosts(&self) -> Vec<HostSummary> {
        let client = HostSummary { roles: vec![Role::Client], inventory: self.client.clone(), server: None };
        let server = self.server.map(|(facts, inventory)| HostSummary {
            roles: vec![Role::Server],
            inventory: inventory.clone(),
            server: Some(facts.clone()),
        });
        let proxy = self.proxy.map(|(_, inventory)| HostSummary {
            roles: vec![Role::Proxy],
            inventory: inventory.clone(),
            server: None,
        });
        std::iter::once(client).chain(proxy).chain(server).collect()
    }
}

/// Whether two roles are charged to one control group under a quota. Groups of other names, and groups whose
/// quotas differ (two containers may both see themselves at the root), are apart.
fn one_group(collected: &RunData, one: Role, other: Role) -> bool {
    collected.cells.iter().any(|data| {
        let group = |role: Role| {
            let delta = data.deltas.iter().find(|delta| delta.role == role)?;
            Some((delta.group_path.as_deref()?, delta.cgroup.as_ref()?.quota_cpus?))
        };
        group(one).zip(group(other)).is_some_and(|(ours, theirs)| {
            ours.0 == theirs.0 && (ours.1 - theirs.1).abs() <= f64::EPSILON * ours.1
        })
    })
}

/// The planned segments, and the CPUs of a machine that roles share, or that other programs used meanwhile.
fn path_segments(planned: &[Segment], sharing: Sharing, cells: &[CellSummary]) -> Vec<Segment> {
    let is_disturbed = cells.iter().any(|cell| has(cell, FOREIGN_LOAD));
    let with_machine = sharing.one_machine || is_disturbed;
    let on_path =
        |segment: &Segment| planned.contains(segment) || (with_machine && *segment == Segment::HostCpu);
    Segment::ALL.iter().copied().filter(on_path).collect()
}

#[cfg(test)]
mod cell_tests;
#[cfg(test)]
mod tests;
