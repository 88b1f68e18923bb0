//! Whole plans on real files and on no target: what is told, in which order, and what is left behind.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests, outside of test functions"
)]

use narrows_engines::{Clock, EngineRegistry, MonotonicClock, Tick};
use narrows_model::event::{EndReason, Phase};
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Topology};
use narrows_model::sim_profile::{CacheLaw, SimProfile, StationLaw};
use narrows_model::workload::{Access, CacheState, OpShare, Order, Prefill, SyncPolicy};
use narrows_model::{
    Bytes, Cell, CellId, Cut, Event, Nanos, Op, Plan, Segment, Site, Stop, TrialOutput, Workload,
};
use narrows_run::assignment::{Assignment, ClientOutput};
use narrows_run::coordinator::{LocalContext, TrialHooks};
use narrows_run::{
    CellSite, Coordinator, NoCounters, Prepared, ProcessCoordinator, RunError, StopFlag, StopRequest,
    ThreadCoordinator, clean_up, execute,
};
use std::path::Path;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

fn site(stop: &StopFlag) -> CellSite {
    CellSite {
        registry: EngineRegistry::for_user(),
        clock: Arc::new(MonotonicClock::new()),
        stop: stop.clone(),
        coordinator: Box::new(ThreadCoordinator),
        counters: Box::new(NoCounters),
        hostname: "here".to_owned(),
        seed: 7,
        interval_ns: Nanos::from_millis(10),
        token: None,
        answer_timeout_ns: Nanos::from_millis(5000),
        prepared: Prepared::default(),
    }
}

/// A cell that goes once over a file of 4 MiB in `target`, or for 30 ms over nothing.
fn cell(target: &str, workload: Workload, once: bool) -> Cell {
    let workload = Workload { file_bytes: Bytes(4 * MIB), ..workload };
    let (measure_ns, bytes_max) = if once {
        (Nanos::from_millis(10_000), Some(Bytes(4 * MIB)))
    } else {
        (Nanos::from_millis(30), None)
    };
    Cell {
        id: Cell::name(Cut::Path, &workload),
        cut: Cut::Path,
        site: Site::Client,
        target: target.parse().unwrap(),
        workload,
        stop: Stop { warm_up_ns: Nanos(0), measure_ns, bytes_max, ops_max: None },
        trials: 1,
        repeat: narrows_model::Repeat::Fixed,
        more_targets: Vec::new(),
        factors: std::collections::BTreeMap::new(),
        read_only: false,
    }
}

fn plan(cells: Vec<Cell>) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: 7,
        target: "null:".parse().unwrap(),
        topology: Topology::Local,
        segments: vec![Segment::Generator],
        cells,
        skipped: Vec::new(),
        load: LoadStatement {
            planned_ns: Nanos(0),
            prefill_bytes: Bytes(0),
            prefill_ns_max: Nanos(0),
            file_bytes_max: Bytes(4 * MIB),
            write_bytes_max: None,
            touches: Vec::new(),
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos::from_millis(60_000),
        interval_ns: Nanos::from_millis(10),
        study: None,
        relay: None,
        suite: None,
    }
}

fn trials(events: &[Event]) -> Vec<&TrialOutput> {
    events
        .iter()
        .filter_map(|event| if let Event::TrialFinished(trial) = event { Some(trial.as_ref()) } else { None })
        .collect()
}

fn writing(block_bytes: u64, workers: u32) -> Workload {
    let sync = SyncPolicy::AtEnd;
    Workload { op: Op::Write, block_bytes: Bytes(block_bytes), workers, sync, ..Workload::default() }
}

#[test]
fn a_cell_that_goes_once_over_its_file_moves_just_its_bytes() {
    let (folder, stop) = (folder(), StopFlag::default());
    for (block_bytes, workers) in [(MIB, 1), (4096, 4), (64 << 10, 3)] {
        let cells = vec![cell(folder.path().to_str().unwrap(), writing(block_bytes, workers), true)];
        let (mut events, mut site) = (Vec::new(), site(&stop));
        let output = execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
        assert_eq!((output.reason, output.done_count), (EndReason::Finished, 1));
        let trial = trials(&events)[0];
        // Three workers share 64 blocks as 22, 21 and 21.
        assert_eq!((trial.bytes.0, trial.op_count), (4 * MIB, 4 * MIB / block_bytes));
        assert_eq!(trial.response.count(), trial.op_count);
        assert!(trial.complete && trial.errors.is_empty());
        assert_eq!(std::fs::metadata(folder.path().join("data-0")).unwrap().len(), 4 * MIB);
        assert!(clean_up(&mut site).is_empty());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }
}

#[test]
fn a_load_that_writes_its_file_itself_begins_with_an_empty_one_and_the_next_reads_it() {
    let (folder, stop) = (folder(), StopFlag::default());
    let target = folder.path().display().to_string();
    let load = |op, mib: u64| {
        let workload =
            Workload { op, block_bytes: Bytes(MIB), prefill: Prefill::Nothing, ..Workload::default() };
        let mut cell = cell(&target, workload, true);
        cell.id.0 = format!("{op} {mib}");
        cell.workload.file_bytes = Bytes(mib * MIB);
        (cell.stop.bytes_max, cell.stop.ops_max) = (None, Some(mib));
        cell
    };
    let length = || std::fs::metadata(folder.path().join("data-0")).unwrap().len();
    let mut events = Vec::new();
    let mut site = site(&stop);
    // Nothing has written the file that the first one reads.
    let cells = vec![load(Op::Read, 1), load(Op::Write, 4), load(Op::Read, 4), load(Op::Write, 2)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let failed = events.iter().find_map(|event| match event {
        Event::CellFailed { message, .. } => Some(message.clone()),
        _ => None,
    });
    assert!(failed.unwrap().contains("no load before has written it whole"));
    assert_eq!(trials(&events).iter().map(|trial| trial.bytes.0 / MIB).collect::<Vec<_>>(), [4, 4, 2]);
    assert_eq!(length(), 2 * MIB);
    assert!(clean_up(&mut site).is_empty());
    assert!(!folder.path().join("data-0").exists());
}

#[test]
fn a_load_that_keeps_its_file_goes_over_what_is_there_and_may_leave_it() {
    let (folder, stop) = (folder(), StopFlag::default());
    let target = folder.path().display().to_string();
    let load = |op, prefill, order| {
        let mut workload = Workload { op, block_bytes: Bytes(MIB), prefill, order, ..Workload::default() };
        workload.edges.keeps_files = true;
        let mut cell = cell(&target, workload, true);
        cell.id.0 = format!("{op} {prefill:?} {order}");
        cell
    };
    let length = || std::fs::metadata(folder.path().join("data-0")).unwrap().len();
    let mut events = Vec::new();
    let mut site = site(&stop);
    // Four times the first block: the others stay.
    let cells = vec![
        load(Op::Write, Prefill::Nothing, Order::Sequential),
        load(Op::Write, Prefill::Kept, Order::OneBlock),
        load(Op::Read, Prefill::Kept, Order::Backward),
    ];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!(trials(&events).iter().map(|trial| trial.bytes.0 / MIB).collect::<Vec<_>>(), [4, 4, 4]);
    assert_eq!(length(), 4 * MIB);
    assert!(clean_up(&mut site).is_empty());
    assert_eq!(length(), 4 * MIB, "it is kept when the run is over");
    let mut alone = Vec::new();
    let cells = vec![load(Op::Write, Prefill::Kept, Order::Sequential)];
    execute(&plan(cells), Nanos(0), &mut self::site(&stop), None, &mut alone).unwrap();
    assert!(
        alone.iter().any(|event| matches!(event, Event::CellFailed { .. })),
        "nothing was written before"
    );
}

#[test]
fn a_client_that_is_alone_is_a_process_only_where_that_is_asked_for() {
    let (folder, stop) = (folder(), StopFlag::default());
    let run = |own_process| {
        let workload = Workload { own_process, block_bytes: Bytes(MIB), ..Workload::default() };
        let plan = plan(vec![cell(&folder.path().display().to_string(), workload, true)]);
        // A program that is not there can be no client, and this process needs none.
        let coordinator = Box::new(ProcessCoordinator::new("/no/such/program".into(), Vec::new()));
        let mut site = CellSite { coordinator, ..site(&stop) };
        let mut events = Vec::new();
        execute(&plan, Nanos(0), &mut site, None, &mut events).unwrap();
        clean_up(&mut site);
        let failed = |event: &Event| match event {
            Event::CellFailed { message, .. } => Some(message.clone()),
            _ => None,
        };
        (trials(&events).len(), events.iter().find_map(failed).unwrap_or_default())
    };
    assert_eq!(run(false), (1, String::new()));
    let (count, failed) = run(true);
    assert!(count == 0 && failed.contains("could not be started by /no/such/program"), "{failed}");
}

#[test]
fn samples_of_a_trial_add_up_to_it() {
    let (folder, stop) = (folder(), StopFlag::default());
    let reading = Workload { cache: CacheState::Cold, ..Workload::default() };
    let cells = vec![cell(folder.path().to_str().unwrap(), reading, true)];
    let (mut events, mut site) = (Vec::new(), site(&stop));
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let trial = trials(&events)[0];
    let sampled: u64 = events
        .iter()
        .filter_map(|event| if let Event::Interval(sample) = event { Some(sample) } else { None })
        .filter(|sample| sample.measured)
        .map(|sample| sample.bytes.0)
        .sum();
    assert_eq!((sampled, trial.bytes.0), (4 * MIB, 4 * MIB));
    assert!(trial.resident_ratio.unwrap() < 0.02, "the cache was dropped: {:?}", trial.resident_ratio);
    clean_up(&mut site);
}

#[test]
fn direct_access_is_granted_and_said() {
    let (folder, stop) = (folder(), StopFlag::default());
    let reading = Workload { access: Access::Direct, ..Workload::default() };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    let cells = vec![cell(folder.path().to_str().unwrap(), reading, true)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let effective = trials(&events)[0].effective.clone().unwrap();
    assert_eq!((effective.engine.as_str(), effective.access), ("psync", Some(Access::Direct)));
    clean_up(&mut site);
}

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
fn an_existing_file_is_read_and_never_changed() {
    let (folder, stop) = (folder(), StopFlag::default());
    let path = folder.path().join("precious");
    std::fs::write(&path, vec![7; 4 << 20]).unwrap();
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    let mut reading = cell(path.to_str().unwrap(), Workload::default(), false);
    reading.read_only = true;
    let (mut events, mut site) = (Vec::new(), site(&stop));
    execute(&plan(vec![reading]), Nanos(0), &mut site, None, &mut events).unwrap();
    assert!(clean_up(&mut site).is_empty());
    assert!(trials(&events)[0].op_count > 0);
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 4 << 20]);
    assert_eq!(std::fs::metadata(&path).unwrap().modified().unwrap(), before);
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

/// A clock by which every look at it takes a millisecond.
struct CountedLooks(std::sync::atomic::AtomicU64);

impl Clock for CountedLooks {
    fn now(&self) -> Tick {
        Tick(self.0.fetch_add(1_000_000, std::sync::atomic::Ordering::Relaxed))
    }

    fn wait_until(&self, deadline: Tick) {
        self.0.fetch_max(deadline.0, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_cell_whose_preparation_takes_the_time_of_its_load_is_left_out_and_that_is_told() {
    let (folder, stop) = (folder(), StopFlag::default());
    let mut late = cell(folder.path().to_str().unwrap(), Workload::default(), false);
    late.workload.file_bytes = Bytes(64 * MIB);
    // 30 ms of load, 20 ms for 64 blocks of preparation with a look at the clock each.
    let plan = Plan { budget_ns: Nanos::from_millis(50), ..plan(vec![late]) };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    site.clock = Arc::new(CountedLooks(std::sync::atomic::AtomicU64::default()));
    let output = execute(&plan, Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::BudgetSpent, 0));
    assert!(trials(&events).is_empty() && output.failed.is_empty());
    let skips: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::CellSkipped(skip) = event { Some(&skip.reason) } else { None })
        .collect();
    let [reason] = skips[..] else { unreachable!("{skips:?}") };
    assert!(reason.contains("preparing its files took 0.0") && reason.contains("--seconds"), "{reason}");
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
fn a_full_device_is_an_error_that_says_so() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let stop = StopFlag::default();
    let mut writing = cell("/dev/full", writing(4096, 1), true);
    writing.read_only = true;
    let mut events = Vec::new();
    let output = execute(&plan(vec![writing]), Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!(output.done_count, 1, "{output:?}");
    let trial = trials(&events)[0];
    assert!(trial.errors.iter().any(|error| error.errno == "ENOSPC"), "{:?}", trial.errors);
    assert_eq!((trial.op_count, trial.complete), (0, false));
}

#[test]
fn a_cell_is_repeated_until_its_interval_is_narrow_or_the_time_ends() {
    let stop = StopFlag::default();
    let repeat = |half_width_ratio| narrows_model::Repeat::UntilInterval {
        half_width_ratio,
        level: 0.95,
        trials_min: 3,
    };
    for (half_width_ratio, budget_ms, fewest, most) in
        [(1e9, 60_000, 3, 3), (1e-9, 60_000, 5, 5), (1e-9, 95, 3, 3)]
    {
        let mut repeated = cell("null:", Workload::default(), false);
        (repeated.trials, repeated.repeat) = (5, repeat(half_width_ratio));
        let mut plan = plan(vec![repeated]);
        plan.budget_ns = Nanos::from_millis(budget_ms);
        let mut events = Vec::new();
        execute(&plan, Nanos(0), &mut site(&stop), None, &mut events).unwrap();
        let made = trials(&events).len();
        assert!((fewest..=most).contains(&made), "{made} trials");
        assert_eq!(trials(&events).last().unwrap().trial as usize, made - 1);
    }
}

/// A cell of 30 ms a trial with its own name that is repeated until its interval is so narrow.
fn repeated(name: &str, half_width_ratio: f64, trials: u32) -> Cell {
    let mut repeated = cell("null:", Workload::default(), false);
    repeated.id = CellId(name.to_owned());
    repeated.trials = trials;
    repeated.repeat = narrows_model::Repeat::UntilInterval { half_width_ratio, level: 0.95, trials_min: 3 };
    repeated
}

/// Names of the cells whose trials ended, in order.
fn order(events: &[Event]) -> Vec<&str> {
    trials(events).into_iter().map(|trial| trial.cell.0.as_str()).collect()
}

#[test]
fn a_noisy_cell_at_the_front_leaves_the_others_their_trials() {
    let stop = StopFlag::default();
    let cells = vec![repeated("a", 1e-9, 1000), repeated("b", 1e-9, 1000), repeated("c", 1e-9, 1000)];
    let mut plan = plan(cells);
    plan.budget_ns = Nanos::from_millis(3000);
    let mut events = Vec::new();
    let output = execute(&plan, Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::Finished, 3));
    let order = order(&events);
    for name in ["a", "b", "c"] {
        let made = order.iter().filter(|cell| **cell == name).count();
        assert!(made >= 3 && made * 2 < order.len(), "{made} of {order:?}");
    }
}

#[test]
fn time_that_is_left_in_the_end_goes_to_open_cells_a_trial_of_each_in_turn() {
    let stop = StopFlag::default();
    let cells = vec![repeated("a", 1e-9, 12), repeated("b", 1e-9, 12), repeated("c", 1e9, 12)];
    let mut plan = plan(cells);
    // What is planned and little more: three trials of each are all that a share holds at first.
    plan.budget_ns = Nanos::from_millis(1550);
    let mut events = Vec::new();
    let output = execute(&plan, Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::Finished, 3));
    let order = order(&events);
    let last_of_c = order.iter().rposition(|cell| *cell == "c").unwrap();
    assert_eq!(order.iter().filter(|cell| **cell == "c").count(), 3, "it is narrow enough");
    let after = &order[last_of_c + 1..];
    let turns: Vec<(&str, &str)> = after.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    assert!(turns.iter().take(2).all(|turn| *turn == ("a", "b")), "{order:?}");
    for name in ["a", "b", "c"] {
        let numbers =
            trials(&events).into_iter().filter(|trial| trial.cell.0 == name).map(|trial| trial.trial);
        assert!(numbers.eq(0..u32::try_from(order.iter().filter(|cell| **cell == name).count()).unwrap()));
    }
    assert!(order.iter().filter(|cell| **cell == "a").count() <= 12);
}

/// Several clients, one after the other in this process.
struct InTurn;

impl Coordinator for InTurn {
    fn run(
        &self,
        assignments: &[Assignment],
        context: &LocalContext<'_>,
        hooks: &mut dyn TrialHooks,
    ) -> Result<Vec<ClientOutput>, RunError> {
        let mut outputs = Vec::new();
        for assignment in assignments {
            outputs.extend(ThreadCoordinator.run(std::slice::from_ref(assignment), context, hooks)?);
        }
        Ok(outputs)
    }
}

#[test]
fn clients_go_to_their_own_targets_and_nothing_is_left_in_any() {
    let (one, other, stop) = (folder(), folder(), StopFlag::default());
    let mut shared = cell(one.path().to_str().unwrap(), writing(MIB, 1), true);
    shared.workload.clients = 3;
    shared.stop.bytes_max = Some(Bytes(12 * MIB));
    shared.more_targets = vec![other.path().to_str().unwrap().parse().unwrap()];
    let (mut events, mut site) = (Vec::new(), site(&stop));
    site.coordinator = Box::new(InTurn);
    let output = execute(&plan(vec![shared]), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!(output.done_count, 1, "{output:?}");
    let names = |folder: &tempfile::TempDir| {
        let files = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(
        (names(&one), names(&other)),
        (vec!["data-0".to_owned(), "data-2".to_owned()], vec!["data-1".to_owned()])
    );
    let trial = trials(&events)[0];
    assert_eq!((trial.bytes.0, trial.clients.len()), (12 * MIB, 3));
    assert!(clean_up(&mut site).is_empty());
    assert!(names(&one).is_empty() && names(&other).is_empty());
}

#[test]
fn a_mix_of_reads_and_writes_on_a_file_is_counted_by_kind() {
    let (folder, stop) = (folder(), StopFlag::default());
    let share = |op, weight| narrows_model::workload::OpShare { op, weight };
    let mixed = Workload {
        op_mix: vec![share(Op::Read, 7.0), share(Op::Write, 3.0), share(Op::Sync, 0.1)],
        order: narrows_model::workload::Order::Random,
        ..Workload::default()
    };
    let (mut events, mut site) = (Vec::new(), site(&stop));
    let cells = vec![cell(folder.path().to_str().unwrap(), mixed, false)];
    execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    let trial = trials(&events)[0];
    assert!(trial.errors.is_empty() && trial.complete, "{:?}", trial.errors);
    let kinds: Vec<Op> = trial.by_kind.iter().map(|kind| kind.op).collect();
    assert_eq!(kinds, [Op::Read, Op::Write, Op::Sync]);
    assert_eq!(trial.by_kind.iter().map(|kind| kind.op_count).sum::<u64>(), trial.op_count);
    clean_up(&mut site);
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

/// What a unit of 512 bytes says of itself, read by nothing but the documented layout: seed, offset, object, generation.
fn unit(bytes: &[u8]) -> (u64, u64, u32, u32) {
    let crc = !bytes[..508].iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    assert_eq!((&bytes[..8], &bytes[508..]), (&b"narrows1"[..], &crc.to_le_bytes()[..]));
    let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let short = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    (long(8), long(16), short(24), short(28))
}

#[test]
fn workers_that_share_a_verified_file_leave_it_as_their_writes_say_in_every_trial() {
    let (folder, stop) = (folder(), StopFlag::default());
    let share = |op| OpShare { op, weight: 1.0 };
    let workload = Workload {
        verify: true,
        workers: 4,
        op_mix: vec![share(Op::Read), share(Op::Write)],
        order: Order::Zipf { theta: 1.0 },
        ..Workload::default()
    };
    let target = folder.path().to_str().unwrap();
    // Cells that verify nothing go before and after, over the same file.
    let mut cells = vec![
        cell(target, writing(4096, 1), true),
        cell(target, workload, false),
        cell(target, Workload::default(), true),
    ];
    cells[1].trials = 3;
    (cells[1].stop.measure_ns, cells[1].stop.ops_max) = (Nanos::from_millis(10_000), Some(4000));
    let mut site = site(&stop);
    let mut events = Vec::new();
    let output = execute(&plan(cells), Nanos(0), &mut site, None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::Finished, 3));
    let trials = trials(&events);
    let verified: Vec<_> = trials.iter().filter_map(|trial| trial.verification.as_ref()).collect();
    assert_eq!((trials.len(), verified.len()), (5, 3));
    for found in verified {
        assert_eq!(
            (found.mismatch_count, found.undecided_bytes.0, found.unread_bytes.0),
            (0, 0, 0),
            "{found:?}"
        );
        assert!(found.checked_bytes.0 > 0);
        assert_eq!(found.read_back_bytes.0, 4 * MIB);
    }
    let file = std::fs::read(folder.path().join("data-0")).unwrap();
    let units: Vec<_> = file.chunks(512).map(unit).collect();
    for (place, (seed, offset, object, _)) in (0..).zip(&units) {
        assert_eq!((*seed, *offset, *object), (units[0].0, place * 512, 0));
    }
    let writes = trials[3].by_kind.iter().find(|kind| kind.op == Op::Write).unwrap();
    let written: u64 = units.iter().map(|unit| u64::from(unit.3)).sum();
    assert_eq!(written * 512, writes.bytes.0, "each unit counts its own writes");
    assert!(clean_up(&mut site).is_empty());
}

#[test]
fn what_cannot_be_verified_fails_with_its_reason_and_nothing_is_made() {
    let (folder, stop) = (folder(), StopFlag::default());
    let target = folder.path().to_str().unwrap();
    let verified = |workload: Workload| Workload { verify: true, ..workload };
    let odd = Workload { block_bytes: Bytes(1000), ..Workload::default() };
    let mut of_others = cell(target, verified(Workload::default()), false);
    of_others.read_only = true;
    let cases = [
        (cell("null:", verified(Workload::default()), false), "null:, which keeps none"),
        (cell("sim:local-ssd", verified(Workload::default()), false), "which keeps none"),
        (cell(target, verified(odd), false), "multiples of 512"),
        (of_others, "did not write"),
    ];
    for (cell, reason) in cases {
        let output = execute(&plan(vec![cell]), Nanos(0), &mut site(&stop), None, &mut Vec::new()).unwrap();
        assert!(output.failed[0].reason.contains(reason), "{}", output.failed[0].reason);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
