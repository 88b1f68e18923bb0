//! CPU time of a set of processes, which must not decrease when one of them ends.
//!
//! A process that ended is charged to its parent once that has waited for it (`cutime`, `cstime`). When the parent is
//! in the set too, the ended process is dropped; otherwise its last reading is kept.

use std::collections::BTreeMap;

use narrows_model::counters::ProcessCpu;

use super::TickUnit;
use super::counter_file::CounterFile;
use crate::error::ProbeErrorKind;
use crate::parse::pid_stat::{self, PidStat};
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// The processes in scope.
#[derive(Debug)]
pub(super) struct Processes {
    /// Parents before children: see [`Processes::pass`].
    members: Vec<CountedProcess>,
    latest: Option<ProcessCpu>,
}

#[derive(Debug)]
struct CountedProcess {
    pid: u64,
    source: CounterFile,
    last: PidStat,
    parent_in_scope: bool,
    ended: bool,
}

impl Processes {
    pub(super) fn open(root: &Root, pids: &[u32], unknown: &mut UnknownFacts) -> Self {
        let mut buffer = Vec::new();
        let mut members = Vec::new();
        for pid in pids {
            let member = CounterFile::open(root, &format!("/proc/{pid}/stat")).and_then(|source| {
                let last = source.parse(&mut buffer, pid_stat::parse)?;
                let parent_in_scope = pids.iter().any(|&other| u64::from(other) == last.parent_pid);
                Ok(CountedProcess { pid: u64::from(*pid), source, last, parent_in_scope, ended: false })
            });
            members.extend(unknown.note(&format!("CPU time of process {pid}"), member));
        }
        let parents: BTreeMap<u64, u64> =
            members.iter().map(|member| (member.pid, member.last.parent_pid)).collect();
        members.sort_by_key(|member| ancestor_count(&parents, member.pid));
        Self { members, latest: None }
    }

    /// The sum; `None` when no process of the scope could ever be read.
    pub(super) fn read(
        &mut self,
        ticks: TickUnit,
        buffer: &mut Vec<u8>,
        unknown: &mut UnknownFacts,
    ) -> Option<ProcessCpu> {
        if self.members.is_empty() {
            return None;
        }
        // A child that ended during the first pass was not yet in its parent's account when that was read.
        if self.pass(buffer, unknown) {
            self.pass(buffer, unknown);
        }
        let now = self.sum(ticks);
        let before = self.latest.unwrap_or_default();
        let latest = ProcessCpu {
            user_ns: now.user_ns.max(before.user_ns),
            system_ns: now.system_ns.max(before.system_ns),
        };
        self.latest = Some(latest);
        self.latest
    }

    /// Reads every process that still runs, parents first so that no child counts twice; whether any has ended since.
    fn pass(&mut self, buffer: &mut Vec<u8>, unknown: &mut UnknownFacts) -> bool {
        let mut any_ended = false;
        for member in self.members.iter_mut().filter(|member| !member.ended) {
            match member.source.parse(buffer, pid_stat::parse) {
                Ok(stat) => member.last = stat,
                Err(error) if error.kind() == ProbeErrorKind::Missing => {
                    member.ended = true;
                    any_ended = true;
                }
                Err(error) => unknown.add(format!("CPU time of a process: {error}")),
            }
        }
        any_ended
    }

    fn sum(&self, ticks: TickUnit) -> ProcessCpu {
        let counted = self.members.iter().filter(|member| !(member.ended && member.parent_in_scope));
        counted.fold(ProcessCpu::default(), |sum, CountedProcess { last, .. }| ProcessCpu {
            user_ns: sum.user_ns.saturating_add(ticks.duration(last.user.saturating_add(last.children_user))),
            system_ns: sum
                .system_ns
                .saturating_add(ticks.duration(last.system.saturating_add(last.children_system))),
        })
    }
}

/// Ancestors of `pid` that are in scope.
fn ancestor_count(parents: &BTreeMap<u64, u64>, pid: u64) -> usize {
    let mut pid = pid;
    // Numbers can be reused between two readings, so a circle is possible in theory: the length bounds the walk.
    (0..parents.len()).take_while(|_| parents.get(&pid).inspect(|parent| pid = **parent).is_some()).count()
}
