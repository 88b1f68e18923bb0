//! Loads of whole objects through engines that execute requests themselves and through engines that queue them: the
//! counts are the same.

use super::*;
use crate::assignment::ObjectStep;
use narrows_engines::request::{Errno, IoCompletion};
use narrows_model::Op;
use narrows_model::workload::{ObjectSet, Transactions};

const OBJECT_COUNT: u64 = 100_000;

/// What becomes of a request, with its place among all, counted from 1.
type Outcome = fn(u64, &IoRequest) -> Result<u32, Errno>;

/// An engine for whole objects on a virtual clock.
struct Stub {
    inner: Box<dyn Engine>,
    clock: Arc<dyn Clock>,
    per_op_ns: u64,
    outcome: Outcome,
    /// Whether it executes this request itself.
    performs: fn(&IoRequest) -> bool,
    queued: Option<IoRequest>,
    /// A reap comes back empty before each that brings something.
    came_back_empty: bool,
    /// Asks for a stop with this request, counted from 1.
    stop: Option<(u64, StopFlag)>,
    done_count: u64,
}

impl Stub {
    fn carry_out(&mut self, request: &IoRequest) -> Result<u32, Errno> {
        self.clock.wait_until(self.clock.now().after(self.per_op_ns));
        self.done_count += 1;
        if let Some((at, stop)) = &self.stop
            && self.done_count == *at
        {
            stop.ask(StopRequest::Now);
        }
        (self.outcome)(self.done_count, request)
    }
}

impl Engine for Stub {
    fn effective(&self) -> &narrows_model::Effective {
        self.inner.effective()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError> {
        assert!(self.queued.is_none() && requests.len() == 1, "one at a time");
        self.queued = requests.first().copied();
        Ok(1)
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    fn reap(&mut self, _min: u32, _until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        self.came_back_empty = !self.came_back_empty;
        if !self.came_back_empty
            && let Some(request) = self.queued.take()
        {
            out.push(IoCompletion { tag: request.tag, result: self.carry_out(&request) });
        }
        Ok(())
    }

    fn perform(&mut self, request: &IoRequest) -> Option<Result<u32, Errno>> {
        assert!(self.queued.is_none(), "nothing else is in flight");
        (self.performs)(request).then(|| self.carry_out(request))
    }

    fn counters(&mut self, _out: &mut ProtocolCounters) {}

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

/// A load of objects that ends after 1.5 s at the latest.
struct Load {
    op: Op,
    transactions: Option<Transactions>,
    per_op_ns: u64,
    outcome: Outcome,
    measure_from_ns: u64,
    /// A stop is asked for with this request.
    stop_at: Option<u64>,
    ops_max: Option<u64>,
}

/// Makes objects for half a second of warm-up and one second.
const LOAD: Load = Load {
    op: Op::Put,
    transactions: None,
    per_op_ns: 100_000,
    outcome: |_, request| Ok(request.length_bytes),
    measure_from_ns: 500_000_000,
    stop_at: None,
    ops_max: None,
};

impl Load {
    fn assignment(&self, folder: &tempfile::TempDir) -> Assignment {
        let mut assignment = assignment(&device(1, Vec::new()), folder, 1);
        assignment.cell.target = "null:".parse().unwrap();
        assignment.cell.stop.ops_max = self.ops_max;
        // As many as there are boxes for: an interval that waits for its collector would make what is tested rare.
        assignment.interval_ns = Nanos(500_000_000);
        let (min_bytes, max_bytes) = (Bytes(256), Bytes(512));
        let set = ObjectSet { count: OBJECT_COUNT, min_bytes, max_bytes, ..ObjectSet::default() };
        let workload = &mut assignment.cell.workload;
        workload.block_bytes = max_bytes;
        workload.objects = Some(set);
        workload.op = Op::Put;
        if self.op != Op::Put {
            let done = vec![OBJECT_COUNT];
            assignment.object_steps = vec![ObjectStep { done, ..ObjectStep::from_assignment(&assignment) }];
        }
        let workload = &mut assignment.cell.workload;
        workload.op = self.op;
        workload.objects = Some(ObjectSet { transactions: self.transactions, ..set });
        assignment
    }

    /// The load on `clock`, through an engine that executes such requests itself; the thread's own CPU time, which is
    /// the test's, is left out.
    fn run(
        &self,
        clock: &Arc<impl Clock + 'static>,
        until_ns: u64,
        performs: fn(&IoRequest) -> bool,
    ) -> (WorkerOutput, Vec<IntervalSample>) {
        let folder = tempfile::tempdir().unwrap();
        let stop = StopFlag::default();
        let times =
            WindowTimes { start_ns: 0, measure_from_ns: self.measure_from_ns, measure_until_ns: until_ns };
        let (mut output, samples) = run_on(clock, times, &self.assignment(&folder), &stop, |inner| {
            Box::new(Stub {
                inner,
                clock: Arc::clone(clock) as Arc<dyn Clock>,
                per_op_ns: self.per_op_ns,
                outcome: self.outcome,
                performs,
                queued: None,
                came_back_empty: false,
                stop: self.stop_at.map(|at| (at, stop.clone())),
                done_count: 0,
            })
        });
        (output.cpu, output.waiting_ns) = (narrows_model::counters::ProcessCpu::default(), None);
        (output, samples)
    }

    /// What the load counts, which must be the same whoever queues its requests.
    fn count(&self) -> WorkerOutput {
        let [performed, queued, mixed] = [
            |_: &IoRequest| true,
            |_: &IoRequest| false,
            |request: &IoRequest| request.object.is_multiple_of(3),
        ]
        .map(|performs| self.run(&Arc::new(VirtualClock::default()), 1_500_000_000, performs));
        for other in [&queued, &mixed] {
            let counts = |of: &(WorkerOutput, Vec<_>)| (of.0.op_count, of.0.last_within_ns, of.1.len());
            assert!(performed == *other, "{:?} and {:?}", counts(&performed), counts(other));
        }
        performed.0
    }
}

fn errors(output: &WorkerOutput) -> Vec<(&str, u64)> {
    let mut counts: Vec<_> = output.errors.iter().map(|error| (error.errno.as_str(), error.count)).collect();
    counts.sort_unstable();
    counts
}

#[test]
fn a_window_counts_what_completes_in_it_and_to_its_end_what_was_begun() {
    let output = Load { per_op_ns: 160_000_000, ..LOAD }.count();
    // One ends every 160 ms: the third at 480 ms, before the window of 500 to 1500 ms; the tenth, begun in it, at 1600.
    assert_eq!((output.op_count, output.response.count(), output.complete), (7, 7, true));
    assert_eq!((output.last_before_ns, output.last_within_ns), (480_000_000, 1_600_000_000));
    assert_eq!((output.response_sum_ns, output.done_at_ns), (7 * 160_000_000, 1_600_000_000));
    assert_eq!(output.in_flight_at_end.count, 0);
}

#[test]
fn a_completion_at_a_border_of_the_window_is_of_it_and_the_last() {
    let output = LOAD.count();
    assert_eq!((output.op_count, output.complete), (10_001, true));
    assert_eq!((output.last_before_ns, output.last_within_ns), (499_900_000, 1_500_000_000));
    assert_eq!((output.response_sum_ns, output.done_at_ns), (10_001 * 100_000, 1_500_000_000));
}

#[test]
fn a_target_that_fails_every_request_is_given_up_after_a_thousand() {
    let output = Load { per_op_ns: 600_000, outcome: |_, _| Err(Errno(2)), ..LOAD }.count();
    assert_eq!((errors(&output), output.op_count, output.complete), (vec![("ENOENT", 1000)], 0, false));
}

#[test]
fn a_stop_is_heeded_within_a_look() {
    let output = Load { stop_at: Some(7_000), ..LOAD }.count();
    // A look every millisecond, which is ten requests.
    let done = 4_999 + output.op_count;
    assert!((7_000..=7_010).contains(&done) && !output.complete, "{done}");
}

#[test]
fn failures_and_short_moves_between_looks_are_counted_as_those_of_queued_requests() {
    // Ten requests between two looks; of the 10 001 of the window every 50th fails and every 125th is short.
    let outcome: Outcome = |at, request| match (at % 50, at % 125) {
        (0, _) => Err(Errno(28)),
        (_, 0) => Ok(request.length_bytes - 1),
        _ => Ok(request.length_bytes),
    };
    let output = Load { outcome, ..LOAD }.count();
    // The errors of the 4999 requests before the window are reported with them.
    assert_eq!(errors(&output), [("ENOSPC", 300), ("SHORT", 60)]);
    assert_eq!((output.op_count, output.complete), (10_001 - 201 - 40, true));
}

#[test]
fn a_bound_is_one_of_the_window_and_ends_the_load_between_looks() {
    // The first of the window ends at 500 ms.
    let output = Load { ops_max: Some(7_005), ..LOAD }.count();
    assert_eq!((output.op_count, output.complete), (7_005, true));
    assert_eq!((output.last_within_ns, output.done_at_ns), (1_200_400_000, 1_200_400_000));
}

#[test]
fn a_window_without_warm_up_counts_from_the_first_request() {
    // All end before the first look; the worker still reports that the queue has turned over.
    let output = Load { measure_from_ns: 0, ops_max: Some(5), ..LOAD }.count();
    assert_eq!((output.op_count, output.response_sum_ns), (5, 500_000));
    assert_eq!((output.last_before_ns, output.last_within_ns), (0, 500_000));
}

#[test]
fn bytes_that_a_stat_has_read_are_counted_and_failures_left_out() {
    let outcome: Outcome = |at, _| if at.is_multiple_of(50) { Err(Errno(2)) } else { Ok(3) };
    let output = Load { op: Op::Stat, outcome, ..LOAD }.count();
    assert_eq!((output.op_count, output.bytes), (10_001 - 201, Bytes(3 * (10_001 - 201))));
}

#[test]
fn transactions_are_counted_by_kind() {
    let transactions = Transactions { count: 3_000, read_bias: Some(5), create_bias: Some(5) };
    let output = Load { op: Op::Get, transactions: Some(transactions), measure_from_ns: 0, ..LOAD }.count();
    let by_kind: u64 = output.by_kind.iter().map(|kind| kind.op_count).sum();
    assert_eq!((output.by_kind.len(), by_kind), (4, output.op_count));
    assert!(output.by_kind.iter().all(|kind| kind.op_count > 1_000));
}

/// Each reading takes this long.
struct Ticking {
    inner: VirtualClock,
    tick_ns: u64,
}

impl Clock for Ticking {
    fn now(&self) -> Tick {
        self.inner.wait_until(self.inner.now().after(self.tick_ns));
        self.inner.now()
    }

    fn wait_until(&self, deadline: Tick) {
        self.inner.wait_until(deadline);
    }
}

/// Requests of 150 us on a clock whose readings take 50 us each, two of them in a request, until `until_ns`.
fn on_a_slow_clock(until_ns: u64) -> WorkerOutput {
    let clock = Arc::new(Ticking { inner: VirtualClock::default(), tick_ns: 50_000 });
    Load { per_op_ns: 50_000, measure_from_ns: 0, ..LOAD }.run(&clock, until_ns, |_| true).0
}

#[test]
fn what_putting_times_together_takes_is_in_no_response_time() {
    let output = on_a_slow_clock(1_500_000_000);
    let busy_ns = output.op_count * 150_000;
    assert_eq!(output.response_sum_ns, busy_ns);
    // One reading behind every 32nd of an interval of 500 ms, which are 103 of its 3300.
    let between_ns = output.last_within_ns - busy_ns;
    assert!((3 * 102 * 50_000..=3 * 104 * 50_000).contains(&between_ns), "{between_ns}");
}

#[test]
fn nothing_is_begun_after_the_windows_end_whenever_that_is() {
    // Ends at all moments of more than 32 requests, so that one of them is where times are put together.
    for until_ns in (10_000_000..16_000_000).step_by(20_000) {
        let last_ns = on_a_slow_clock(until_ns).last_within_ns;
        // Where a reading finds that it has come, the last request ended before that reading.
        assert!((until_ns - 50_000..until_ns + 150_000).contains(&last_ns), "{last_ns} for {until_ns}");
    }
}
