//! Facts about eight machines given as trees: what the paths to their folders are made of.

use std::path::Path;

use crate::support::{device, full, lists, names, path};
use narrows_model::IoLimits;
use narrows_model::inventory::{DeviceKind, PathKind};
use narrows_model::units::{Bytes, BytesPerSec, OpsPerSec};
use narrows_probe::{ProbeErrorKind, inventory};

#[test]
fn the_laptop_leads_through_lvm_and_encryption_to_one_nvme_disk() {
    let facts = path("laptop", "/home/ana");
    assert_eq!((facts.kind, facts.mount.fs_type.as_str()), (PathKind::LocalDevice, "ext4"));
    assert_eq!(names(&facts), ["dm-1", "dm-0", "nvme0n1p3", "nvme0n1"]);
    let kinds: Vec<_> = facts.devices.iter().map(|device| device.kind).collect();
    assert_eq!(kinds, [DeviceKind::Mapper, DeviceKind::Mapper, DeviceKind::Partition, DeviceKind::Disk]);
    assert_eq!(device(&facts, "dm-1").description.as_deref(), Some("LVM vgubuntu-root"));
    assert_eq!(device(&facts, "dm-0").description.as_deref(), Some("CRYPT nvme0n1p3_crypt"));
    assert_eq!(device(&facts, "dm-0").parents, ["nvme0n1p3"]);
    assert_eq!(
        (facts.free_bytes, facts.size_bytes),
        (Some(Bytes(120_000_000_000)), Some(Bytes(509_456_056_320)))
    );
}

#[test]
fn the_nvme_disk_shows_its_queue() {
    let facts = path("laptop", "/home/ana");
    let disk = device(&facts, "nvme0n1");
    assert_eq!(disk.description.as_deref(), Some("SAMSUNG MZVLB512HAJQ-000L7"));
    assert_eq!((disk.device.as_str(), disk.rotational), ("259:0", Some(false)));
    assert_eq!((disk.scheduler.as_deref(), disk.queue_request_count), (Some("none"), Some(1_023)));
    assert_eq!(
        (disk.write_cache.as_deref(), disk.logical_block_bytes),
        (Some("write back"), Some(Bytes(512)))
    );
    assert_eq!((disk.size_bytes, disk.parents.len()), (Some(Bytes(1_000_215_216 * 512)), 0));
    let partition = device(&facts, "nvme0n1p3");
    assert_eq!((partition.scheduler.as_deref(), partition.rotational), (None, None));
}

#[test]
fn a_bind_mount_has_its_own_options_and_the_same_devices() {
    let facts = path("laptop", "/srv/bind mount");
    assert_eq!(facts.mount.mount_point, "/srv/bind mount");
    assert!(facts.mount.read_only && !facts.mount.options.contains(&"rw".to_owned()));
    assert_eq!(names(&facts)[0], "dm-1");
}

#[test]
fn a_file_system_in_memory_has_no_device_and_misses_none() {
    let inventory = full("laptop", "/tmp/x");
    let facts = inventory.path.unwrap();
    assert_eq!((facts.kind, facts.devices.len()), (PathKind::Memory, 0));
    assert!(!lists(&inventory.unknown, &["devices"]), "{:?}", inventory.unknown);
}

#[test]
fn the_raid_stands_on_four_partitions_of_four_rotating_disks() {
    let facts = path("md-server", "/srv/data");
    assert_eq!(names(&facts), ["md0", "sda1", "sdb1", "sdc1", "sdd1", "sda", "sdb", "sdc", "sdd"]);
    let raid = device(&facts, "md0");
    assert_eq!((raid.kind, raid.description.as_deref()), (DeviceKind::Raid, Some("raid10")));
    assert_eq!(raid.parents, ["sda1", "sdb1", "sdc1", "sdd1"]);
    assert_eq!(raid.queue_request_count, None);
    let disk = device(&facts, "sdc");
    assert_eq!((disk.kind, disk.rotational), (DeviceKind::Disk, Some(true)));
    assert_eq!(disk.description.as_deref(), Some("ATA ST4000NM0035-1V4"));
    assert_eq!((disk.scheduler.as_deref(), disk.queue_request_count), (Some("mq-deadline"), Some(64)));
}

#[test]
fn of_the_limits_of_a_group_and_its_ancestor_the_tighter_counts() {
    let facts = path("md-server", "/srv/data");
    let limits = IoLimits {
        read_bytes_per_s: Some(BytesPerSec(209_715_200.0)),
        write_bytes_per_s: Some(BytesPerSec(104_857_600.0)),
        ..IoLimits::default()
    };
    let first = device(&facts, "sda");
    assert_eq!((first.group_limits, first.throttle_bytes_per_s), (limits, limits.write_bytes_per_s));
    let limits = IoLimits { read_ops_per_s: Some(OpsPerSec(100.0)), ..IoLimits::default() };
    let second = device(&facts, "sdb");
    assert_eq!((second.group_limits, second.throttle_bytes_per_s), (limits, None));
}

#[test]
fn btrfs_is_found_by_its_source_with_all_its_devices() {
    let facts = path("md-server", "/backup");
    assert_eq!((facts.kind, facts.mount.device.as_str()), (PathKind::LocalDevice, "0:45"));
    assert_eq!(names(&facts), ["sde", "sdf"]);
    assert_eq!(device(&facts, "sde").kind, DeviceKind::NetworkBlock, "a disk of an iSCSI session");
}

#[test]
fn zfs_says_that_its_devices_are_not_reported() {
    let inventory = full("md-server", "/tank");
    let facts = inventory.path.unwrap();
    assert_eq!((facts.kind, facts.devices.len()), (PathKind::LocalDevice, 0));
    assert!(lists(&inventory.unknown, &["devices of /tank", "zfs"]));
}

#[test]
fn a_container_cannot_see_under_its_own_overlay_and_says_so() {
    let inventory = full("container", "/app");
    let facts = inventory.path.unwrap();
    assert_eq!((facts.kind, facts.devices.len()), (PathKind::Overlay, 0));
    assert_eq!(
        facts.overlay_layers,
        [
            "/var/lib/docker/overlay2/x/diff",
            "/var/lib/docker/overlay2/l/AAA",
            "/var/lib/docker/overlay2/l/BBB"
        ]
    );
    assert!(lists(&inventory.unknown, &["overlay", "/var/lib/docker/overlay2/x/diff", "not visible"]));
}

#[test]
fn an_overlay_over_visible_folders_leads_to_the_device_of_its_upper_one() {
    let facts = path("container", "/mnt/merged");
    assert_eq!((facts.kind, names(&facts)), (PathKind::Overlay, vec!["vda1", "vda"]));
}

#[test]
fn a_volume_of_a_container_is_on_the_virtual_disk_with_its_limit() {
    let facts = path("container", "/data");
    assert_eq!(facts.kind, PathKind::LocalDevice);
    let disk = device(&facts, "vda");
    assert_eq!((disk.kind, disk.description.as_deref()), (DeviceKind::Virtual, None));
    assert_eq!(disk.throttle_bytes_per_s, Some(BytesPerSec(26_214_400.0)));
}

#[test]
fn an_nfs_4_mount_shows_its_options_and_connections() {
    let facts = path("nfs4-client", "/mnt/nas/u1");
    assert_eq!((facts.kind, facts.devices.len()), (PathKind::Nfs, 0));
    let nfs = facts.nfs.unwrap();
    assert_eq!((nfs.server.as_str(), nfs.export.as_str()), ("nas.example", "/export/home"));
    assert_eq!((nfs.version.as_str(), nfs.connection_count), ("4.2", Some(4)));
    assert_eq!((nfs.read_bytes_max, nfs.write_bytes_max), (Some(Bytes(1 << 20)), Some(Bytes(512 << 10))));
    assert_eq!((nfs.transport.as_deref(), nfs.address.as_deref()), (Some("tcp"), Some("10.0.0.5")));
    assert!(!nfs.synchronous);
}

#[test]
fn a_synchronous_nfs_mount_of_an_address_in_brackets_has_no_known_connections() {
    let inventory = full("nfs4-client", "/mnt/sync");
    let nfs = inventory.path.unwrap().nfs.unwrap();
    assert_eq!((nfs.server.as_str(), nfs.synchronous, nfs.connection_count), ("[fd00::5]", true, None));
    assert!(lists(&inventory.unknown, &["NFS number of connections"]));
}

#[test]
fn an_exported_loop_leads_through_its_file_to_the_disk() {
    let facts = path("nfs3-server", "/srv/export");
    assert_eq!(names(&facts), ["loop3", "sda2", "sda"]);
    let device = device(&facts, "loop3");
    assert_eq!(device.kind, DeviceKind::Loop);
    assert_eq!(device.description.as_deref(), Some("/var/images/export.img"));
    assert_eq!(device.parents, ["sda2"]);
}

#[test]
fn an_nfs_3_mount_is_read_without_mountstats() {
    let nfs = path("nfs3-server", "/mnt/self").nfs.unwrap();
    assert_eq!((nfs.version.as_str(), nfs.transport.as_deref()), ("3", Some("udp")));
    assert_eq!((nfs.server.as_str(), nfs.address.as_deref()), ("localhost", Some("127.0.0.1")));
}

#[test]
fn gluster_is_fuse_and_ceph_is_another_network_file_system() {
    let facts = path("gluster-client", "/mnt/gluster vol");
    assert_eq!((facts.kind, facts.mount.source.as_str()), (PathKind::Fuse, "gl1:/vol0"));
    assert_eq!(facts.mount.mount_point, "/mnt/gluster vol");
    assert!(facts.nfs.is_none() && facts.devices.is_empty());
    assert_eq!(path("gluster-client", "/mnt/ceph").kind, PathKind::OtherNetwork);
}

#[test]
fn in_version_1_the_limit_of_the_own_group_counts_and_an_ancestors_does_not() {
    let facts = path("firecracker", "/app");
    let disk = device(&facts, "vda");
    assert_eq!(disk.kind, DeviceKind::Virtual);
    let limits = IoLimits {
        read_bytes_per_s: Some(BytesPerSec(20_971_520.0)),
        write_bytes_per_s: Some(BytesPerSec(10_485_760.0)),
        write_ops_per_s: Some(OpsPerSec(250.0)),
        ..IoLimits::default()
    };
    assert_eq!((disk.group_limits, disk.throttle_bytes_per_s), (limits, Some(BytesPerSec(10_485_760.0))));
}

#[test]
fn of_two_mounts_at_one_place_the_later_is_seen() {
    let facts = path("firecracker", "/dev/shm/x");
    assert_eq!(facts.kind, PathKind::Memory);
    assert!(facts.mount.options.contains(&"size=1000k".to_owned()), "{:?}", facts.mount.options);
}

#[test]
fn a_slash_in_a_kernel_name_is_kept() {
    let facts = path("old-kernel", "/data");
    assert_eq!(names(&facts), ["cciss/c0d0p1", "cciss/c0d0"]);
    assert_eq!(device(&facts, "cciss/c0d0p1").parents, ["cciss/c0d0"]);
    let disk = device(&facts, "cciss/c0d0");
    assert_eq!((disk.scheduler.as_deref(), disk.write_cache.as_deref()), (Some("cfq"), None));
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_it() {
    let error = inventory::path(&crate::support::root("laptop"), Path::new("/nowhere")).unwrap_err();
    assert_eq!((error.kind(), error.target()), (ProbeErrorKind::Missing, "/nowhere"));
    assert!(error.to_string().contains("/nowhere"), "{error}");
}

#[test]
fn a_mount_out_of_shape_is_an_error_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
    let text = "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n28 27 8:2 / /x rw ext4 /dev/sda2 rw\n";
    std::fs::write(folder.path().join("proc/self/mountinfo"), text).unwrap();
    let root = narrows_probe::Root::at(folder.path());
    let error = inventory::path(&root, Path::new("/proc")).unwrap_err();
    assert_eq!(error.kind(), ProbeErrorKind::Malformed);
    let message = error.to_string();
    assert!(message.contains("/proc/self/mountinfo") && message.contains("line 2"), "{message}");
}
