//! Requests that wait for their start: schedules, think time, caps on operations.

use super::*;
use narrows_engines::MonotonicClock;
use narrows_model::workload::Arrivals;
use narrows_testkit::statistics::goodness::{dispersion, exponential, kolmogorov_smirnov};
use std::sync::Mutex;

/// An assignment with the folder of its machine, which is read when the engine is opened.
fn open(arrivals: Arrivals, depth: u32, faults: Vec<Fault>) -> (tempfile::TempDir, Assignment) {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = assignment(&device(depth, faults), &folder, depth);
    assignment.cell.workload.arrivals = arrivals;
    (folder, assignment)
}

fn run_open(arrivals: Arrivals, depth: u32, faults: Vec<Fault>) -> WorkerOutput {
    let (_folder, assignment) = open(arrivals, depth, faults);
    run(&assignment, &StopFlag::default()).0
}

#[test]
fn an_open_loop_below_saturation_does_what_is_scheduled() {
    let output = run_open(Arrivals::Constant { ops_per_s: 200.0 }, 4, Vec::new());
    let open = output.open_loop.unwrap();
    assert_eq!((open.scheduled_count, open.unstarted_count), (200, 0));
    assert!(output.op_count.abs_diff(200) <= 1, "{}", output.op_count);
    for times in [&output.response, &open.service] {
        let slowest_ns = times.quantile_ns(1.0).unwrap();
        assert!(slowest_ns.abs_diff(1_000_000) < 20_000, "{slowest_ns}");
    }
}

#[test]
fn a_batch_delays_no_completion_of_an_open_loop() {
    // One every 0.7 ms that takes 1 ms: the second comes while the first is in flight and is not waited for with it.
    let (_folder, mut batched) = open(Arrivals::Constant { ops_per_s: 1e9 / 700_000.0 }, 8, Vec::new());
    batched.cell.workload.batch = 8;
    let (output, _) = run(&batched, &StopFlag::default());
    let slowest_ns = output.open_loop.unwrap().service.quantile_ns(1.0).unwrap();
    assert!(slowest_ns.abs_diff(1_000_000) < 20_000, "{slowest_ns}");
}

#[test]
fn beyond_saturation_the_response_grows_and_the_service_does_not() {
    // One millisecond and one place: a thousand a second of the two thousand that are asked for.
    let output = run_open(Arrivals::Constant { ops_per_s: 2000.0 }, 1, Vec::new());
    let open = output.open_loop.unwrap();
    assert!(output.op_count.abs_diff(1000) <= 1, "{}", output.op_count);
    // Two thousand are due in the window. At its end, 1.5 s of load have left 1500 of them undone, which are its backlog;
    // the half second after it does 500 of those, and of the rest it is known how long they have waited.
    assert_eq!(open.scheduled_count, 2000);
    assert!(open.unstarted_count.abs_diff(1500) <= 2, "{}", open.unstarted_count);
    assert_eq!(output.response.count() + open.censored.count(), 2000);
    assert!(open.censored.count().abs_diff(1000) <= 4, "{}", open.censored.count());
    assert_eq!(open.service.count(), output.response.count());
    assert!(open.service.quantile_ns(1.0).unwrap() < 1_020_000);
    // The first was due at 500 ms and done at 1001 ms, the last due at 1 s and done at 2 s.
    let time_ns = |quantile: f64| output.response.quantile_ns(quantile).unwrap();
    assert!(time_ns(0.0).abs_diff(501_000_000) < 10_000_000, "{}", time_ns(0.0));
    assert!(time_ns(1.0).abs_diff(1_000_000_000) < 10_000_000, "{}", time_ns(1.0));
    let known_ns = |quantile: f64| open.censored.quantile_ns(quantile).unwrap();
    assert!(known_ns(0.0).abs_diff(500_000_000) < 10_000_000, "{}", known_ns(0.0));
    assert!(known_ns(1.0).abs_diff(1_000_000_000) < 10_000_000, "{}", known_ns(1.0));
}

#[test]
fn a_stall_at_the_windows_end_reports_the_same_p99_as_one_in_its_middle() {
    // One every 10 ms that takes 1 ms; request k is due at k x 10 ms, the window lasts from 500 to 1500 ms.
    let stalled_at = |request: u64, blocks: bool| {
        let stall = Fault::Stall { every: request, extra_ns: Nanos(400_000_000) };
        let (_folder, assignment) = open(Arrivals::Constant { ops_per_s: 100.0 }, 1, vec![stall]);
        let wrap =
            |engine| if blocks { Box::new(Twisted(engine, Blocking)) as Box<dyn Engine> } else { engine };
        run_as(&assignment, &StopFlag::default(), wrap).0
    };
    for (request, blocks) in [(81, false), (145, false), (148, false), (81, true), (145, true), (148, true)] {
        let output = stalled_at(request, blocks);
        let open = output.open_loop.unwrap();
        assert_eq!((open.scheduled_count, output.response.count(), open.censored.count()), (100, 100, 0));
        // The one that stalls takes 401 ms, and each after it 9 ms less: the next is the 99th of a hundred.
        for (quantile, known_ns) in [(0.99, 392_000_000_u64), (1.0, 401_000_000)] {
            let found_ns = output.response.quantile_ns(quantile).unwrap();
            assert!(found_ns.abs_diff(known_ns) <= known_ns / 100, "{found_ns} at {quantile} with {request}");
        }
        // Work is counted when it is done.
        let behind = if request == 81 { 0 } else { 151 - request };
        assert!((output.op_count + behind).abs_diff(100) <= 1, "{} with {request}", output.op_count);
        assert_eq!(open.unstarted_count, behind.saturating_sub(1));
    }
}

#[test]
fn a_stall_that_outlasts_the_drain_leaves_waits_of_which_the_least_is_known() {
    let stall = Fault::Stall { every: 145, extra_ns: Nanos(5_000_000_000) };
    let output = run_open(Arrivals::Constant { ops_per_s: 100.0 }, 1, vec![stall]);
    let open = output.open_loop.unwrap();
    assert_eq!((output.response.count(), open.censored.count(), open.scheduled_count), (94, 6, 100));
    // Given up at 2.05 s, due from 1.44 to 1.49 s.
    let known_ns = |quantile: f64| open.censored.quantile_ns(quantile).unwrap();
    assert!(known_ns(0.0).abs_diff(560_000_000) < 60_000_000, "{}", known_ns(0.0));
    assert!(known_ns(1.0).abs_diff(610_000_000) < 60_000_000, "{}", known_ns(1.0));
    assert!(output.complete && output.errors.is_empty());
}

#[test]
fn a_stall_hides_behind_one_sample_in_a_closed_loop_and_shows_its_whole_queue_in_an_open_one() {
    let stall = || vec![Fault::Stall { every: 101, extra_ns: Nanos(400_000_000) }];
    let slow_count = |output: &WorkerOutput| {
        let fast = (0..1000)
            .take_while(|share| output.response.quantile_ns(f64::from(*share) / 1000.0).unwrap() < 5_000_000);
        output.op_count - fast.count() as u64 * output.op_count / 1000
    };
    let opened = run_open(Arrivals::Constant { ops_per_s: 100.0 }, 1, stall());
    let (_folder, mut closed) = open(Arrivals::Closed, 1, stall());
    closed.cell.workload.think_ns = Nanos(9_000_000);
    let (closed, _) = run(&closed, &StopFlag::default());
    assert!(slow_count(&closed) <= 2, "{}", slow_count(&closed));
    assert!(slow_count(&opened) > 30, "{}", slow_count(&opened));
    let service = opened.open_loop.unwrap().service;
    assert!(service.quantile_ns(0.97).unwrap() < 2_000_000, "the device itself was slow once");
    assert!(service.max_ns().unwrap() > 390_000_000);
}

#[test]
fn users_who_think_ask_again_after_their_time() {
    for (depth, users_per_s) in [(1, 100), (4, 400)] {
        let (_folder, mut thinking) = open(Arrivals::Closed, depth, Vec::new());
        thinking.cell.workload.think_ns = Nanos(9_000_000);
        let (output, _) = run(&thinking, &StopFlag::default());
        // One millisecond of service and nine of thought.
        assert!(output.op_count.abs_diff(users_per_s) <= u64::from(depth), "{}", output.op_count);
        assert!(output.response.quantile_ns(1.0).unwrap() < 1_020_000);
    }
}

#[test]
fn a_cap_on_operations_is_kept_beside_one_on_bytes() {
    let (_folder, mut capped) = open(Arrivals::Closed, 4, Vec::new());
    capped.cell.workload.max_ops_per_s = Some(300.0);
    capped.cell.workload.max_bytes_per_s = Some(1 << 30);
    let (output, _) = run(&capped, &StopFlag::default());
    assert!(output.op_count.abs_diff(300) <= 4, "{}", output.op_count);
    capped.cell.workload.max_bytes_per_s = Some(100 * 4096);
    let (output, _) = run(&capped, &StopFlag::default());
    assert!(output.op_count.abs_diff(100) <= 4, "{}", output.op_count);
}

/// Notes when each request was handed over.
struct Stamped<C> {
    clock: Arc<C>,
    at_ns: Arc<Mutex<Vec<u64>>>,
}

impl<C> Clone for Stamped<C> {
    fn clone(&self) -> Self {
        Self { clock: Arc::clone(&self.clock), at_ns: Arc::clone(&self.at_ns) }
    }
}

impl<C: Clock> Twist for Stamped<C> {
    fn queued(&mut self, requests: &[IoRequest]) {
        let now_ns = self.clock.now().0;
        self.at_ns.lock().unwrap().extend(requests.iter().map(|_| now_ns));
    }
}

/// When requests without any service time are handed over in two seconds of load.
fn submissions<C: Clock + 'static>(clock: C, arrivals: Arrivals, seed: u64) -> Vec<u64> {
    let clock = Arc::new(clock);
    let (_folder, mut assignment) = open(arrivals, 8, Vec::new());
    assignment.cell.target = "null:".parse().unwrap();
    assignment.seed = seed;
    let stamped = Stamped { clock: Arc::clone(&clock), at_ns: Arc::default() };
    let start_ns = clock.now().0 + 1_000_000;
    let times = WindowTimes {
        start_ns,
        measure_from_ns: start_ns + 1_000_000,
        measure_until_ns: start_ns + 2_000_000_000,
    };
    let (output, _) = run_on(&clock, times, &assignment, &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, stamped.clone()))
    });
    assert!(output.complete && output.errors.is_empty(), "{:?}", output.errors);
    let at_ns = stamped.at_ns.lock().unwrap();
    at_ns.iter().map(|at_ns| at_ns - start_ns).collect()
}

/// Takes 10 ms of the worker's own time when the first request of the window's second half is handed over.
struct Stalls(Arc<VirtualClock>, bool);

impl Twist for Stalls {
    fn queued(&mut self, _: &[IoRequest]) {
        if !self.1 && self.0.now().0 > 1_000_000_000 {
            self.1 = true;
            let woken = self.0.now().after(10_000_000);
            self.0.wait_until(woken);
        }
    }
}

#[test]
fn what_the_worker_itself_delays_is_counted_and_no_wait_for_room() {
    let clock = Arc::new(VirtualClock::default());
    let (_folder, mut assignment) = open(Arrivals::Constant { ops_per_s: 500.0 }, 8, Vec::new());
    assignment.cell.target = "null:".parse().unwrap();
    let times = WindowTimes { start_ns: 0, measure_from_ns: 1_000_000, measure_until_ns: 2_000_000_000 };
    let (output, _) = run_on(&clock, times, &assignment, &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, Stalls(Arc::clone(&clock), false)))
    });
    // Due 2, 4, 6, 8 and 10 ms after the one that stalled: all but the last start over a millisecond late.
    assert_eq!(output.open_loop.unwrap().held_up_count, 4);
    // A thousand a second of the two thousand asked for: all wait, and for room alone.
    let full = run_open(Arrivals::Constant { ops_per_s: 2000.0 }, 1, Vec::new()).open_loop.unwrap();
    assert!(full.unstarted_count > 1000 && full.held_up_count == 0, "{}", full.held_up_count);
}

/// Whether arrivals pass as a Poisson process of `ops_per_s`: gaps by Kolmogorov-Smirnov, counts by their dispersion.
fn is_poisson(at_ns: &[u64], ops_per_s: f64, significance: f64) -> bool {
    let gaps: Vec<f64> = at_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9).collect();
    let mut counts = [0.0; 100];
    for at_ns in at_ns {
        counts[usize::try_from(at_ns / 20_000_000).unwrap().min(99)] += 1.0;
    }
    let gaps = kolmogorov_smirnov(&gaps, exponential(1.0 / ops_per_s)).unwrap();
    !gaps.is_refused(significance) && !dispersion(&counts).unwrap().is_refused(significance)
}

#[test]
fn poisson_arrivals_are_handed_over_as_a_poisson_process_in_virtual_time() {
    let passed = (0..40).filter(|seed| {
        let at_ns = submissions(VirtualClock::default(), Arrivals::Poisson { ops_per_s: 500.0 }, *seed);
        assert!(at_ns.len().abs_diff(1000) < 160, "five standard deviations: {}", at_ns.len());
        is_poisson(&at_ns, 500.0, 0.05)
    });
    // Two tests at 5 % each: about nine of ten pass; with a wrong process none does.
    assert!((29..=40).contains(&passed.count()));
}

#[test]
fn poisson_arrivals_are_handed_over_on_the_machines_clock_as_in_virtual_time() {
    let arrivals = || Arrivals::Poisson { ops_per_s: 200.0 };
    let due_ns = submissions(VirtualClock::default(), arrivals(), 1);
    let at_ns = submissions(MonotonicClock::new(), arrivals(), 1);
    assert!((due_ns.len() * 3 / 4..=due_ns.len()).contains(&at_ns.len()), "{}", at_ns.len());
    assert!(at_ns.iter().zip(&due_ns).all(|(at_ns, due_ns)| at_ns >= due_ns), "none before it is due");
    let mut late_ns: Vec<u64> = at_ns.iter().zip(&due_ns).map(|(at_ns, due_ns)| at_ns - due_ns).collect();
    late_ns.sort_unstable();
    // A machine that is busy with other things delays some of them. A clock that runs 2 % off delays half of them by more, and
    // hand-overs of several at a time leave few that are on time.
    assert!(late_ns[late_ns.len() / 2] < 20_000_000, "{late_ns:?}");
    assert!(late_ns[late_ns.len() / 20] < 1_000_000, "{late_ns:?}");
}

#[test]
fn constant_arrivals_are_no_poisson_process() {
    let at_ns = submissions(VirtualClock::default(), Arrivals::Constant { ops_per_s: 500.0 }, 1);
    assert!(!is_poisson(&at_ns, 500.0, 1e-6));
}

#[test]
fn constant_arrivals_are_handed_over_when_they_are_due() {
    let at_ns = submissions(VirtualClock::default(), Arrivals::Constant { ops_per_s: 500.0 }, 1);
    assert!(at_ns.into_iter().eq((0..1000).map(|index| index * 2_000_000)));
}

#[test]
fn on_the_machines_clock_no_request_is_early_and_a_worker_that_has_its_cpu_is_on_time() {
    let at_ns = submissions(MonotonicClock::new(), Arrivals::Constant { ops_per_s: 500.0 }, 1);
    let mut late_ns: Vec<u64> = Vec::new();
    for (index, at_ns) in (0..).zip(&at_ns) {
        let due_ns: u64 = index * 2_000_000;
        assert!(*at_ns >= due_ns, "request {index}: {at_ns} before {due_ns}");
        late_ns.push(at_ns - due_ns);
    }
    late_ns.sort_unstable();
    // A sleep alone ends no wait within this time; on a machine that is busy with other things, some still are.
    assert!(late_ns[late_ns.len() / 20] < 10_000, "{}", late_ns[late_ns.len() / 20]);
}
