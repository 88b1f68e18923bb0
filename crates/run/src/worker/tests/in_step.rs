//! A worker that makes its calls together with others: it ends when one of them has, and not without saying so.

use super::*;

const MS: u64 = 1_000_000;
const TIMES: WindowTimes = WindowTimes { start_ns: 0, measure_from_ns: 0, measure_until_ns: 100 * MS };

/// Takes so many requests; then another client has ended, or nothing is known.
struct Others {
    left: u64,
    end: bool,
}

impl Twist for Others {
    fn takes(&mut self) -> bool {
        let takes = self.left > 0;
        self.left = self.left.saturating_sub(1);
        takes
    }

    fn has_ended(&self) -> bool {
        self.end && self.left == 0
    }
}

/// A load of requests of a millisecond for a tenth of a second, of which so many are taken.
fn output(taken: u64, end: bool, stop: &StopFlag) -> WorkerOutput {
    let folder = tempfile::tempdir().unwrap();
    let assignment = assignment(&device(1, Vec::new()), &folder, 1);
    let clock = Arc::new(VirtualClock::default());
    let (output, _) = run_on(&clock, TIMES, &assignment, stop, |engine| {
        Box::new(Twisted(engine, Others { left: taken, end }))
    });
    output
}

#[test]
fn the_end_of_another_at_the_windows_end_is_an_end_in_order() {
    let output = output(99, true, &StopFlag::default());
    assert_eq!((output.op_count, output.complete), (99, true), "{:?}", output.errors);
    assert!(output.errors.is_empty() && output.in_flight_at_end.count == 0, "{output:?}");
    assert!(output.done_at_ns.abs_diff(100 * MS) <= 2 * MS, "{}", output.done_at_ns);
}

#[test]
fn the_end_of_another_before_its_time_is_reported() {
    let output = output(40, true, &StopFlag::default());
    assert_eq!((output.op_count, output.complete), (40, false));
    assert!(
        output.errors[0].first_message.contains("another client has ended before this one"),
        "{output:?}"
    );
}

#[test]
fn an_engine_that_takes_nothing_for_no_reason_is_an_error() {
    let output = output(40, false, &StopFlag::default());
    assert!(output.errors[0].first_message.contains("accepts no request though none is in flight"));
}
