//! The machine that figures were measured on, and how busy it was with other things.

use anyhow::Context;
use narrows_sys::clock::Monotonic;
use narrows_sys::process::{CpuScope, clock_ticks_per_s, cpu_times};
use std::fs;

/// What others may use of a machine that counts as idle: a share of all its CPUs.
const IDLE_BUSY_MAX: f64 = 0.03;
/// What a hypervisor may take from it.
const IDLE_STEAL_MAX: f64 = 0.01;

/// What the machine is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MachineDescription {
    pub(crate) cpu: String,
    pub(crate) kernel: String,
    /// The frequency governor of the first CPU; `None` where the machine has none to set.
    pub(crate) governor: Option<String>,
    pub(crate) clock_resolution_ns: u64,
    pub(crate) clock_cost_ns: u64,
    /// CPUs that this process may use, ascending.
    pub(crate) cpus: Vec<usize>,
}

impl MachineDescription {
    /// The machine this runs on.
    ///
    /// # Errors
    /// A `/proc` that cannot be read.
    pub(crate) fn here() -> anyhow::Result<Self> {
        let cpus = fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo cannot be read")?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").context("no kernel release")?;
        let governor = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok();
        let clock = Monotonic::new();
        Ok(Self {
            cpu: model_name(&cpus).unwrap_or("of unknown model").to_owned(),
            kernel: kernel.trim().to_owned(),
            governor: governor.map(|name| name.trim().to_owned()),
            clock_resolution_ns: clock.resolution_ns(),
            clock_cost_ns: clock.cost_ns(),
            cpus: narrows_sys::process::affinity()?,
        })
    }

    /// Where the load runs: the last CPU, since the first takes more interrupts.
    pub(crate) fn load_cpu(&self) -> usize {
        self.cpus.last().copied().unwrap_or(0)
    }

    /// Where a server runs: the first CPU; the load's own where there is one alone.
    pub(crate) fn server_cpu(&self) -> usize {
        self.cpus.first().copied().unwrap_or(0)
    }
}

fn model_name(cpuinfo: &str) -> Option<&str> {
    cpuinfo
        .lines()
        .find_map(|line| Some(line.strip_prefix("model name")?.trim_start_matches([' ', '\t', ':'])))
}

/// The CPU's counters and this run's own share of them, at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_field_names, reason = "every figure carries its unit")]
pub(crate) struct CpuReading {
    total_s: f64,
    idle_s: f64,
    steal_s: f64,
    own_s: f64,
}

/// How busy the machine was with other things between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Disturbance {
    /// Share of all CPUs that others used, 0 to 1.
    pub(crate) others_ratio: f64,
    /// Share of all CPUs that the hypervisor kept, 0 to 1.
    pub(crate) steal_ratio: f64,
}

impl CpuReading {
    /// The counters now. Children count once they have ended, so none should run.
    ///
    /// # Errors
    /// A `/proc/stat` that cannot be read.
    pub(crate) fn now() -> anyhow::Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("/proc/stat cannot be read")?;
        let own_ns = cpu_times(CpuScope::Process).total_ns() + cpu_times(CpuScope::Children).total_ns();
        Self::from_stat(&text, own_ns as f64 / 1e9).context("/proc/stat has no line of all CPUs")
    }

    /// From the text of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal in ticks.
    fn from_stat(text: &str, own_s: f64) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<f64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let [.., idle, iowait, _irq, _softirq, steal] = ticks.as_slice() else { return None };
        let per_s = clock_ticks_per_s() as f64;
        Some(Self {
            total_s: ticks.iter().sum::<f64>() / per_s,
            idle_s: (idle + iowait) / per_s,
            steal_s: steal / per_s,
            own_s,
        })
    }

    /// What happened since `earlier`; nothing when no time has passed.
    pub(crate) fn since(&self, earlier: &Self) -> Disturbance {
        let total_s = self.total_s - earlier.total_s;
        let steal_s = self.steal_s - earlier.steal_s;
        let busy_s = total_s - (self.idle_s - earlier.idle_s) - steal_s;
        // Ticks and the exact accounting of processes differ a little.
        let others_s = (busy_s - (self.own_s - earlier.own_s)).max(0.0);
        let share = |part_s: f64| part_s / total_s.max(f64::MIN_POSITIVE);
        Disturbance { others_ratio: share(others_s), steal_ratio: share(steal_s) }
    }
}

impl Disturbance {
    /// Whether the machine had nothing else to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.others_ratio <= IDLE_BUSY_MAX && self.steal_ratio <= IDLE_STEAL_MAX
    }
}

/// The load averages over 1, 5 and 15 minutes, as the kernel writes them.
///
/// # Errors
/// A `/proc/loadavg` that cannot be read.
pub(crate) fn load_averages() -> anyhow::Result<String> {
    let text = fs::read_to_string("/proc/loadavg").context("/proc/loadavg cannot be read")?;
    Ok(text.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(text: &str, own_s: f64) -> CpuReading {
        CpuReading::from_stat(text, own_s).expect("a line of all CPUs")
    }

    #[test]
    fn others_are_what_is_busy_beyond_this_runs_own() {
        // 10 s of two CPUs: 6 s busy, of which this run used 5, and 1 s stolen.
        let per_s = clock_ticks_per_s();
        let ticks = |seconds: u64| seconds * per_s;
        let before = reading("cpu  0 0 0 0 0 0 0 0 0 0\n", 1.0);
        let text = format!(
            "cpu  {} 0 {} {} {} 0 {} {} 0 0\n",
            ticks(4),
            ticks(1),
            ticks(12),
            ticks(1),
            ticks(1),
            ticks(1)
        );
        let seen = reading(&text, 6.0).since(&before);
        assert!((seen.others_ratio - 1.0 / 20.0).abs() < 1e-12, "{seen:?}");
        assert!((seen.steal_ratio - 1.0 / 20.0).abs() < 1e-12, "{seen:?}");
        assert!(!seen.is_idle());
    }

    #[test]
    fn a_machine_that_only_did_this_run_is_idle() {
        let (before, after) =
            (reading("cpu  0 0 0 0 0 0 0 0\n", 0.0), reading("cpu  500 0 0 500 0 0 0 0\n", 1e6));
        assert!(after.since(&before).is_idle());
        assert!(before.since(&before).is_idle(), "no time has passed");
    }

    #[test]
    fn a_cut_line_is_no_reading() {
        assert_eq!(CpuReading::from_stat("cpu  1 2 3\n", 0.0), None);
        assert_eq!(CpuReading::from_stat("", 0.0), None);
    }

    #[test]
    fn a_cpus_name_is_what_stands_behind_the_colon() {
        assert_eq!(model_name("processor\t: 0\nmodel name\t: AMD EPYC\n"), Some("AMD EPYC"));
        assert_eq!(model_name("processor\t: 0\n"), None);
    }
}
