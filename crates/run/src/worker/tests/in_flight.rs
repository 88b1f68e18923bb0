//! What is in flight when a window ends, which no histogram counts: how much, and for how long.

use super::*;
use narrows_model::trial::InFlightAtEnd;
use narrows_model::workload::Arrivals;

const MS: u64 = 1_000_000;

/// A machine of one millisecond a request that answers none after so many.
fn hanging(folder: &tempfile::TempDir, after: u64, queue_depth: u32) -> Assignment {
    assignment(&device(queue_depth, vec![Fault::Hang { after }]), folder, queue_depth)
}

/// Within a hundredth of a second: so late the loop may notice a stop, and so much the machine's own time adds up to.
fn assert_at_end(found: InFlightAtEnd, count: u64, in_flight_ms: u64, response_ms: u64) {
    let near = |found: Nanos, expected_ms: u64| found.0.abs_diff(expected_ms * MS) <= 10 * MS;
    let all = found.count == count
        && near(found.longest_in_flight_ns, in_flight_ms)
        && near(found.longest_response_ns, response_ms);
    assert!(all, "{found:?} for {count}, {in_flight_ms} ms, {response_ms} ms");
}

#[test]
fn a_request_that_never_ends_is_seen_at_the_windows_end_with_its_age() {
    for queue_depth in [1, 4] {
        let folder = tempfile::tempdir().unwrap();
        // 700 ms after the start, of a window of 500 to 1500 ms.
        let after = 700 * u64::from(queue_depth);
        let (output, _) = run(&hanging(&folder, after, queue_depth), &StopFlag::default());
        assert!(output.response.max_ns().unwrap() < 2 * MS, "no histogram has it");
        assert_at_end(output.in_flight_at_end, u64::from(queue_depth), 800, 800);
    }
}

#[test]
fn what_is_young_at_the_windows_end_is_no_older_than_what_completed() {
    for queue_depth in [1, 8] {
        let folder = tempfile::tempdir().unwrap();
        let healthy = assignment(&device(2, Vec::new()), &folder, queue_depth);
        let (output, _) = run(&healthy, &StopFlag::default());
        let at_end = output.in_flight_at_end;
        assert!(at_end.count <= u64::from(queue_depth), "{at_end:?}");
        assert!(at_end.longest_in_flight_ns.0 <= output.response.max_ns().unwrap(), "{at_end:?}");
    }
}

#[test]
fn a_call_that_blocks_beyond_the_windows_end_was_in_flight_there() {
    let folder = tempfile::tempdir().unwrap();
    let stall = Fault::Stall { every: 701, extra_ns: Nanos(3_000 * MS) };
    let stalled = assignment(&device(1, vec![stall]), &folder, 1);
    let (output, _) = run_as(&stalled, &StopFlag::default(), |engine| Box::new(Twisted(engine, Blocking)));
    // It begins at 700 ms and ends at 3.7 s, long after the window and its drain.
    assert!(output.response.max_ns().unwrap() < 2 * MS);
    assert_at_end(output.in_flight_at_end, 1, 800, 800);
}

#[test]
fn an_open_loops_age_counts_from_the_submission_and_from_the_scheduled_start() {
    let folder = tempfile::tempdir().unwrap();
    // Twice as many as the machine does: the 601st is due at 300 ms and starts at 600 ms.
    let mut open = hanging(&folder, 600, 1);
    open.cell.workload.arrivals = Arrivals::Constant { ops_per_s: 2000.0 };
    let (output, _) = run(&open, &StopFlag::default());
    // Those that are due in the window are waited for until 2 s, in slices of 50 ms.
    assert_at_end(output.in_flight_at_end, 1, 1450, 1750);
    let open = output.open_loop.unwrap();
    assert_eq!((output.response.count(), open.censored.count()), (0, 2000), "due from 500 to 1500 ms");
    let known_ns = |quantile: f64| open.censored.quantile_ns(quantile).unwrap();
    assert!(known_ns(0.0).abs_diff(550 * MS) < 10 * MS && known_ns(1.0).abs_diff(1550 * MS) < 20 * MS);
}

#[test]
fn a_count_leaves_nothing_in_flight_unless_it_is_never_reached() {
    let folder = tempfile::tempdir().unwrap();
    let mut counted = assignment(&device(4, Vec::new()), &folder, 4);
    counted.cell.stop.ops_max = Some(2800);
    let (output, _) = run(&counted, &StopFlag::default());
    assert_eq!(output.in_flight_at_end, InFlightAtEnd::default());
    let mut hung = hanging(&folder, 700, 1);
    hung.cell.stop.ops_max = Some(1000);
    let (output, _) = run(&hung, &StopFlag::default());
    // Given up one answer timeout (1 s) after the window's time, at 2.5 s.
    assert!(output.in_flight_at_end.longest_in_flight_ns.0 >= 1800 * MS, "{:?}", output.in_flight_at_end);
    assert_eq!(output.in_flight_at_end.count, 1);
}

/// Asks to stop once a wait extends beyond a moment.
struct StopAt {
    at_ns: u64,
    stop: StopFlag,
}

impl Twist for StopAt {
    fn reaping(&mut self, min: u32, until: Tick) -> (u32, Tick) {
        if until.0 > self.at_ns {
            self.stop.ask(StopRequest::Now);
        }
        (min, until)
    }
}

#[test]
fn a_stop_by_the_user_keeps_the_age_of_what_he_did_not_wait_for() {
    for queue_depth in [1, 4] {
        let (folder, stop) = (tempfile::tempdir().unwrap(), StopFlag::default());
        let after = 700 * u64::from(queue_depth);
        let (output, _) = run_as(&hanging(&folder, after, queue_depth), &stop, |engine| {
            Box::new(Twisted(engine, StopAt { at_ns: 1_100 * MS, stop: stop.clone() }))
        });
        assert!(!output.complete);
        let at_end = output.in_flight_at_end;
        // Waits are slices of 50 ms.
        assert_eq!(at_end.count, u64::from(queue_depth));
        let age_ms = at_end.longest_in_flight_ns.0 / MS;
        assert!((350..=470).contains(&age_ms), "{at_end:?}");
    }
}

#[test]
fn a_trial_adds_up_its_workers_and_keeps_the_oldest() {
    let at_end = |count, age_ms| InFlightAtEnd {
        count,
        longest_in_flight_ns: Nanos(age_ms * MS),
        longest_response_ns: Nanos(2 * age_ms * MS),
    };
    let mut all = at_end(3, 10);
    all.add(&at_end(1, 400));
    all.add(&InFlightAtEnd::default());
    assert_eq!(all, at_end(4, 400));
}

#[test]
fn a_request_that_takes_longer_than_the_window_is_slow_and_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut slow = device(1, Vec::new());
    slow.device.per_op_ns = Nanos(3_000_000_000);
    let mut waiting = assignment(&slow, &folder, 1);
    waiting.answer_timeout_ns = Nanos(5_000_000_000);
    let (output, _) = run(&waiting, &StopFlag::default());
    // Of the window from 0.5 to 1.5 s it has nothing.
    assert_eq!((output.op_count, output.complete, output.errors.len()), (0, true, 0), "{:?}", output.errors);
    // One that takes longer than is waited for is given up.
    waiting.answer_timeout_ns = Nanos(1_000_000_000);
    let (output, _) = run(&waiting, &StopFlag::default());
    assert!(!output.complete && output.errors[0].errno == "NO_ANSWER", "{:?}", output.errors);
}

#[test]
fn a_request_is_waited_for_by_what_those_before_it_took() {
    // The second of the requests begins in the warm-up and takes 2.5 s: those before took 100 ms, or 10 ms.
    for (per_op_ms, is_lost) in [(100, false), (10, true)] {
        let folder = tempfile::tempdir().unwrap();
        let stall = Fault::Stall { every: 2, extra_ns: Nanos(2_500_000_000) };
        let mut uneven = device(1, vec![stall]);
        uneven.device.per_op_ns = Nanos::from_millis(per_op_ms);
        let mut waiting = assignment(&uneven, &folder, 1);
        waiting.answer_timeout_ns = Nanos(5_000_000_000);
        let (output, _) = run(&waiting, &StopFlag::default());
        let lost = output.errors.iter().any(|error| error.errno == "NO_ANSWER");
        assert_eq!((lost, output.complete), (is_lost, !is_lost), "{per_op_ms} ms: {:?}", output.errors);
    }
}

#[test]
fn a_window_without_a_completion_is_a_failed_trial_that_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let trial = |per_op_ms, ops_max| {
        let mut slow = device(1, Vec::new());
        slow.device.per_op_ns = Nanos::from_millis(per_op_ms);
        let mut waiting = assignment(&slow, &folder, 1);
        waiting.answer_timeout_ns = Nanos(10_000_000_000);
        waiting.cell.stop.ops_max = ops_max;
        let (output, _) = run(&waiting, &StopFlag::default());
        let times =
            WindowTimes { start_ns: 0, measure_from_ns: 500_000_000, measure_until_ns: 1_500_000_000 };
        let clients =
            [crate::assignment::ClientOutput { client_index: 0, host: None, workers: vec![output] }];
        crate::gather::trial_output(&waiting.cell, 0, times, &clients, "host")
    };
    let empty = trial(3000, None);
    assert!(!empty.complete && empty.errors[0].errno == "NO_COMPLETION", "{:?}", empty.errors);
    let said = &empty.errors[0].first_message;
    assert!(said.contains("in the 1.0 s of the trial") && said.contains("--cell-seconds"), "{said}");
    for (per_op_ms, ops_max) in [(900, None), (3000, Some(2))] {
        let some = trial(per_op_ms, ops_max);
        assert!(some.complete && some.errors.is_empty(), "{per_op_ms} ms: {:?}", some.errors);
    }
}
