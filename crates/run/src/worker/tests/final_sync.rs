//! The sync at the end of a trial: inside its time, whatever ends its load.

use super::*;
use narrows_model::workload::SyncPolicy;

const MS: u64 = 1_000_000;
const TIMES: WindowTimes =
    WindowTimes { start_ns: 0, measure_from_ns: 500 * MS, measure_until_ns: 1500 * MS };

/// Lets a sync take its time, as a call that blocks does.
struct SlowSync {
    clock: Arc<VirtualClock>,
    sync_ns: u64,
}

impl Twist for SlowSync {
    fn queueing(&mut self, requests: &[IoRequest]) {
        if requests.iter().any(|request| request.op == narrows_model::Op::Sync) {
            self.clock.wait_until(Tick(self.clock.now().0 + self.sync_ns));
        }
    }
}

/// A load of a millisecond a write at depth 2, on a machine that works on both, and a sync of 400 ms.
fn synced(ops_max: Option<u64>) -> (Assignment, WorkerOutput, Vec<IntervalSample>) {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = assignment(&device(2, Vec::new()), &folder, 2);
    assignment.cell.workload.op = narrows_model::Op::Write;
    assignment.cell.workload.sync = SyncPolicy::AtEnd;
    assignment.cell.stop.ops_max = ops_max;
    let clock = Arc::new(VirtualClock::default());
    let (output, samples) = run_on(&clock, TIMES, &assignment, &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, SlowSync { clock: Arc::clone(&clock), sync_ns: 400 * MS }))
    });
    (assignment, output, samples)
}

/// Elapsed time of the trial of one client with this worker.
fn elapsed_ns(assignment: &Assignment, output: WorkerOutput) -> u64 {
    let clients = [crate::assignment::ClientOutput { client_index: 0, host: None, workers: vec![output] }];
    crate::gather::trial_output(&assignment.cell, 0, TIMES, &clients, "host").last_done_ns.0
}

#[test]
fn a_window_that_time_ends_lasts_to_the_end_of_the_sync() {
    let (assignment, output, samples) = synced(None);
    assert!(output.complete, "{:?}", output.errors);
    // Two thousand a second for one second; those in flight at its end are synced too and count.
    assert!(output.op_count.abs_diff(2000) <= 4, "{}", output.op_count);
    assert!(output.done_at_ns.abs_diff(1902 * MS) <= 2 * MS, "{}", output.done_at_ns);
    assert_eq!(output.in_flight_at_end.count, 0);
    let measured: u64 = samples.iter().filter(|sample| sample.measured).map(|sample| sample.op_count).sum();
    assert_eq!(measured, output.op_count);
    let elapsed_ns = elapsed_ns(&assignment, output);
    assert!(elapsed_ns.abs_diff(1402 * MS) <= 2 * MS, "{elapsed_ns}");
}

#[test]
fn a_count_lasts_to_the_end_of_the_sync() {
    let (assignment, output, _) = synced(Some(1000));
    assert_eq!(output.op_count, 1000);
    let elapsed_ns = elapsed_ns(&assignment, output);
    assert!(elapsed_ns.abs_diff(901 * MS) <= 2 * MS, "{elapsed_ns}");
}

#[test]
fn requests_that_are_never_answered_are_reported_and_not_taken_for_the_sync() {
    let folder = tempfile::tempdir().unwrap();
    let mut hanging = assignment(&device(2, vec![Fault::Hang { after: 1500 }]), &folder, 2);
    hanging.cell.workload.op = narrows_model::Op::Write;
    hanging.cell.workload.sync = SyncPolicy::AtEnd;
    let (output, _) = run(&hanging, &StopFlag::default());
    assert!(!output.complete && output.errors.iter().any(|error| error.errno == "NO_ANSWER"));
}

#[test]
fn a_load_that_ends_apart_notes_its_sync_beside_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut apart = assignment(&device(2, Vec::new()), &folder, 2);
    apart.cell.workload.op = narrows_model::Op::Write;
    apart.cell.workload.sync = SyncPolicy::AfterEnd;
    apart.cell.workload.edges.ends_apart = true;
    apart.cell.stop.ops_max = Some(1000);
    let clock = Arc::new(VirtualClock::default());
    let (output, _) = run_on(&clock, TIMES, &apart, &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, SlowSync { clock: Arc::clone(&clock), sync_ns: 400 * MS }))
    });
    assert_eq!((output.op_count, output.complete), (1000, true), "{:?}", output.errors);
    let ended_ns = output.ended_at_ns.unwrap();
    assert!(ended_ns.abs_diff(output.done_at_ns + 400 * MS) <= 2 * MS, "{ended_ns} {}", output.done_at_ns);
    let clients = [crate::assignment::ClientOutput { client_index: 0, host: None, workers: vec![output] }];
    let trial = crate::gather::trial_output(&apart.cell, 0, TIMES, &clients, "host");
    let apart_ns = trial.ended_ns.unwrap().0 - trial.last_done_ns.0;
    assert!(apart_ns.abs_diff(400 * MS) <= 2 * MS, "{apart_ns}");
    let (_, plain, _) = synced(None);
    assert_eq!(plain.ended_at_ns, None);
}
