//! Block devices that are named themselves, on machines given as trees: what they are, and what uses them.

use std::path::Path;

use crate::support::root;
use narrows_model::inventory::PathKind;
use narrows_model::units::Bytes;
use narrows_probe::inventory::{ProcessFacts, device_inventory};
use narrows_probe::{ProbeErrorKind, block_device};

#[test]
fn a_disk_whose_partition_is_under_a_file_system_is_in_use() {
    let found = block_device(&root("laptop"), "259:0").unwrap();
    assert_eq!((found.name.as_str(), found.size_bytes), ("nvme0n1", Bytes(1_000_215_216 * 512)));
    assert_eq!(found.serial.as_deref(), Some("S3Z8NF0K612345"));
    assert!(found.uses.iter().any(|used| used == "dm-0 is built on nvme0n1p3"), "{:?}", found.uses);
    let found = block_device(&root("laptop"), "259:3").unwrap();
    assert_eq!((found.name.as_str(), found.serial), ("nvme0n1p3", None), "a partition has no serial number");
    let found = block_device(&root("laptop"), "253:1").unwrap();
    assert!(found.uses.iter().any(|used| used == "it is mounted at /"), "{:?}", found.uses);
    assert!(found.uses.iter().any(|used| used == "/dev/dm-1 is used for swap"), "{:?}", found.uses);
    let found = block_device(&root("md-server"), "9:0").unwrap();
    assert!(found.uses.iter().any(|used| used.starts_with("it is mounted at ")), "{:?}", found.uses);
}

#[test]
fn a_disk_that_there_is_not_is_missing() {
    let error = block_device(&root("laptop"), "8:240").unwrap_err();
    assert_eq!(error.kind(), ProbeErrorKind::Missing);
}

#[test]
fn the_path_to_a_device_is_the_device_and_what_it_is_built_on() {
    let process = ProcessFacts::default();
    let path = Path::new("/home/ana");
    let inventory = device_inventory(&root("laptop"), &process, path, "259:0").unwrap();
    let facts = inventory.path.unwrap();
    assert_eq!((facts.kind, facts.free_bytes), (PathKind::BlockDevice, None));
    assert_eq!(facts.size_bytes, Some(Bytes(1_000_215_216 * 512)));
    assert_eq!(facts.devices[0].name, "nvme0n1");
    let queue = facts.devices[0].queue.as_ref().unwrap();
    assert_eq!(
        (queue.request_bytes_max, queue.read_ahead_bytes),
        (Some(Bytes(128 << 10)), Some(Bytes(128 << 10)))
    );
    assert_eq!((queue.optimal_request_bytes, queue.forced_unit_access), (None, Some(true)), "0 is none");
    assert_eq!(queue.hardware_queue_count, None, "not in this tree");
}
