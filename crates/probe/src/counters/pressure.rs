//! Time in which tasks waited for memory: of the machine and of a role's control group.
//!
//! The group at the root of the hierarchy is the whole machine, of which nothing is the role's own.

use narrows_model::counters::PressureTimes;
use narrows_model::units::Nanos;

use super::counter_file::CounterFile;
use crate::cgroup;
use crate::parse::{Malformed, fields, number};
use crate::root::Root;

const NANOS_PER_MICRO: u64 = 1_000;
/// A controller that no version 1 hierarchy has: the group of version 2, whichever controllers it has.
const UNIFIED: &str = "pressure";

/// The files of the machine and of a group; kernels without the accounting have none.
#[derive(Debug)]
pub(super) struct MemoryPressure {
    machine: Option<CounterFile>,
    group: Option<CounterFile>,
}

impl MemoryPressure {
    /// Of the machine, and of the group of `pid`, or of this process.
    pub(super) fn open(root: &Root, pid: Option<u32>) -> Self {
        let pid = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let group = cgroup::find(root, &pid, UNIFIED).ok().flatten().filter(|group| group.path != "/");
        Self {
            machine: CounterFile::open(root, "/proc/pressure/memory").ok(),
            group: group.and_then(|group| {
                CounterFile::open(root, &format!("{}/memory.pressure", group.folder())).ok()
            }),
        }
    }

    /// Now; `None` where the kernel does not account for it, or has it switched off (reads are refused then).
    pub(super) fn read(&self, buffer: &mut Vec<u8>) -> (Option<PressureTimes>, Option<PressureTimes>) {
        let mut now =
            |file: &Option<CounterFile>| file.as_ref().and_then(|file| file.parse(buffer, times).ok());
        (now(&self.machine), now(&self.group))
    }
}

/// The totals of a file of pressure stall information.
///
/// # Source
/// Linux, Documentation/accounting/psi.rst: lines `some` and `full`, `total` in microseconds.
fn times(bytes: &[u8]) -> Result<PressureTimes, Malformed> {
    let total = |kind: &[u8]| {
        let line = bytes.split(|&byte| byte == b'\n').find(|line| fields(line).next() == Some(kind))?;
        let micros = fields(line).find_map(|field| number(field.strip_prefix(b"total=")?))?;
        Some(Nanos(micros.saturating_mul(NANOS_PER_MICRO)))
    };
    let some_ns = total(b"some").ok_or_else(|| Malformed::new(1, "a line `some` with `total=`", bytes))?;
    let full_ns = total(b"full").ok_or_else(|| Malformed::new(2, "a line `full` with `total=`", bytes))?;
    Ok(PressureTimes { some_ns, full_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "some avg10=1.00 avg60=0.20 avg300=0.00 total=4200\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=700\n";

    #[test]
    fn totals_are_those_of_the_two_lines_in_nanoseconds() {
        let expected = PressureTimes { some_ns: Nanos(4_200_000), full_ns: Nanos(700_000) };
        assert_eq!(times(TEXT.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn a_text_without_a_total_or_without_a_line_is_malformed() {
        for text in ["", "some avg10=1.00\nfull total=1\n", "some total=1\n", "some total=x\nfull total=1\n"]
        {
            assert!(times(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_group_has_its_own_times_and_the_root_group_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, content: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        put("proc/pressure/memory", TEXT);
        put("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        put("proc/7/cgroup", "1:cpu:/a\n0::/jobs/a\n");
        put("proc/8/cgroup", "0::/\n");
        put("sys/fs/cgroup/memory.pressure", TEXT);
        put("sys/fs/cgroup/jobs/a/memory.pressure", &TEXT.replace("4200", "21"));
        let root = Root::at(folder.path());
        let read = |pid| MemoryPressure::open(&root, Some(pid)).read(&mut Vec::new());
        let (machine, group) = read(7);
        assert_eq!(machine.map(|times| times.some_ns), Some(Nanos(4_200_000)));
        assert_eq!(group.map(|times| times.some_ns), Some(Nanos(21_000)));
        assert_eq!(read(8), (machine, None));
        let empty = tempfile::tempdir().unwrap();
        let none = MemoryPressure::open(&Root::at(empty.path()), Some(7)).read(&mut Vec::new());
        assert_eq!(none, (None, None));
    }
}
