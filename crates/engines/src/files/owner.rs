//! The process that a marker names, and whether it is still there.
//!
//! A number of a process means something in one boot and one process-id namespace alone: anywhere else nothing is known
//! about it.

use narrows_sys::process::{pid_namespace, started_ticks};
use std::fmt;
use std::fs;

/// Words of a process in a marker, in order: its number, its start, its boot, its namespace, its machine.
const LABELS: [&str; 5] = ["process ", " started at tick ", " in boot ", ", process ids of ", " on "];

/// Whether the process that made a folder is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerState {
    /// It is.
    Alive,
    /// It has ended.
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
        }
    }

    /// The process of one line of a marker; `None` for another line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.strip_prefix(LABELS[0])?;
        let (pid, line) = line.split_once(LABELS[1])?;
        let (started, line) = line.split_once(LABELS[2])?;
        let (boot_id, line) = line.split_once(LABELS[3])?;
        let (namespace, hostname) = line.split_once(LABELS[4])?;
        Some(Self {
            pid: pid.parse().ok()?,
            started_ticks: started.parse().ok()?,
            boot_id: boot_id.to_owned(),
            namespace: namespace.parse().ok()?,
            hostname: hostname.to_owned(),
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
            let is_same_name = self.hostname == here.hostname;
            return if is_same_name { OwnerState::OtherBoot } else { OwnerState::Unknown };
        }
        if self.namespace != here.namespace {
            return OwnerState::Unknown;
        }
        if started_ticks(self.pid) == Some(self.started_ticks) { OwnerState::Alive } else { OwnerState::Gone }
    }
}

impl fmt::Display for OwnerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [process, started, boot, namespace_label, on] = LABELS;
        let Self { pid, started_ticks, boot_id, namespace, hostname } = self;
        write!(
            f,
            "{process}{pid}{started}{started_ticks}{boot}{boot_id}{namespace_label}{namespace}{on}{hostname}"
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
        let rebooted = OwnerProcess { boot_id: "before".into(), ..gone.clone() };
        let start = OwnerProcess { started_ticks: 0, ..gone };
        assert_eq!(
            [namespace, machine, rebooted, start].map(|owner| owner.state(&here)),
            [OwnerState::Unknown, OwnerState::Unknown, OwnerState::OtherBoot, OwnerState::Unknown]
        );
    }
}
