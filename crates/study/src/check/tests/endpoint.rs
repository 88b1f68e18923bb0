//! Paths to an endpoint, through a proxy, and with a server beside the folder.

use super::*;

#[test]
fn over_an_endpoint_a_copy_is_measured_once_a_block() {
    let plan = plan(&roomy("tcp://storage:7300/disk"));
    let copies =
        ["memory-copy/read/1MiB/qd1/c1", "memory-copy/read/4KiB/qd1/c1", "memory-copy/read/64KiB/qd1/c1"];
    assert_eq!(ids(&cut(&plan, Cut::MemoryCopy)), copies);
}

#[test]
fn the_cuts_of_an_endpoints_disk_share_block_depth_and_connection() {
    let plan = plan(&roomy("tcp://storage:7300/disk"));
    assert_eq!(plan.topology, Topology::ClientServer);
    for path in cut(&plan, Cut::Path) {
        let (load, endpoint) =
            (&path.workload, |layer| Target::Tcp { host: "storage".into(), port: 7300, layer, via: None });
        assert_eq!((load.workers, load.access), (1, Access::Direct));
        assert_eq!(path.target, endpoint(Layer::Disk));
        let late = load.acknowledgement == Acknowledgement::Late;
        assert_eq!(late, load.op == Op::Write);
        let same =
            |cell: &&Cell| cell.workload.op == load.op && cell.workload.block_bytes == load.block_bytes;
        let memory: Vec<_> = cut(&plan, Cut::ServerMemory).into_iter().filter(same).collect();
        assert!(memory.iter().any(|cell| cell.workload.queue_depth == load.queue_depth));
        assert!(
            memory.iter().all(|cell| cell.target == endpoint(Layer::Memory) && cell.workload.workers == 1)
        );
        let storage: Vec<_> = cut(&plan, Cut::ServerStorage).into_iter().filter(same).collect();
        let here = storage.iter().find(|cell| cell.workload.workers == load.queue_depth).unwrap();
        assert_eq!((here.site, here.workload.access), (Site::Server, Access::Direct));
        assert_eq!(here.target, ".".parse::<Target>().unwrap());
        assert_eq!(here.workload.sync == SyncPolicy::Dsync, load.op == Op::Write);
    }
}

#[test]
fn late_writes_have_the_same_writes_acknowledged_early_after_them() {
    let plan = plan(&roomy("tcp://storage:7300/disk"));
    let early = cut(&plan, Cut::EarlyPath);
    let writes: Vec<_> =
        cut(&plan, Cut::Path).into_iter().filter(|cell| cell.workload.op == Op::Write).collect();
    assert_eq!(early.len(), writes.len());
    for (early, late) in early.into_iter().zip(writes) {
        assert_eq!(late.workload.acknowledgement, Acknowledgement::Late);
        assert_eq!(early.target, late.target);
        let place = |cell: &Cell| plan.cells.iter().position(|known| known.id == cell.id);
        assert_eq!(place(early), place(late).map(|place| place + 1), "the path is worth more");
        let acknowledgement = Acknowledgement::Late;
        assert_eq!(Workload { acknowledgement, ..early.workload.clone() }, late.workload);
    }
}

#[test]
fn the_three_corners_of_an_endpoints_disk_fit_the_usual_budget() {
    assert_eq!(cut(&plan(&request("tcp://h:1/disk")), Cut::Path).len(), 6);
}

#[test]
fn the_network_is_one_stream_an_operation_and_block() {
    let plan = plan(&roomy("tcp://storage:7300/disk"));
    let streams = cut(&plan, Cut::NetworkStream);
    assert_eq!(streams.len(), 6);
    for cell in streams {
        let layer = if cell.workload.op == Op::Send { Layer::Sink } else { Layer::Source };
        assert_eq!(cell.target, Target::Tcp { host: "storage".into(), port: 7300, layer, via: None });
        assert!(matches!(cell.workload.op, Op::Send | Op::Receive));
    }
}

#[test]
fn a_path_through_a_proxy_has_its_segments_and_a_stream_past_it_for_each_through_it() {
    let mut request = roomy("tcp://storage:7300/disk?via=proxy:7301");
    request.past_the_proxy = Ok(());
    let reached = plan(&request);
    assert_eq!(reached.topology, Topology::ClientProxyServer);
    assert!(reached.segments.contains(&Segment::ProxyCpu) && reached.segments.contains(&Segment::ProxyQueue));
    let (through, past) = (cut(&reached, Cut::NetworkStream), cut(&reached, Cut::DirectStream));
    assert_eq!((through.len(), past.len()), (6, 6));
    for (through, past) in through.iter().zip(&past) {
        assert_eq!((&through.workload, through.stop), (&past.workload, past.stop));
        assert_eq!(past.target, through.target.without_proxy());
    }
    let direct: Vec<&str> = cut(&reached, Cut::DirectPath).iter().map(|cell| cell.id.0.as_str()).collect();
    let corners = ["read/1MiB/qd16/c1", "write/1MiB/qd16/c1", "read/4KiB/qd1/c1", "write/4KiB/qd1/c1"];
    assert_eq!(direct, corners.map(|corner| format!("direct-path/{corner}")));
    for direct in cut(&reached, Cut::DirectPath) {
        let id = direct.id.0.replace("direct-", "");
        let path = reached.cells.iter().find(|cell| cell.id.0 == id).unwrap();
        assert_eq!((&direct.workload, direct.stop), (&path.workload, path.stop));
        assert_eq!(direct.target, path.target.without_proxy());
    }
    let through_it = |cell: &&Cell| {
        let past = matches!(cell.cut, Cut::DirectStream | Cut::DirectPath);
        matches!(cell.target, Target::Tcp { .. }) && !past
    };
    assert!(reached.cells.iter().filter(through_it).all(|cell| cell.target.via().is_some()));
    request.past_the_proxy = Err("the endpoint cannot be reached without the proxy".to_owned());
    let unreached = plan(&request);
    assert!(cut(&unreached, Cut::DirectStream).is_empty() && cut(&unreached, Cut::DirectPath).is_empty());
    assert!(
        reason(&unreached, "direct-path/read/1MiB/qd16/c1").contains("cannot be reached without the proxy")
    );
    let id = past[0].id.0.clone();
    assert!(reason(&unreached, &id).contains("cannot be reached without the proxy"));
    let without = plan(&roomy("tcp://storage:7300/disk"));
    assert!(cut(&without, Cut::DirectStream).is_empty() && !without.segments.contains(&Segment::ProxyCpu));
}

#[test]
fn a_server_without_direct_access_is_measured_buffered_and_its_storage_skipped() {
    let mut request = roomy("tcp://storage:7300/disk");
    let no = Support::No { reason: "overlay".into() };
    request.engines.server_disk = Some(capabilities("endpoint", no, 64));
    let plan = plan(&request);
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.access == Access::Buffered));
    assert!(cut(&plan, Cut::ServerStorage).is_empty());
    let reason = reason(&plan, "server-storage/write/1MiB/qd1/w16/c1");
    assert_eq!(reason, "at the server, direct I/O is not possible: overlay");
}

#[test]
fn a_queue_that_one_connection_does_not_contain_is_a_skip() {
    let mut request = roomy("tcp://storage:7300/disk");
    request.engines.server_disk = Some(capabilities("endpoint", Support::Yes, 8));
    let plan = plan(&request);
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.queue_depth == 1));
    assert!(reason(&plan, "path/read/4KiB/qd16/c1").contains("allows 8 requests in flight, not 16"));
}

#[test]
fn an_endpoints_memory_has_the_generator_and_the_network_before_it() {
    let plan = plan(&roomy("tcp://storage:7300/memory"));
    let kinds: BTreeSet<Cut> = plan.cells.iter().map(|cell| cell.cut).collect();
    assert_eq!(kinds, BTreeSet::from([Cut::Generator, Cut::MemoryCopy, Cut::NetworkStream, Cut::Path]));
    assert_eq!(plan.load.file_bytes_max, Bytes(0));
    assert_eq!(plan.load.touches, ["the endpoint's memory"]);
    assert!(!plan.segments.contains(&Segment::DeviceBandwidth));
}

#[test]
fn a_server_of_its_own_puts_the_endpoint_into_the_path() {
    let plan = plan(&CheckRequest { server: Some(beside(ServerKind::SelfStarted)), ..roomy("/srv") });
    assert_eq!(plan.target, "/srv".parse::<Target>().unwrap());
    assert!(cut(&plan, Cut::Path).iter().all(|cell| {
        cell.target == Target::Tcp { host: "storage".into(), port: 7300, layer: Layer::Disk, via: None }
    }));
    assert_eq!(cut(&plan, Cut::ServerStorage).len(), 12);
    assert!(plan.segments.contains(&Segment::HostCpu));
}

#[test]
fn a_mounted_path_is_measured_on_the_mount_with_the_servers_cuts() {
    let plan = plan(&CheckRequest { server: Some(beside(ServerKind::Remote)), ..roomy("/mnt/nfs") });
    let kinds: BTreeSet<Cut> = plan.cells.iter().map(|cell| cell.cut).collect();
    let expected = [
        Cut::Generator,
        Cut::MemoryCopy,
        Cut::NetworkStream,
        Cut::ServerMemory,
        Cut::ServerStorage,
        Cut::Path,
    ];
    assert_eq!(kinds, BTreeSet::from(expected));
    let path = cut(&plan, Cut::Path)[0];
    assert_eq!((&path.target, path.workload.workers), (&"/mnt/nfs".parse::<Target>().unwrap(), 16));
    assert_eq!(plan.topology, Topology::ClientServer);
    assert!(!plan.segments.contains(&Segment::HostCpu));
}
