//! The counters of the client's role, from `probe`.

use narrows_model::{CounterSample, Nanos, Role};
use narrows_probe::Root;
use narrows_probe::counters::{Reader, Scope};
use narrows_run::CounterSource;

/// Reads this process's counters, and those of its client processes while they run.
#[derive(Debug)]
pub(crate) struct ClientCounters {
    devices: Vec<String>,
    child_pids: Vec<u32>,
    reader: Reader,
}

impl ClientCounters {
    /// Counters of this process and of the block devices with these kernel names.
    pub(crate) fn new(devices: Vec<String>) -> Self {
        let reader = open(&devices, &[]);
        Self { devices, child_pids: Vec::new(), reader }
    }
}

fn open(devices: &[String], child_pids: &[u32]) -> Reader {
    let mut pids = vec![std::process::id()];
    pids.extend_from_slice(child_pids);
    Reader::new(&Root::system(), Role::Client, &Scope { pids, devices: devices.to_vec() })
}

impl CounterSource for ClientCounters {
    fn read(&mut self, at_ns: Nanos, child_pids: &[u32]) -> Option<CounterSample> {
        if self.child_pids != child_pids {
            self.child_pids = child_pids.to_vec();
            self.reader = open(&self.devices, child_pids);
        }
        Some(self.reader.read(at_ns.0))
    }
}
