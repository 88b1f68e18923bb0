//! Paths within one machine: their points, cuts and what is left out of them.

use super::*;

#[test]
fn points_come_in_the_order_of_their_value_reading_first() {
    let plan = plan(&roomy("tcp://storage:7300/disk"));
    let points: Vec<_> = cut(&plan, Cut::Path)
        .iter()
        .map(|cell| (cell.workload.op, cell.workload.block_bytes.0, cell.workload.queue_depth))
        .collect();
    let shapes = [(MIB, 16), (4 * KIB, 1), (4 * KIB, 16), (64 * KIB, 16), (64 * KIB, 1), (MIB, 1)];
    let expected: Vec<_> = shapes
        .iter()
        .flat_map(|(block, depth)| [Op::Read, Op::Write].map(|op| (op, *block, *depth)))
        .collect();
    assert_eq!(points, expected);
}

#[test]
fn a_synchronous_engine_has_a_worker_for_each_request_in_flight() {
    let plan = plan(&roomy("/srv"));
    assert_eq!(cut(&plan, Cut::Path)[0].id.0, "path/read/1MiB/qd1/w16/c1");
    assert_eq!(cut(&plan, Cut::Generator)[0].id.0, "generator/read/1MiB/qd1/w16/c1");
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.queue_depth == 1));
}

#[test]
fn bulk_of_a_local_path_is_buffered_cold_when_read_and_synced_when_written() {
    let plan = plan(&roomy("/srv"));
    for cell in cut(&plan, Cut::Path).into_iter().filter(|cell| cell.workload.block_bytes.0 > 16 * KIB) {
        assert_eq!((cell.workload.access, cell.site), (Access::Buffered, Site::Client));
        assert_eq!((cell.target.to_string().as_str(), cell.workload.order), ("/srv", Order::Sequential));
        if cell.workload.op == Op::Read {
            assert_eq!((cell.workload.cache, cell.workload.sync), (CacheState::Cold, SyncPolicy::None));
        } else {
            assert_eq!(cell.workload.sync, SyncPolicy::AtEnd);
        }
        // Once over, and a warm-up would use up the bytes before the window opens.
        assert_eq!((cell.stop.bytes_max, cell.stop.warm_up_ns), (Some(Bytes(2048 * MIB)), Nanos(0)));
    }
}

#[test]
fn small_requests_of_a_local_path_are_random_past_the_page_cache_and_durable_one_at_a_time() {
    let plan = plan(&roomy("/srv"));
    let small = |op: Op, workers: u32| {
        let found = cut(&plan, Cut::Path).into_iter().find(|cell| {
            let load = &cell.workload;
            (load.op, load.block_bytes.0, load.workers) == (op, 4 * KIB, workers)
        });
        let load = &found.unwrap().workload;
        (load.order, load.access, load.cache, load.sync)
    };
    let (random, direct, as_found) = (Order::Random, Access::Direct, CacheState::AsFound);
    assert_eq!(small(Op::Read, 1), (random, direct, as_found, SyncPolicy::None));
    assert_eq!(small(Op::Read, 16), (random, direct, as_found, SyncPolicy::None));
    assert_eq!(small(Op::Write, 16), (random, direct, as_found, SyncPolicy::None));
    // As a database writes: through the page cache, and done when it is durable.
    assert_eq!(small(Op::Write, 1), (random, Access::Buffered, as_found, SyncPolicy::Dsync));
    // What is written is bounded by the file, whatever the time allows.
    assert!(plan.load.write_bytes_max.is_some());
}

#[test]
fn small_requests_of_a_file_system_without_direct_access_go_through_the_page_cache_cold() {
    let direct = Support::No { reason: "here".to_owned() };
    let mut request = roomy("/srv");
    request.engines.path = Some(capabilities("psync", direct, 1));
    let plan = plan(&request);
    for cell in cut(&plan, Cut::Path) {
        assert_eq!(cell.workload.access, Access::Buffered, "{}", cell.id);
        assert!(cell.workload.op == Op::Write || cell.workload.cache == CacheState::Cold, "{}", cell.id);
    }
}

#[test]
fn the_cuts_of_a_local_path_are_those_of_one_machine() {
    let plan = plan(&roomy("/srv"));
    let kinds: BTreeSet<Cut> = plan.cells.iter().map(|cell| cell.cut).collect();
    let expected = [Cut::Generator, Cut::MemoryCopy, Cut::PageCache, Cut::LocalDevice, Cut::Path];
    assert_eq!(kinds, BTreeSet::from(expected));
    assert_eq!(plan.topology, Topology::Local);
    assert!(
        cut(&plan, Cut::PageCache)
            .iter()
            .all(|cell| { cell.workload.op == Op::Read && cell.workload.cache == CacheState::Warm })
    );
    assert!(cut(&plan, Cut::LocalDevice).iter().all(|cell| cell.workload.access == Access::Direct));
    assert_eq!(cut(&plan, Cut::LocalDevice).len(), 12);
    // As many workers as the path has, and the same in both directions.
    let copies = [
        "memory-copy/read/1MiB/qd1/w16/c1",
        "memory-copy/read/4KiB/qd1/c1",
        "memory-copy/read/4KiB/qd1/w16/c1",
        "memory-copy/read/64KiB/qd1/w16/c1",
        "memory-copy/read/64KiB/qd1/c1",
        "memory-copy/read/1MiB/qd1/c1",
    ];
    assert_eq!(ids(&cut(&plan, Cut::MemoryCopy)), copies);
}

#[test]
fn without_direct_access_the_device_is_a_skip_with_its_reason() {
    let mut request = roomy("/srv");
    let no = Support::No { reason: "tmpfs keeps everything in memory".into() };
    request.engines.path = Some(capabilities("psync", no, 1));
    let plan = plan(&request);
    assert!(cut(&plan, Cut::LocalDevice).is_empty());
    assert_eq!(cut(&plan, Cut::Path).len(), 12);
    let reason = reason(&plan, "local-device/read/4KiB/qd1/c1");
    assert_eq!(reason, "direct I/O is not possible: tmpfs keeps everything in memory");
}

#[test]
fn a_block_that_direct_access_refuses_is_a_skip_with_its_reason() {
    let request = CheckRequest { blocks: Some(vec![Bytes(1000)]), ..roomy("/srv") };
    let plan = plan(&request);
    assert_eq!(
        reason(&plan, "local-device/read/1000B/qd1/c1"),
        "direct I/O needs multiples of 512B, and 1000B is not one"
    );
}

#[test]
fn a_file_that_does_not_fit_memory_has_no_page_cache_cut() {
    let plan = plan(&CheckRequest { memory_bytes: Some(Bytes(300 * MIB)), ..roomy("/srv") });
    assert!(cut(&plan, Cut::PageCache).is_empty());
    assert!(
        reason(&plan, "page-cache/read/64KiB/qd1/c1")
            .contains("256MiB does not stay in the page cache of 300MiB")
    );
}

#[test]
fn an_existing_file_is_only_ever_read() {
    let plan = plan(&CheckRequest { existing_file: Some(Bytes(10 * 1024 * MIB)), ..roomy("/srv/data.img") });
    let on_file: Vec<_> =
        plan.cells.iter().filter(|cell| matches!(cell.target, Target::File { .. })).collect();
    assert!(!on_file.is_empty());
    for cell in on_file {
        assert!(cell.read_only && cell.workload.op == Op::Read, "{}", cell.id);
    }
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.cache == CacheState::AsFound));
    assert!(reason(&plan, "path/write/4KiB/qd1/c1").contains("only read"));
    assert_eq!((plan.load.file_bytes_max, plan.load.write_bytes_max), (Bytes(0), Some(Bytes(0))));
    assert!(plan.load.touches.is_empty());
}

#[test]
fn points_that_an_existing_file_is_too_small_for_are_skips() {
    let plan = plan(&CheckRequest { existing_file: Some(Bytes(10 * MIB)), ..roomy("/srv/data.img") });
    assert_eq!(
        ids(&cut(&plan, Cut::Path)),
        ["path/read/4KiB/qd1/c1", "path/read/4KiB/qd1/w16/c1", "path/read/64KiB/qd1/c1"]
    );
    assert!(reason(&plan, "path/read/1MiB/qd1/c1").contains("needs 16MiB"));
}

#[test]
fn segments_go_from_the_application_to_the_device() {
    use Segment::*;
    let plan = |kind| plan(&CheckRequest { path_kind: Some(kind), ..roomy("/srv") }).segments;
    let client = [Generator, WorkloadConcurrency, ClientCpu, ClientMemory, ClientCache, ClientFilesystem];
    assert_eq!(plan(PathKind::Memory), client);
    assert_eq!(plan(PathKind::LocalDevice)[6..], [DeviceBandwidth, DeviceIops, DeviceLatency]);
    let nfs = plan(PathKind::Nfs);
    assert!(nfs.contains(&NetworkLatency) && nfs.contains(&ServerCommit) && nfs.contains(&DeviceBandwidth));
}

#[test]
fn a_file_system_in_memory_has_no_cache_to_drop_and_no_device() {
    let plan = plan(&CheckRequest { path_kind: Some(PathKind::Memory), ..roomy("/dev/shm") });
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.cache == CacheState::AsFound));
    assert!(cut(&plan, Cut::LocalDevice).is_empty() && cut(&plan, Cut::PageCache).is_empty());
    assert!(reason(&plan, "local-device/read/4KiB/qd1/c1").contains("in memory has no device"));
    // No cell ends with the bytes of the file: memory takes these in a tenth of a second.
    let of_path = cut(&plan, Cut::Path);
    assert!(of_path.iter().all(|cell| cell.stop.bytes_max.is_none() && cell.stop.warm_up_ns > Nanos(0)));
    assert!(of_path.iter().all(|cell| cell.workload.file_bytes == Bytes(1024 * MIB)));
}

#[test]
fn a_command_that_may_use_little_memory_copies_no_region_that_fills_it() {
    let copies = |memory: u64| {
        let plan = plan(&CheckRequest { memory_bytes: Some(Bytes(memory * MIB)), ..roomy("/srv") });
        let skipped = plan.skipped.iter().find(|skip| skip.cell.0.starts_with("memory-copy/"));
        (cut(&plan, Cut::MemoryCopy).len(), skipped.map(|skip| skip.reason.clone()))
    };
    let (count, reason) = copies(64);
    assert_eq!(count, 0);
    assert!(reason.unwrap().contains("this command can use 64MiB in all"));
    let (count, reason) = copies(256);
    assert!(count > 0 && reason.is_none(), "{reason:?}");
}

#[test]
fn the_file_of_a_device_is_bounded_by_time_by_free_space_and_by_memory() {
    let file_bytes = |memory: u64, free: u64| {
        let request = CheckRequest {
            memory_bytes: Some(Bytes(memory * MIB)),
            free_bytes: Some(Bytes(free * MIB)),
            path_kind: Some(PathKind::LocalDevice),
            ..roomy("/srv")
        };
        cut(&plan(&request), Cut::Path)[0].workload.file_bytes.0 / MIB
    };
    assert_eq!(file_bytes(64 << 10, 1 << 20), 4096);
    assert_eq!(file_bytes(8 << 10, 1 << 20), 2048);
    assert_eq!(file_bytes(64 << 10, 20 << 10), 1024);
    assert_eq!(file_bytes(512, 1 << 20), 256);
}

#[test]
fn a_file_that_exists_is_read_as_found_from_its_first_pass() {
    let plan = plan(&CheckRequest { existing_file: Some(Bytes(1 << 30)), ..roomy("/srv/file") });
    assert!(cut(&plan, Cut::PageCache).is_empty());
    assert!(reason(&plan, "page-cache/read/4KiB/qd1/c1").contains("present cache state"));
    for cell in cut(&plan, Cut::Path) {
        assert_eq!((cell.workload.cache, cell.stop.warm_up_ns), (CacheState::AsFound, Nanos(0)));
        assert!(cell.read_only);
    }
}

#[test]
fn direct_io_over_a_network_file_system_is_not_called_a_device() {
    for kind in [PathKind::Nfs, PathKind::OtherNetwork, PathKind::Fuse] {
        let plan = plan(&CheckRequest { path_kind: Some(kind), ..roomy("/mnt") });
        assert!(cut(&plan, Cut::LocalDevice).is_empty());
        assert!(reason(&plan, "local-device/read/4KiB/qd1/c1").contains("not a device of this machine"));
    }
}
