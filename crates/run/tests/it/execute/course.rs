//! The course of a run: phases, warm-up, the end of its time, stops, cells that cannot run.

use super::*;

#[test]
fn phases_come_in_their_order() {
    let stop = StopFlag::default();
    let mut warmed = cell("null:", Workload::default(), false);
    warmed.stop.warm_up_ns = Nanos::from_millis(10);
    let mut events = Vec::new();
    execute(&plan(vec![warmed]), Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    let phases: Vec<Phase> = events
        .iter()
        .filter_map(|event| if let Event::PhaseStarted { phase, .. } = event { Some(*phase) } else { None })
        .collect();
    assert_eq!(phases[..3], [Phase::Prepare, Phase::WarmUp, Phase::Measure]);
    assert!(matches!(events.last(), Some(Event::TrialFinished(_))));
}

#[test]
fn a_cell_that_cannot_run_is_reported_and_the_others_run() {
    let stop = StopFlag::default();
    let missing = cell("/no/such/folder", Workload::default(), true);
    let cells = vec![missing.clone(), cell("null:", Workload::default(), false)];
    let mut events = Vec::new();
    let output = execute(&plan(cells), Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!((output.done_count, output.failed.len()), (1, 1));
    assert!(output.failed[0].reason.contains("/no/such/folder"), "{}", output.failed[0].reason);
    assert!(
        events.iter().any(|event| matches!(event, Event::CellFailed { cell, .. } if *cell == missing.id))
    );
}

#[test]
fn cells_past_the_budget_are_left_out_with_the_reason() {
    let stop = StopFlag::default();
    let mut short = plan(vec![cell("null:", Workload::default(), false)]);
    short.budget_ns = Nanos::from_millis(20);
    let mut events = Vec::new();
    let output = execute(&short, Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::BudgetSpent, 0));
    assert!(matches!(&events[..], [Event::CellSkipped(skip)] if skip.reason.contains("--seconds")));
}

/// A clock by which every look at it takes the same time.
struct CountedLooks {
    now_ns: std::sync::atomic::AtomicU64,
    look_ns: u64,
}

impl CountedLooks {
    fn of_ms(look_ms: u64) -> Arc<Self> {
        Arc::new(Self { now_ns: std::sync::atomic::AtomicU64::default(), look_ns: look_ms * 1_000_000 })
    }
}

impl Clock for CountedLooks {
    fn now(&self) -> Tick {
        Tick(self.now_ns.fetch_add(self.look_ns, std::sync::atomic::Ordering::Relaxed))
    }

    fn wait_until(&self, deadline: Tick) {
        self.now_ns.fetch_max(deadline.0, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_cell_whose_preparation_takes_the_time_of_its_load_is_left_out_and_that_is_reported() {
    let (folder, stop) = (folder(), StopFlag::default());
    let mut late = cell(folder.path().to_str().unwrap(), Workload::default(), false);
    late.workload.file_bytes = Bytes(64 * MIB);
    late.workload.prefill = Prefill::Whole;
    // 30 ms of load, 20 ms for 64 blocks of preparation with a look at the clock each.
    let plan = Plan { budget_ns: Nanos::from_millis(50), ..plan(vec![late]) };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    site.clock = CountedLooks::of_ms(1);
    let output = execute(&plan, Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::BudgetSpent, 0));
    assert!(trials(&events).is_empty() && output.failed.is_empty());
    let skips: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::CellSkipped(skip) = event { Some(&skip.reason) } else { None })
        .collect();
    let [reason] = skips[..] else { unreachable!("{skips:?}") };
    assert!(
        reason.contains("preparing its files would take at least 0.") && reason.contains("--seconds"),
        "{reason}"
    );
}

#[test]
fn a_trial_that_ends_late_is_named_where_it_leaves_others_no_time() {
    let stop = StopFlag::default();
    let late = cell("null:", Workload::default(), false);
    let mut next = late.clone();
    next.id = CellId("path/next".to_owned());
    // Each is planned to take 30 ms; three looks at the clock take more than a second.
    let plan = Plan { budget_ns: Nanos::from_millis(1000), ..plan(vec![late.clone(), next]) };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    site.clock = CountedLooks::of_ms(600);
    let output = execute(&plan, Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::BudgetSpent, 1));
    let Some(Event::CellSkipped(skip)) = events.last() else { unreachable!("{:?}", events.last()) };
    let named = format!(" s for trials that took longer than planned, most of all {}: ", late.id);
    assert!(
        skip.reason.contains(&named) && skip.reason.ends_with("; give more with --seconds"),
        "{}",
        skip.reason
    );
}

#[test]
fn a_stop_after_the_cell_keeps_the_cell_and_no_more() {
    let stop = StopFlag::default();
    stop.ask(StopRequest::AfterCell);
    let mut events = Vec::new();
    let cells = vec![cell("null:", Workload::default(), false)];
    let output = execute(&plan(cells), Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count, events.len()), (EndReason::Interrupted, 0, 0));
}

#[test]
fn a_stop_now_does_not_wait_for_a_server_that_never_answers() {
    // The kernel takes the connections of a server whose process is stopped; nobody ever reads from them.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = format!("tcp://{}/sink", server.local_addr().unwrap());
    let stop = StopFlag::default();
    let mut site = site(&stop);
    site.answer_timeout_ns = Nanos::from_millis(60_000);
    let asking = std::thread::spawn(move || {
        let (mut socket, _) = server.accept().unwrap();
        std::io::Read::read_exact(&mut socket, &mut [0; 1]).unwrap();
        stop.ask(StopRequest::Now);
        (server, socket)
    });
    let cells = vec![cell(&target, Workload { op: Op::Send, workers: 2, ..Workload::default() }, false)];
    let mut events = Vec::new();
    let output = execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    drop(asking.join().unwrap());
    assert_eq!((output.reason, output.done_count), (EndReason::Interrupted, 0), "{output:?}");
    assert!(output.failed.is_empty(), "a stop is no failure of the cell: {output:?}");
}

#[test]
fn a_workload_without_meaning_fails_its_cell_before_anything_is_made() {
    let (folder, stop) = (folder(), StopFlag::default());
    let order = narrows_model::workload::Order::Zipf { theta: f64::NAN };
    let cells = vec![cell(folder.path().to_str().unwrap(), Workload { order, ..Workload::default() }, false)];
    let mut events = Vec::new();
    let output = execute(&plan(cells), Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert!(output.failed[0].reason.contains("Zipf"), "{output:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A machine whose device takes 20 ms an operation, one at a time.
fn slow_machine() -> SimProfile {
    let free = StationLaw::default();
    SimProfile {
        name: "twenty milliseconds".to_owned(),
        client_cpus: 1.0,
        generator: free.clone(),
        client_cpu: free.clone(),
        network: None,
        server_cpus: 1.0,
        server_cpu: free,
        device: StationLaw { per_op_ns: Nanos::from_millis(20), parallel: 1, ..StationLaw::default() },
        device_ops_per_s: None,
        cache: CacheLaw::default(),
        shared_machine: false,
        machine_cpus: 1,
        faults: Vec::new(),
        file_bytes: Bytes(1 << 30),
    }
}

/// From the announcement of the warm-up to that of the window, for a queue of this depth and 120 ms of warm-up.
fn warm_up_ns(queue_depth: u32) -> u64 {
    let (folder, stop) = (folder(), StopFlag::default());
    let path = folder.path().join("profile.json");
    std::fs::write(&path, serde_json::to_string(&slow_machine()).unwrap()).unwrap();
    let mut warmed =
        cell(&format!("sim:{}", path.display()), Workload { queue_depth, ..Workload::default() }, false);
    warmed.stop.warm_up_ns = Nanos::from_millis(120);
    let mut events = Vec::new();
    execute(&plan(vec![warmed]), Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    let at_ns = |wanted| {
        let at_ns = |event: &Event| match event {
            Event::PhaseStarted { phase, at_ns, .. } if *phase == wanted => Some(at_ns.0),
            _ => None,
        };
        events.iter().find_map(at_ns).unwrap()
    };
    at_ns(Phase::Measure) - at_ns(Phase::WarmUp)
}

#[test]
fn the_window_waits_for_a_full_turn_of_the_queue() {
    // Twenty requests of 20 ms one after the other.
    assert!(warm_up_ns(20) >= 400_000_000);
}

#[test]
fn the_window_does_not_wait_for_ever() {
    // A turn of four seconds; the warm-up is at most five times as long as planned.
    let warm_up_ns = warm_up_ns(200);
    assert!((500_000_000..3_000_000_000).contains(&warm_up_ns), "{warm_up_ns}");
}
