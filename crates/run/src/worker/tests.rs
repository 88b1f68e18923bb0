//! The worker on simulated machines in virtual time: what it counts is what the machine did.

use super::stamp::{STAMP_STRIDE_BYTES, stamp_block};
use super::*;
use crate::assignment::WindowTimes;
use crate::recorder::{IntervalStream, SampleLabel, clear, recorder};
use crate::stop::{StopFlag, StopRequest};
use narrows_engines::{
    Completions, EngineRegistry, IoRequest, ProtocolCounters, Slot, Tick, VirtualClock, WorkerContext,
};
use narrows_model::sim_profile::{CacheLaw, Fault, SimProfile, StationLaw};
use narrows_model::trial::IntervalSample;
use narrows_model::{Bytes, Cell, CellId, Cut, Nanos, Stop, Workload};
use std::io::Write as _;
use std::sync::Arc;

mod allocations;
mod batches;
mod closing;
mod final_sync;
mod in_flight;
mod in_step;
mod late_start;
mod mixes;
mod one_by_one;
mod open_loop;
mod verified;
mod write_back;

/// A machine whose device takes 1 ms an operation and serves `parallel` of them at once.
pub(super) fn device(parallel: u32, faults: Vec<Fault>) -> SimProfile {
    let free = StationLaw::default();
    SimProfile {
        name: "one millisecond".to_owned(),
        client_cpus: 1.0,
        generator: free.clone(),
        client_cpu: free.clone(),
        network: None,
        server_cpus: 1.0,
        server_cpu: free,
        device: StationLaw { per_op_ns: Nanos(1_000_000), parallel, ..StationLaw::default() },
        device_ops_per_s: None,
        cache: CacheLaw::default(),
        shared_machine: false,
        machine_cpus: 1,
        faults,
        file_bytes: Bytes(1 << 30),
    }
}

pub(super) fn assignment(profile: &SimProfile, folder: &tempfile::TempDir, queue_depth: u32) -> Assignment {
    let path = folder.path().join("profile.json");
    std::fs::File::create(&path)
        .unwrap()
        .write_all(serde_json::to_string(profile).unwrap().as_bytes())
        .unwrap();
    let workload = Workload { queue_depth, file_bytes: Bytes(1 << 20), ..Workload::default() };
    let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(0), bytes_max: None, ops_max: None };
    let target = format!("sim:{}", path.display()).parse().unwrap();
    let cell = Cell {
        id: CellId("cell".to_owned()),
        read_only: true,
        ..Cell::new(Cut::Path, target, workload, stop)
    };
    Assignment {
        interval_ns: Nanos(100_000_000),
        answer_timeout_ns: Nanos(1_000_000_000),
        ..Assignment::plain(cell, 0)
    }
}

/// Runs one worker from 0 with a window of one second after half a second of warm-up; returns its samples too.
fn run(assignment: &Assignment, stop: &StopFlag) -> (WorkerOutput, Vec<IntervalSample>) {
    run_as(assignment, stop, |engine| engine)
}

/// What a wrapped engine does differently.
trait Twist {
    /// Whether the engine takes requests any more.
    fn takes(&mut self) -> bool {
        true
    }
    /// Whether another client in step has ended.
    fn has_ended(&self) -> bool {
        false
    }
    /// Sees the requests that are about to be handed over.
    fn queueing(&mut self, _requests: &[IoRequest]) {}
    /// Sees the requests that are handed over.
    fn queued(&mut self, _requests: &[IoRequest]) {}
    /// Sees that the engine is about to be closed.
    fn closing(&mut self) {}
    /// Sees that the engine's counters are about to be read.
    fn reading(&mut self) {}
    /// Changes how a reap waits.
    fn reaping(&mut self, min: u32, until: Tick) -> (u32, Tick) {
        (min, until)
    }
    /// Changes what became of a request.
    fn done(&mut self, done: narrows_engines::IoCompletion) -> narrows_engines::IoCompletion {
        done
    }
}

/// An engine with a twist.
struct Twisted<T>(Box<dyn Engine>, T);

impl<T: Twist> Engine for Twisted<T> {
    fn effective(&self) -> &narrows_model::Effective {
        self.0.effective()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.0.buffer(slot)
    }

    fn has_ended(&self) -> bool {
        self.1.has_ended()
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        if !self.1.takes() {
            return Ok(0);
        }
        self.1.queueing(requests);
        let taken = self.0.queue(requests)?;
        self.1.queued(&requests[..taken]);
        Ok(taken)
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.0.commit()
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let (min, until) = self.1.reaping(min, until);
        let mut own = Completions::with_capacity(16);
        self.0.reap(min, until, &mut own)?;
        own.as_slice().iter().for_each(|done| out.push(self.1.done(*done)));
        Ok(())
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        self.1.reading();
        self.0.counters(out);
    }

    fn close(mut self: Box<Self>) -> Result<(), EngineError> {
        self.1.closing();
        self.0.close()
    }
}

/// Does not return before something completed, as a system call does.
struct Blocking;

impl Twist for Blocking {
    fn reaping(&mut self, min: u32, _until: Tick) -> (u32, Tick) {
        (min, Tick(u64::MAX))
    }
}

fn run_as(
    assignment: &Assignment,
    stop: &StopFlag,
    wrap: impl Fn(Box<dyn Engine>) -> Box<dyn Engine>,
) -> (WorkerOutput, Vec<IntervalSample>) {
    let times = WindowTimes { start_ns: 0, measure_from_ns: 500_000_000, measure_until_ns: 1_500_000_000 };
    run_on(&Arc::new(VirtualClock::default()), times, assignment, stop, wrap)
}

/// Runs one worker on a clock of the test's choice.
fn run_on<C: Clock + 'static>(
    clock: &Arc<C>,
    times: WindowTimes,
    assignment: &Assignment,
    stop: &StopFlag,
    wrap: impl Fn(Box<dyn Engine>) -> Box<dyn Engine>,
) -> (WorkerOutput, Vec<IntervalSample>) {
    let context = WorkerContext {
        client_index: 0,
        worker_index: 0,
        seed: 1,
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        stop: stop.clone(),
    };
    let engine_id = assignment.cell.workload.engine;
    let factory = EngineRegistry::for_user().factory(&assignment.cell.target, engine_id).unwrap();
    let engine = wrap(factory.open(&assignment.open_spec(), &context).unwrap());
    let window = Window::new(stop.clone());
    window.open(times);
    let label = SampleLabel { cell: CellId("cell".to_owned()), trial: 0, client_index: 0, worker_index: 0 };
    let (recorder, stream) = recorder(&label, assignment.interval_ns.0);
    let workload = &assignment.cell.workload;
    let table = || Arc::new(GenerationTable::new(assignment.object_bytes, workload.block_bytes, 1));
    let table = workload.verify.then(table);
    let worker =
        Worker { assignment, index: 0, clock: clock.as_ref(), window: &window, engine, recorder, table };
    let IntervalStream { full, empty } = stream;
    let collector = std::thread::spawn(move || {
        full.iter()
            .map(|mut sample| {
                let copy = (*sample).clone();
                clear(&mut sample);
                drop(empty.try_send(sample));
                copy
            })
            .collect()
    });
    let output = worker.run();
    if output.op_count > u64::from(assignment.cell.workload.queue_depth) {
        assert_eq!(window.turned_count(), 1, "the worker tells once that its queue has turned over");
    }
    (output, collector.join().unwrap())
}

#[test]
fn one_request_at_a_time_of_one_millisecond_is_a_thousand_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let (output, _) = run(&assignment(&device(1, Vec::new()), &folder, 1), &StopFlag::default());
    assert!(output.op_count.abs_diff(1000) <= 1, "{}", output.op_count);
    assert_eq!(output.bytes.0, output.op_count * 4096);
    let median_ns = output.response.quantile_ns(0.5).unwrap();
    assert!(median_ns.abs_diff(1_000_000) <= 10_000, "{median_ns}");
    assert_eq!(output.done_at_ns, 1_500_000_000);
    assert!(output.complete && output.errors.is_empty());
}

#[test]
fn littles_law_holds_in_the_window() {
    for (parallel, depth) in [(1, 4), (4, 4), (2, 8)] {
        let folder = tempfile::tempdir().unwrap();
        let (output, _) =
            run(&assignment(&device(parallel, Vec::new()), &folder, depth), &StopFlag::default());
        let in_flight = output.response_sum_ns as f64 / 1e9;
        assert!((in_flight - f64::from(depth)).abs() < 0.02 * f64::from(depth), "{in_flight} of {depth}");
    }
}

#[test]
fn the_first_completion_in_the_window_counts_though_a_call_blocked_across_its_border() {
    let folder = tempfile::tempdir().unwrap();
    let mut slow = device(1, Vec::new());
    slow.device.per_op_ns = Nanos(160_000_000);
    let (output, _) = run_as(&assignment(&slow, &folder, 1), &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, Blocking))
    });
    // One ends every 160 ms: the third at 480 ms, the fourth to the ninth in the window of 500 to 1500 ms.
    assert_eq!(output.op_count, 6);
    assert!(output.last_before_ns.abs_diff(480_000_000) < 1_000_000, "{}", output.last_before_ns);
    assert!(output.last_within_ns.abs_diff(1_440_000_000) < 1_000_000, "{}", output.last_within_ns);
}

#[test]
fn a_deep_queue_that_is_answered_slowly_is_no_queue_without_answer() {
    let folder = tempfile::tempdir().unwrap();
    let mut slow = device(1, Vec::new());
    slow.device.per_op_ns = Nanos(900_000_000);
    // One ends at 900 ms, in the window of 500 to 1500 ms; after the drain all others are older than a window.
    let (output, _) = run(&assignment(&slow, &folder, 16), &StopFlag::default());
    assert!(output.errors.is_empty() && output.complete, "{:?}", output.errors);
    assert_eq!(output.op_count, 1);
}

#[test]
fn a_request_that_straddles_a_border_of_the_window_does_not_bend_the_rate() {
    for per_op_ns in [150_000_000, 170_000_000, 260_000_000] {
        let folder = tempfile::tempdir().unwrap();
        let mut slow = device(1, Vec::new());
        slow.device.per_op_ns = Nanos(per_op_ns);
        let assignment = assignment(&slow, &folder, 2);
        let (output, _) = run(&assignment, &StopFlag::default());
        let times =
            WindowTimes { start_ns: 0, measure_from_ns: 500_000_000, measure_until_ns: 1_500_000_000 };
        let clients =
            [crate::assignment::ClientOutput { client_index: 0, host: None, workers: vec![output] }];
        let trial = crate::gather::trial_output(&assignment.cell, 0, times, &clients, "host");
        let ns_per_op = trial.last_done_ns.0 as f64 / trial.op_count as f64;
        assert!((ns_per_op / per_op_ns as f64 - 1.0).abs() < 0.01, "{ns_per_op} for {per_op_ns}");
        assert!(trial.start_ns.0 < 500_000_000 && trial.start_ns.0 > 0);
    }
}

#[test]
fn without_a_warm_up_a_request_that_straddles_the_windows_end_does_not_bend_the_rate() {
    for (depth, per_op_ns) in [(1, 170_000_000), (4, 47_000_000), (8, 95_000_000)] {
        let folder = tempfile::tempdir().unwrap();
        let mut slow = device(depth, Vec::new());
        slow.device.per_op_ns = Nanos(per_op_ns);
        let assignment = assignment(&slow, &folder, depth);
        let times = WindowTimes { start_ns: 0, measure_from_ns: 0, measure_until_ns: 200_000_000 };
        let clock = Arc::new(VirtualClock::default());
        let (output, _) = run_on(&clock, times, &assignment, &StopFlag::default(), |engine| engine);
        let in_flight = output.response_sum_ns as f64;
        let clients =
            [crate::assignment::ClientOutput { client_index: 0, host: None, workers: vec![output] }];
        let trial = crate::gather::trial_output(&assignment.cell, 0, times, &clients, "host");
        let ns_per_op = trial.last_done_ns.0 as f64 / trial.op_count as f64 * f64::from(depth);
        assert!((ns_per_op / per_op_ns as f64 - 1.0).abs() < 0.01, "{ns_per_op} for {per_op_ns}");
        let in_flight = in_flight / trial.last_done_ns.0 as f64;
        assert!((in_flight / f64::from(depth) - 1.0).abs() < 0.01, "{in_flight} of {depth}");
    }
}

#[test]
fn a_target_that_stands_still_to_the_windows_end_is_slow_and_not_fast() {
    for depth in [1, 8] {
        let folder = tempfile::tempdir().unwrap();
        let assignment = assignment(&device(1, vec![Fault::Hang { after: 700 }]), &folder, depth);
        let (output, _) = run(&assignment, &StopFlag::default());
        assert!(output.op_count.abs_diff(200) <= 2, "{}", output.op_count);
        let times =
            WindowTimes { start_ns: 0, measure_from_ns: 500_000_000, measure_until_ns: 1_500_000_000 };
        let clients =
            [crate::assignment::ClientOutput { client_index: 0, host: None, workers: vec![output] }];
        let trial = crate::gather::trial_output(&assignment.cell, 0, times, &clients, "host");
        assert!(trial.last_done_ns.0.abs_diff(1_000_000_000) < 2_000_000, "{}", trial.last_done_ns.0);
    }
}

#[test]
fn samples_add_up_to_the_totals() {
    let folder = tempfile::tempdir().unwrap();
    let (output, samples) = run(&assignment(&device(1, Vec::new()), &folder, 1), &StopFlag::default());
    assert!(samples.len() > 3, "{}", samples.len());
    let measured: u64 = samples.iter().filter(|sample| sample.measured).map(|sample| sample.op_count).sum();
    let warm_up: u64 = samples.iter().filter(|sample| !sample.measured).map(|sample| sample.op_count).sum();
    assert_eq!(measured, output.op_count);
    assert!(warm_up.abs_diff(500) <= 1, "{warm_up}");
}

#[test]
fn what_drains_after_the_window_is_in_no_measured_sample() {
    let folder = tempfile::tempdir().unwrap();
    let mut slow = device(4, Vec::new());
    slow.device.per_op_ns = Nanos(400_000_000);
    let (output, samples) = run(&assignment(&slow, &folder, 4), &StopFlag::default());
    assert!(output.op_count > 0);
    for sample in samples.iter().filter(|sample| sample.measured) {
        assert!(sample.end_ns.0 <= 1_500_000_000 && sample.start_ns < sample.end_ns, "{sample:?}");
    }
    assert!(samples.iter().any(|sample| !sample.measured && sample.start_ns.0 >= 1_500_000_000));
}

#[test]
fn a_count_ends_the_trial_at_its_last_completion() {
    let folder = tempfile::tempdir().unwrap();
    let mut counted = assignment(&device(1, Vec::new()), &folder, 1);
    counted.cell.stop.ops_max = Some(700);
    let (output, _) = run(&counted, &StopFlag::default());
    assert_eq!(output.op_count, 700);
    // From the window's start at 500 ms on: the warm-up uses nothing up.
    assert!(output.done_at_ns.abs_diff(1_200_000_000) <= 1_000_000, "{}", output.done_at_ns);
}

#[test]
fn a_trial_whose_closing_is_timed_is_not_ended_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut counted = assignment(&device(1, Vec::new()), &folder, 1);
    (counted.cell.stop.warm_up_ns, counted.cell.stop.ops_max) = (Nanos(0), Some(10));
    assert!(!counted.cell.ends_by_time());
    counted.cell.stop.ops_max = None;
    assert!(counted.cell.ends_by_time());
    counted.cell.workload.edges.times_close = true;
    assert!(!counted.cell.ends_by_time(), "its end is that of its closing");
}

#[test]
fn a_count_below_the_depth_is_kept_though_the_warm_up_is_long() {
    for (depth, ops_max) in [(16, 10), (1, 1), (4, 5)] {
        let folder = tempfile::tempdir().unwrap();
        let mut counted = assignment(&device(4, Vec::new()), &folder, depth);
        counted.cell.stop.ops_max = Some(ops_max);
        let (output, samples) = run(&counted, &StopFlag::default());
        assert_eq!((output.op_count, output.complete), (ops_max, true));
        let warm: u64 = samples.iter().filter(|sample| !sample.measured).map(|sample| sample.op_count).sum();
        assert!(warm >= 490, "load for half a second before: {warm}");
    }
}

#[test]
fn the_shares_of_all_workers_add_up_to_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let shares = |ops_max: Option<u64>, bytes_max: Option<u64>, workers: u32, clients: u32| -> Vec<u64> {
        let mut counted = assignment(&device(1, Vec::new()), &folder, 1);
        counted.cell.workload.workers = workers;
        counted.cell.workload.clients = clients;
        counted.cell.stop.ops_max = ops_max;
        counted.cell.stop.bytes_max = bytes_max.map(Bytes);
        let of = |client_index: u32, index: u32| {
            let assignment = Assignment { client_index, ..counted.clone() };
            let mut flight = WorkerState::new(&assignment, index, 1, 0, 0);
            (0..1000).take_while(|_| flight.left.take(4096)).count() as u64
        };
        (0..clients)
            .flat_map(|client| (0..workers).map(move |worker| (client, worker)))
            .map(|(c, w)| of(c, w))
            .collect()
    };
    assert_eq!(shares(Some(2), None, 4, 1), [1, 1, 0, 0]);
    assert_eq!(shares(Some(11), None, 2, 2), [3, 3, 3, 2]);
    assert_eq!(shares(None, Some(5 * 4096 + 17), 3, 1), [2, 2, 1]);
    assert_eq!(shares(None, Some(100), 2, 1), [1, 0]);
}

#[test]
fn workers_without_anything_to_do_do_not_end_the_trial_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut counted = assignment(&device(1, Vec::new()), &folder, 1);
    counted.cell.stop.ops_max = Some(100);
    counted.cell.workload.clients = 2;
    let (busy, _) = run(&counted, &StopFlag::default());
    counted.cell.stop.ops_max = Some(1);
    counted.client_index = 1;
    let (idle, _) = run(&counted, &StopFlag::default());
    assert_eq!((busy.op_count, idle.op_count, idle.complete), (50, 0, true));
    let workers = vec![busy, idle];
    let clients = [crate::assignment::ClientOutput { client_index: 0, host: None, workers }];
    let times = WindowTimes { start_ns: 0, measure_from_ns: 500_000_000, measure_until_ns: 1_500_000_000 };
    let trial = crate::gather::trial_output(&counted.cell, 0, times, &clients, "host");
    assert_eq!(trial.first_done_ns, trial.last_done_ns);
    assert!(trial.last_done_ns.0.abs_diff(50_000_000) <= 1_000_000, "{}", trial.last_done_ns.0);
}

#[test]
fn a_cap_on_the_rate_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut capped = assignment(&device(1, Vec::new()), &folder, 1);
    capped.cell.workload.max_bytes_per_s = Some(100 * 4096);
    let (output, _) = run(&capped, &StopFlag::default());
    assert!(output.op_count.abs_diff(100) <= 2, "{}", output.op_count);
}

#[test]
fn failures_are_counted_and_do_not_count_as_work() {
    let folder = tempfile::tempdir().unwrap();
    let faults = vec![Fault::Error { every: 10, errno: "EIO".to_owned() }];
    let (output, _) = run(&assignment(&device(1, faults), &folder, 1), &StopFlag::default());
    assert_eq!(output.errors.len(), 1);
    assert_eq!(output.errors[0].errno, "EIO");
    assert!(output.op_count > 900 && output.complete);
}

#[test]
fn a_target_that_only_fails_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let faults = vec![Fault::Error { every: 1, errno: "EIO".to_owned() }];
    let mut failing = device(1, faults);
    failing.device.per_op_ns = Nanos(1000);
    let (output, _) = run(&assignment(&failing, &folder, 1), &StopFlag::default());
    assert_eq!((output.op_count, output.complete), (0, false));
    assert_eq!(output.errors[0].count, ERRORS_MAX);
}

#[test]
fn a_stop_now_keeps_what_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let stop = StopFlag::default();
    stop.ask(StopRequest::Now);
    let (output, _) = run(&assignment(&device(1, Vec::new()), &folder, 1), &stop);
    assert!(!output.complete);
}

#[test]
fn a_path_that_hangs_does_not_hang_the_worker() {
    let folder = tempfile::tempdir().unwrap();
    let hanging = assignment(&device(1, vec![Fault::Hang { after: 100 }]), &folder, 1);
    let (output, _) = run(&hanging, &StopFlag::default());
    assert_eq!(output.op_count, 0, "the hang lies in the warm-up");
    assert!(
        !output.complete && output.errors.iter().any(|error| error.errno == "NO_ANSWER"),
        "{:?}",
        output.errors
    );
}

#[test]
fn no_two_parts_of_what_is_written_are_equal() {
    let mut block = vec![0; 3 * STAMP_STRIDE_BYTES];
    stamp_block(&mut block, 8192, 5);
    let heads: std::collections::BTreeSet<_> =
        block.chunks(STAMP_STRIDE_BYTES).map(|part| part[..16].to_vec()).collect();
    assert_eq!(heads.len(), 3);
}

#[test]
fn a_recycled_sample_keeps_its_label() {
    let label = SampleLabel { cell: CellId("c".to_owned()), trial: 3, client_index: 1, worker_index: 2 };
    let (mut recorder, stream) = recorder(&label, 1);
    recorder.begin(0, true);
    recorder.completed(1, 1, 1);
    recorder.tick(2);
    let mut sample = stream.full.try_recv().unwrap();
    clear(&mut sample);
    assert_eq!((sample.trial, sample.client_index, sample.worker_index, sample.op_count), (3, 1, 2, 0));
}
