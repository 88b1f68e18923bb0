//! CPU time of the programs on a machine that are no part of a path: all processes but those of the path, their
//! descendants, and the kernel's threads.
//!
//! What a process used is charged to its parent once that has waited for it, so that programs which start and end
//! between two readings count as well. It is not known on which CPUs a program ran, nor what the kernel did for it in
//! interrupts and in threads of its own.

use std::collections::{BTreeMap, BTreeSet};

use narrows_model::counters::{ForeignCpu, ForeignDeviceProgram, ForeignMemoryProgram, ForeignProgram};
use narrows_model::units::{Bytes, Nanos};

use super::TickUnit;
use crate::error::{ProbeError, Result};
use crate::parse::{pid_io, pid_stat};
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// With more processes a reading would take longer than the clock ticks that it counts: 10 ms for a thousand.
const PROCESSES_MAX: usize = 1_000;
/// Programs that are named.
const NAMED_MAX: usize = 3;

/// The programs of a machine, from one reading to the next.
#[derive(Debug)]
pub(super) struct Programs {
    root: Root,
    /// Processes of the path; their descendants are as well.
    own: BTreeSet<u64>,
    /// Threads of the kernel, which are not read again.
    kernel_threads: BTreeSet<u64>,
    latest: BTreeMap<u64, Program>,
    used_ns: Nanos,
}

/// One process at a reading, in clock ticks.
#[derive(Debug, Clone)]
struct Program {
    name: String,
    parent_pid: u64,
    started: u64,
    own_ticks: u64,
    /// Of children that ended.
    children_ticks: u64,
    /// Bytes that it had devices read and write, those of children that ended included; `None` where this process may
    /// not read its account.
    device_bytes: Option<u64>,
    resident_pages: u64,
}

impl Program {
    fn new(name: String, stat: &pid_stat::PidStat, device_bytes: Option<u64>) -> Self {
        Self {
            name,
            parent_pid: stat.parent_pid,
            started: stat.started,
            own_ticks: stat.user.saturating_add(stat.system),
            children_ticks: stat.children_user.saturating_add(stat.children_system),
            device_bytes,
            resident_pages: stat.resident_pages,
        }
    }

    fn ticks(&self) -> u64 {
        self.own_ticks.saturating_add(self.children_ticks)
    }

    /// What it used since an earlier reading: its own, and that of children that ended meanwhile without the `known`
    /// that these had used by then.
    fn used_since(&self, before: Option<&Program>, known: u64) -> u64 {
        let Some(before) = before.filter(|before| before.started == self.started) else {
            return self.ticks();
        };
        let of_children = self.children_ticks.saturating_sub(before.children_ticks);
        self.own_ticks.saturating_sub(before.own_ticks).saturating_add(of_children.saturating_sub(known))
    }
}

impl Programs {
    /// The programs now; what they have used until now is not counted. `None` where they cannot be read.
    pub(super) fn new(
        root: &Root,
        own: impl Iterator<Item = u32>,
        unknown: &mut UnknownFacts,
    ) -> Option<Self> {
        let mut programs = Self {
            root: root.clone(),
            own: own.map(u64::from).collect(),
            kernel_threads: BTreeSet::new(),
            latest: BTreeMap::new(),
            used_ns: Nanos(0),
        };
        let scanned = programs.scan();
        programs.latest = unknown.note("CPU time of other programs", scanned)?;
        Some(programs)
    }

    /// What they have used since the first reading, with the busiest since the reading before.
    pub(super) fn read(&mut self, ticks: TickUnit, unknown: &mut UnknownFacts) -> Option<ForeignCpu> {
        let now = unknown.note("CPU time of other programs", self.scan())?;
        let ended = self.ended(&now);
        let used_by = |(pid, program): (&u64, &Program)| {
            let known = ended.get(pid).copied().unwrap_or(0);
            (*pid, program.used_since(self.latest.get(pid), known))
        };
        let mut used: Vec<(u64, u64)> = now.iter().map(used_by).collect();
        let total = used.iter().fold(0_u64, |sum, (_, ticks)| sum.saturating_add(*ticks));
        self.used_ns = self.used_ns.saturating_add(ticks.duration(total));
        used.retain(|(_, ticks)| *ticks > 0);
        used.sort_by_key(|(pid, ticks)| (std::cmp::Reverse(*ticks), *pid));
        let named = used.into_iter().take(NAMED_MAX).filter_map(|(pid, used)| {
            let (name, pid) = (now.get(&pid)?.name.clone(), u32::try_from(pid).ok()?);
            Some(ForeignProgram { name, pid, used_ns: ticks.duration(used) })
        });
        let programs = named.collect();
        let device_programs = self.device_programs(&now);
        let memory_programs = memory_programs(&now);
        self.latest = now;
        Some(ForeignCpu { used_ns: self.used_ns, programs, device_programs, memory_programs })
    }

    /// The programs that moved the most bytes to and from devices since the reading before.
    fn device_programs(&self, now: &BTreeMap<u64, Program>) -> Vec<ForeignDeviceProgram> {
        let moved = |(pid, program): (&u64, &Program)| {
            let before = self.latest.get(pid).filter(|before| before.started == program.started);
            // One that is new has moved all of it since; of one whose account could not be read before it is not known.
            let known = before.map_or(Some(0), |before| before.device_bytes)?;
            let bytes = program.device_bytes?.saturating_sub(known);
            let pid = u32::try_from(*pid).ok().filter(|_| bytes > 0)?;
            Some(ForeignDeviceProgram { name: program.name.clone(), pid, device_bytes: Bytes(bytes) })
        };
        let mut programs: Vec<ForeignDeviceProgram> = now.iter().filter_map(moved).collect();
        programs.sort_by_key(|program| (std::cmp::Reverse(program.device_bytes), program.pid));
        programs.truncate(NAMED_MAX);
        programs
    }

    /// What processes that ended since the reading before had used by then, by their nearest ancestor that had not ended: a
    /// shell that waits for a program which waits for another is charged with all that both used, and this is what of it was
    /// counted already. Of an orphan, with which the first process of the machine is charged instead, that process counts it
    /// again, and the shell as much less.
    fn ended(&self, now: &BTreeMap<u64, Program>) -> BTreeMap<u64, u64> {
        let mut ended = BTreeMap::new();
        for (_, program) in self.latest.iter().filter(|(pid, _)| !now.contains_key(pid)) {
            let has_ended = |pid: &u64| !now.contains_key(pid);
            let above = |pid: &u64| self.latest.get(pid).map(|parent| parent.parent_pid);
            let ancestors = std::iter::successors(Some(program.parent_pid), above);
            // Numbers can be reused, so a circle is possible in theory: the length bounds the walk.
            let nearest = ancestors.take(self.latest.len() + 1).find(|pid| !has_ended(pid));
            let charged = nearest.unwrap_or(program.parent_pid);
            *ended.entry(charged).or_insert(0_u64) += program.ticks();
        }
        ended
    }

    /// All processes that are no part of the path.
    fn scan(&mut self) -> Result<BTreeMap<u64, Program>> {
        let pids: Vec<u64> = self.root.names("/proc")?.iter().filter_map(|name| name.parse().ok()).collect();
        let listed: BTreeSet<u64> = pids.iter().copied().collect();
        // The number of a thread that ended may be another's by now.
        self.kernel_threads.retain(|pid| listed.contains(pid));
        let mut found = BTreeMap::new();
        for pid in pids {
            if self.kernel_threads.contains(&pid) {
                continue;
            }
            if found.len() >= PROCESSES_MAX {
                return Err(too_many());
            }
            // A process may end between its listing and its reading.
            let Ok(bytes) = self.root.read(&format!("/proc/{pid}/stat")) else { continue };
            let Ok(stat) = pid_stat::parse(&bytes) else { continue };
            if stat.is_kernel_thread {
                self.kernel_threads.insert(pid);
            } else {
                let account = self.root.read(&format!("/proc/{pid}/io")).ok();
                let device_bytes = account.and_then(|bytes| pid_io::device_bytes(&bytes));
                found.insert(pid, Program::new(pid_stat::name(&bytes), &stat, device_bytes));
            }
        }
        let parents: BTreeMap<u64, u64> =
            found.iter().map(|(pid, program)| (*pid, program.parent_pid)).collect();
        found.retain(|pid, _| !self.is_own(*pid, &parents));
        Ok(found)
    }

    /// Whether a process or one of its ancestors is of the path.
    fn is_own(&self, pid: u64, parents: &BTreeMap<u64, u64>) -> bool {
        let ancestors = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
        // Numbers can be reused while they are read, so a circle is possible in theory: the length bounds the walk.
        ancestors.take(parents.len() + 1).any(|pid| self.own.contains(&pid))
    }
}

/// The programs with the most memory.
fn memory_programs(now: &BTreeMap<u64, Program>) -> Vec<ForeignMemoryProgram> {
    let page_bytes = u64::try_from(narrows_sys::process::page_bytes()).unwrap_or(4096);
    let in_memory = now.iter().filter(|(_, program)| program.resident_pages > 0);
    let mut programs: Vec<ForeignMemoryProgram> = in_memory
        .filter_map(|(pid, program)| {
            let resident_bytes = Bytes(program.resident_pages.saturating_mul(page_bytes));
            Some(ForeignMemoryProgram {
                name: program.name.clone(),
                pid: u32::try_from(*pid).ok()?,
                resident_bytes,
            })
        })
        .collect();
    programs.sort_by_key(|program| (std::cmp::Reverse(program.resident_bytes), program.pid));
    programs.truncate(NAMED_MAX);
    programs
}

fn too_many() -> ProbeError {
    ProbeError::unusable("/proc", format!("it has more than {PROCESSES_MAX} processes of programs"))
}
