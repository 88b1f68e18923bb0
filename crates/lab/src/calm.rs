//! Proofs that need CPUs of their own: a failed one is repeated where others took the machine's CPUs meanwhile.
//!
//! Whether they did is read from the kernel, not from what narrows says: the time that a hypervisor took, and that of
//! processes which are not the proof's own.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// How often a proof is tried at most.
const ATTEMPTS: u32 = 3;
/// From this share of all CPUs on the machine was not the proof's own: its cells last a second, and what is taken comes
/// in pieces of a tenth of one.
const DISTURBED_RATIO: f64 = 0.02;

/// Runs a proof, and again where it failed while others used the machine; the last failure is the proof's.
///
/// # Panics
/// As the proof does.
#[allow(clippy::print_stdout, reason = "that a proof was repeated must be seen, and why")]
pub fn on_a_calm_machine(proof: impl Fn()) {
    for attempt in 1..=ATTEMPTS {
        let before = Machine::now();
        let Err(failure) = catch_unwind(AssertUnwindSafe(&proof)) else { return };
        let taken = before.taken_ratio(&Machine::now());
        println!("failed while others took {:.1} % of the machine's CPUs", taken * 100.0);
        if taken < DISTURBED_RATIO || attempt == ATTEMPTS {
            resume_unwind(failure);
        }
    }
}

/// What the machine's CPUs have done so far, in ticks.
#[derive(Debug, Default)]
struct Machine {
    total: u64,
    stolen: u64,
    /// CPU time of all processes but those of this one's line, of children that ended and were waited for too: what a
    /// process used stays in the sum when it ends.
    others: u64,
}

impl Machine {
    /// Nothing where the kernel does not tell: then nothing is repeated.
    fn now() -> Self {
        let (total, stolen) =
            fs::read_to_string("/proc/stat").ok().and_then(|stat| cpus(&stat)).unwrap_or_default();
        let all = processes();
        let own = std::process::id();
        let others = all.iter().filter(|(pid, _)| !is_of_line(**pid, own, &all));
        Self { total, stolen, others: others.map(|(_, process)| process.ticks).sum() }
    }

    /// Share of all CPU time until `later` that went to a hypervisor's other guests and to other processes.
    fn taken_ratio(&self, later: &Self) -> f64 {
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
struct Process {
    parent: u32,
    ticks: u64,
}

/// Every process that is there, kernel threads left out: their work is done for others.
fn processes() -> HashMap<u32, Process> {
    const KERNEL_THREADS: u32 = 2;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let known =
        pids.filter_map(|pid| Some((pid, process(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?)));
    known.filter(|(pid, process)| *pid != KERNEL_THREADS && process.parent != KERNEL_THREADS).collect()
}

/// A process from the text of its `stat`: fields 4 (parent) and 14 to 17 (user, system, and of ended children), proc(5).
fn process(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let ticks = number(14)? + number(15)? + number(16)? + number(17)?;
    Some(Process { parent: u32::try_from(number(4)?).ok()?, ticks })
}

/// Whether process `pid` was started by `own` or below it, or is itself above it: what starts a proof only waits.
fn is_of_line(pid: u32, own: u32, all: &HashMap<u32, Process>) -> bool {
    let above = |first: u32| {
        std::iter::successors(Some(first), |pid| all.get(pid).map(|process| process.parent))
            .take_while(|pid| *pid != 0)
    };
    above(pid).any(|above| above == own) || above(own).any(|above| above == pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

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
        let before = Machine { total: 1_000, stolen: 5, others: 50 };
        let later = Machine { total: 2_000, stolen: 105, others: 150 };
        assert!((before.taken_ratio(&later) - 0.2).abs() < 1e-12);
        assert!(before.taken_ratio(&before).abs() < f64::EPSILON);
    }

    #[test]
    fn this_process_and_those_that_started_it_are_none_of_the_others() {
        let here = Machine::now();
        assert!(here.total > 0);
        let line = |pid: u32, parent: u32| (pid, Process { parent, ticks: 0 });
        let all = HashMap::from([line(1, 0), line(5, 1), line(6, 5), line(7, 6), line(8, 1)]);
        let own = |pid| is_of_line(pid, 6, &all);
        assert_eq!([own(1), own(5), own(6), own(7), own(8)], [true, true, true, true, false]);
    }

    #[test]
    fn a_proof_that_holds_is_run_once_and_one_that_fails_fails() {
        let runs = Cell::new(0);
        on_a_calm_machine(|| runs.set(runs.get() + 1));
        assert_eq!(runs.get(), 1);
        let failing = catch_unwind(AssertUnwindSafe(|| {
            on_a_calm_machine(|| {
                runs.set(runs.get() + 1);
                assert!(runs.get() < 2, "never holds again");
            });
        }));
        assert!(failing.is_err() && runs.get() <= 1 + ATTEMPTS);
    }
}
