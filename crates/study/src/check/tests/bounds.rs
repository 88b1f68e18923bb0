//! Time, room and rate: what fits them, what is left out, and what is stated.

use super::*;

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
fn the_first_loads_are_measured_within_any_budget_shorter_rather_than_absent() {
    let first = |plan: &Plan| ids(&cut(plan, Cut::Path))[..6].to_vec();
    for target in ["/srv", "tcp://h:1/disk", "tcp://h:1/memory"] {
        let whole = plan(&roomy(target));
        for budget_s in [7.0, 10.0, 20.0, 30.0, 60.0] {
            let part = plan(&CheckRequest { budget_s, ..request(target) });
            assert_eq!(first(&part), first(&whole), "{target} {budget_s}");
            assert!(seconds(&part.cells) <= budget_s * 0.9, "{target} {budget_s}");
            let lengths: Vec<f64> =
                cut(&part, Cut::Path).iter().map(|cell| cell.stop.measure_ns.as_secs_f64()).collect();
            assert!(lengths.iter().all(|length| (0.5..=1.5).contains(length)), "{target} {lengths:?}");
        }
    }
}

#[test]
fn cells_shorter_than_half_a_second_are_not_made_shorter_and_a_cap_keeps_its_loads() {
    let short = plan(&CheckRequest { cell_seconds: 0.2, budget_s: 5.0, ..request("tcp://h:1/disk") });
    assert!(cut(&short, Cut::Path).iter().all(|cell| cell.stop.measure_ns == Nanos(200_000_000)));
    let capped = CheckRequest { max_bytes_per_s: Some(12 * MIB), ..request("/srv") };
    let part = plan(&CheckRequest { budget_s: 12.0, ..capped });
    assert_eq!(cut(&part, Cut::Path)[0].id.0, "path/read/1MiB/qd1/w16/c1");
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
fn the_file_is_a_twentieth_of_the_free_space_up_to_a_quarter_of_the_memory() {
    let file = |free: u64, blocks: &[u64]| {
        let blocks = Some(blocks.iter().copied().map(Bytes).collect());
        let plan = plan(&CheckRequest { free_bytes: Some(Bytes(free)), blocks, ..roomy("/srv") });
        cut(&plan, Cut::Path)[0].workload.file_bytes.0
    };
    assert_eq!(file(100 << 30, &[4 * KIB]), 2048 * MIB);
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
    assert_eq!(local.file_bytes_max, Bytes(2048 * MIB));
    // Each write of the grid visits the file once, past the page cache and through it.
    assert_eq!(local.write_bytes_max, Some(Bytes(12 * 2048 * MIB)));
    assert_eq!(local.touches, ["a separate test folder in /srv"]);
    // Sixteen in flight, and four clients when it is refined.
    assert_eq!(local.in_flight_max, 64);
    let disk = plan(&roomy("tcp://h:1/disk")).load;
    assert_eq!(disk.file_bytes_max, Bytes(512 * MIB));
    assert_eq!(disk.touches, ["the endpoint's memory", "the endpoint's store"]);
    let server =
        Some(RequestedServer { kind: ServerKind::SelfStarted, host: "127.0.0.1".to_owned(), port: 1 });
    let own = plan(&CheckRequest { server, ..roomy("/srv") }).load;
    assert_eq!(own.touches, ["a separate test folder in /srv", "memory of this machine"]);
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
fn a_cap_on_the_rate_makes_the_offered_load_a_segment() {
    let capped = CheckRequest { max_bytes_per_s: Some(100 << 20), ..roomy("/data") };
    assert!(plan(&capped).segments.contains(&Segment::OfferedLoad));
    assert!(!plan(&roomy("/data")).segments.contains(&Segment::OfferedLoad));
}
