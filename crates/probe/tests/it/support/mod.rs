//! Reading the trees of `tests/fixtures`, one folder a machine.

use std::path::{Path, PathBuf};

use narrows_model::inventory::{DeviceFacts, HostFacts, Inventory, NicFacts, PathFacts};
use narrows_probe::Root;
use narrows_probe::inventory::{self, ProcessFacts};

pub(crate) fn root(machine: &str) -> Root {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(machine);
    assert!(folder.is_dir(), "no tree {}", folder.display());
    Root::at(folder)
}

pub(crate) fn host(machine: &str) -> (HostFacts, Vec<String>) {
    let process = ProcessFacts { affinity_cpus: vec![0, 1], clock_resolution_ns: Some(1) };
    inventory::host(&root(machine), &process)
}

pub(crate) fn path(machine: &str, path: &str) -> PathFacts {
    inventory::path(&root(machine), Path::new(path)).unwrap()
}

pub(crate) fn full(machine: &str, path: &str) -> Inventory {
    inventory::inventory(&root(machine), &ProcessFacts::default(), Some(Path::new(path))).unwrap()
}

pub(crate) fn nic<'host>(host: &'host HostFacts, name: &str) -> &'host NicFacts {
    host.nics.iter().find(|nic| nic.name == name).unwrap()
}

pub(crate) fn device<'path>(path: &'path PathFacts, name: &str) -> &'path DeviceFacts {
    path.devices.iter().find(|device| device.name == name).unwrap()
}

pub(crate) fn names(path: &PathFacts) -> Vec<&str> {
    path.devices.iter().map(|device| device.name.as_str()).collect()
}

pub(crate) fn lists(unknown: &[String], words: &[&str]) -> bool {
    unknown.iter().any(|line| words.iter().all(|word| line.contains(word)))
}
