//! Loads of whole objects through engines that carry requests out by themselves and through engines that queue them: what
//! is counted is the same.

use super::*;
use narrows_engines::request::{Completion, Errno};
use narrows_model::Op;
use narrows_model::workload::ObjectSet;

const OBJECT_COUNT: u64 = 100_000;

/// An engine for whole objects on a virtual clock.
struct Stub {
    inner: Box<dyn Engine>,
    clock: Arc<VirtualClock>,
    per_op_ns: u64,
    result: Result<u32, Errno>,
    /// Whether it carries requests out by itself.
    performs: bool,
    queued: Option<Request>,
    /// A reap comes back empty before each that brings something.
    came_back_empty: bool,
    /// Asks for a stop with this request, counted from 1.
    stop: Option<(u64, StopFlag)>,
    done_count: u64,
}

impl Stub {
    fn carry_out(&mut self) -> Result<u32, Errno> {
        self.clock.wait_until(self.clock.now().after(self.per_op_ns));
        self.done_count += 1;
        if let Some((at, stop)) = &self.stop
            && self.done_count == *at
        {
            stop.ask(StopRequest::Now);
        }
        self.result
    }
}

impl Engine for Stub {
    fn effective(&self) -> &narrows_model::Effective {
        self.inner.effective()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn queue(&mut self, requests: &[Request]) -> Result<usize, EngineError> {
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
            out.push(Completion { tag: request.tag, result: self.carry_out() });
        }
        Ok(())
    }

    fn perform(&mut self, _request: &Request) -> Option<Result<u32, Errno>> {
        assert!(self.queued.is_none(), "nothing else is in flight");
        self.performs.then(|| self.carry_out())
    }

    fn counters(&mut self, _out: &mut ProtocolCounters) {}

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Makes objects of no bytes for 1.5 s at most, of which the last second is measured; both ways.
fn both_ways(per_op_ns: u64, result: Result<u32, Errno>, stop_at: Option<u64>) -> [WorkerOutput; 2] {
    [true, false].map(|performs| {
        let folder = tempfile::tempdir().unwrap();
        let mut assignment = assignment(&device(1, Vec::new()), &folder, 1);
        assignment.cell.target = "null:".parse().unwrap();
        let workload = &mut assignment.cell.workload;
        workload.op = Op::Put;
        workload.objects = Some(ObjectSet { count: OBJECT_COUNT, ..ObjectSet::default() });
        let (clock, stop) = (Arc::new(VirtualClock::default()), StopFlag::default());
        let times =
            WindowTimes { start_ns: 0, measure_from_ns: 500_000_000, measure_until_ns: 1_500_000_000 };
        let (output, _) = run_on(&clock, times, &assignment, &stop, |inner| {
            Box::new(Stub {
                inner,
                clock: Arc::clone(&clock),
                per_op_ns,
                result,
                performs,
                queued: None,
                came_back_empty: false,
                stop: stop_at.map(|at| (at, stop.clone())),
                done_count: 0,
            })
        });
        output
    })
}

#[test]
fn a_window_counts_what_completes_in_it_and_to_its_end_what_was_begun() {
    for output in both_ways(160_000_000, Ok(0), None) {
        // One ends every 160 ms: the third at 480 ms, before the window of 500 to 1500 ms; the tenth, begun in it, at 1600.
        assert_eq!((output.op_count, output.response.count(), output.complete), (7, 7, true));
        assert_eq!((output.last_before_ns, output.last_within_ns), (480_000_000, 1_600_000_000));
        assert_eq!((output.response_sum_ns, output.done_at_ns), (7 * 160_000_000, 1_600_000_000));
        assert_eq!(output.in_flight_at_end.count, 0);
    }
}

#[test]
fn a_target_that_fails_every_request_is_given_up_after_a_thousand() {
    let not_found = narrows_engines::request::Errno(2);
    for output in both_ways(600_000, Err(not_found), None) {
        let told: Vec<_> = output.errors.iter().map(|error| (error.errno.as_str(), error.count)).collect();
        assert_eq!((told, output.op_count, output.complete), (vec![("ENOENT", 1000)], 0, false));
    }
}

#[test]
fn a_stop_is_heeded_within_a_look() {
    for output in both_ways(100_000, Ok(0), Some(7_000)) {
        // A look every millisecond, which is ten requests.
        let done = 5_000 + output.op_count;
        assert!((7_000..=7_011).contains(&done) && !output.complete, "{done}");
    }
}
