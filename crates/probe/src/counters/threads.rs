//! How long the threads of a role's processes ran and waited for a CPU.
//!
//! A thread that ends keeps its last reading, so that the sums never decrease. What it did after that is only known of the
//! threads of this process that call [`note_ending_thread`] last: those of a server end with the connections of a load,
//! before the reading at the end of a window.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use narrows_model::counters::ThreadTimes;
use narrows_model::units::Nanos;

use crate::error::{ProbeErrorKind, Result};
use crate::parse::{fields, number};
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// Threads of one process that are looked at: beyond any load's.
const THREADS_MAX: usize = 65_536;

/// Threads that ended whose times are kept until they are read.
const ENDED_MAX: usize = 4_096;

/// Threads of this process that ended, the latest last, each with its place in the order of all.
static ENDED: Mutex<VecDeque<(u64, String, SchedTimes)>> = Mutex::new(VecDeque::new());

/// Notes the times of the calling thread, which is about to end, for the readers of this process.
///
/// # Cost
/// Two files of `/proc`.
pub fn note_ending_thread() {
    let Ok(place) = std::fs::read_link("/proc/thread-self") else { return };
    let Some(thread) = place.file_name().and_then(|name| name.to_str()) else { return };
    let Some(times) = Root::system().read("/proc/thread-self/schedstat").ok().and_then(|bytes| parse(&bytes))
    else {
        return;
    };
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let number = ended.back().map_or(1, |(number, ..)| number + 1);
    ended.push_back((number, thread.to_owned(), times));
    if ended.len() > ENDED_MAX {
        ended.pop_front();
    }
}

/// The threads of the processes in scope.
#[derive(Debug)]
pub(super) struct Threads {
    root: Root,
    pids: Vec<u32>,
    /// By process and thread: those that run.
    running: BTreeMap<(u32, String), SchedTimes>,
    /// Sum of those that ended.
    ended: SchedTimes,
    /// The last note of an ending thread that was read.
    last_note: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct SchedTimes {
    running_ns: u64,
    waiting_ns: u64,
}

impl Threads {
    pub(super) fn new(root: &Root, pids: &[u32]) -> Self {
        let ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        let last_note = ended.back().map_or(0, |(number, ..)| *number);
        let (running, ended) = (BTreeMap::new(), SchedTimes::default());
        Self { root: root.clone(), pids: pids.to_vec(), running, ended, last_note }
    }

    /// The sums so far, and the busiest since the reading before; `None` where no thread's times can be read.
    pub(super) fn read(&mut self, unknown: &mut UnknownFacts) -> Option<ThreadTimes> {
        let mut busiest = SchedTimes::default();
        for pid in self.pids.clone() {
            match self.scan_process(pid, &mut busiest) {
                // The process ended, or the kernel was built without these times.
                Err(error) if error.kind() != ProbeErrorKind::Missing => {
                    unknown.add(format!("threads of process {pid}: {error}"));
                }
                _ => {}
            }
        }
        let sum = self.running.values().fold(self.ended, |sum, times| sum.plus(*times));
        (sum.runnable_ns() > 0).then_some(ThreadTimes {
            running_ns: Nanos(sum.running_ns),
            waiting_ns: Nanos(sum.waiting_ns),
            busiest_running_ns: Nanos(busiest.running_ns),
            busiest_waiting_ns: Nanos(busiest.waiting_ns),
        })
    }

    fn scan_process(&mut self, pid: u32, busiest: &mut SchedTimes) -> Result<()> {
        let folder = format!("/proc/{pid}/task");
        let listed: BTreeSet<String> = self.root.names(&folder)?.into_iter().take(THREADS_MAX).collect();
        for thread in &listed {
            // A thread may end between its listing and its reading.
            let Ok(bytes) = self.root.read(&format!("{folder}/{thread}/schedstat")) else { continue };
            let Some(now) = parse(&bytes) else { continue };
            let before = self.running.insert((pid, thread.clone()), now);
            busiest.keep_busier(now.since(before.unwrap_or_default()));
        }
        if pid == std::process::id() {
            self.read_notes(pid, &listed, busiest);
        }
        let is_gone = |(of, thread): &(u32, String)| *of == pid && !listed.contains(thread);
        let ended = self.running.extract_if(.., |key, _| is_gone(key));
        self.ended = ended.fold(self.ended, |sum, (_, times)| sum.plus(times));
        Ok(())
    }

    /// Takes the notes of threads that ended since the reading before; one that is still listed was read itself.
    fn read_notes(&mut self, pid: u32, listed: &BTreeSet<String>, busiest: &mut SchedTimes) {
        let ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.last_note;
        for (number, thread, last) in ended.iter().filter(|(number, ..)| *number > known) {
            self.last_note = *number;
            if !listed.contains(thread) {
                let before = self.running.remove(&(pid, thread.clone()));
                busiest.keep_busier(last.since(before.unwrap_or_default()));
                self.ended = self.ended.plus(*last);
            }
        }
    }
}

impl SchedTimes {
    fn runnable_ns(self) -> u64 {
        self.running_ns.saturating_add(self.waiting_ns)
    }

    fn plus(self, more: Self) -> Self {
        Self {
            running_ns: self.running_ns.saturating_add(more.running_ns),
            waiting_ns: self.waiting_ns.saturating_add(more.waiting_ns),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            running_ns: self.running_ns.saturating_sub(before.running_ns),
            waiting_ns: self.waiting_ns.saturating_sub(before.waiting_ns),
        }
    }

    fn keep_busier(&mut self, other: Self) {
        if other.runnable_ns() > self.runnable_ns() {
            *self = other;
        }
    }
}

/// # Source
/// Linux, `Documentation/scheduler/sched-stats.rst`, `/proc/<pid>/schedstat`: nanoseconds on a CPU, nanoseconds runnable
/// and waiting for one, and a count.
fn parse(bytes: &[u8]) -> Option<SchedTimes> {
    let mut values = fields(bytes).map(number);
    Some(SchedTimes { running_ns: values.next()??, waiting_ns: values.next()?? })
}
