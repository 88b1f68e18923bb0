//! Every rule of the planner as a fact, and what holds for any request.

use super::*;
use crate::request::{EngineFacts, Server, ServerKind};
use narrows_model::capabilities::{Capabilities, Completion, Support};
use narrows_model::inventory::PathKind;
use narrows_model::plan::Topology;
use narrows_model::workload::{Access, Acknowledgement, CacheState, SyncPolicy};
use narrows_model::{Bytes, Cell, CellId, Cut, Layer, Op, Segment, Site, Target, Workload};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;

fn capabilities(engine: &str, direct: Support, queue_depth_max: u32) -> Capabilities {
    Capabilities {
        engine: engine.into(),
        ops: vec![Op::Read, Op::Write],
        queue_depth_max,
        direct,
        completion_polling: Support::default(),
        durable_writes: Support::Yes,
        stores_data: true,
        alignment_bytes: Bytes(512),
        write_completion: Completion::InPageCache,
        lockstep: false,
    }
}

fn request(target: &str) -> CheckRequest {
    CheckRequest {
        free_bytes: Some(Bytes(100 << 30)),
        memory_bytes: Some(Bytes(8 << 30)),
        engines: EngineFacts {
            path: Some(capabilities("psync", Support::Yes, 1)),
            server_memory: Some(capabilities("endpoint", Support::Yes, 64)),
            server_disk: Some(capabilities("endpoint", Support::Yes, 64)),
        },
        ..CheckRequest::new(target.parse().unwrap())
    }
}

fn roomy(target: &str) -> CheckRequest {
    CheckRequest { budget_s: 600.0, ..request(target) }
}

fn beside(kind: ServerKind) -> Server {
    Server { kind, host: "storage".into(), port: 7300 }
}

fn plan(request: &CheckRequest) -> Plan {
    plan_check(request).unwrap()
}

fn cut(plan: &Plan, cut: Cut) -> Vec<&Cell> {
    plan.cells.iter().filter(|cell| cell.cut == cut).collect()
}

fn ids(cells: &[&Cell]) -> Vec<String> {
    cells.iter().map(|cell| cell.id.0.clone()).collect()
}

fn seconds(cells: &[Cell]) -> f64 {
    cells.iter().map(|cell| estimate(cell).as_secs_f64()).sum()
}

fn reason<'a>(plan: &'a Plan, id: &str) -> &'a str {
    &plan.skipped.iter().find(|skip| skip.cell.0 == id).unwrap().reason
}

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
fn a_local_path_is_buffered_cold_when_read_and_synced_when_written() {
    let plan = plan(&roomy("/srv"));
    for cell in cut(&plan, Cut::Path) {
        assert_eq!((cell.workload.access, cell.site), (Access::Buffered, Site::Client));
        assert_eq!(cell.target, "/srv".parse::<Target>().unwrap());
        if cell.workload.op == Op::Read {
            assert_eq!((cell.workload.cache, cell.workload.sync), (CacheState::Cold, SyncPolicy::None));
        } else {
            assert_eq!(cell.workload.sync, SyncPolicy::AtEnd);
        }
        // Once over, and a warm-up would use up the bytes before the window opens.
        assert_eq!((cell.stop.bytes_max, cell.stop.warm_up_ns), (Some(Bytes(1024 * MIB)), Nanos(0)));
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
fn over_an_endpoint_a_copy_is_measured_once_a_block() {
    let plan = plan(&roomy("tcp://storage:7300/disk"));
    let copies =
        ["memory-copy/read/1MiB/qd1/c1", "memory-copy/read/4KiB/qd1/c1", "memory-copy/read/64KiB/qd1/c1"];
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
        "direct I/O needs multiples of 512B, and 1000B is none"
    );
}

#[test]
fn a_file_that_does_not_fit_memory_has_no_page_cache_cut() {
    let plan = plan(&CheckRequest { memory_bytes: Some(Bytes(300 * MIB)), ..roomy("/srv") });
    assert!(cut(&plan, Cut::PageCache).is_empty());
    assert!(
        reason(&plan, "page-cache/read/4KiB/qd1/c1")
            .contains("1GiB does not stay in the page cache of 300MiB")
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
    assert!(reason(&plan, "path/write/4KiB/qd1/c1").contains("only ever read"));
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
        assert_eq!(past.target, through.target.past_the_proxy());
    }
    let direct: Vec<&str> = cut(&reached, Cut::DirectPath).iter().map(|cell| cell.id.0.as_str()).collect();
    let corners = ["read/1MiB/qd16/c1", "write/1MiB/qd16/c1", "read/4KiB/qd1/c1", "write/4KiB/qd1/c1"];
    assert_eq!(direct, corners.map(|corner| format!("direct-path/{corner}")));
    for direct in cut(&reached, Cut::DirectPath) {
        let id = direct.id.0.replace("direct-", "");
        let path = reached.cells.iter().find(|cell| cell.id.0 == id).unwrap();
        assert_eq!((&direct.workload, direct.stop), (&path.workload, path.stop));
        assert_eq!(direct.target, path.target.past_the_proxy());
    }
    let through_it = |cell: &&Cell| {
        let past = matches!(cell.cut, Cut::DirectStream | Cut::DirectPath);
        matches!(cell.target, Target::Tcp { .. }) && !past
    };
    assert!(reached.cells.iter().filter(through_it).all(|cell| cell.target.via().is_some()));
    request.past_the_proxy = Err("the endpoint is not reached without the proxy".to_owned());
    let unreached = plan(&request);
    assert!(cut(&unreached, Cut::DirectStream).is_empty() && cut(&unreached, Cut::DirectPath).is_empty());
    assert!(reason(&unreached, "direct-path/read/1MiB/qd16/c1").contains("not reached without the proxy"));
    let id = past[0].id.0.clone();
    assert!(reason(&unreached, &id).contains("not reached without the proxy"));
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
fn a_queue_that_one_connection_does_not_hold_is_a_skip() {
    let mut request = roomy("tcp://storage:7300/disk");
    request.engines.server_disk = Some(capabilities("endpoint", Support::Yes, 8));
    let plan = plan(&request);
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.queue_depth == 1));
    assert!(reason(&plan, "path/read/4KiB/qd16/c1").contains("takes 8 requests at once, not 16"));
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
fn a_first_point_of_the_path_ends_within_ten_seconds() {
    let mount = CheckRequest { server: Some(beside(ServerKind::Remote)), ..request("/mnt") };
    for request in [request("/srv"), request("tcp://h:1/disk"), request("tcp://h:1/memory"), mount] {
        let plan = plan(&request);
        let first = plan.cells.iter().position(|cell| cell.cut == Cut::Path).unwrap();
        assert!(seconds(&plan.cells[..=first]) < 10.0, "{}", request.target);
    }
}

#[test]
fn what_is_past_the_budget_is_dropped_from_the_end_and_listed() {
    let whole = plan(&roomy("tcp://h:1/disk"));
    let part = plan(&request("tcp://h:1/disk"));
    assert!(part.cells.len() < whole.cells.len());
    assert_eq!(part.cells[..], whole.cells[..part.cells.len()]);
    let dropped: BTreeSet<_> = part.skipped.iter().map(|skip| skip.cell.clone()).collect();
    assert_eq!(dropped, whole.cells[part.cells.len()..].iter().map(|cell| cell.id.clone()).collect());
    assert!(seconds(&part.cells) <= 54.0);
}

#[test]
fn the_budget_that_a_skip_names_measures_everything() {
    for target in ["/srv", "tcp://h:1/disk", "tcp://h:1/memory"] {
        let short = plan(&CheckRequest { budget_s: 20.0, ..request(target) });
        let reason = &short.skipped.last().unwrap().reason;
        let seconds: f64 =
            reason.split("--seconds ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let enough = plan(&CheckRequest { budget_s: seconds, ..request(target) });
        assert!(enough.skipped.is_empty(), "{target}: {:?}", enough.skipped);
        let less = plan(&CheckRequest { budget_s: seconds - 1.0, ..request(target) });
        assert!(!less.skipped.is_empty(), "{target}");
    }
}

#[test]
fn a_budget_below_the_first_point_is_a_problem_that_names_enough() {
    let problems = plan_check(&CheckRequest { budget_s: 3.0, ..request("/srv") }).unwrap_err();
    let text = problems[0].to_string();
    assert_eq!(problems.len(), 1);
    let seconds: f64 = problems[0].allowed.split(' ').next().unwrap().parse().unwrap();
    assert!(plan_check(&CheckRequest { budget_s: seconds, ..request("/srv") }).is_ok(), "{text}");
    assert!(text.contains("raise --seconds"), "{text}");
}

#[test]
fn no_more_than_24_points_are_measured_unless_the_full_map_is_asked_for() {
    let depths = Some(vec![1, 2, 4, 8, 16]);
    let request = CheckRequest { depths, budget_s: 6000.0, ..request("/srv") };
    let capped = plan(&request);
    assert_eq!(cut(&capped, Cut::Path).len(), PATH_CELLS_MAX);
    assert_eq!(capped.skipped.iter().filter(|skip| skip.reason.contains("--deep")).count(), 6);
    let deep = plan(&CheckRequest { deep: true, ..request });
    assert_eq!(cut(&deep, Cut::Path).len(), 60);
    assert!(deep.skipped.is_empty());
}

#[test]
fn the_file_is_a_twentieth_of_the_free_space_up_to_a_gibibyte() {
    let file = |free: u64, blocks: &[u64]| {
        let blocks = Some(blocks.iter().copied().map(Bytes).collect());
        let plan = plan(&CheckRequest { free_bytes: Some(Bytes(free)), blocks, ..roomy("/srv") });
        cut(&plan, Cut::Path)[0].workload.file_bytes.0
    };
    assert_eq!(file(100 << 30, &[4 * KIB]), 1024 * MIB);
    assert_eq!(file(1000 * MIB, &[4 * KIB]), 50 * MIB);
    // Sixteen blocks for each of sixteen requests come before the twentieth, up to a quarter.
    assert_eq!(file(2048 * MIB, &[MIB]), 256 * MIB);
}

#[test]
fn points_that_need_a_quarter_of_the_free_space_are_skips() {
    let plan = plan(&CheckRequest { free_bytes: Some(Bytes(512 * MIB)), ..roomy("/srv") });
    assert!(reason(&plan, "path/read/1MiB/qd1/w16/c1").contains("a quarter of the free space is 128MiB"));
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.file_bytes.0 <= 128 * MIB));
}

#[test]
fn no_room_at_all_is_a_problem() {
    let problems = plan_check(&CheckRequest { free_bytes: Some(Bytes(1000)), ..roomy("/srv") }).unwrap_err();
    assert!(problems[0].to_string().contains("a quarter of the free space is 250B"), "{}", problems[0]);
}

#[test]
fn the_load_statement_says_what_the_cells_do() {
    let local = plan(&roomy("/srv")).load;
    assert_eq!(local.file_bytes_max, Bytes(1024 * MIB));
    // Each write of the grid goes once over the file, past the page cache and through it.
    assert_eq!(local.write_bytes_max, Some(Bytes(12 * 1024 * MIB)));
    assert_eq!(local.touches, ["a test folder of its own in /srv"]);
    // Sixteen in flight, and four clients when it is refined.
    assert_eq!(local.in_flight_max, 64);
    let disk = plan(&roomy("tcp://h:1/disk")).load;
    assert_eq!(disk.file_bytes_max, Bytes(512 * MIB));
    assert_eq!(disk.touches, ["the endpoint's memory", "the endpoint's store"]);
    let server = Some(Server { kind: ServerKind::SelfStarted, host: "127.0.0.1".to_owned(), port: 1 });
    let own = plan(&CheckRequest { server, ..roomy("/srv") }).load;
    assert_eq!(own.touches, ["a test folder of its own in /srv", "memory of this machine"]);
}

#[test]
fn a_file_system_in_memory_has_no_cache_to_drop_and_no_device() {
    let plan = plan(&CheckRequest { path_kind: Some(PathKind::Memory), ..roomy("/dev/shm") });
    assert!(cut(&plan, Cut::Path).iter().all(|cell| cell.workload.cache == CacheState::AsFound));
    assert!(cut(&plan, Cut::LocalDevice).is_empty() && cut(&plan, Cut::PageCache).is_empty());
    assert!(reason(&plan, "local-device/read/4KiB/qd1/c1").contains("in memory has no device"));
}

#[test]
fn a_file_that_exists_is_read_as_found_from_its_first_pass() {
    let plan = plan(&CheckRequest { existing_file: Some(Bytes(1 << 30)), ..roomy("/srv/file") });
    assert!(cut(&plan, Cut::PageCache).is_empty());
    assert!(reason(&plan, "page-cache/read/4KiB/qd1/c1").contains("as it is found"));
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

#[test]
fn a_cap_bounds_what_is_written_and_leaves_the_generator_free() {
    let plan = plan(&CheckRequest { max_bytes_per_s: Some(100 * MIB), ..roomy("/srv") });
    assert!(plan.cells.iter().all(|cell| {
        matches!(cell.cut, Cut::Generator | Cut::MemoryCopy) == cell.workload.max_bytes_per_s.is_none()
    }));
    // Six writes of 1.5 s past the page cache and six through it.
    assert_eq!(plan.load.write_bytes_max, Some(Bytes(12 * 150 * MIB)));
}

#[test]
fn a_cap_below_one_round_of_requests_is_a_skip() {
    let plan = plan(&CheckRequest { max_bytes_per_s: Some(MIB), ..roomy("/srv") });
    assert!(reason(&plan, "path/read/1MiB/qd1/w16/c1").contains("raise --max-rate"));
    assert!(cut(&plan, Cut::Path).iter().any(|cell| cell.workload.block_bytes == Bytes(4 * KIB)));
}

#[test]
fn memory_alone_is_measured_once_whatever_the_trials() {
    let plan = plan(&CheckRequest { trials: 3, ..roomy("/srv") });
    for cell in &plan.cells {
        let alone = matches!(cell.cut, Cut::Generator | Cut::MemoryCopy);
        assert_eq!(cell.trials, if alone { 1 } else { 3 });
    }
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    let request = CheckRequest {
        budget_s: f64::NAN,
        cell_seconds: 0.0,
        trials: 0,
        blocks: Some(vec![Bytes(1), Bytes(4096), Bytes(1 << 40)]),
        depths: Some(vec![]),
        ops: Some(vec![Op::Trim]),
        max_bytes_per_s: Some(0),
        ..request("tcp://h:1/sink")
    };
    let problems = plan_check(&request).unwrap_err();
    let mut found = BTreeMap::new();
    for problem in &problems {
        *found.entry(problem.key).or_insert(0) += 1;
        assert!(!problem.hint.is_empty() && !problem.allowed.is_empty() && !problem.found.is_empty());
    }
    let expected = [
        ("target", 1),
        ("budget_s", 1),
        ("cell_seconds", 1),
        ("trials", 1),
        ("blocks", 2),
        ("depths", 1),
        ("ops", 1),
        ("max_bytes_per_s", 1),
    ];
    assert_eq!(found, BTreeMap::from(expected));
}

#[test]
fn combinations_that_make_no_sense_are_problems() {
    let key = |request: CheckRequest| plan_check(&request).unwrap_err()[0].key;
    let file = Some(Bytes(1 << 30));
    let self_started = Some(beside(ServerKind::SelfStarted));
    assert_eq!(key(CheckRequest { server: self_started.clone(), ..request("tcp://h:1/disk") }), "server");
    assert_eq!(key(CheckRequest { server: self_started, existing_file: file, ..request("/f") }), "server");
    assert_eq!(key(CheckRequest { existing_file: file, ops: Some(vec![Op::Write]), ..request("/f") }), "ops");
    assert_eq!(key(CheckRequest { existing_file: file, ..request("tcp://h:1/disk") }), "existing_file");
    assert_eq!(key(request("null:")), "target");
    let mut read_only = request("/media/cd");
    read_only.engines.path.as_mut().unwrap().ops = vec![Op::Read];
    assert_eq!(key(read_only.clone()), "target");
    assert!(plan_check(&CheckRequest { existing_file: file, ..read_only }).is_ok());
}

#[test]
fn a_request_without_facts_is_planned_for_an_ordinary_file_system() {
    let plan = plan(&CheckRequest::new("/srv".parse().unwrap()));
    assert!(!cut(&plan, Cut::LocalDevice).is_empty());
}

/// The cuts that a path cell is compared with: each planned before it, or a skip.
fn cuts_are_there(plan: &Plan, request: &CheckRequest, index: usize) -> Result<(), TestCaseError> {
    let route = route::Route::of(request).unwrap();
    let file_bytes = extent::Extent::of(request, &grid::points(request)).file_bytes;
    let path = &plan.cells[index];
    let depth = path.workload.workers * path.workload.queue_depth;
    let point = Point { op: path.workload.op, block: path.workload.block_bytes, depth };
    let cells = Cutter { request, route: &route, file_bytes, corners: [None; 2] }.point(point);
    prop_assert_eq!(&cells.path, path);
    prop_assert!(cells.cuts.iter().any(|cell| cell.cut == Cut::Generator));
    for wanted in cells.cuts {
        prop_assert!(plan.cells[..index].contains(&wanted), "{}", wanted.id);
    }
    for wanted in cells.skipped {
        prop_assert!(plan.skipped.contains(&wanted), "{}", wanted.cell);
    }
    Ok(())
}

fn any_support() -> impl Strategy<Value = Support> {
    prop_oneof![Just(Support::Yes), Just(Support::No { reason: "because".into() })]
}

fn any_request() -> impl Strategy<Value = CheckRequest> {
    let targets =
        prop::sample::select(vec!["/srv", "/srv/b", "tcp://h:1/disk", "tcp://h:1/memory", "tcp://h:1/sink"]);
    let server = prop_oneof![
        6 => Just(None),
        1 => Just(Some(beside(ServerKind::SelfStarted))),
        1 => Just(Some(beside(ServerKind::Remote))),
    ];
    let lists = (
        prop::option::of(prop::collection::vec((8_u64..27).prop_map(|power| Bytes(1 << power)), 0..5)),
        prop::option::of(prop::collection::vec(0_u32..40, 0..5)),
        prop::option::of(prop::collection::vec(prop::sample::select(vec![Op::Read, Op::Write]), 0..3)),
    );
    let numbers = (0.0_f64..400.0, 0.05_f64..5.0, 0_u32..4, any::<bool>(), prop::option::of(0_u64..1 << 30));
    let sizes = prop::option::of((10_u32..45).prop_map(|power| Bytes(1 << power)));
    let facts =
        (prop::option::weighted(0.2, 1_u64 << 20..1 << 34), sizes.clone(), sizes, any_support(), 1_u32..64);
    (targets, server, lists, numbers, facts).prop_map(|(target, server, lists, numbers, facts)| {
        let mut request = request(target);
        request.server = server;
        (request.blocks, request.depths, request.ops) = lists;
        (request.budget_s, request.cell_seconds, request.trials, request.deep, request.max_bytes_per_s) =
            numbers;
        let (existing, free, memory, direct, depth_max) = facts;
        request.existing_file = existing.map(Bytes);
        (request.free_bytes, request.memory_bytes) = (free, memory);
        request.engines.path = Some(capabilities("psync", direct.clone(), depth_max));
        request.engines.server_disk = Some(capabilities("endpoint", direct, depth_max));
        request
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_request_gives_problems_or_a_plan_that_keeps_its_promises(request in any_request()) {
        match plan_check(&request) {
            Err(problems) => prop_assert!(!problems.is_empty()),
            Ok(plan) => {
                let reserve = (request.budget_s / 10.0).min(8.0);
                prop_assert!(seconds(&plan.cells) <= request.budget_s - reserve + 1e-6);
                let ids: BTreeSet<&CellId> = plan
                    .cells.iter().map(|cell| &cell.id)
                    .chain(plan.skipped.iter().map(|skip| &skip.cell)).collect();
                prop_assert_eq!(ids.len(), plan.cells.len() + plan.skipped.len());
                prop_assert!(plan.cells.iter().any(|cell| cell.cut == Cut::Path));
                prop_assert!(plan.skipped.iter().all(|skip| !skip.reason.is_empty()));
                for (index, cell) in plan.cells.iter().enumerate() {
                    prop_assert_eq!(&cell.id, &Cell::name(cell.cut, &cell.workload));
                    prop_assert!(cell.workload.file_bytes.0 >= cell.workload.block_bytes.0);
                    if cell.cut == Cut::Path { cuts_are_there(&plan, &request, index)?; }
                }
            }
        }
    }
}

#[test]
fn a_cap_on_the_rate_makes_the_offered_load_a_segment() {
    let capped = CheckRequest { max_bytes_per_s: Some(100 << 20), ..roomy("/data") };
    assert!(plan(&capped).segments.contains(&Segment::OfferedLoad));
    assert!(!plan(&roomy("/data")).segments.contains(&Segment::OfferedLoad));
}
