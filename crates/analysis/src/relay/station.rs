//! Roles of the experiment that share the CPUs of a machine: these are one station, and what one role uses the others lack.
//!
//! Not here: quotas of control groups, which the roles do not tell.

use super::whole::name;
use crate::diagnose::Judged;
use crate::rules::{Basis, Stance, Verdict, rule};
use crate::text;
use narrows_model::relay::{RelayMachine, RelaySweep};
use narrows_model::summary::{RelayPointSummary, RelayRoleSummary, RelaySummary};
use narrows_model::units::ratio;
use narrows_model::{Segment, diagnosis::Evidence};
use std::collections::{BTreeMap, BTreeSet};

/// From this share of its CPUs a station is full, and a role's thread of one core.
const FULL_RATIO: f64 = 0.9;
/// The rule of summaries that says the same.
const CODE: &str = "host-cpu-full";
/// The rule that has the law over calls, which is told of a full station too.
const LAW_CODE: &str = "per-call-bound";
const ROLES: [Segment; 3] = [Segment::ClientCpu, Segment::ProxyCpu, Segment::ServerCpu];

/// Whether two roles were played on one machine: by their boot ids; by the names of their hosts where one does not tell.
pub(super) fn is_one_machine(a: &RelayRoleSummary, b: &RelayRoleSummary) -> bool {
    let id = |role: &RelayRoleSummary| role.machine.as_ref().and_then(|machine| machine.boot_id.clone());
    match (id(a), id(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.host == b.host,
    }
}

/// Roles whose CPU sets overlap.
struct Station<'a> {
    roles: Vec<&'a RelayRoleSummary>,
    cpus: BTreeSet<u32>,
}

impl<'a> Station<'a> {
    /// The roles that share CPUs with `first`, themselves or through others.
    fn around(first: &'a RelayRoleSummary, point: &'a RelayPointSummary) -> Option<Self> {
        let mut station = Self { roles: vec![first], cpus: cpus(first)?.iter().copied().collect() };
        loop {
            let other = point.roles.iter().find(|other| {
                let is_new = station.roles.iter().all(|known| known.role != other.role);
                let overlaps =
                    || cpus(other).is_some_and(|cpus| cpus.iter().any(|cpu| station.cpus.contains(cpu)));
                is_new && is_one_machine(first, other) && overlaps()
            });
            let Some(other) = other else { break };
            station.roles.push(other);
            station.cpus.extend(cpus(other).into_iter().flatten());
        }
        station.roles.sort_by_key(|role| role.role);
        (station.roles.len() > 1).then_some(station)
    }

    fn busy(&self) -> f64 {
        self.roles.iter().map(|role| role.busy_ratio).sum()
    }

    fn load(&self) -> Option<f64> {
        ratio(self.busy(), self.cpus.len() as f64)
    }

    /// What fills it, by role; `None` where it is not full, or where a role's one thread is: that one has what it needs.
    fn full(&self, id: &str) -> Option<Verdict> {
        let load = self.load().filter(|load| *load >= FULL_RATIO)?;
        if self.roles.iter().any(|role| role.busy_ratio >= FULL_RATIO) {
            return None;
        }
        let demand =
            |role: &&RelayRoleSummary| format!("{} {}", name(role.role), text::cpus(role.busy_ratio));
        let text = format!(
            "{id}: {} of {} that they share ({})",
            self.roles.iter().map(demand).collect::<Vec<_>>().join(", "),
            text::cpus(self.cpus.len() as f64),
            text::percent(load)
        );
        let verdict = Verdict::on(Segment::HostCpu, id, Stance::Limits, Basis::Utilisation, load.min(1.0));
        Some(verdict.because(
            text,
            "CPU time of the roles' threads, their CPU sets",
            "mpstat -P ALL 1; taskset -p PID",
        ))
    }
}

fn cpus(role: &RelayRoleSummary) -> Option<&[u32]> {
    let known = |machine: &&RelayMachine| !machine.affinity_cpus.is_empty() && machine.boot_id.is_some();
    role.machine.as_ref().filter(known).map(|machine| machine.affinity_cpus.as_slice())
}

/// The points of `sweep` at which a shared station is full, with the verdict on each.
fn full_points(relay: &RelaySummary, sweep: RelaySweep) -> BTreeMap<String, Verdict> {
    let of_point = |point: &RelayPointSummary| {
        let id = point.cell.0.clone();
        let mut found = point.roles.iter().filter_map(|role| Station::around(role, point)?.full(&id));
        found.next().map(|verdict| (id.clone(), verdict))
    };
    relay.points.iter().filter(|point| point.sweep == sweep).filter_map(of_point).collect()
}

/// What the rules said of `sweep`, with the shared CPUs in place of the roles' own where they are full: a role is then
/// neither the limit nor cleared, for what it uses depends on what the others leave it.
pub(super) fn with_stations(relay: &RelaySummary, sweep: RelaySweep, judged: Vec<Judged>) -> Vec<Judged> {
    let Some(rule) = rule(CODE) else { return judged };
    let mut full = full_points(relay, sweep);
    // That calls wait, where no role's CPU is busy for half of the time, is what shared CPUs explain.
    let is_of_role = |known: &Judged| {
        let of_role = ROLES.contains(&known.verdict.segment) || known.code == LAW_CODE;
        of_role && known.verdict.stance != Stance::Notes
    };
    let (dropped, mut kept): (Vec<Judged>, Vec<Judged>) =
        judged.into_iter().partition(|known| is_of_role(known) && full.contains_key(&known.verdict.cell));
    for known in dropped.into_iter().filter(|known| known.code == LAW_CODE) {
        let law: Option<Evidence> = known.verdict.evidence.into_iter().next();
        if let Some(verdict) = full.get_mut(&known.verdict.cell) {
            verdict.evidence.extend(law.filter(|law| !verdict.evidence.contains(law)));
        }
    }
    kept.extend(full.into_values().map(|verdict| Judged { code: rule.code, slug: rule.slug, verdict }));
    kept
}

/// Whether every role of the experiment ran on one machine.
pub(super) fn share_a_machine(relay: &RelaySummary) -> bool {
    let mut roles = relay.points.iter().flat_map(|point| &point.roles);
    roles.next().is_some_and(|first| roles.all(|role: &RelayRoleSummary| is_one_machine(first, role)))
}
