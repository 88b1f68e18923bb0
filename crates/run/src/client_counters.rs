//! The counters of the client's role, from `probe`.

use crate::block_tracing::BlockTracing;
use crate::link::CounterSource;
use crate::path_connections::{PathConnections, PathPeers};
use narrows_model::{CounterSample, Nanos, Role};
use narrows_probe::Root;
use narrows_probe::counters::{CounterReader, CounterScope};

/// Reads this process's counters, and those of its client processes while they run.
#[derive(Debug)]
pub struct ClientCounters {
    devices: Vec<String>,
    path_pids: Option<Vec<u32>>,
    nfs_mounts: Vec<String>,
    daemon: Option<u32>,
    connections: Option<PathConnections>,
    block_tracing: Option<BlockTracing>,
    child_pids: Vec<u32>,
    reader: CounterReader,
}

impl ClientCounters {
    /// Counters of this process and of the block devices with these kernel names. `path_pids` are the other processes of
    /// the path on this machine; `None` where they are not known: then no program is counted as one of others.
    #[must_use]
    pub fn new(devices: Vec<String>, path_pids: Option<Vec<u32>>) -> Self {
        let reader = open(&devices, path_pids.as_ref(), &[]);
        Self {
            devices,
            path_pids,
            nfs_mounts: Vec::new(),
            daemon: None,
            connections: None,
            block_tracing: None,
            child_pids: Vec::new(),
            reader,
        }
    }

    /// The same counters, and those of the NFS mounts at these points.
    #[must_use]
    pub fn with_nfs_mounts(mut self, points: Vec<String>) -> Self {
        self.reader = self.reader.with_nfs_mounts(&Root::system(), &points);
        Self { nfs_mounts: points, ..self }
    }

    /// The same counters, and those of the process that serves a file system of the path.
    #[must_use]
    pub fn with_daemon(mut self, pid: Option<u32>) -> Self {
        self.reader = self.reader.with_daemon(&Root::system(), pid);
        Self { daemon: pid, ..self }
    }

    /// The same counters, and those of the TCP connections by which the path reaches these.
    #[must_use]
    pub fn with_connections(self, peers: &PathPeers) -> Self {
        Self { connections: peers.open(), ..self }
    }

    /// The same counters, and the times of the requests of its block devices, where the kernel and the rights of the user allow
    /// to trace them; without any device of its own nothing is traced.
    #[must_use]
    pub fn with_block_tracing(self) -> Self {
        let block_tracing = (!self.devices.is_empty()).then(|| BlockTracing::start(&self.devices));
        Self { block_tracing, ..self }
    }
}

fn open(devices: &[String], path_pids: Option<&Vec<u32>>, child_pids: &[u32]) -> CounterReader {
    let mut pids = vec![std::process::id()];
    pids.extend_from_slice(child_pids);
    let scope = CounterScope { pids, devices: devices.to_vec(), path_pids: path_pids.cloned() };
    CounterReader::new(&Root::system(), Role::Client, &scope)
}

impl CounterSource for ClientCounters {
    fn read(&mut self, at_ns: Nanos, child_pids: &[u32]) -> Option<CounterSample> {
        if self.child_pids != child_pids {
            self.child_pids = child_pids.to_vec();
            let reader = open(&self.devices, self.path_pids.as_ref(), child_pids);
            let reader = reader.with_nfs_mounts(&Root::system(), &self.nfs_mounts);
            self.reader = reader.with_daemon(&Root::system(), self.daemon);
        }
        let tcp = self.connections.as_mut().and_then(|connections| connections.read(at_ns));
        let block_trace = self.block_tracing.as_ref().map(BlockTracing::read);
        Some(CounterSample { tcp, block_trace, ..self.reader.read(at_ns.0) })
    }
}

/// Of clients on other machines: nothing of this machine is theirs, and so nothing is counted. What the connections of the
/// load themselves report is added to it.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountersElsewhere;

impl CounterSource for CountersElsewhere {
    fn read(&mut self, at_ns: Nanos, _child_pids: &[u32]) -> Option<CounterSample> {
        Some(CounterSample::unread(Role::Client, at_ns))
    }
}
