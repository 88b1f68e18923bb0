//! How much memory a program has needed, its children included.

use std::fs;

/// The most that the processes below one have needed at once, seen while they run.
///
/// The peak of each since the last look is read and begun anew; the sum of those of one look is at least what they
/// needed together since. What grows after the last look is missed.
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
            begin_anew(pid);
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

/// Makes the peak of a process what it has now; where that may not be, it stays the peak of all its life.
fn begin_anew(pid: u32) {
    const RESET_PEAK: &str = "5";
    drop(fs::write(format!("/proc/{pid}/clear_refs"), RESET_PEAK));
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

    #[test]
    fn a_peak_that_is_begun_anew_is_what_there_is_now() {
        const BLOCK_BYTES: usize = 64 << 20;
        let now = || peak_bytes(&fs::read_to_string("/proc/self/status").unwrap()).unwrap();
        let block = std::hint::black_box(vec![1_u8; BLOCK_BYTES]);
        drop(block);
        let before = now();
        begin_anew(std::process::id());
        assert!(now() + BLOCK_BYTES as u64 / 2 < before, "{} after {before}", now());
    }
}
