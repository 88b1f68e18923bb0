//! Judgements that several rules make in the same way: a rate against a ceiling, a part of the time of one request,
//! a CPU against its capacity.

use super::{Basis, Stance, Tier, Verdict};
use crate::summary::laws;
use crate::summary::{IN_FLIGHT_BELOW, IN_FLIGHT_MIN_RATIO, LITTLE_LAW_VIOLATED};
use crate::text;
use crate::view::{Ceiling, View, time_per_op_s};
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::summary::{CellSummary, CpuBasis, RoleCpu};
use narrows_model::units::ratio;
use narrows_model::workload::SyncPolicy;
use narrows_model::{Cut, Segment};

/// From this share of a measured ceiling a segment counts as full: cuts repeat within a few percent, and a stage that
/// is full is held under its ceiling by what lies around it.
pub(super) const FULL_RATIO: f64 = 0.9;
/// From this share of a CPU's capacity it counts as full.
pub(super) const CPU_FULL_RATIO: f64 = 0.95;
/// Above this share of a ceiling, or of the time of one request, the cut did not do what the path does (a cache, a
/// read-ahead or a buffer helps the path): it is no measure of the segment then.
pub(super) const BEYOND_RATIO: f64 = 1.25;
/// A path this much above a ceiling has raised it: steady cells repeat within 3 %.
const RAISED_RATIO: f64 = 1.03;
/// From this share of the time of one request a segment dominates it.
pub(super) const DOMINANT_RATIO: f64 = 0.5;

/// Whether the cell has one request in flight, so that time is attributed instead of rates compared.
pub(super) fn is_single(cell: &CellSummary) -> bool {
    cell.in_flight.configured == 1
}

/// Relative standard error of a cell's rate; `None` without an interval.
///
/// A 95 % interval is taken as two standard errors to each side, a little wide for few samples.
pub(super) fn error_ratio(cell: &CellSummary) -> Option<f64> {
    Some(cell.interval.as_ref()?.half_width_ratio(cell.rate_bytes_per_s?.0)? / 2.0)
}

/// Error of a ratio of two rates.
pub(super) fn joint_error(a: &CellSummary, b: &CellSummary) -> Option<f64> {
    Some(error_ratio(a)?.hypot(error_ratio(b)?))
}

/// What a statement rests on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a> {
    pub counter: &'a str,
    pub command: &'a str,
}

/// Judges a rate of the path against a ceiling measured at the same settings.
pub(super) fn against_ceiling(
    segment: Segment,
    cell: &CellSummary,
    ceiling: Ceiling<'_>,
    told: fn(f64) -> String,
    shown: Shown<'_>,
) -> Option<Verdict> {
    let rate = cell.rate_bytes_per_s?.0;
    carried_against(Carried { segment, cell, rate }, ceiling, told, shown)
}

/// What a segment carried of a cell's load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried<'a> {
    pub segment: Segment,
    pub cell: &'a CellSummary,
    /// Bytes a second that passed the segment.
    pub rate: f64,
}

/// Judges the rate that passed a segment against its ceiling.
pub(super) fn carried_against(
    carried: Carried<'_>,
    ceiling: Ceiling<'_>,
    told: fn(f64) -> String,
    shown: Shown<'_>,
) -> Option<Verdict> {
    let Carried { segment, cell, rate } = carried;
    let load = ratio(rate, ceiling.bytes_per_s).filter(|load| *load <= BEYOND_RATIO)?;
    let error = joint_error(cell, ceiling.cell);
    if load > raised_from(cell, ceiling.cell) {
        return None; // The cut did not reach what the segment carries, and the path shows no more than that.
    }
    let stance = if load >= FULL_RATIO { Stance::Limits } else { Stance::Clears };
    let settings = match (ceiling.raised, ceiling.same_settings) {
        (true, _) => "at its best block and depth",
        (false, true) => "at the same settings",
        (false, false) => "at the same block size",
    };
    let text = format!(
        "{} moves {}, {} of the {} that {} carried {settings}",
        cell.id,
        told(rate),
        text::percent(load),
        told(ceiling.bytes_per_s),
        ceiling.cell.cut.name(),
    );
    let verdict = Verdict::on(segment, &cell.id, stance, Basis::Utilisation, load);
    convicting(verdict.within(error).because(text, shown.counter, shown.command), ceiling)
}

/// From which share of a ceiling the path has raised it: above what noise explains, which is two standard errors, and
/// half the range of each cell's rounds where it was too short for an interval; a turn of either queue it may be in any
/// case.
fn raised_from(cell: &CellSummary, cut: &CellSummary) -> f64 {
    let half_range = |cell: &CellSummary| cell.steadiness.map_or(0.0, |seen| seen.range_ratio / 2.0);
    let noise = match joint_error(cell, cut) {
        Some(error) => 2.0 * error,
        None => half_range(cell) + half_range(cut),
    };
    let of_turns = 2.0 * laws::turn_error(cell).hypot(laws::turn_error(cut));
    (1.0 + noise.max(of_turns)).clamp(RAISED_RATIO, BEYOND_RATIO)
}

/// The verdicts of a judgement that needs a network between client and storage, one a regime.
pub(super) fn over_network(
    view: &View<'_>,
    judge: fn(&View<'_>, &CellSummary) -> Option<Verdict>,
) -> Vec<Verdict> {
    if !view.has_network() {
        return Vec::new();
    }
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

/// Notes on cells that have something in common, the first few with their numbers.
pub(super) fn notes<'v>(
    cells: impl Iterator<Item = &'v CellSummary>,
    counter: &str,
    told: impl Fn(&CellSummary) -> String,
) -> Vec<Verdict> {
    const TOLD_MAX: usize = 3;
    let note = |(index, cell): (usize, &CellSummary)| {
        let note = Verdict::note(Segment::Unknown, &cell.id, Severity::Warning);
        if index < TOLD_MAX { note.because(told(cell), counter, "") } else { note }
    };
    cells.enumerate().map(note).collect()
}

/// The verdict, unless it blames a segment by a cut that a CPU or a cap on the load held back: such a cut's rate is none
/// of the segment's.
/// As a lower bound it still clears.
pub(super) fn convicting(verdict: Verdict, ceiling: Ceiling<'_>) -> Option<Verdict> {
    let full = |cpu: &RoleCpu| is_cpu_full(cpu, ceiling.cell);
    let cpu_bound = ceiling.cell.cpu.values().any(full);
    let held = cpu_bound || super::offered_load::is_held(ceiling.cell);
    (verdict.stance != Stance::Limits || !held).then_some(verdict)
}

/// Judges a part of the time that one request takes at depth 1.
pub(super) fn time_share(
    segment: Segment,
    cell: &CellSummary,
    part_s: f64,
    what: &str,
    shown: Shown<'_>,
) -> Option<Verdict> {
    let whole_s = time_per_op_s(cell)?;
    let share = ratio(part_s, whole_s).filter(|share| *share <= BEYOND_RATIO)?.clamp(0.0, 1.0);
    let stance = if share >= DOMINANT_RATIO { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{what} is {} of the {} that one request takes in {} ({})",
        text::seconds(part_s),
        text::seconds(whole_s),
        cell.id,
        text::percent(share),
    );
    let verdict = Verdict::on(segment, &cell.id, stance, Basis::TimeShare, share);
    let gain = (share < 1.0).then(|| 1.0 / (1.0 - share));
    Some(verdict.within(error_ratio(cell)).gains(gain).because(text, shown.counter, shown.command))
}

/// CPU seconds of a role, the time that a quota held it back included.
pub(super) fn cpu_and_throttled_s(cpu: &RoleCpu) -> f64 {
    cpu.user_s + cpu.system_s + cpu.throttled_s.unwrap_or(0.0)
}

/// Judges one role's CPU: its share of the capacity, and at depth 1 its share of the time of one request.
pub(super) fn role_cpu(segment: Segment, cell: &CellSummary, role: Role, command: &str) -> Option<Verdict> {
    let cpu = View::cpu(cell, role)?;
    let full = is_cpu_full(cpu, cell);
    let counter = counter(cpu);
    if is_single(cell) && !full {
        let ops = cell.ops_per_s?.0 * cell.elapsed_s.last_done;
        let part_s = ratio(cpu_and_throttled_s(cpu), ops)?;
        let polling = if cpu.polling_s.is_some() { " without its polling threads" } else { "" };
        let what = format!("CPU of the {}{polling}", name(role));
        return time_share(segment, cell, part_s, &what, Shown { counter, command });
    }
    let load = if full { cpu.busy_ratio.max(CPU_FULL_RATIO) } else { cpu.busy_ratio };
    let stance = if full { Stance::Limits } else { Stance::Clears };
    let verdict = Verdict::on(segment, &cell.id, stance, Basis::Utilisation, load);
    let text = format!(
        "{}: the {} uses {} of {} ({}){}{}{}",
        cell.id,
        name(role),
        text::cpus(cpu.busy_ratio * cpu.capacity_cpus),
        text::cpus(cpu.capacity_cpus),
        text::percent(cpu.busy_ratio),
        polling_text(cpu, cell),
        throttled_text(cpu),
        threads_text(cpu, cell, role, full),
    );
    Some(verdict.within(error_ratio(cell)).because(text, counter, command))
}

/// Whether a role's CPU is full, by what it uses or by its quota.
pub(super) fn is_cpu_full(cpu: &RoleCpu, cell: &CellSummary) -> bool {
    cpu.busy_ratio >= CPU_FULL_RATIO || throttled_full(cpu, cell)
}

/// Whether what a role uses for one connection may be one full thread, however many CPUs are idle.
pub(super) fn fills_a_thread(cpu: &RoleCpu, cell: &CellSummary) -> bool {
    /// From this many CPUs used on.
    const THREAD_FULL_CPUS: f64 = 0.9;
    let one_connection = cell.requested.workers == 1 && cell.clients == 1;
    one_connection && cpu.busy_ratio * cpu.capacity_cpus >= THREAD_FULL_CPUS
}

/// What remains undecided where a low share of many CPUs may be one full thread: then `whole`, the role's machine, is
/// named, but only when nothing else limits.
pub(super) fn one_thread(
    whole: Segment,
    cell: &CellSummary,
    role: Role,
    verdict: &Verdict,
    command: &str,
) -> Option<Verdict> {
    let cpu = View::cpu(cell, role)?;
    let used = cpu.busy_ratio * cpu.capacity_cpus;
    let cleared = verdict.stance == Stance::Clears && verdict.basis == Basis::Utilisation;
    (cleared && fills_a_thread(cpu, cell)).then(|| {
        let text = format!(
            "{}: the {} uses {} of {} for one connection: whether the one thread behind it is full is undecided",
            cell.id,
            name(role),
            text::cpus(used),
            text::cpus(cpu.capacity_cpus),
        );
        let undecided = Verdict::on(whole, &cell.id, Stance::Limits, Basis::Utilisation, used.min(1.0));
        let counter = format!("CPU time of the {}", name(role));
        undecided.in_tier(Tier::Fallback).because(text, &counter, command)
    })
}

/// Whether a quota held the role back for a tenth of the time while it used most of it, or ran out in half of its periods:
/// what was used beyond the quota before the window is paid in it, with little use and none to spare, and the time for
/// which it is still held back at the window's end is not counted yet.
fn throttled_full(cpu: &RoleCpu, cell: &CellSummary) -> bool {
    const THROTTLED_RATIO: f64 = 0.10;
    const BUSY_RATIO: f64 = 0.80;
    let held = cpu.throttled_s.is_some_and(|held_s| held_s >= cell.elapsed_s.last_done * THROTTLED_RATIO);
    let ran_out = cpu.throttled_period_ratio.is_some_and(|share| share >= DOMINANT_RATIO);
    ran_out || (held && cpu.busy_ratio >= BUSY_RATIO)
}

/// What its polling threads use besides.
fn polling_text(cpu: &RoleCpu, cell: &CellSummary) -> String {
    let used = cpu.polling_s.and_then(|polling_s| ratio(polling_s, cell.elapsed_s.last_done));
    used.map_or_else(String::new, |cpus| format!(", and its polling threads {} more", text::cpus(cpus)))
}

fn throttled_text(cpu: &RoleCpu) -> String {
    match cpu.throttled_s.filter(|held| *held > 0.0) {
        Some(held) => format!(", held back by its quota for {}", text::seconds(held)),
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

fn counter(cpu: &RoleCpu) -> &'static str {
    match cpu.basis {
        CpuBasis::Cgroup => "cgroup CPU usage and throttled time",
        CpuBasis::Process => "CPU time of the processes (/proc/PID/stat)",
        CpuBasis::Thread => "CPU time of the load's threads (getrusage)",
        CpuBasis::Host => "CPU time of the machine (/proc/stat)",
    }
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Client => "client",
        Role::Proxy => "proxy",
        Role::Server => "server",
    }
}

/// How many times faster the path gets at most when one segment is relieved: to the lowest of the ceilings of
/// `others` and of what the CPUs allow.
pub(super) fn relief(view: &View<'_>, cell: &CellSummary, others: &[Cut]) -> Option<f64> {
    relief_of(view, cell, others, None)
}

/// The same where the CPU of `relieved` is what is relieved: it bounds nothing then.
pub(super) fn relief_of(
    view: &View<'_>,
    cell: &CellSummary,
    others: &[Cut],
    relieved: Option<Role>,
) -> Option<f64> {
    let rate = cell.rate_bytes_per_s?.0;
    let ceilings = others.iter().filter_map(|cut| view.ceiling(*cut, cell)).map(|found| found.bytes_per_s);
    let other = cell.cpu.iter().filter(|(role, cpu)| Some(**role) != relieved && cpu.busy_ratio > 0.0);
    let cpus = other.map(|(_, cpu)| rate / cpu.busy_ratio.min(1.0));
    let next = ceilings.chain(cpus).reduce(f64::min)?;
    ratio(next, rate).filter(|gain| *gain > 1.0)
}

/// The host of the server as a command needs it.
pub(super) fn server_host(view: &View<'_>) -> String {
    let address = view.server().map(|server| server.address.as_str());
    address.and_then(|text| text.rsplit_once(':')).map_or("SERVER", |(host, _)| host).to_owned()
}

/// Whether as many requests were in flight as were asked for, by Little's law; `None` where that is not known. A cap that
/// held the rate keeps them out, and so does the schedule of an open loop, whose depth is only the most; nothing else is in
/// flight during the sync at a trial's end.
pub(super) fn as_asked(cell: &CellSummary) -> Option<bool> {
    let measured = cell.in_flight.measured?;
    let scheduled = cell.offered_ops_per_s.is_some();
    let synced = cell.requested.sync == SyncPolicy::AtEnd;
    let below = measured < cell.in_flight.configured as f64 * IN_FLIGHT_MIN_RATIO;
    if ((scheduled || synced) && below) || (!scheduled && super::offered_load::is_held(cell)) {
        return Some(false);
    }
    Some(!cell.flags.iter().any(|flag| flag == IN_FLIGHT_BELOW || flag == LITTLE_LAW_VIOLATED))
}

/// A metric of a cell; `None` where it was not measured.
pub(super) fn metric(cell: &CellSummary, id: &str) -> Option<f64> {
    cell.metrics.iter().find(|metric| metric.id == id).map(|metric| metric.value)
}

/// Share of a cell's bytes that reached the device, 1 where they are not counted: the others cost it nothing.
pub(super) fn device_share(cell: &CellSummary) -> f64 {
    let carried =
        cell.bytes.device.and_then(|device| ratio(device.as_f64(), cell.bytes.application.as_f64()));
    carried.unwrap_or(1.0).min(1.0)
}

/// Whether less than half of a cell's bytes reached the wire or the device: its load never got there.
pub(super) fn is_cached(cell: &CellSummary) -> bool {
    let application = cell.bytes.application.as_f64();
    [cell.bytes.wire, cell.bytes.device]
        .into_iter()
        .flatten()
        .filter_map(|bytes| ratio(bytes.as_f64(), application))
        .any(|carried| carried < DOMINANT_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;

    const SHOWN: Shown<'static> = Shown { counter: "a counter", command: "" };

    fn single(summary: &narrows_model::Summary) -> &CellSummary {
        summary.cells.iter().find(|cell| cell.id == "path/read/4KiB/qd1/c1").expect("the grid has this cell")
    }

    #[test]
    fn half_of_the_time_dominates_and_less_does_not() {
        let summary = builtin("wan-10ms");
        let cell = single(&summary);
        let whole_s = time_per_op_s(cell).unwrap();
        let judged = |part: f64| time_share(Segment::Device, cell, whole_s * part, "part", SHOWN);
        assert_eq!(judged(0.51).unwrap().stance, Stance::Limits);
        assert_eq!(judged(0.49).unwrap().stance, Stance::Clears);
    }

    #[test]
    fn a_part_far_above_the_whole_judges_nothing() {
        let summary = builtin("wan-10ms");
        let cell = single(&summary);
        assert_eq!(time_share(Segment::Device, cell, 1.0, "part", SHOWN), None);
    }

    #[test]
    fn a_cut_that_a_quota_held_back_blames_nothing_and_still_clears() {
        let summary = builtin("ten-gigabit-nfs");
        let mut cut = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap().clone();
        let elapsed_s = cut.elapsed_s.last_done;
        let convicted = |cut: &CellSummary, stance: Stance| {
            let ceiling = Ceiling { cell: cut, bytes_per_s: 1.0, same_settings: true, raised: false };
            let verdict = Verdict::on(Segment::NetworkBandwidth, &cut.id, stance, Basis::Utilisation, 1.0);
            convicting(verdict, ceiling).is_some()
        };
        let server = cut.cpu.get_mut(&Role::Server).unwrap();
        // Periods of 100 ms in a window of 0.8 s: what is full reads as 0.88.
        (server.busy_ratio, server.throttled_s, server.throttled_period_ratio) = (0.88, None, Some(0.4));
        assert!(convicted(&cut, Stance::Limits));
        cut.cpu.get_mut(&Role::Server).unwrap().throttled_s = Some(elapsed_s * 0.3);
        assert!(!convicted(&cut, Stance::Limits) && convicted(&cut, Stance::Clears));
        // In debt from before the window: little used, and the quota out from period to period.
        let server = cut.cpu.get_mut(&Role::Server).unwrap();
        (server.busy_ratio, server.throttled_s) = (0.10, Some(0.0));
        assert!(convicted(&cut, Stance::Limits));
        cut.cpu.get_mut(&Role::Server).unwrap().throttled_period_ratio = Some(0.5);
        assert!(!convicted(&cut, Stance::Limits));
    }

    #[test]
    fn a_path_that_exceeds_its_cut_by_less_than_a_turn_of_their_queues_still_blames() {
        let summary = builtin("ten-gigabit-nfs");
        let mut cell = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap().clone();
        (cell.interval, cell.steadiness, cell.in_flight.measured) = (None, None, Some(8.0));
        cell.trials.truncate(1);
        let bytes_per_s = cell.rate_bytes_per_s.unwrap().0 / 1.08;
        let mut judged = |ops: f64| {
            cell.elapsed_s.last_done = ops / cell.ops_per_s.unwrap().0;
            let ceiling = Ceiling { cell: &cell, bytes_per_s, same_settings: true, raised: false };
            against_ceiling(Segment::DeviceBandwidth, &cell, ceiling, text::storage_rate, SHOWN)
        };
        // Ten turns: sqrt(2) x 8 / 80 = 0.14; a thousand: 0.0014.
        assert_eq!(judged(80.0).unwrap().stance, Stance::Limits);
        assert_eq!(judged(8_000.0), None);
    }

    #[test]
    fn a_cut_that_spread_more_than_the_path_exceeds_it_still_blames() {
        use narrows_model::summary::Steadiness;
        let summary = builtin("ten-gigabit-nfs");
        let mut cell = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap().clone();
        let mut cut = cell.clone();
        let bytes_per_s = cell.rate_bytes_per_s.unwrap().0 / 1.10;
        let mut judged = |range_ratio: f64| {
            let rounds = Steadiness { round_count: 5, of_trials: false, range_ratio, drift_ratio: 0.0 };
            (cell.interval, cut.interval, cut.steadiness) = (None, None, Some(rounds));
            cell.steadiness = Some(Steadiness { range_ratio: 0.02, ..rounds });
            let ceiling = Ceiling { cell: &cut, bytes_per_s, same_settings: true, raised: false };
            against_ceiling(Segment::DeviceIops, &cell, ceiling, text::storage_rate, SHOWN)
        };
        assert_eq!(judged(0.21).unwrap().stance, Stance::Limits);
        assert_eq!(judged(0.05), None);
    }

    #[test]
    fn an_open_loop_is_at_its_depth_only_with_nine_tenths_of_it_in_flight() {
        let summary = builtin("wan-10ms");
        let mut cell = single(&summary).clone();
        cell.offered_ops_per_s = cell.ops_per_s.map(|rate| narrows_model::OpsPerSec(rate.0 * 2.0));
        let mut at = |measured| {
            cell.in_flight.measured = measured;
            as_asked(&cell)
        };
        assert_eq!(
            [at(Some(0.14)), at(Some(0.89)), at(Some(0.91)), at(None)],
            [Some(false), Some(false), Some(true), None]
        );
    }

    #[test]
    fn a_trial_that_mostly_syncs_at_its_end_is_not_at_its_depth() {
        let summary = builtin("wan-10ms");
        let mut cell = single(&summary).clone();
        cell.requested.sync = SyncPolicy::AtEnd;
        let mut at = |measured| {
            cell.in_flight.measured = Some(measured);
            as_asked(&cell)
        };
        assert_eq!([at(0.18), at(0.95)], [Some(false), Some(true)]);
    }

    #[test]
    fn a_ceiling_far_below_the_path_judges_nothing() {
        let summary = builtin("ten-gigabit-nfs");
        let cell = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap();
        let ceiling = Ceiling {
            cell,
            bytes_per_s: cell.rate_bytes_per_s.unwrap().0 / 2.0,
            same_settings: true,
            raised: false,
        };
        let judged = against_ceiling(Segment::DeviceBandwidth, cell, ceiling, text::storage_rate, SHOWN);
        assert_eq!(judged, None);
    }
}
