//! The CPU of a role against what it may use.

use super::{EvidenceSource, calls, time_share};
use crate::case::{Case, Cases, CpuSource, CpuUse, SharedStation};
use crate::facts::flags::{FOREIGN_LOAD, has};
use crate::text;
use crate::thresholds::{CPU_FREE_RATIO, CPU_FULL_RATIO, DOMINANT_RATIO, FULL_RATIO};
use crate::verdict::{Basis, SegmentVerdict, Stance, Tier};
use narrows_model::Segment;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, CpuBasis, RoleCpu};
use narrows_model::units::ratio;
use std::collections::BTreeMap;

/// One role's CPU, and a command that shows its counters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoleCpuTest<'s> {
    pub role: Role,
    pub segment: Segment,
    pub command: &'s str,
}

/// Evaluates the CPU of one role under each load: its share of the capacity, and at one request in flight its share of the time
/// of one request. Nothing is said where roles share CPUs that are full: what one uses there the others lack.
pub(crate) fn of_role<'c, 'a>(
    cases: &'c Cases<'a>,
    test: RoleCpuTest<'_>,
) -> Vec<(&'c Case<'a>, SegmentVerdict)> {
    let fullest = cases.table().map(|table| calls::fullest_of_sweeps(table, test.role)).unwrap_or_default();
    let apart = cases.loads().filter(|case| full_station(case).is_none());
    apart.filter_map(|case| Some((case, role_cpu(case, test, &fullest)?))).collect()
}

/// Whether nothing but what the role may use by itself can have limited its CPU: always where it shares no CPUs with another
/// role, and on shared ones the quota of its own group, or a CPU set smaller than what the roles share, that it filled.
pub(crate) fn is_charged_alone(
    cases: &Cases<'_>,
    case: &Case<'_>,
    verdict: &SegmentVerdict,
    role: Role,
) -> bool {
    let Some(view) = cases.view().filter(|view| view.sharing.one_station()) else { return true };
    let by_quota =
        case.cell().and_then(|cell| cell.cpu.get(&role)).is_some_and(|cpu| cpu.basis == CpuBasis::Cgroup);
    let set = match role {
        Role::Server => view.server().map(|server| server.affinity_cpus.len()),
        _ => view.inventory(Role::Client).map(|client| client.host.affinity_cpus.len()),
    };
    let by_set = set.is_some_and(|cpus| cpus > 0 && (cpus as f64) < view.sharing.capacity_cpus);
    verdict.stance == Stance::Limits && verdict.basis == Basis::Utilisation && (by_quota || by_set)
}

/// The verdict on one load; `fullest` has the observation of the same sweep at which the role's CPU is fullest, since a
/// sweep is evaluated as a whole: a role that is nearly full at one of its points is cleared at none.
fn role_cpu(
    case: &Case<'_>,
    test: RoleCpuTest<'_>,
    fullest: &BTreeMap<&str, (&str, f64)>,
) -> Option<SegmentVerdict> {
    let RoleCpuTest { role, segment, command } = test;
    let cpu = case.cpu.get(&role)?;
    let shown = EvidenceSource { counter: counter(cpu), command };
    if let Some(cell) = case.cell().filter(|_| case.is_single && !cpu.is_full) {
        let CpuSource::Counters(counters) = cpu.source else { return None };
        let is_open = waits_for_others(cell, counters, DOMINANT_RATIO);
        let polling = if counters.polling_s.is_some() { " without its polling threads" } else { "" };
        let what = format!("CPU of the {}{polling}", role.name());
        let verdict = time_share(segment, cell, cpu.s_per_op?, &what, shown)?;
        return Some(if is_open { open_unless_blamed(verdict) } else { verdict });
    }
    let of_sweep = fullest.get(case.id).filter(|_| !cpu.is_full);
    let (id, busy_ratio) = of_sweep.copied().unwrap_or((case.id, cpu.busy_ratio));
    let load = if cpu.is_full { busy_ratio.max(CPU_FULL_RATIO) } else { busy_ratio };
    let stance = match load {
        _ if cpu.is_full => Stance::Limits,
        load if load < CPU_FREE_RATIO && !is_taken(case, cpu) => Stance::Clears,
        _ => Stance::Open,
    };
    let text = match (cpu.source, case.cell()) {
        (CpuSource::Counters(counters), Some(cell)) => counted(counters, cell, role, cpu.is_full),
        (CpuSource::Given(of), _) => format!("{id}: {} {of} used", text::percent(busy_ratio)),
        (CpuSource::Counters(_), None) => return None,
    };
    let verdict = SegmentVerdict::new(segment, case.id, stance, Basis::Utilisation, load);
    let verdict = verdict.with_used(busy_ratio.min(1.0)).with_load_error(case.error_ratio);
    Some(verdict.with_evidence(text, shown.counter, shown.command))
}

/// Whether others took the CPU that a role wanted: what it used is less than what it needs then.
fn is_taken(case: &Case<'_>, cpu: &CpuUse<'_>) -> bool {
    let CpuSource::Counters(counters) = cpu.source else { return false };
    case.cell().is_some_and(|cell| waits_for_others(cell, counters, CPU_FREE_RATIO))
}

/// Whether a role whose cell other programs disturbed was runnable for this share of the time or more.
fn waits_for_others(cell: &CellSummary, cpu: &RoleCpu, least_ratio: f64) -> bool {
    has(cell, FOREIGN_LOAD) && cpu.waiting.is_some_and(|waiting| waiting.runnable_ratio >= least_ratio)
}

/// A verdict that clears nothing.
pub(crate) fn open_unless_blamed(verdict: SegmentVerdict) -> SegmentVerdict {
    let stance = if verdict.stance == Stance::Clears { Stance::Open } else { verdict.stance };
    SegmentVerdict { stance, ..verdict }
}

/// What a cell's counters say of a role.
fn counted(cpu: &RoleCpu, cell: &CellSummary, role: Role, full: bool) -> String {
    // A quota is exceeded by a little at times: there was no more to use than all of it.
    let busy_ratio = cpu.busy_ratio.min(1.0);
    format!(
        "{}: the {} uses {} of {} ({}){}{}{}",
        cell.id,
        role.name(),
        text::cpus(busy_ratio * cpu.capacity_cpus),
        text::cpus(cpu.capacity_cpus),
        text::percent(busy_ratio),
        polling_text(cpu, cell),
        throttled_text(cpu),
        threads_text(cpu, cell, role, full),
    )
}

/// The CPUs that roles share, where they are full and no role's one thread is: that one has what it needs.
pub(crate) fn full_station<'c>(case: &'c Case<'_>) -> Option<&'c SharedStation> {
    let is_full = |station: &&SharedStation| {
        let has_room = station.busy_cpus.iter().all(|(_, busy)| *busy < FULL_RATIO);
        has_room && station.load().is_some_and(|load| load >= FULL_RATIO)
    };
    case.stations.iter().find(is_full)
}

/// Whether what a role uses for one connection may be one full thread, however many CPUs are idle.
pub(crate) fn fills_a_thread(case: &Case<'_>, role: Role) -> bool {
    /// From this many CPUs used on.
    const THREAD_FULL_CPUS: f64 = 0.9;
    let used = case.cpu.get(&role).and_then(|cpu| cpu.used_cpus);
    case.is_one_connection && used.is_some_and(|used| used >= THREAD_FULL_CPUS)
}

/// What remains undecided where a low share of many CPUs may be one full thread: then `whole`, the role's machine, is
/// named, but only when nothing else limits.
pub(crate) fn one_thread(
    whole: Segment,
    case: &Case<'_>,
    test: RoleCpuTest<'_>,
    verdict: &SegmentVerdict,
) -> Option<SegmentVerdict> {
    let cpu = case.cpu.get(&test.role)?;
    let used = cpu.used_cpus?;
    let below_full = verdict.stance != Stance::Limits && verdict.basis == Basis::Utilisation;
    (below_full && fills_a_thread(case, test.role)).then(|| {
        let of = match cpu.source {
            CpuSource::Counters(counters) => format!(" of {}", text::cpus(counters.capacity_cpus)),
            CpuSource::Given(_) => String::new(),
        };
        let name = test.role.name();
        let text = format!(
            "{}: the {name} uses {}{of} for one connection: whether the single thread that serves it is full is \
            undecided",
            case.id,
            text::cpus(used),
        );
        let undecided = SegmentVerdict::new(whole, case.id, Stance::Limits, Basis::Utilisation, used.min(1.0));
        let counter = format!("CPU time of the {name}");
        undecided.without_used().with_tier(Tier::Fallback).with_evidence(text, &counter, test.command)
    })
}

/// What its polling threads use besides.
fn polling_text(cpu: &RoleCpu, cell: &CellSummary) -> String {
    let used = cpu.polling_s.and_then(|polling_s| ratio(polling_s, cell.elapsed_s.last_done));
    used.map_or_else(String::new, |cpus| format!(", and its polling threads {} more", text::cpus(cpus)))
}

fn throttled_text(cpu: &RoleCpu) -> String {
    match cpu.throttled_s.filter(|throttled| *throttled > 0.0) {
        Some(throttled) => format!(", throttled by its quota for {}", text::seconds(throttled)),
        None => String::new(),
    }
}

/// That the threads of the load are full, where these and not the machine's CPUs bound what the role can use.
fn threads_text(cpu: &RoleCpu, cell: &CellSummary, role: Role, full: bool) -> String {
    let threads = u64::from(cell.requested.workers) * u64::from(cell.clients);
    let bound = role == Role::Client && matches!(cpu.basis, CpuBasis::Process | CpuBasis::Thread);
    if !full || !bound || (cpu.capacity_cpus - threads as f64).abs() > f64::EPSILON {
        String::new()
    } else if threads == 1 {
        ": one worker thread is full".to_owned()
    } else {
        format!(": all {threads} worker threads are full")
    }
}

fn counter(cpu: &CpuUse<'_>) -> &'static str {
    let CpuSource::Counters(counters) = cpu.source else { return "CPU time of the role" };
    match counters.basis {
        CpuBasis::Cgroup => "cgroup CPU usage and throttled time",
        CpuBasis::Process => "CPU time of the processes (/proc/PID/stat)",
        CpuBasis::Thread => "CPU time of the load's threads (getrusage)",
        CpuBasis::Host => "CPU time of the machine (/proc/stat)",
        CpuBasis::Exporter => "CPU time of the machine (node_cpu_seconds_total of its node_exporter)",
    }
}
