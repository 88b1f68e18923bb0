//! The closing of a trial's objects: inside its time where that is asked for, and not else.

use super::*;

const MS: u64 = 1_000_000;
const TIMES: WindowTimes = WindowTimes { start_ns: 0, measure_from_ns: 0, measure_until_ns: 10_000 * MS };

/// Lets the closing take its time, as that of a file whose data must be written back does.
struct SlowClose {
    clock: Arc<VirtualClock>,
    close_ns: u64,
}

impl Twist for SlowClose {
    fn closing(&mut self) {
        self.clock.wait_until(Tick(self.clock.now().0 + self.close_ns));
    }
}

/// When a load of `ops_max` operations of a millisecond ends whose closing takes 400 ms.
fn done_at_ns(times_close: bool, ops_max: Option<u64>) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = assignment(&device(1, Vec::new()), &folder, 1);
    assignment.cell.stop.ops_max = ops_max;
    assignment.cell.workload.edges.times_close = times_close;
    let clock = Arc::new(VirtualClock::default());
    let (output, _) = run_on(&clock, TIMES, &assignment, &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, SlowClose { clock: Arc::clone(&clock), close_ns: 400 * MS }))
    });
    assert!(output.complete, "{:?}", output.errors);
    output.done_at_ns
}

#[test]
fn a_count_lasts_to_the_end_of_the_closing_where_that_is_timed() {
    let (timed, untimed) = (done_at_ns(true, Some(1000)), done_at_ns(false, Some(1000)));
    assert!(untimed.abs_diff(1000 * MS) <= 2 * MS, "{untimed}");
    assert!(timed.abs_diff(1400 * MS) <= 2 * MS, "{timed}");
    assert_eq!(timed - untimed, 400 * MS);
}
