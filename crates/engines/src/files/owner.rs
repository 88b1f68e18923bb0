//! The process that a marker names, and whether it is still there.
//!
//! A number of a process means something in one boot and one process-id namespace alone: anywhere else nothing is known
//! about it, except that it has ended where its machine was started again since.

use narrows_sys::process::{pid_namespace, started_ticks};
use std::fmt;
use std::fs;

/// Words of a process in a marker, in order: its number, its start, its boot, its namespace, its machine's name.
const LABELS: [&str; 5] = ["process ", " started at tick ", " in boot ", ", process ids of ", " on "];
/// Words before the hash of its machine's id, the last of a marker; not in those of earlier versions.
const MACHINE_LABEL: &str = ", machine ";
/// The process-id namespace that a machine starts with, in which no container is unless it is given that of its host.
///
/// # Source
/// Linux, `include/linux/proc_ns.h`: `PROC_PID_INIT_INO`.
const FIRST_NAMESPACE: u64 = 0xefff_fffc;

/// Whether the process that made a folder is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerState {
    /// It is.
    Alive,
    /// It has ended: since this machine was started last, or with an earlier start of this machine.
    Gone,
    /// It ran before this machine was started last, or on another machine with the same name.
    OtherBoot,
    /// It runs or ran on another machine or in another container, or the marker names none.
    Unknown,
}

/// What a process is known by, beyond its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerProcess {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since the boot; 0 where that is not known.
    pub started_ticks: u64,
    /// Boot of its machine; empty where that is not known.
    pub boot_id: String,
    /// What its number is valid in; 0 where that is not known.
    pub namespace: u64,
    /// Its machine's name.
    pub hostname: String,
    /// Its machine's id, as a hash that does not give the id away; 0 where it is not known.
    pub machine_hash: u64,
}

impl OwnerProcess {
    /// This process.
    #[must_use]
    pub fn current() -> Self {
        let pid = std::process::id();
        let kernel = |name: &str| {
            fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default().trim().to_owned()
        };
        Self {
            pid,
            started_ticks: started_ticks(pid).unwrap_or(0),
            boot_id: kernel("random/boot_id"),
            namespace: pid_namespace().unwrap_or(0),
            hostname: kernel("hostname"),
            machine_hash: machine_hash(&fs::read_to_string("/etc/machine-id").unwrap_or_default()),
        }
    }

    /// The process of one line of a marker; `None` for another line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.strip_prefix(LABELS[0])?;
        let (pid, line) = line.split_once(LABELS[1])?;
        let (started, line) = line.split_once(LABELS[2])?;
        let (boot_id, line) = line.split_once(LABELS[3])?;
        let (namespace, line) = line.split_once(LABELS[4])?;
        let machine = line.rsplit_once(MACHINE_LABEL);
        let machine = machine.and_then(|(name, hash)| Some((name, u64::from_str_radix(hash, 16).ok()?)));
        let (hostname, machine_hash) = machine.unwrap_or((line, 0));
        Some(Self {
            pid: pid.parse().ok()?,
            started_ticks: started.parse().ok()?,
            boot_id: boot_id.to_owned(),
            namespace: namespace.parse().ok()?,
            hostname: hostname.to_owned(),
            machine_hash,
        })
    }

    /// Whether it is still there, as far as the process `here` can know.
    #[must_use]
    pub fn state(&self, here: &Self) -> OwnerState {
        let is_known = self.started_ticks != 0 && self.namespace != 0 && !self.boot_id.is_empty();
        if !is_known {
            return OwnerState::Unknown;
        }
        if self.boot_id != here.boot_id {
            return match self.hostname == here.hostname {
                true if self.is_of_machine(here) => OwnerState::Gone,
                true => OwnerState::OtherBoot,
                false => OwnerState::Unknown,
            };
        }
        if self.namespace != here.namespace {
            return OwnerState::Unknown;
        }
        if started_ticks(self.pid) == Some(self.started_ticks) { OwnerState::Alive } else { OwnerState::Gone }
    }

    /// Whether it ran on the machine of `here`: the id is the same, and both are of the machine itself. Containers that are
    /// started from one image may have one id on several machines.
    fn is_of_machine(&self, here: &Self) -> bool {
        let is_of_machine_itself = |process: &Self| process.namespace == FIRST_NAMESPACE;
        self.machine_hash != 0
            && self.machine_hash == here.machine_hash
            && is_of_machine_itself(self)
            && is_of_machine_itself(here)
    }
}

/// A hash of the machine id `id`, which is confidential; 0 for what is none.
///
/// # Source
/// machine-id(5); FNV-1a, 64 bits: half of the id's bits cannot be found from it.
fn machine_hash(id: &str) -> u64 {
    const DIGITS: usize = 32;
    let id = id.trim();
    if id.len() != DIGITS || !id.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return 0;
    }
    id.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl fmt::Display for OwnerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [process, started, boot, namespace_label, on] = LABELS;
        let Self { pid, started_ticks, boot_id, namespace, hostname, machine_hash } = self;
        write!(
            f,
            "{process}{pid}{started}{started_ticks}{boot}{boot_id}{namespace_label}{namespace}{on}{hostname}\
             {MACHINE_LABEL}{machine_hash:016x}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_marker_gives_the_same_process_again() {
        let here = OwnerProcess::current();
        assert_eq!(OwnerProcess::parse(&here.to_string()).as_ref(), Some(&here));
        assert_eq!(here.state(&here), OwnerState::Alive, "{here}");
        assert_eq!(OwnerProcess::parse("process 1 started at tick 1 on host"), None);
    }

    #[test]
    fn a_process_that_was_waited_for_is_gone_and_so_is_one_with_a_number_that_was_used_again() {
        let here = OwnerProcess::current();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(OwnerProcess { pid, ..here.clone() }.state(&here), OwnerState::Gone);
        let earlier = OwnerProcess { started_ticks: here.started_ticks + 1, ..here.clone() };
        assert_eq!(earlier.state(&here), OwnerState::Gone);
    }

    #[test]
    fn nothing_is_known_of_other_machines_and_containers() {
        let here = OwnerProcess::current();
        let gone = OwnerProcess { started_ticks: here.started_ticks + 1, ..here.clone() };
        let namespace = OwnerProcess { namespace: here.namespace + 1, ..gone.clone() };
        let machine = OwnerProcess { boot_id: "its".into(), hostname: "other".into(), ..gone.clone() };
        let rebooted = OwnerProcess { boot_id: "before".into(), machine_hash: 0, ..gone.clone() };
        let start = OwnerProcess { started_ticks: 0, ..gone };
        assert_eq!(
            [namespace, machine, rebooted, start].map(|owner| owner.state(&here)),
            [OwnerState::Unknown, OwnerState::Unknown, OwnerState::OtherBoot, OwnerState::Unknown]
        );
    }

    #[test]
    fn a_process_of_an_earlier_start_of_this_machine_is_gone_and_one_of_a_namesake_may_be_there() {
        let here = OwnerProcess { namespace: FIRST_NAMESPACE, machine_hash: 7, ..OwnerProcess::current() };
        let before = OwnerProcess { boot_id: "before".into(), ..here.clone() };
        assert_eq!(before.state(&here), OwnerState::Gone);
        let renamed = OwnerProcess { hostname: "other".into(), ..before.clone() };
        assert_eq!(renamed.state(&here), OwnerState::Unknown);
        for namesake in [
            OwnerProcess { machine_hash: 8, ..before.clone() },
            OwnerProcess { machine_hash: 0, ..before.clone() },
            OwnerProcess { namespace: 4_026_532_000, ..before },
        ] {
            assert_eq!(namesake.state(&here), OwnerState::OtherBoot, "{namesake}");
        }
    }

    #[test]
    fn a_marker_of_an_earlier_version_names_no_machine() {
        let here = OwnerProcess::current();
        let line = here.to_string();
        let (earlier, _) = line.rsplit_once(MACHINE_LABEL).unwrap();
        assert_eq!(OwnerProcess::parse(earlier), Some(OwnerProcess { machine_hash: 0, ..here }));
    }

    #[test]
    fn a_machine_without_an_id_has_no_hash() {
        assert_eq!([machine_hash(""), machine_hash("uninitialized\n")], [0, 0]);
        // FNV-1a of 32 zeroes, by a script of three lines in Python.
        assert_eq!(machine_hash(&format!("{}\n", "0".repeat(32))), 0x7c02_c15d_9cbe_35a5);
    }
}
