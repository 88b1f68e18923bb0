//! How much of this machine's CPUs others used: a hypervisor's other guests, and processes that are not the caller's.
//!
//! Read from the kernel's own accounts, for proofs that need CPUs of their own.

use std::collections::HashMap;
use std::fs;

/// What the machine's CPUs have done so far, in ticks.
#[derive(Debug, Default)]
pub struct MachineTicks {
    total: u64,
    stolen: u64,
    /// CPU time of all processes but those of this one's line, of children that ended and were waited for too: what a
    /// process used stays in the sum when it ends.
    others: u64,
}

impl MachineTicks {
    /// The machine's counters now; 0 where the kernel does not report them.
    #[must_use]
    pub fn now() -> Self {
        let (total, stolen) =
            fs::read_to_string("/proc/stat").ok().and_then(|stat| cpus(&stat)).unwrap_or_default();
        let all = processes();
        let own = std::process::id();
        let others = all.iter().filter(|(pid, _)| !is_related(**pid, own, &all));
        Self { total, stolen, others: others.map(|(_, process)| process.ticks).sum() }
    }

    /// Share of all CPU time until `later` that was used by a hypervisor's other guests and to other processes.
    #[must_use]
    pub fn taken_ratio(&self, later: &Self) -> f64 {
        let total = later.total.saturating_sub(self.total);
        let taken = later.stolen.saturating_sub(self.stolen) + later.others.saturating_sub(self.others);
        if total == 0 { 0.0 } else { taken as f64 / total as f64 }
    }
}

/// Ticks of all CPUs, and those of them that a hypervisor took, from the text of `/proc/stat`, proc(5): user, nice,
/// system, idle, iowait, irq, softirq, steal; what follows is counted in these already.
fn cpus(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).take(8).collect();
    Some((ticks.iter().sum(), *ticks.get(7)?))
}

#[derive(Debug)]
struct ProcessTicks {
    parent: u32,
    ticks: u64,
}

/// Every process that is there, kernel threads left out: their work is done for others.
fn processes() -> HashMap<u32, ProcessTicks> {
    const KERNEL_THREADS: u32 = 2;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let known =
        pids.filter_map(|pid| Some((pid, process(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)));
    known.filter(|(pid, process)| *pid != KERNEL_THREADS && process.parent != KERNEL_THREADS).collect()
}

/// A process from the text of its `stat`: fields 4 (parent) and 14 to 17 (user, system, and of ended children), proc(5).
fn process(stat: &str) -> Option<ProcessTicks> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let ticks = number(14)? + number(15)? + number(16)? + number(17)?;
    Some(ProcessTicks { parent: u32::try_from(number(4)?).ok()?, ticks })
}

/// Whether process `pid` was started by `own` or below it, or is itself above it: what starts a proof only waits.
fn is_related(pid: u32, own: u32, all: &HashMap<u32, ProcessTicks>) -> bool {
    let above = |first: u32| {
        std::iter::successors(Some(first), |pid| all.get(pid).map(|process| process.parent))
            .take_while(|pid| *pid != 0)
    };
    above(pid).any(|above| above == own) || above(own).any(|above| above == pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_with_a_name_of_any_form() {
        let found = process("7 (a) b (c) S 3 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5 6").unwrap();
        assert_eq!((found.parent, found.ticks), (3, 100));
        assert!(process("7 (cut) S 3").is_none());
    }

    #[test]
    fn the_time_of_guests_is_in_that_of_users_already() {
        assert_eq!(cpus("intr 5\ncpu  1 2 3 4 5 6 7 8 100 100\ncpu0 1 2 3\n"), Some((36, 8)));
        assert_eq!(cpus("cpu 1 2 3 4\n"), None);
    }

    #[test]
    fn what_a_hypervisor_and_processes_of_others_took_is_taken() {
        let before = MachineTicks { total: 1_000, stolen: 5, others: 50 };
        let later = MachineTicks { total: 2_000, stolen: 105, others: 150 };
        assert!((before.taken_ratio(&later) - 0.2).abs() < 1e-12);
        assert!(before.taken_ratio(&before).abs() < f64::EPSILON);
    }

    #[test]
    fn this_process_and_those_that_started_it_are_none_of_the_others() {
        let here = MachineTicks::now();
        assert!(here.total > 0);
        let line = |pid: u32, parent: u32| (pid, ProcessTicks { parent, ticks: 0 });
        let all = HashMap::from([line(1, 0), line(5, 1), line(6, 5), line(7, 6), line(8, 1)]);
        let own = |pid| is_related(pid, 6, &all);
        assert_eq!([own(1), own(5), own(6), own(7), own(8)], [true, true, true, true, false]);
    }
}
