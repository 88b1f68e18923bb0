//! Paths to servers of storage protocols with nothing of ours on them.

use super::*;
use narrows_model::EngineId;

/// A request for `target` with what its engine can do.
fn spoken(target: &str, engine: EngineId) -> CheckRequest {
    let mut request = roomy(target);
    request.engines.path = Some(engine.declaration().capabilities());
    request
}

fn cuts(plan: &Plan) -> BTreeSet<Cut> {
    plan.cells.iter().map(|cell| cell.cut).collect()
}

const IN_MEMORY: [Cut; 2] = [Cut::Generator, Cut::MemoryCopy];

#[test]
fn nfs_and_iscsi_have_the_same_cuts() {
    let all = [Cut::RoundTrip, Cut::HotBlocks, Cut::EarlyPath, Cut::Path, Cut::MoreConnections].into_iter();
    let all: BTreeSet<Cut> = all.chain(IN_MEMORY).collect();
    for (target, engine) in [
        ("nfs://storage/export", EngineId::Nfs),
        ("iscsi://storage/iqn.2026-01.com.example:disk/1", EngineId::Iscsi),
    ] {
        let plan = plan(&spoken(target, engine));
        assert_eq!(cuts(&plan), all, "{target}");
        let early = cut(&plan, Cut::EarlyPath)[0];
        assert_eq!((early.workload.op, early.workload.sync), (Op::Write, SyncPolicy::None));
        let more = cut(&plan, Cut::MoreConnections)[0];
        assert_eq!((more.workload.workers, more.workload.queue_depth), (2, 8), "as many requests");
        let hot = cut(&plan, Cut::HotBlocks)[0];
        assert!(hot.workload.file_bytes < cut(&plan, Cut::Path)[0].workload.file_bytes);
    }
}

#[test]
fn an_endpoint_beside_a_server_adds_its_cuts_to_those_of_the_protocol() {
    let alone = spoken("nfs://storage/export", EngineId::Nfs);
    let server = RequestedServer { kind: ServerKind::Remote, host: "storage".to_owned(), port: 5300 };
    let disk = EngineId::Psync.declaration().capabilities();
    let engines = EngineFacts { server_disk: Some(disk), ..alone.engines.clone() };
    let beside = plan(&CheckRequest { server: Some(server), engines, ..alone.clone() });
    let added = [Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage];
    assert_eq!(cuts(&beside), cuts(&plan(&alone)).into_iter().chain(added).collect());
    let path = cut(&beside, Cut::Path)[0];
    assert_eq!(path.target.to_string(), "nfs://storage/export", "the load itself is not the endpoint's");
}

#[test]
fn blocks_of_a_bucket_are_read_and_more_connections_are_more_requests() {
    let plan = plan(&spoken("s3://bucket/prefix", EngineId::S3));
    let expected = [Cut::RoundTrip, Cut::HotBlocks, Cut::Path, Cut::MoreConnections].into_iter();
    assert_eq!(cuts(&plan), expected.chain(IN_MEMORY).collect());
    let of_blocks = || plan.cells.iter().filter(|cell| cell.workload.objects.is_none());
    assert!(of_blocks().all(|cell| !cell.workload.op.moves_towards_device()));
    let more = cut(&plan, Cut::MoreConnections)[0];
    assert_eq!((more.workload.workers, more.workload.queue_depth), (2, 16));
}

#[test]
fn writes_to_a_bucket_are_puts_of_objects_of_the_blocks_size_with_a_worker_for_each_in_flight() {
    let plan = plan(&CheckRequest { budget_s: 600.0, ..spoken("s3://bucket/prefix", EngineId::S3) });
    let puts: Vec<&Cell> =
        cut(&plan, Cut::Path).into_iter().filter(|cell| cell.workload.op == Op::Put).collect();
    let loads: BTreeSet<(Bytes, u32, u32)> = puts
        .iter()
        .map(|cell| (cell.workload.block_bytes, cell.workload.queue_depth, cell.workload.workers))
        .collect();
    let blocks = [4 << 10, 64 << 10, 1 << 20].map(Bytes);
    assert_eq!(loads, blocks.into_iter().flat_map(|block| [(block, 1, 1), (block, 1, 16)]).collect());
    for cell in &puts {
        let set = cell.workload.objects.unwrap();
        assert_eq!((set.min_bytes, set.max_bytes), (cell.workload.block_bytes, cell.workload.block_bytes));
        assert!(set.count >= u64::from(cell.workload.workers), "{set:?}");
        assert!(cut(&plan, Cut::RoundTrip).iter().any(|trip| trip.workload.workers == cell.workload.workers));
    }
    let of_objects = plan.cells.iter().filter(|cell| cell.workload.objects.is_some());
    assert!(of_objects.clone().count() > puts.len(), "the generator is measured beside them");
    assert!(of_objects.clone().all(|cell| cell.stop.warm_up_ns == Nanos(0)), "each object is visited once");
    assert!(plan.load.write_bytes_max.is_some(), "what is written is bounded: {:?}", plan.load);
    assert!(plan.skipped.iter().all(|skip| !skip.reason.contains("cannot write")), "{:?}", plan.skipped);
}

#[test]
fn clients_share_the_objects_that_they_put_and_none_of_the_uploads_is_left_out() {
    let bucket = CheckRequest { budget_s: 600.0, ..spoken("s3://bucket/prefix", EngineId::S3) };
    let one = plan(&bucket);
    let mut two = one.clone();
    crate::spread(&mut two, 2);
    let uploads = |plan: &Plan| {
        let puts = plan.cells.iter().filter(|cell| cell.workload.op == Op::Put);
        puts.map(|cell| (cell.workload.file_bytes, cell.workload.objects.unwrap().count)).collect::<Vec<_>>()
    };
    let (before, after) = (uploads(&one), uploads(&two));
    assert!(!before.is_empty());
    let halves: Vec<_> = before.iter().map(|(bytes, count)| (*bytes, count / 2)).collect();
    assert_eq!(after, halves);
    assert!(two.load.write_bytes_max <= one.load.write_bytes_max);
    assert_eq!(two.skipped.len(), one.skipped.len());
}

#[test]
fn an_object_that_exists_gets_no_uploads_beside_it() {
    let request = CheckRequest {
        existing_file: Some(Bytes(1 << 30)),
        ..spoken("s3://bucket/prefix/object", EngineId::S3)
    };
    assert!(plan(&request).cells.iter().all(|cell| !cell.workload.op.moves_towards_device()));
}

#[test]
fn a_unit_that_contains_something_is_only_read_for_the_reason_that_is_given() {
    let reason = "LUN 1 holds an XFS file system and is only read";
    let request = CheckRequest {
        existing_file: Some(Bytes(1 << 30)),
        read_only_reason: Some(reason.to_owned()),
        ..spoken("iscsi://storage/iqn.2026-01.com.example:disk/1", EngineId::Iscsi)
    };
    let plan = plan(&request);
    assert!(plan.cells.iter().all(|cell| !cell.workload.op.moves_towards_device()));
    assert!(cut(&plan, Cut::MoreConnections).is_empty(), "what was read is no longer as it was found");
    let on_unit = plan.cells.iter().filter(|cell| cell.target == request.target);
    assert!(on_unit.clone().count() > 0 && on_unit.clone().all(|cell| cell.read_only));
    assert!(plan.skipped.iter().any(|skip| skip.reason == reason), "{:?}", plan.skipped);
}

/// A check of a folder on an NFS mount whose export is this.
fn mounted(export: Result<&str, &str>) -> Plan {
    let request = CheckRequest {
        path_kind: Some(PathKind::Nfs),
        export: Some(export.map(|target| target.parse().unwrap()).map_err(str::to_owned)),
        budget_s: 600.0,
        ..request("/mnt/share")
    };
    plan_check(&request).unwrap()
}

#[test]
fn a_mount_is_planned_beside_its_export_with_the_protocols_cuts() {
    let plan = mounted(Ok("nfs://storage/export"));
    let export: Target = "nfs://storage/export".parse().unwrap();
    let of_export = || plan.cells.iter().filter(|cell| cell.target == export);
    let found: BTreeSet<Cut> = of_export().map(|cell| cell.cut).collect();
    let expected = [Cut::UserClient, Cut::RoundTrip, Cut::HotBlocks, Cut::EarlyPath, Cut::MoreConnections];
    assert_eq!(found, BTreeSet::from(expected));
    for path in plan.cells.iter().filter(|cell| cell.cut == Cut::Path) {
        let beside = of_export().find(|cell| {
            cell.cut == Cut::UserClient
                && (cell.workload.op, cell.workload.block_bytes)
                    == (path.workload.op, path.workload.block_bytes)
                && cell.workload.in_flight_configured() == path.workload.in_flight_configured()
        });
        let beside = &beside.unwrap_or_else(|| panic!("{} has none", path.id)).workload;
        // Past the page cache of a mount each write is durable when it returns.
        let is_durable = path.workload.sync == SyncPolicy::Dsync || path.workload.access == Access::Direct;
        let expected = match path.workload.op {
            Op::Write if is_durable => SyncPolicy::Dsync,
            Op::Write => SyncPolicy::AtEnd,
            _ => SyncPolicy::None,
        };
        assert_eq!(beside.sync, expected, "{}", path.id);
    }
    assert!(
        plan.load.touches.iter().any(|place| place.contains("past the mount")),
        "{:?}",
        plan.load.touches
    );
}

#[test]
fn without_room_for_files_of_both_the_mount_is_measured_alone() {
    let request = |free| CheckRequest {
        path_kind: Some(PathKind::Nfs),
        export: Some(Ok("nfs://storage/export".parse().unwrap())),
        free_bytes: Some(Bytes(free)),
        blocks: Some(vec![Bytes(MIB)]),
        depths: Some(vec![4]),
        ..roomy("/mnt/share")
    };
    // 64 MiB for 16 blocks of each of 4 requests, a quarter of the room at most.
    assert!(!cut(&plan(&request(512 * MIB)), Cut::UserClient).is_empty());
    let alone = plan(&request(300 * MIB));
    assert!(cut(&alone, Cut::UserClient).is_empty() && !cut(&alone, Cut::Path).is_empty());
    assert!(
        alone.skipped.iter().any(|skip| skip.reason.contains("not for those of its export")),
        "{:?}",
        alone.skipped
    );
    let problems = plan_check(&request(200 * MIB)).unwrap_err();
    assert!(problems[0].to_string().contains("a quarter of the free space is 50MiB"), "{}", problems[0]);
}

#[test]
fn files_beside_a_mount_have_half_of_its_room() {
    let request = |export| CheckRequest {
        path_kind: Some(PathKind::Nfs),
        export,
        free_bytes: Some(Bytes(4 << 30)),
        budget_s: 600.0,
        ..request("/mnt/share")
    };
    let export: Target = "nfs://storage/export".parse().unwrap();
    let largest = |export| {
        let plan = plan_check(&request(export)).unwrap();
        plan.cells.iter().map(|cell| cell.workload.file_bytes.0).max().unwrap()
    };
    // A point of 256 MiB needs more than a twentieth of either; a quarter is the most.
    assert!(largest(Some(Ok(export))) <= (4 << 30) / 8 && largest(None) <= (4 << 30) / 4);
}

#[test]
fn an_export_that_may_not_be_used_is_listed_with_its_reason() {
    let plan = mounted(Err("the mount is secured by Kerberos"));
    assert!(plan.cells.iter().all(|cell| cell.cut != Cut::UserClient));
    let skip = plan.skipped.iter().find(|skip| skip.cell.0.starts_with("user-client")).unwrap();
    assert_eq!(skip.reason, "the mount is secured by Kerberos");
}
