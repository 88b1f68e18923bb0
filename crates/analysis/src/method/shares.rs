//! The parts of a local load's time, by segment.
//!
//! A load with one request in flight has them one after the other: they are shares of its threads' time. Of a load with more
//! of them some are on a CPU while the device serves others: then what was busy for the most of the time limits (utilisation
//! law), however long threads waited for it.
//! Not here: which share is large enough to name, which is the rule's to say.

use super::device;
use crate::facts::{is_behind_daemon, is_on_memory};
use crate::text;
use crate::thresholds::DOMINANT_RATIO;
use crate::verdict::FLUSHES;
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::printable::one_line;
use narrows_model::summary::{CellSummary, DaemonLoad, TimeShares};
use narrows_model::units::ratio;
use narrows_model::workload::Access;
use narrows_model::{Cut, Segment};

/// What the time of requests to a FUSE mount is spent on that neither a CPU of the load nor the device explains.
const DAEMON_TIME: &str =
    "the load waited for the process that serves the file system (FUSE), and for what it waits for,";

/// What requests to a mount of another machine wait for, however fast that is.
const NETWORK_TIME: &str = "the load waited for round trips of the network behind the mount";

/// What the load's threads, or those that they waited for, waited for.
const OTHERS_TIME: &str = "other programs used the CPUs that the load was ready for";

/// What threads wait for on a file system without a device, which has nothing else to wait for.
const LOCK_TIME: &str =
    "the load's threads waited for one another in the file system, whose writes lock the file,";

/// Below this share of one CPU, a daemon that answers one request after the other spends its time elsewhere.
const IDLE_RATIO: f64 = 0.2;
/// A daemon that has CPU time left: what it serves comes late, or it lets no more pass.
const IDLE_DAEMON: &str = "which waits or limits the rate, for its CPU is idle";

/// From this share of what the device reaches alone, moved while it was busy, its time is that of its bytes: between the
/// requests of a load that waits for each a device is idle for moments that its busy time still counts.
const STREAMING_RATIO: f64 = 0.8;

/// A part of the time of a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimePart {
    pub segment: Segment,
    /// Share of the time of the load's threads, or of the time in which it was busy, 0 to 1.
    pub share: f64,
    /// At most so many times the rate without this part; `None` where nothing is left that would take time.
    pub gain_max_ratio: Option<f64>,
    /// Which part of the segment, where the counters show one.
    pub scope: Option<&'static str>,
    /// What happened in that time.
    pub what: &'static str,
    pub counter: &'static str,
    pub command: &'static str,
}

/// The parts of a load's time, and how much of it they explain.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimeParts {
    /// Each segment once, the largest first. One after the other they sum to at most 1; at once each is at most 1.
    pub parts: Vec<TimePart>,
    /// Share of the load's time that they explain, 0 to 1.
    pub explained_ratio: f64,
}

/// The parts of the time of `cell`, which ended on this machine; `None` where its time is not known.
pub(crate) fn parts(view: &SummaryView<'_>, cell: &CellSummary) -> Option<TimeParts> {
    let shares = cell.time_shares?;
    let mut found = at_once(view, cell, &shares).unwrap_or_else(|| in_series(view, cell, &shares));
    found.parts.sort_by(|a, b| b.share.total_cmp(&a.share));
    for part in &mut found.parts {
        part.scope = scope(cell, &shares, part);
    }
    Some(found)
}

/// Which part of a segment took the time: the device's flushes, and whether the daemon's CPU did.
fn scope(cell: &CellSummary, shares: &TimeShares, part: &TimePart) -> Option<&'static str> {
    if part.segment.is_within(Segment::Device) {
        let flushes = shares.flush_ratio.is_some_and(|flushing| flushing >= part.share * DOMINANT_RATIO);
        return flushes.then_some(FLUSHES);
    }
    let daemon = cell.daemon.as_ref().filter(|_| part.segment == Segment::ClientDaemon)?;
    let is_idle = daemon.busiest.runnable_ratio < IDLE_RATIO && daemon.used_cpus < IDLE_RATIO;
    is_idle.then_some(IDLE_DAEMON)
}

/// What was busy for how much of the time, of a load with several requests in flight; `None` for any other, where the busy time of
/// the device or of the CPUs is not known, and where a quota, a daemon or locks are a part of it too.
fn at_once(view: &SummaryView<'_>, cell: &CellSummary, shares: &TimeShares) -> Option<TimeParts> {
    let hosts = &view.summary.hosts;
    let is_plain = !is_behind_daemon(hosts, cell) && !is_on_memory(hosts, cell);
    let is_throttled = shares.throttled_ratio.is_some_and(|share| share > 0.0);
    if cell.in_flight.configured <= 1 || is_throttled || !is_plain {
        return None;
    }
    let device = cell.device_busy_ratio?.clamp(0.0, 1.0);
    let cpus = cell.cpu.get(&Role::Client)?.busy_ratio.clamp(0.0, 1.0);
    let (_, others) = cpu_shares(cell, shares);
    let mut parts = on_cpu(view, cell, cpus, CpuWords::AT_ONCE);
    parts.extend(part(device_segment(view, cell, 1.0), device, "the device was busy"));
    for part in &mut parts {
        // Without it the rest of its own resource and the other one are left.
        let (own, other) =
            if part.segment.is_within(Segment::Device) { (device, cpus) } else { (cpus, device) };
        part.gain_max_ratio = ratio(1.0, (own - part.share).max(other));
    }
    parts.extend(part(Segment::HostCpu, others, OTHERS_TIME));
    // Time in which neither was busy is not explained: that of threads, or where the two are busy without regard to each other.
    let both_idle = (1.0 - device) * (1.0 - cpus);
    Some(TimeParts { parts, explained_ratio: 1.0 - shares.other_ratio.min(both_idle) })
}

/// The parts of the time of the load's threads.
fn in_series(view: &SummaryView<'_>, cell: &CellSummary, shares: &TimeShares) -> TimeParts {
    let (own, others) = cpu_shares(cell, shares);
    let mut parts = on_cpu(view, cell, own, CpuWords::IN_SERIES);
    parts.extend(part(Segment::HostCpu, others, OTHERS_TIME));
    parts.extend(part(Segment::ClientCpu, shares.throttled_ratio.unwrap_or(0.0), "a quota stopped the load"));
    let device = shares.device_ratio.unwrap_or(0.0);
    parts.extend(part(
        device_segment(view, cell, device),
        device,
        "the load waited while the device served requests",
    ));
    let network = shares.network_ratio.unwrap_or(0.0);
    parts.extend(part(Segment::NetworkLatency, network, NETWORK_TIME));
    if is_behind_daemon(&view.summary.hosts, cell) {
        // A request is in the daemon's hands from the call until its answer.
        parts.extend(part(Segment::ClientDaemon, shares.other_ratio, DAEMON_TIME));
    }
    if is_on_memory(&view.summary.hosts, cell) && cell.requested.workers > 1 {
        // Who has a lock is on a CPU or waits for one, as the others are that were not blocked by it.
        let foreign = ratio(others, own + others).unwrap_or(0.0);
        add_locks(&mut parts, shares.other_ratio * (1.0 - foreign));
        add_waits(&mut parts, shares.other_ratio * foreign);
    }
    for part in &mut parts {
        part.gain_max_ratio = ratio(1.0, 1.0 - part.share);
    }
    let explained_ratio = parts.iter().map(|part| part.share).sum();
    TimeParts { parts, explained_ratio }
}

/// Adds the time in which threads were blocked by the locks of a file system to its part, which is named for the larger.
fn add_locks(parts: &mut Vec<TimePart>, share: f64) {
    match parts.iter_mut().find(|part| part.segment == Segment::ClientFilesystem) {
        Some(own) => {
            own.what = if share > own.share { LOCK_TIME } else { own.what };
            own.share += share;
        }
        None => parts.extend(part(Segment::ClientFilesystem, share, LOCK_TIME)),
    }
}

/// Adds the time in which threads were blocked by locks of threads that waited for other programs.
fn add_waits(parts: &mut Vec<TimePart>, share: f64) {
    match parts.iter_mut().find(|part| part.segment == Segment::HostCpu) {
        Some(others) => others.share += share,
        None => parts.extend(part(Segment::HostCpu, share, OTHERS_TIME)),
    }
}

fn part(segment: Segment, share: f64, what: &'static str) -> Option<TimePart> {
    let (counter, command) = match segment {
        Segment::HostCpu => ("time that threads waited for a CPU (schedstat)", "top -b -n1"),
        Segment::ClientDaemon => (
            "time of the load's threads without that on a CPU and that of the device",
            "grep fuse /proc/mounts; top -H",
        ),
        Segment::NetworkLatency => {
            ("smallest round trip of the connections of the mount (TCP_INFO)", "ss -ti; ping SERVER")
        }
        segment if segment.is_within(Segment::Device) => {
            ("time with a request in flight at the device (/proc/diskstats)", "iostat -x 1")
        }
        _ => ("CPU time of the load's threads, and that of one copy a block", "perf top -p PID"),
    };
    (share > 0.0).then_some(TimePart {
        segment,
        share,
        gain_max_ratio: None,
        scope: None,
        what,
        counter,
        command,
    })
}

/// The share in which the load was on a CPU or waited for one that it used itself, and the share in which it waited for
/// other programs: in the proportion in which they kept the machine busy.
fn cpu_shares(cell: &CellSummary, shares: &TimeShares) -> (f64, f64) {
    let waiting = shares.cpu_wait_ratio.unwrap_or(0.0);
    let foreign = others_ratio(cell, Role::Client);
    (shares.on_cpu_ratio() + waiting * (1.0 - foreign), waiting * foreign)
}

/// The share of a machine's busy CPU time that other programs used, by the role that it has; 0 where that is not known.
pub(crate) fn others_ratio(cell: &CellSummary, role: Role) -> f64 {
    let of_role = cell.foreign_cpu.iter().find(|load| load.roles.contains(&role));
    of_role.and_then(|load| ratio(load.used_cpus, load.busy_cpus)).unwrap_or(0.0).min(1.0)
}

/// What is said of the time on a CPU.
#[derive(Debug, Clone, Copy)]
struct CpuWords {
    whole: &'static str,
    copies: &'static str,
    file_system: &'static str,
}

impl CpuWords {
    const IN_SERIES: Self = Self {
        whole: "the load's requests were on a CPU",
        copies: "copying between the page cache and the load",
        file_system: "file system and system calls on a CPU",
    };
    const AT_ONCE: Self = Self {
        whole: "the load kept the CPUs that it may use busy",
        copies: "copying between the page cache and the load kept the CPUs busy",
        file_system: "file system and system calls kept the CPUs busy",
    };
}

/// The time on a CPU, split into copies and the file system for a load through the page cache.
fn on_cpu(view: &SummaryView<'_>, cell: &CellSummary, share: f64, words: CpuWords) -> Vec<TimePart> {
    let Some(copies) = copy_ratio(view, cell) else {
        return part(Segment::ClientCpu, share, words.whole).into_iter().collect();
    };
    let memory = part(Segment::ClientMemory, share * copies, words.copies);
    let rest = share * (1.0 - copies);
    memory.into_iter().chain(part(Segment::ClientFilesystem, rest, words.file_system)).collect()
}

/// What copies take of the CPU time of a load through the page cache: that of the cut of copies for as many bytes, at most
/// all. `None` past the page cache, or where the cut was not measured.
fn copy_ratio(view: &SummaryView<'_>, cell: &CellSummary) -> Option<f64> {
    if cell.requested.access == Access::Direct {
        return None;
    }
    let copy = view.ceiling(Cut::MemoryCopy, cell)?.cell;
    let s_per_byte = |cell: &CellSummary| {
        let cpu = cell.cpu.get(&Role::Client)?;
        ratio(cpu.user_s + cpu.system_s, cell.bytes.application.as_f64())
    };
    ratio(s_per_byte(copy)?, s_per_byte(cell)?).map(|share| share.min(1.0))
}

/// The device's bandwidth where it moved, while it was busy, what it reaches at its best, alone or under any load of the path,
/// and of small blocks another one or more requests in flight showed that this is its best; else the device.
///
/// Behind other parts it is compared in its share of the time, `busy`; at once with them in all of it.
fn device_segment(view: &SummaryView<'_>, cell: &CellSummary, busy: f64) -> Segment {
    let alone = device::ceiling(view, cell).and_then(|found| {
        let is_small = found.cell.is_small_block();
        if is_small { device::streaming(view, found.cell) } else { view.best_of(found.cell.cut, found.cell) }
    });
    let best = alone.map(|alone| device::best_on_path(view, cell).map_or(alone, |path| path.max(alone)));
    let moved = device::moved_bytes_per_s(cell);
    let while_busy = moved.and_then(|moved| ratio(moved, busy));
    match while_busy.zip(best).and_then(|(moved, best)| ratio(moved, best)) {
        Some(load) if load >= STREAMING_RATIO => Segment::DeviceBandwidth,
        _ => Segment::Device,
    }
}

/// What the process that serves the file system did, in words.
pub(crate) fn daemon_text(daemon: &DaemonLoad) -> String {
    format!(
        "`{}` (pid {}) used {}; its busiest thread was on a CPU for {} of the time and waited for one for {}",
        one_line(&daemon.name),
        daemon.pid,
        text::cpus(daemon.used_cpus),
        text::percent(daemon.busiest.runnable_ratio - daemon.busiest.waiting_ratio),
        text::percent(daemon.busiest.waiting_ratio),
    )
}
