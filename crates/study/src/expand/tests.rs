//! Every rule of the planner of studies as a fact.

use super::*;
use crate::file::{KEYS, parse};
use narrows_model::capabilities::{Capabilities, Completion, Support};
use narrows_model::workload::{Access, Acknowledgement, CacheState};
use narrows_model::{Bytes, Cut, EngineId, Op, Site};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::PathBuf;

const SEED: u64 = 7;

fn capabilities(engine: EngineId) -> Capabilities {
    Capabilities {
        engine: engine.name().into(),
        ops: vec![Op::Read, Op::Write, Op::Sync, Op::Put, Op::Get, Op::Append, Op::Stat, Op::Delete],
        queue_depth_max: if engine.is_synchronous() { 1 } else { 1024 },
        direct: Support::Yes,
        completion_polling: Support::default(),
        durable_writes: Support::Yes,
        stores_data: true,
        alignment_bytes: Bytes(512),
        write_completion: Completion::InPageCache,
        lockstep: false,
    }
}

/// A machine on which everything works, and what it says of every target of a study.
fn facts(study: &Study) -> StudyFacts {
    let mut facts = StudyFacts { targets: Vec::new(), memory_bytes: Some(Bytes(8 << 30)) };
    for (target, engine) in study.wanted() {
        let default = target.engines()[0];
        let answer = EngineAnswer { engine, capabilities: Ok(capabilities(engine.unwrap_or(default))) };
        match facts.targets.iter_mut().find(|known| known.target == target) {
            Some(known) => known.engines.push(answer),
            None => facts.targets.push(TargetFacts {
                engines: vec![answer],
                free_bytes: Some(Bytes(100 << 30)),
                ..TargetFacts::unknown(target)
            }),
        }
    }
    facts
}

fn study(text: &str) -> Study {
    parse(text, "study.toml").unwrap_or_else(|problems| panic!("{problems}"))
}

fn plan(text: &str) -> Plan {
    let study = study(text);
    plan_study(&study, &facts(&study), SEED).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The plan on a machine that `change` made of one on which everything works.
fn plan_where(text: &str, change: impl Fn(&mut TargetFacts)) -> Result<Plan, StudyProblems> {
    let study = study(text);
    let mut facts = facts(&study);
    facts.targets.iter_mut().for_each(change);
    plan_study(&study, &facts, SEED)
}

fn paths(plan: &Plan) -> Vec<&Cell> {
    plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect()
}

fn count(plan: &Plan, cut: Cut) -> usize {
    plan.cells.iter().filter(|cell| cell.cut == cut).count()
}

fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/studies");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let studies = files.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    studies
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn every_example_says_its_question_and_is_planned_whole_within_its_time() {
    let examples = examples();
    assert!(examples.len() > 20);
    for (name, text) in examples {
        assert!(
            text.starts_with("# ") && text.lines().take(4).any(|line| line.contains(['?', '.'])),
            "{name}"
        );
        let study = parse(&text, &name).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = plan_study(&study, &facts(&study), SEED).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(!paths(&plan).is_empty(), "{name}");
        let late: Vec<_> = plan.skipped.iter().filter(|skip| skip.reason.contains("budget")).collect();
        assert!(late.is_empty(), "{name}: {late:?}");
    }
}

#[test]
fn every_key_stands_in_an_example() {
    // Completion polling needs a device whose driver was told to poll; few machines have one.
    let rare = ["workload.ring.completion_polling"];
    let texts: Vec<String> = examples().into_iter().map(|(_, text)| text).collect();
    for key in KEYS.iter().filter(|key| !rare.contains(&key.path)) {
        let line = format!("{} = ", key.name());
        let stands = texts.iter().any(|text| text.lines().any(|one| one.starts_with(&line)));
        assert!(stands, "{} is in no example", key.path);
    }
}

#[test]
fn every_combination_is_a_cell_with_its_factors() {
    let plan = plan(
        "target = \"null:\"\n[sweep]\nblock = [\"4KiB\", \"64KiB\"]\norder = [\"sequential\", \"random\"]\n",
    );
    let found: BTreeSet<String> = paths(&plan).iter().map(|cell| format!("{:?}", cell.factors)).collect();
    assert_eq!(found.len(), 4);
    assert!(paths(&plan).iter().all(|cell| cell.factors.len() == 2));
    let ids: BTreeSet<_> = plan.cells.iter().map(|cell| &cell.id).collect();
    assert_eq!(ids.len(), plan.cells.len());
}

#[test]
fn one_seed_gives_one_order_and_as_written_is_that_of_the_sweep() {
    let text = "target = \"null:\"\nseconds = 600\ncuts = []\n[sweep]\ndepth = \"1..1024 x2\"\n";
    let depths = |plan: &Plan| paths(plan).iter().map(|cell| cell.workload.queue_depth).collect::<Vec<_>>();
    let sorted: Vec<u32> = (0..11).map(|power| 1 << power).collect();
    let random = depths(&plan(text));
    assert_eq!(random, depths(&plan(text)));
    assert_ne!(random, sorted);
    let study = study(text);
    assert_ne!(random, depths(&plan_study(&study, &facts(&study), SEED + 1).unwrap()));
    assert_eq!(depths(&plan(&format!("cell_order = \"as_written\"\n{text}"))), sorted);
}

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
fn the_generator_is_measured_with_the_load_of_the_path_and_nothing_that_holds_it_back() {
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

trait Offered {
    fn offered(&self) -> Option<f64>;
}

impl Offered for narrows_model::Workload {
    fn offered(&self) -> Option<f64> {
        self.arrivals.offered_ops_per_s()
    }
}

#[test]
fn the_generator_is_not_held_against_itself() {
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
    assert_eq!(plan.load.touches, ["a test folder of its own in /a", "a test folder of its own in /b"]);
}

#[test]
fn a_stripe_of_nothing_is_held_against_the_generator() {
    let plan = plan("target = \"stripe:null:,null:\"\n");
    assert_eq!(count(&plan, Cut::Generator), 1);
}

#[test]
fn an_engine_that_the_machine_forbids_is_a_skip_with_its_reason_and_no_other_engine() {
    let text = "target = \"/data\"\n[workload]\nengine = \"uring\"\n";
    let plan = plan_where(text, |known| {
        for answer in &mut known.engines {
            answer.capabilities = Err("io_uring_setup says EPERM".to_owned());
        }
    })
    .unwrap();
    assert!(plan.cells.is_empty());
    assert_eq!(plan.skipped.len(), 1);
    let reason = &plan.skipped[0].reason;
    assert!(reason.contains("uring") && reason.contains("EPERM"), "{reason}");
}

#[test]
fn what_one_engine_cannot_do_is_left_out_and_the_other_runs() {
    let text =
        "target = \"/data\"\n[workload]\naccess = \"direct\"\n[sweep]\nengine = [\"psync\", \"uring\"]\n";
    let plan = plan_where(text, |known| {
        for answer in &mut known.engines {
            if let (Some(EngineId::Psync), Ok(capabilities)) = (answer.engine, &mut answer.capabilities) {
                capabilities.direct = Support::No { reason: "tmpfs has none".into() };
            }
        }
    })
    .unwrap();
    assert_eq!(
        paths(&plan).iter().map(|cell| cell.workload.engine).collect::<Vec<_>>(),
        [Some(EngineId::Uring)]
    );
    assert!(plan.skipped[0].reason.contains("tmpfs has none"));
}

#[test]
fn blocks_must_keep_the_alignment_that_the_engine_has_for_direct_access() {
    let text = "target = \"/data\"\n[workload]\naccess = \"direct\"\nblock = 512\n";
    let plan = plan_where(text, |known| {
        for answer in &mut known.engines {
            if let Ok(capabilities) = &mut answer.capabilities {
                capabilities.alignment_bytes = Bytes(4096);
            }
        }
    })
    .unwrap();
    assert!(
        plan.cells.is_empty() && plan.skipped[0].reason.contains("multiples of 4KiB"),
        "{:?}",
        plan.skipped
    );
}

#[test]
fn polling_that_a_place_does_not_have_is_left_out_with_its_reason() {
    let text = "target = \"/data\"\n[workload]\nengine = \"uring\"\naccess = \"direct\"\n\
                [sweep]\nring.completion_polling = [false, true]\n";
    let plan = plan_where(text, |known| {
        for answer in &mut known.engines {
            if let Ok(capabilities) = &mut answer.capabilities {
                capabilities.completion_polling = Support::No { reason: "its device has none".to_owned() };
            }
        }
    })
    .unwrap();
    assert_eq!((paths(&plan).len(), plan.skipped.len()), (1, 1));
    let skip = &plan.skipped[0];
    assert!(skip.cell.0.ends_with("ring.completion_polling=true"), "{}", skip.cell);
    assert_eq!(skip.reason, "completions cannot be polled for: its device has none");
}

#[test]
fn a_file_that_exists_is_read_cold_in_one_pass_from_the_first_request_on() {
    let stop = |more: &str| {
        let text = format!("target = \"/data/file\"\n[workload]\nblock = \"64KiB\"\n{more}");
        let exists = |known: &mut TargetFacts| known.existing_file = Some(Bytes(3 << 20));
        let plan = plan_where(&text, exists).unwrap();
        let stop = paths(&plan)[0].stop;
        (stop.bytes_max.map(|bytes| bytes.0), stop.warm_up_ns)
    };
    let usual = Nanos(300_000_000);
    assert_eq!(stop("cache = \"cold\"\n"), (Some(3 << 20), Nanos(0)));
    assert_eq!(stop("cache = \"cold\"\nclients = 2\n"), (Some(3 << 20), Nanos(0)), "they share its blocks");
    assert_eq!(stop("cache = \"cold\"\n[stop]\nbytes = \"1MiB\"\n"), (Some(1 << 20), Nanos(0)));
    assert_eq!(stop("cache = \"cold\"\n[stop]\nbytes = \"1GiB\"\n"), (Some(3 << 20), Nanos(0)));
    assert_eq!(stop("cache = \"cold\"\n[stop]\nwarm_up = \"1s\"\n"), (Some(3 << 20), Nanos(1_000_000_000)));
    assert_eq!(stop("cache = \"cold\"\naccess = \"direct\"\n"), (None, usual), "no cache is in between");
    assert_eq!(stop(""), (None, usual));
}

#[test]
fn a_file_that_exists_is_read_in_its_own_length_and_never_written() {
    let exists = |known: &mut TargetFacts| known.existing_file = Some(Bytes(3 << 20));
    let read = plan_where("target = \"/data/file\"\n", exists).unwrap();
    assert_eq!((paths(&read)[0].workload.file_bytes, paths(&read)[0].read_only), (Bytes(3 << 20), true));
    assert!(read.load.touches.is_empty() && read.load.file_bytes_max == Bytes(0), "{:?}", read.load);
    let text = "target = \"/data/file\"\n[workload]\nop = \"write\"\n";
    let problems = plan_where(text, exists).unwrap_err();
    assert_eq!((problems.list[0].line, problems.list[0].key.as_str()), (3, "workload.op"));
    let some = plan_where("target = \"/data/file\"\n[sweep]\nop = [\"read\", \"write\"]\n", exists).unwrap();
    assert_eq!(paths(&some).len(), 1);
    assert!(some.skipped[0].reason.contains("only ever read"), "{:?}", some.skipped);
    let verified = plan_where("target = \"/data/file\"\n[workload]\nverify = true\n", exists).unwrap_err();
    assert_eq!((verified.list[0].line, verified.list[0].key.as_str()), (3, "workload.verify"));
    let some = plan_where("target = \"/data/file\"\n[sweep]\nverify = [true, false]\n", exists).unwrap();
    assert_eq!((paths(&some).len(), some.skipped.len()), (1, 1));
    assert!(some.skipped[0].reason.contains("not written by narrows"), "{:?}", some.skipped);
    let longer = plan_where("target = \"/data/file\"\n[workload]\nfile = \"4MiB\"\n", exists).unwrap();
    assert!(longer.cells.is_empty() && longer.skipped[0].reason.contains("has 3MiB"), "{:?}", longer.skipped);
}

#[test]
fn files_together_are_read_in_the_length_of_the_shortest_and_never_beside_a_folder() {
    let text = "target = [\"/a\", \"/b\"]\ntogether = true\ncell_order = \"as_written\"\n";
    let long = |known: &mut TargetFacts, path: &str, length: u64| {
        if known.target == (Target::File { path: path.into() }) {
            known.existing_file = Some(Bytes(length));
        }
    };
    let both = plan_where(text, |known| {
        long(known, "/a", 3 << 20);
        long(known, "/b", 1 << 20);
    })
    .unwrap();
    let lengths: Vec<u64> = paths(&both).iter().map(|cell| cell.workload.file_bytes.0).collect();
    assert_eq!(lengths, [3 << 20, 1 << 20, 1 << 20]);
    let one = plan_where(text, |known| long(known, "/a", 3 << 20)).unwrap();
    assert_eq!((paths(&one).len(), one.skipped.len()), (2, 1), "{:?}", one.skipped);
    assert!(one.skipped[0].reason.contains("not loaded by one cell"), "{:?}", one.skipped);
}

#[test]
fn files_that_fill_the_free_space_are_left_out() {
    let text = "target = \"/data\"\n[workload]\nclients = 2\n[sweep]\nfile = [\"1MiB\", \"1GiB\"]\n";
    let plan = plan_where(text, |known| known.free_bytes = Some(Bytes(1 << 30))).unwrap();
    assert_eq!(paths(&plan).len(), 1);
    assert!(plan.skipped[0].reason.contains("files of 2GiB"), "{:?}", plan.skipped);
    assert_eq!(plan.load.file_bytes_max, Bytes(2 << 20));
}

#[test]
fn what_is_past_the_time_is_dropped_from_the_end_of_the_order_and_listed() {
    let text = "target = \"null:\"\nseconds = 12\n[sweep]\ndepth = \"1..1024 x2\"\n";
    let plan = plan(text);
    let (run, late) =
        (paths(&plan).len(), plan.skipped.iter().filter(|skip| skip.reason.contains("--seconds")).count());
    assert!(run > 0 && run < 11 && late >= 11 - run, "{run} {late}");
    assert!(plan.load.planned_ns <= plan.budget_ns);
}

#[test]
fn a_time_below_the_first_cell_is_a_problem_at_its_key() {
    let text = "target = \"null:copy\"\nseconds = 1\n";
    let study = study(text);
    let problems = plan_study(&study, &facts(&study), SEED).unwrap_err();
    assert_eq!((problems.list[0].line, problems.list[0].key.as_str()), (2, "seconds"));
    assert!(problems.list[0].hint.contains("seconds = 3"), "{}", problems.list[0].hint);
}

#[test]
fn open_repetition_is_planned_with_its_fewest_trials() {
    let text = "target = \"null:\"\ncuts = []\n[stop]\nwarm_up = \"0s\"\nmeasure = \"1s\"\n[repeat]\nuntil = \"interval\"\n";
    let plan = plan(text);
    assert_eq!(plan.cells[0].trials, 20);
    // Five windows of a second with 0.15 s around each.
    assert_eq!(plan.load.planned_ns, Nanos(5_750_000_000));
}

#[test]
fn the_fewest_trials_are_five_or_what_there_may_be_at_most() {
    let fewest = |trials: &str| {
        let text = format!("target = \"null:\"\n[stop]\n{trials}\n[repeat]\nuntil = \"interval\"\n");
        let cell = paths(&plan(&text))[0].clone();
        cell.repeat.trials_min(cell.trials)
    };
    assert_eq!([fewest(""), fewest("trials = 4"), fewest("trials = 9")], [5, 4, 5]);
}

#[test]
fn the_load_is_stated_with_its_cap_its_places_and_what_is_written() {
    let text = "target = [\"/a\", \"/b\"]\ntogether = true\n[workload]\nop = \"write\"\nfile = \"1MiB\"\nmax_rate = \"1MiB/s\"\n[stop]\nwarm_up = \"0s\"\nmeasure = \"1s\"\n";
    let load = plan(text).load;
    assert_eq!(load.max_bytes_per_s, Some(1 << 20));
    assert_eq!(load.touches.len(), 2);
    assert_eq!(load.file_bytes_max, Bytes(2 << 20));
    assert_eq!(load.write_bytes_max, Some(Bytes(3 << 20)));
    assert_eq!(load.in_flight_max, 2);
}

#[test]
fn cells_that_a_count_ends_are_planned_though_their_windows_together_are_longer_than_the_budget() {
    let text = "target = \"null:\"\ncuts = []\nseconds = 60\n[stop]\nops = 1000\nmeasure = \"20s\"\n[sweep]\nblock = [\"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\"]\n";
    let counted = plan(text);
    assert_eq!((counted.cells.len(), counted.skipped.len()), (4, 0));
    assert_eq!(counted.load.planned_ns, Nanos(80_600_000_000), "at most");
    let timed = plan(&text.replace("ops = 1000\n", ""));
    assert_eq!((timed.cells.len(), timed.skipped.len()), (2, 2));
}

#[test]
fn a_count_of_bytes_bounds_what_is_written_unless_a_warm_up_writes_before_it() {
    let written = |warm_up: &str| {
        let text = "target = \"/a\"\ncuts = []\n[workload]\nop = \"write\"\nfile = \"1MiB\"\n[stop]\nbytes = \"1MiB\"\n";
        plan(&format!("{text}{warm_up}")).load.write_bytes_max
    };
    assert_eq!(written(""), Some(Bytes(1 << 20)));
    assert_eq!(written("warm_up = \"1s\"\n"), None);
}

#[test]
fn targets_together_have_the_bus_among_their_segments() {
    let text = "target = [\"/a\", \"/b\"]\n";
    assert!(!plan(text).segments.contains(&Segment::DeviceBus));
    assert!(plan(&format!("{text}together = true\n")).segments.contains(&Segment::DeviceBus));
}

#[test]
fn the_plan_keeps_the_study_and_its_seed() {
    let text = "title = \"t\"\ntarget = \"null:\"\n[sweep]\ndepth = [1, 2]\n";
    let plan = plan(text);
    let source = plan.study.unwrap();
    assert_eq!((source.text.as_str(), source.title.as_deref(), plan.seed), (text, Some("t"), SEED));
    assert_eq!(source.factors.len(), 1);
}

#[test]
fn what_a_command_line_asks_for_comes_before_the_file() {
    let mut study = study("target = \"null:\"\nseconds = 10\n[stop]\nmeasure = \"5s\"\ntrials = 3\n");
    study.set_seconds(100.0);
    study.set_cell_seconds(2.0);
    study.set_trials(7);
    let plan = plan_study(&study, &facts(&study), SEED).unwrap();
    assert_eq!(plan.budget_ns, Nanos(100_000_000_000));
    assert_eq!((paths(&plan)[0].trials, paths(&plan)[0].stop.measure_ns), (7, Nanos(2_000_000_000)));
}

#[test]
fn the_largest_sweep_is_planned_with_an_id_for_each_cell() {
    let plan = plan(
        "target = \"null:copy\"\nseconds = 604800\n[sweep]\ndepth = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nworkers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n\
         clients = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nblock = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n",
    );
    assert_eq!((count(&plan, Cut::Path), count(&plan, Cut::Generator)), (10_000, 10_000));
    assert_eq!(plan.cells.iter().map(|cell| &cell.id).collect::<BTreeSet<_>>().len(), 20_000);
}

#[test]
fn without_facts_everything_is_planned() {
    let study = study("target = \"/data\"\n[sweep]\nengine = [\"psync\", \"uring\", \"mmap\"]\n");
    let plan = plan_study(&study, &StudyFacts::default(), SEED).unwrap();
    assert_eq!(paths(&plan).len(), 3);
}

/// One of some values of a key.
fn line(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(values).prop_map(move |value| match value {
        "" => String::new(),
        _ => format!("{key} = {value}\n"),
    })
}

proptest! {
    #[test]
    fn any_study_that_is_read_gives_a_plan_that_keeps_its_promises_or_problems(
        target in line("target", &["\"null:\"", "\"/d\"", "[\"/d\", \"null:copy\"]", "\"tcp://h:1/disk\"", "[\"/a\", \"/b\"]", "\"stripe:/a,/b?unit=512\"", "\"stripe:tcp://h:1/disk,tcp://i:1/disk\"", "[\"stripe:tcp://h:1/memory,tcp://i:1/memory?peer_depth=2\", \"tcp://h:1/memory\"]"]),
        seconds in line("seconds", &["", "1", "7", "604800"]),
        together in line("together", &["", "true"]),
        cuts in line("cuts", &["", "[]", "[\"generator\", \"memory_copy\", \"page_cache\", \"local_device\"]", "[\"network_stream\", \"server_memory\", \"server_storage\", \"early_path\"]"]),
        load in proptest::collection::vec(prop_oneof![
            line("op", &["\"write\""]), line("blocks", &["{ 1KiB = 1, 64MiB = 2 }"]), line("file", &["1", "\"1GiB\"", "\"1024TiB\""]),
            line("access", &["\"direct\""]), line("clients", &["256"]), line("acknowledgement", &["\"late\""]),
        ], 0..3),
        sweep in proptest::collection::vec(prop_oneof![
            line("block", &["[512, 4096]", "\"1B..64MiB x4\""]), line("depth", &["[1, 16]"]), line("engine", &["[\"psync\", \"uring\"]"]),
            line("workers", &["[1, 1024]"]), line("sync", &["[\"dsync\", \"every 3\"]"]),
        ], 0..3),
        existing in any::<bool>(), free in any::<u64>(), forbidden in any::<bool>(), seed in any::<u64>(),
    ) {
        let text = format!("{target}{seconds}{together}{cuts}[workload]\n{}[sweep]\n{}", load.concat(), sweep.concat());
        let Ok(study) = parse(&text, "s") else { return Ok(()) };
        let mut facts = facts(&study);
        for known in &mut facts.targets {
            known.free_bytes = Some(Bytes(free));
            known.existing_file = existing.then_some(Bytes(free % (1 << 30)));
            if forbidden {
                known.engines.iter_mut().for_each(|answer| answer.capabilities = Err("no".to_owned()));
            }
        }
        match plan_study(&study, &facts, seed) {
            Err(problems) => prop_assert!(!problems.list.is_empty()),
            Ok(plan) => {
                let ids: BTreeSet<_> = plan.cells.iter().map(|cell| &cell.id).chain(plan.skipped.iter().map(|skip| &skip.cell)).collect();
                prop_assert_eq!(ids.len(), plan.cells.len() + plan.skipped.len());
                let points = paths(&plan).len() + plan.skipped.iter().filter(|skip| skip.cell.0.starts_with("path/")).count();
                prop_assert_eq!(points, study.points.len());
                prop_assert!(plan.load.planned_ns <= plan.budget_ns);
                prop_assert!(!forbidden || plan.cells.is_empty());
                let writable = |cell: &Cell| {
                    matches!(cell.target, Target::File { .. }) && cell.site == Site::Client && !cell.read_only
                };
                prop_assert!(!existing || !plan.cells.iter().any(writable));
            }
        }
    }
}
