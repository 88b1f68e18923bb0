//! What holds for any request, and what is wrong with some.

use super::*;

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
        ("--seconds", 1),
        ("--cell-seconds", 1),
        ("--trials", 1),
        ("blocks", 2),
        ("depths", 1),
        ("ops", 1),
        ("--max-rate", 1),
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
    let route = route::CheckRoute::new(request).unwrap();
    let file_bytes = extent::TestFileExtent::new(request, &grid::points(request)).file_bytes;
    let path = &plan.cells[index];
    // All cells have one length: what was asked for, or a shorter one of half a second at least.
    let cell_seconds = path.stop.measure_ns.as_secs_f64();
    prop_assert!(cell_seconds <= request.cell_seconds + 1e-6, "{}", path.id);
    prop_assert!(cell_seconds >= request.cell_seconds.min(0.5) - 1e-6, "{}", path.id);
    let request = &CheckRequest { cell_seconds, ..request.clone() };
    let depth = path.workload.workers * path.workload.queue_depth;
    let point = GridPoint { op: path.workload.op, block: path.workload.block_bytes, depth };
    let cells = PointPlanner { request, route: &route, file_bytes, corners: [None; 2] }.point(point);
    prop_assert_eq!(&cells.path, path);
    prop_assert!(cells.cuts.iter().any(|cell| cell.cut == Cut::Generator));
    let is_first = grid::first_loads(request).contains(&Some((point.block, point.depth)));
    for wanted in cells.cuts {
        let is_listed = || {
            plan.skipped.iter().any(|skip| skip.cell == wanted.id && skip.reason.contains("past the budget"))
        };
        prop_assert!(plan.cells[..index].contains(&wanted) || (is_first && is_listed()), "{}", wanted.id);
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
