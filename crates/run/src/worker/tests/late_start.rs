//! Workers that start late: a thread that the kernel wakes late, and counters whose reading takes time.

use super::*;

const MS: u64 = 1_000_000;
const TIMES: WindowTimes = WindowTimes { start_ns: 0, measure_from_ns: 0, measure_until_ns: 10_000 * MS };

/// Lets reading the engine's counters take its time.
struct SlowCounters(Arc<VirtualClock>);

impl Twist for SlowCounters {
    fn reading(&mut self) {
        self.0.wait_until(Tick(self.0.now().0 + 30 * MS));
    }
}

/// A hundred operations of a millisecond by a worker that comes 200 ms late and takes 30 ms to read its counters.
fn late(ops_max: Option<u64>) -> (Assignment, WorkerOutput) {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = assignment(&device(1, Vec::new()), &folder, 1);
    assignment.cell.stop.ops_max = ops_max;
    let clock = Arc::new(VirtualClock::default());
    clock.wait_until(Tick(200 * MS));
    let (output, _) = run_on(&clock, TIMES, &assignment, &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, SlowCounters(Arc::clone(&clock))))
    });
    assert!(output.complete, "{:?}", output.errors);
    (assignment, output)
}

fn trial(assignment: &Assignment, output: WorkerOutput) -> narrows_model::TrialOutput {
    let clients = [crate::assignment::ClientOutput { client_index: 0, host: None, workers: vec![output] }];
    crate::gather::trial_output(&assignment.cell, 0, TIMES, &clients, "host")
}

#[test]
fn the_time_of_a_count_begins_when_its_first_request_can() {
    let (assignment, output) = late(Some(100));
    assert_eq!((output.op_count, output.began_at_ns), (100, 230 * MS));
    let slowest_ns = output.response.max_ns().unwrap();
    assert!(slowest_ns.abs_diff(MS) <= MS / 10, "the first request waited for no reading: {slowest_ns}");
    let trial = trial(&assignment, output);
    let took_ns = trial.clients[0].elapsed_ns.0;
    assert!(took_ns.abs_diff(100 * MS) <= MS, "{took_ns}");
    assert!(trial.last_done_ns.0.abs_diff(100 * MS) <= MS, "{}", trial.last_done_ns.0);
}

#[test]
fn a_window_that_time_ends_begins_when_all_should_have_started() {
    let (assignment, output) = late(None);
    let trial = trial(&assignment, output);
    assert_eq!((trial.start_ns.0, trial.clients[0].elapsed_ns.0), (0, 10_000 * MS));
}
