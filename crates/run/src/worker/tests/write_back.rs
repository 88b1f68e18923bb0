//! Blocks that are written back to where they were read.

use super::*;
use narrows_model::Op;
use std::cell::RefCell;
use std::rc::Rc;

fn writing_back(folder: &tempfile::TempDir, every: u32) -> Assignment {
    let mut assignment = assignment(&device(1, Vec::new()), folder, 1);
    assignment.cell.workload.write_back_every = Some(every);
    assignment
}

/// What was asked for, in its order.
#[derive(Clone, Default)]
struct Seen(Rc<RefCell<Vec<(Op, u64)>>>);

impl Twist for Seen {
    fn queued(&mut self, requests: &[IoRequest]) {
        self.0.borrow_mut().extend(requests.iter().map(|request| (request.op, request.offset_bytes)));
    }
}

fn requests(assignment: &Assignment) -> (WorkerOutput, Vec<(Op, u64)>) {
    let seen = Seen::default();
    let times = WindowTimes { start_ns: 0, measure_from_ns: 0, measure_until_ns: 1_000_000_000 };
    let clock = Arc::new(VirtualClock::default());
    let (output, _) = run_on(&clock, times, assignment, &StopFlag::default(), |engine| {
        Box::new(Twisted(engine, seen.clone()))
    });
    (output, seen.0.take())
}

#[test]
fn every_block_that_was_read_is_written_back_before_the_next_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = writing_back(&folder, 1);
    assignment.cell.stop.ops_max = Some(5);
    let (output, requests) = requests(&assignment);
    let expected = (0..5).flat_map(|block| [(Op::Read, block * 4096), (Op::Write, block * 4096)]);
    assert_eq!(requests, expected.collect::<Vec<_>>());
    assert!(output.complete && output.errors.is_empty(), "{:?}", output.errors);
    assert_eq!((output.op_count, output.bytes.0), (10, 10 * 4096));
    let kinds: Vec<_> = output.by_kind.iter().map(|kind| (kind.op, kind.op_count)).collect();
    assert_eq!(kinds, [(Op::Read, 5), (Op::Write, 5)]);
    assert!(output.by_kind.iter().all(|kind| kind.response.count() == 5));
}

#[test]
fn every_tenth_block_is_written_back_and_bounds_count_the_reads_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (reads, writes) in [(9, 0), (10, 1), (11, 1), (100, 10)] {
        let mut assignment = writing_back(&folder, 10);
        assignment.cell.workload.order = narrows_model::workload::Order::RandomWithReplacement;
        assignment.cell.stop.ops_max = Some(reads);
        let (output, requests) = requests(&assignment);
        let counts: Vec<u64> = output.by_kind.iter().map(|kind| kind.op_count).collect();
        assert_eq!(counts, [reads, writes]);
        for (index, pair) in requests.windows(2).enumerate().filter(|(_, pair)| pair[1].0 == Op::Write) {
            assert_eq!((pair[0].0, pair[0].1, index % 11), (Op::Read, pair[1].1, 9));
        }
    }
}

#[test]
fn a_bound_in_bytes_counts_the_reads_alone_and_a_warm_up_uses_nothing_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = writing_back(&folder, 1);
    assignment.cell.stop.bytes_max = Some(Bytes(20 * 4096));
    let (output, _) = run(&assignment, &StopFlag::default());
    assert!(output.complete);
    // What is in flight at the window's start completes in it.
    assert!(output.by_kind.iter().all(|kind| kind.op_count.abs_diff(20) <= 1), "{:?}", output.by_kind);
}

/// Fails the reads whose number is a multiple of 3.
#[derive(Default)]
struct Failing {
    read_count: u32,
    writes: Rc<RefCell<u32>>,
}

impl Twist for Failing {
    fn queued(&mut self, requests: &[IoRequest]) {
        for request in requests {
            if request.op == Op::Write { *self.writes.borrow_mut() += 1 } else { self.read_count += 1 }
        }
    }

    fn done(&mut self, mut done: narrows_engines::IoCompletion) -> narrows_engines::IoCompletion {
        if self.read_count.is_multiple_of(3) && done.result == Ok(4096) {
            done.result = Ok(100);
        }
        done
    }
}

#[test]
fn what_was_not_read_whole_is_not_written_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = writing_back(&folder, 1);
    assignment.cell.stop.ops_max = Some(9);
    let times = WindowTimes { start_ns: 0, measure_from_ns: 0, measure_until_ns: 1_000_000_000 };
    let writes = Rc::new(RefCell::new(0));
    let (output, _) =
        run_on(&Arc::new(VirtualClock::default()), times, &assignment, &StopFlag::default(), |engine| {
            Box::new(Twisted(engine, Failing { read_count: 0, writes: Rc::clone(&writes) }))
        });
    assert_eq!((*writes.borrow(), output.errors[0].count), (6, 3));
}
