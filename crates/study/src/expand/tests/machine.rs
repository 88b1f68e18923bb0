//! What the machine does not have, files that exist, and room for others.

use super::*;

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
    assert!(some.skipped[0].reason.contains("only read"), "{:?}", some.skipped);
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
    assert!(one.skipped[0].reason.contains("one cell cannot load both"), "{:?}", one.skipped);
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
fn without_facts_everything_is_planned() {
    let study = study("target = \"/data\"\n[sweep]\nengine = [\"psync\", \"uring\", \"mmap\"]\n");
    let plan = plan_study(&study, &StudyFacts::default(), SEED).unwrap();
    assert_eq!(paths(&plan).len(), 3);
}

#[test]
fn rings_that_cannot_be_had_are_left_out_with_the_reason_and_smaller_ones_run() {
    let text = "target = \"/data\"\n[workload]\nengine = \"uring\"\nworkers = 2\n[sweep]\ndepth = [1, 512]\n";
    let study = parse(text, "s").unwrap();
    let wanted = study.rings();
    assert_eq!(wanted.iter().map(|one| (one.queue_depth, one.count)).collect::<Vec<_>>(), [(1, 2), (512, 2)]);
    let mut facts = facts(&study);
    facts.refused_rings = vec![(wanted[1], "RLIMIT_MEMLOCK is 64 KiB".to_owned())];
    let plan = plan_study(&study, &facts, SEED).unwrap();
    assert_eq!(paths(&plan).iter().map(|cell| cell.workload.queue_depth).collect::<Vec<_>>(), [1]);
    let reason = &plan.skipped[0].reason;
    assert!(reason.contains("uring") && reason.contains("RLIMIT_MEMLOCK"), "{reason}");
}
