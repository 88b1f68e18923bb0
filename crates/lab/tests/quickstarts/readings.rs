//! What the kernel counts while a check runs, read beside it by this program: the folder's device, the check's process, all
//! CPUs. No figure of narrows is used here, so that its verdicts can be compared with these.

use narrows_lab::clock::monotonic_ns;
use narrows_lab::counters::{DiskStats, diskstats};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Loads of a file that was made small for lack of time last 60 ms: readings leave out a twelfth of it at each end.
const READ_EVERY: Duration = Duration::from_millis(5);
/// What `/proc/PID/stat` and `/proc/stat` count in: `USER_HZ`, which is 100 wherever Linux runs (`proc(5)`).
const TICKS_PER_S: f64 = 100.0;

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reading {
    pub at_ns: u64,
    pub disk: Option<DiskStats>,
    /// Of all threads of the check, kernel time included.
    pub process_ticks: u64,
    /// Of all CPUs, without idle time and waits for devices.
    pub busy_ticks: u64,
}

/// What was used of the device and the CPUs in a time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Used {
    /// Share of the time with a request in flight at the device; `None` for a folder without one.
    pub device_ratio: Option<f64>,
    pub device_bytes: [u64; 2],
    pub device_ops: [u64; 2],
    pub seconds: f64,
    pub process_cpus: f64,
    pub machine_cpus: f64,
}

/// Reads the counters until it is stopped.
pub(crate) struct Reader {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Reading>>,
}

impl Reader {
    /// Reads those of a process, of a block device where there is one, and of the machine.
    pub(crate) fn start(pid: u32, device: Option<String>) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen_over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            // Threads of a loop device and of btrfs may have all CPUs for longer than a short load lasts.
            rustix::process::setpriority_process(None, -20).unwrap();
            let mut readings: Vec<Reading> = Vec::new();
            while !seen_over.load(Ordering::Relaxed) {
                let last_ticks = readings.last().map_or(0, |last| last.process_ticks);
                readings.push(read(pid, device.as_deref(), last_ticks));
                #[allow(clippy::disallowed_methods, reason = "time passes between two readings")]
                std::thread::sleep(READ_EVERY);
            }
            readings
        });
        Self { is_over, thread }
    }

    /// All readings, the first one first.
    pub(crate) fn stop(self) -> Vec<Reading> {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn read(pid: u32, device: Option<&str>, last_ticks: u64) -> Reading {
    Reading {
        at_ns: monotonic_ns(),
        disk: device.map(|device| diskstats(device).unwrap()),
        // A process that has ended used no more.
        process_ticks: process_ticks(pid).unwrap_or(last_ticks),
        busy_ticks: fs::read_to_string("/proc/stat").ok().and_then(|text| busy_ticks(&text)).unwrap(),
    }
}

/// User and system time, fields 14 and 15 of `proc_pid_stat(5)`; a name may contain spaces and brackets.
fn process_ticks(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

/// User, nice, system, irq and softirq time of the first line of `proc_stat(5)`.
fn busy_ticks(text: &str) -> Option<u64> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    [0, 1, 2, 5, 6].into_iter().map(|index| fields.get(index).copied()).sum()
}

/// The least share of a time that readings within it must cover: on a busy machine they come late.
const COVERED_MIN_RATIO: f64 = 0.5;

/// What was used from one moment to another, by the first and the last reading between them, so that nothing before or after
/// counts; `None` where these are less than half of the time apart.
pub(crate) fn used(readings: &[Reading], from_ns: u64, to_ns: u64) -> Option<Used> {
    let first = readings.iter().find(|reading| reading.at_ns >= from_ns)?;
    let last = readings.iter().rev().find(|reading| reading.at_ns <= to_ns)?;
    let seconds = last.at_ns.checked_sub(first.at_ns)? as f64 / 1e9;
    let asked_s = to_ns.checked_sub(from_ns)? as f64 / 1e9;
    if seconds <= 0.0 || seconds < asked_s * COVERED_MIN_RATIO {
        return None;
    }
    let cpus = |ticks: u64| ticks as f64 / TICKS_PER_S / seconds;
    // Counters of single CPUs are read one after the other, so that a sum may fall by a tick.
    let grown = |first: u64, last: u64| last.saturating_sub(first);
    let mut used = Used {
        seconds,
        process_cpus: cpus(grown(first.process_ticks, last.process_ticks)),
        machine_cpus: cpus(grown(first.busy_ticks, last.busy_ticks)),
        ..Used::default()
    };
    if let (Some(first), Some(last)) = (first.disk, last.disk) {
        let busy_s = (grown(first.busy_ms, last.busy_ms)) as f64 / 1e3;
        used.device_ratio = Some((busy_s / seconds).min(1.0));
        used.device_bytes =
            [grown(first.read_bytes, last.read_bytes), grown(first.written_bytes, last.written_bytes)];
        used.device_ops =
            [grown(first.reads_count, last.reads_count), grown(first.writes_count, last.writes_count)];
    }
    Some(used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_the_difference_of_the_readings_within_a_time() {
        let disk = |busy_ms, read_bytes| {
            Some(DiskStats { busy_ms, read_bytes, reads_count: read_bytes / 4096, ..DiskStats::default() })
        };
        let reading =
            |at_ns, disk, process_ticks, busy_ticks| Reading { at_ns, disk, process_ticks, busy_ticks };
        let readings = [
            reading(0, disk(0, 0), 0, 10),
            reading(1_000_000_000, disk(500, 8192), 10, 60),
            reading(3_000_000_000, disk(2000, 40_960), 110, 360),
        ];
        let found = used(&readings, 900_000_000, 3_100_000_000).unwrap();
        assert_eq!(found.device_ratio, Some(0.75));
        assert_eq!((found.device_bytes, found.device_ops), ([32_768, 0], [8, 0]));
        assert!((found.process_cpus - 0.5).abs() < 1e-9 && (found.machine_cpus - 1.5).abs() < 1e-9);
        assert_eq!(used(&readings, 1_100_000_000, 3_100_000_000), None, "one reading shows no difference");
        assert_eq!(used(&readings, 900_000_000, 5_100_000_000), None, "less than half of it is covered");
    }
}
