//! How much memory a program has needed, its children included.

use std::fs;

/// The most that the processes below one have needed at once, seen while they run.
///
/// A process's own peak never falls, so looking now and then misses only what grows after the last look. The peaks of
/// all that live at one look are summed, which is at least what they needed together.
#[derive(Debug, Default)]
pub(crate) struct PeakMemory {
    bytes: u64,
}

impl PeakMemory {
    /// Looks at process `pid` and all below it.
    pub(crate) fn look(&mut self, pid: u32) {
        let (mut waiting, mut together_bytes) = (vec![pid], 0);
        while let Some(pid) = waiting.pop() {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            together_bytes += peak_bytes(&status).unwrap_or(0);
            waiting.extend(children(pid));
        }
        self.bytes = self.bytes.max(together_bytes);
    }

    /// The most that was seen.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The largest resident set (`VmHWM`), from the text of `/proc/PID/status`; `None` for a process that has ended.
fn peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The children of all threads of a process; none where it has ended.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|word| word.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_the_kernel_in_bytes() {
        assert_eq!(peak_bytes("VmPeak:\t 9 kB\nVmHWM:\t    4188 kB\nVmRSS:\t 1 kB\n"), Some(4188 * 1024));
        assert_eq!(peak_bytes("State:\tZ (zombie)\n"), None);
    }

    #[test]
    fn this_process_has_a_peak_and_one_that_is_not_there_has_none() {
        let mut peak = PeakMemory::default();
        peak.look(0);
        assert_eq!(peak.bytes(), 0);
        peak.look(std::process::id());
        assert!(peak.bytes() > 1 << 20);
    }
}
