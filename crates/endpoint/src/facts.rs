//! What a server reports about itself, and the counters of its machine and process.

use crate::session::Session;
use crate::shared::ServerState;
use crate::workers::Workers;
use narrows_model::inventory::Inventory;
use narrows_model::server::ServerFacts;
use narrows_model::{Bytes, CounterSample, Nanos, Role};
use narrows_probe::Root as ProbeRoot;
use narrows_probe::counters::{CounterReader, CounterScope};
use narrows_probe::inventory::{ProcessFacts, host, inventory};
use narrows_run::CounterSource;
use std::path::Path;
use std::sync::Arc;

/// The machine and the path of the store, read now.
pub(crate) fn read_inventory(shared: &ServerState) -> Inventory {
    machine_inventory(shared.root.as_ref().map(|root| root.path.as_path()))
}

/// The machine and `path` on it, read now.
pub(crate) fn machine_inventory(path: Option<&Path>) -> Inventory {
    let affinity = narrows_sys::process::affinity().unwrap_or_default();
    let process = ProcessFacts {
        affinity_cpus: affinity.into_iter().filter_map(|cpu| u32::try_from(cpu).ok()).collect(),
        clock_resolution_ns: None,
    };
    let root = ProbeRoot::system();
    inventory(&root, &process, path).unwrap_or_else(|error| {
        let (host, mut unknown) = host(&root, &process);
        unknown.push(format!("path of the store: {error}"));
        Inventory::new(host, None, unknown)
    })
}

/// What the server reports about itself. The client determines the address, the clocks and whether the machine is
/// shared.
pub(crate) fn server_facts(shared: &ServerState, inventory: &Inventory) -> ServerFacts {
    let store = shared.root.as_ref();
    ServerFacts {
        store_device: store.and_then(|root| device_number(&root.folder)),
        store_root: store.map(|root| root.path.display().to_string()),
        quota_bytes: shared.options.quota_bytes.map(Bytes),
        ..machine_facts(inventory)
    }
}

/// What a program without a store reports about itself; see [`server_facts`].
pub(crate) fn machine_facts(inventory: &Inventory) -> ServerFacts {
    ServerFacts {
        address: String::new(),
        narrows_version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id: inventory.host.boot_id.clone().unwrap_or_default(),
        hostname: inventory.host.hostname.clone(),
        affinity_cpus: inventory.host.affinity_cpus.clone(),
        quota_cpus: inventory.host.quota_cpus,
        store_device: None,
        store_root: None,
        quota_bytes: None,
        clock_offset_ns: 0,
        clock_offset_error_ns: Nanos(0),
        round_trip_ns: Nanos(0),
        forwards_to: Vec::new(),
        shares_machine: false,
        pid: Some(std::process::id()),
        pid_namespace: narrows_sys::process::pid_namespace(),
    }
}

/// `major:minor` of the device under an open folder.
fn device_number(folder: &std::fs::File) -> Option<String> {
    let status = rustix::fs::fstat(folder).ok()?;
    Some(format!("{}:{}", rustix::fs::major(status.st_dev), rustix::fs::minor(status.st_dev)))
}

/// Reads the counters of the server's machine and process, and of one session's connections.
pub(crate) struct ServerSampler {
    reader: CounterReader,
    session: Arc<Session>,
    workers: Arc<Workers>,
}

impl ServerSampler {
    /// A sampler that counts the devices under the store, or all where they are not known.
    pub(crate) fn new(inventory: &Inventory, session: &Arc<Session>, workers: &Arc<Workers>) -> Self {
        let devices = inventory.path.iter().flat_map(|path| &path.devices).map(|device| device.name.clone());
        // A client on this machine counts the other programs itself: what this counts is only used without one.
        let path_pids = Some(Vec::new());
        let scope = CounterScope { pids: vec![std::process::id()], devices: devices.collect(), path_pids };
        let reader = CounterReader::new(&ProbeRoot::system(), Role::Server, &scope);
        Self { reader, session: Arc::clone(session), workers: Arc::clone(workers) }
    }

    /// All counters at `at_ns`.
    pub(crate) fn sample(&mut self, at_ns: u64) -> CounterSample {
        CounterSample {
            tcp: self.session.tcp(),
            workers: Some(self.workers.counters()),
            ..self.reader.read(at_ns)
        }
    }
}

impl CounterSource for ServerSampler {
    fn read(&mut self, at_ns: Nanos, _child_pids: &[u32]) -> Option<CounterSample> {
        Some(self.sample(at_ns.0))
    }
}
