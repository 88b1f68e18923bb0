//! Times of the threads of a process that serves a file system of the path, and of its descendants, and of its quota.

use std::collections::BTreeMap;

use narrows_model::counters::DaemonCounters;
use narrows_model::units::Nanos;

use super::group::GroupCounters;
use super::threads::Threads;
use crate::parse::pid_stat;
use crate::root::Root;
use crate::unknown::UnknownFacts;

/// Processes below a daemon that are counted with it: a transport, a helper.
const DESCENDANTS_MAX: usize = 64;

/// A daemon as it is counted.
#[derive(Debug)]
pub(super) struct Daemon {
    name: String,
    pid: u32,
    threads: Threads,
    group: Option<GroupCounters>,
}

impl Daemon {
    /// The daemon with this process id and what it had started by now; `None` where it cannot be read.
    pub(super) fn open(root: &Root, pid: u32) -> Option<Self> {
        let name = pid_stat::name(&root.read(&format!("/proc/{pid}/stat")).ok()?);
        let threads = Threads::new(root, &with_descendants(root, pid));
        // Where its group cannot be read, no quota of it is known.
        Some(Self { name, pid, threads, group: GroupCounters::open(root, Some(pid)).ok().flatten() })
    }

    /// Its times so far; `None` where the kernel does not report them.
    pub(super) fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        unknown: &mut UnknownFacts,
    ) -> Option<DaemonCounters> {
        let threads = self.threads.read(unknown)?;
        let group = self.group.as_ref().and_then(|group| group.read(buffer).ok());
        let throttled_ns = group.map_or(Nanos(0), |group| group.throttled_ns);
        Some(DaemonCounters { name: self.name.clone(), pid: self.pid, threads, throttled_ns })
    }
}

/// The process and its descendants, at most 64.
#[must_use]
pub fn with_descendants(root: &Root, pid: u32) -> Vec<u32> {
    let pids = root.names("/proc").unwrap_or_default();
    let parents: BTreeMap<u32, u64> = pids
        .iter()
        .filter_map(|name| name.parse::<u32>().ok())
        .filter_map(|pid| {
            let bytes = root.read(&format!("/proc/{pid}/stat")).ok()?;
            Some((pid, pid_stat::parse(&bytes).ok()?.parent_pid))
        })
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied().filter(|_| found.len() < DESCENDANTS_MAX) {
        let is_child = |(pid, of): &(&u32, &u64)| **of == u64::from(parent) && !found.contains(pid);
        let children: Vec<u32> = parents.iter().filter(is_child).map(|(pid, _)| *pid).collect();
        found.extend(children);
        next += 1;
    }
    found.truncate(DESCENDANTS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_counted_with_its_descendants_and_with_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, content: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        for (pid, parent, name, running_ns) in
            [(7, 1, "sshfs", 5), (8, 7, "ssh", 40), (9, 8, "helper", 2), (10, 1, "other", 1000)]
        {
            let stat = format!("{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 99 0\n");
            put(&format!("proc/{pid}/stat"), &stat);
            put(&format!("proc/{pid}/task/{pid}/schedstat"), &format!("{running_ns} 3 1\n"));
        }
        let root = Root::at(folder.path());
        let counted =
            Daemon::open(&root, 7).unwrap().read(&mut Vec::new(), &mut UnknownFacts::default()).unwrap();
        assert_eq!((counted.name.as_str(), counted.pid), ("sshfs", 7));
        assert_eq!((counted.threads.running_ns.0, counted.threads.waiting_ns.0), (47, 9));
        assert!(Daemon::open(&root, 99).is_none());
    }
}
