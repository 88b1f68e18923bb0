//! What a path is cut at, and where its cuts are.

use super::*;

#[test]
fn a_cut_stands_before_the_first_cell_that_needs_it_and_once() {
    let plan =
        plan("target = \"null:copy\"\n[sweep]\ndepth = [1, 2]\nfile = [\"1MiB\", \"2MiB\", \"4MiB\"]\n");
    assert_eq!((count(&plan, Cut::Generator), count(&plan, Cut::Path)), (2, 6));
    for (index, cell) in plan.cells.iter().enumerate().filter(|(_, cell)| cell.cut == Cut::Path) {
        let before = &plan.cells[..index];
        let depth = cell.workload.queue_depth;
        assert!(before.iter().any(|cut| cut.cut == Cut::Generator && cut.workload.queue_depth == depth));
    }
}

#[test]
fn the_generator_is_measured_with_the_load_of_the_path_and_nothing_that_limits_it_back() {
    let plan = plan(
        "target = \"null:copy\"\n[workload]\nops = { read = 1, write = 1 }\nblocks = { 4KiB = 1, 8KiB = 1 }\ndepth = 8\nbatch = 4\n\
         workers = 2\norder = \"zipf\"\nzipf_theta = 0.9\narrivals = \"poisson\"\noffered = 100\n",
    );
    let generator = plan.cells.iter().find(|cell| cell.cut == Cut::Generator).unwrap();
    let path = paths(&plan)[0];
    assert_eq!(generator.workload.offered(), None);
    for load in [&generator.workload, &path.workload] {
        assert_eq!((load.queue_depth, load.batch, load.workers), (8, 4, 2));
        assert_eq!((load.op_mix.len(), load.block_mix.len(), load.order.name()), (2, 2, "zipf"));
    }
}

trait OfferedCase {
    fn offered(&self) -> Option<f64>;
}

impl OfferedCase for narrows_model::Workload {
    fn offered(&self) -> Option<f64> {
        self.arrivals.offered_ops_per_s()
    }
}

#[test]
fn the_generator_is_not_compared_with_itself() {
    let plan = plan("target = [\"null:\", \"null:copy\"]\ncuts = [\"generator\", \"memory_copy\"]\n");
    let cuts = |which| plan.cells.iter().filter(|cell| cell.cut == which).count();
    assert_eq!((cuts(Cut::Generator), cuts(Cut::MemoryCopy), cuts(Cut::Path)), (1, 1, 2));
    assert_eq!(count(&self::plan("target = \"null:\"\n"), Cut::Generator), 0);
}

#[test]
fn a_path_is_cut_at_its_page_cache_and_its_device() {
    let text = "target = \"/data\"\ncuts = [\"generator\", \"memory_copy\", \"page_cache\", \"local_device\"]\n[workload]\ncache = \"cold\"\n";
    let plan = plan(text);
    let cut = |which| plan.cells.iter().find(|cell| cell.cut == which).unwrap();
    assert_eq!(cut(Cut::PageCache).workload.cache, CacheState::Warm);
    assert_eq!(cut(Cut::LocalDevice).workload.access, Access::Direct);
    assert_eq!(count(&plan, Cut::MemoryCopy), 1);
    let in_memory = plan_where(text, |known| known.path_kind = Some(PathKind::Memory)).unwrap();
    let reasons: Vec<&str> = in_memory.skipped.iter().map(|skip| skip.reason.as_str()).collect();
    assert!(reasons.iter().any(|reason| reason.contains("no device")), "{reasons:?}");
}

#[test]
fn an_endpoint_is_cut_at_its_network_its_memory_its_storage_and_its_acknowledgement() {
    let plan = plan(
        "target = \"tcp://h:7300/disk\"\ncuts = [\"network_stream\", \"server_memory\", \"server_storage\", \"early_path\"]\n\
         [workload]\nop = \"write\"\nacknowledgement = \"late\"\ndepth = 4\n",
    );
    let cut = |which| plan.cells.iter().find(|cell| cell.cut == which).unwrap();
    assert_eq!(cut(Cut::NetworkStream).target.to_string(), "tcp://h:7300/sink");
    assert_eq!(cut(Cut::NetworkStream).workload.op, Op::Send);
    assert_eq!(cut(Cut::ServerMemory).target.to_string(), "tcp://h:7300/memory");
    assert_eq!((cut(Cut::ServerStorage).site, cut(Cut::ServerStorage).workload.workers), (Site::Server, 4));
    assert_eq!(cut(Cut::EarlyPath).workload.acknowledgement, Acknowledgement::Early);
    assert_eq!(plan.topology, Topology::ClientServer);
    let store = ["the endpoint's memory (tcp://h:7300/memory)", "the endpoint's store (tcp://h:7300/disk)"];
    let mut touched = plan.load.touches.clone();
    touched.sort();
    assert_eq!(touched, store, "the store once, by whomever it is touched");
}

const STRIPE: &str = "target = \"stripe:tcp://a:7300/disk,tcp://b:7300/disk?unit=64KiB\"\n";

#[test]
fn a_stripe_of_endpoints_is_cut_at_each_members_link_and_storage_and_at_all_links_together() {
    let cuts = "cuts = [\"network_stream\", \"server_memory\", \"server_storage\"]\n";
    let load = "[workload]\nblock = \"256KiB\"\ndepth = 4\nfile = \"64MiB\"\n";
    let plan = plan(&format!("{STRIPE}{cuts}{load}"));
    let found: Vec<_> = plan
        .cells
        .iter()
        .map(|cell| (cell.id.0.as_str(), cell.target.to_string(), cell.workload.block_bytes.0 >> 10))
        .collect();
    let stripe = |layer: &str| format!("stripe:tcp://a:7300/{layer},tcp://b:7300/{layer}?unit=64KiB");
    let expected = [
        ("network-stream/receive/128KiB/qd1/c1/member1", "tcp://a:7300/source".to_owned(), 128),
        ("network-stream/receive/128KiB/qd1/c1/member2", "tcp://b:7300/source".to_owned(), 128),
        ("network-stream/receive/256KiB/qd1/c1", stripe("source"), 256),
        ("server-memory/read/256KiB/qd4/c1", stripe("memory"), 256),
        ("server-storage/read/128KiB/qd1/w4/c1/member1", "tcp://a:7300/disk".to_owned(), 128),
        ("server-storage/read/128KiB/qd1/w4/c1/member2", "tcp://b:7300/disk".to_owned(), 128),
        ("path/read/256KiB/qd4/c1", stripe("disk"), 256),
    ];
    assert_eq!(found, expected);
    let storage = plan.cells.iter().filter(|cell| cell.cut == Cut::ServerStorage);
    assert!(storage.clone().all(|cell| cell.site == Site::Server && cell.workload.file_bytes.0 == 32 << 20));
    assert_eq!(plan.topology, Topology::ClientServer);
    assert!(
        plan.segments.contains(&Segment::NetworkBandwidth)
            && plan.segments.contains(&Segment::DeviceBandwidth)
    );
    assert_eq!(plan.load.touches.len(), 4, "{:?}", plan.load.touches);
}

#[test]
fn a_stripe_of_folders_is_cut_at_each_members_device_and_at_all_together() {
    let text = "target = \"stripe:/a,/b?unit=64KiB\"\ncuts = [\"page_cache\", \"local_device\"]\n[workload]\nblock = \"128KiB\"\n";
    let plan = plan(text);
    let targets =
        |cut| plan.cells.iter().filter(move |cell| cell.cut == cut).map(|cell| cell.target.to_string());
    assert_eq!(targets(Cut::LocalDevice).collect::<Vec<_>>(), ["/a", "/b", "stripe:/a,/b?unit=64KiB"]);
    assert_eq!(targets(Cut::PageCache).collect::<Vec<_>>(), ["stripe:/a,/b?unit=64KiB"]);
    assert_eq!(plan.topology, Topology::Local);
    assert_eq!(plan.load.touches, ["a separate test folder in /a", "a separate test folder in /b"]);
}

#[test]
fn a_stripe_of_nothing_is_compared_with_the_generator() {
    let plan = plan("target = \"stripe:null:,null:\"\n");
    assert_eq!(count(&plan, Cut::Generator), 1);
}

#[test]
fn targets_together_have_the_bus_among_their_segments() {
    let text = "target = [\"/a\", \"/b\"]\n";
    assert!(!plan(text).segments.contains(&Segment::DeviceBus));
    assert!(plan(&format!("{text}together = true\n")).segments.contains(&Segment::DeviceBus));
}
