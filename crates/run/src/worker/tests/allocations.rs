//! The loop allocates nothing, however many operations it does.

use super::*;
use crate::assignment::ObjectStep;
use narrows_engines::MonotonicClock;
use narrows_model::Op;
use narrows_model::workload::{Arrivals, BlockShare, ObjectSet, OpShare, Order, Transactions};
use narrows_sys::counting_alloc::{CountingAlloc, allocations_during};

#[global_allocator]
static ALLOCATOR: CountingAlloc = CountingAlloc;

/// Waits that block may make a thread's own parking place, once each.
const ONCE_MAX: u64 = 4;

/// Allocations of a whole worker that does `ops` operations without a target, opening and ending included.
fn allocations(ops: u64, change: impl Fn(&mut Workload)) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let mut counted = assignment(&device(1, Vec::new()), &folder, 32);
    counted.cell.target = "null:".parse().unwrap();
    counted.cell.workload.batch = 16;
    counted.cell.stop.ops_max = Some(ops);
    counted.interval_ns = Nanos(1_000_000);
    change(&mut counted.cell.workload);
    if let Some(set) = counted.cell.workload.objects.filter(|set| set.transactions.is_some()) {
        // As if all of them had been made.
        let made = ObjectStep {
            op: Op::Put,
            done: vec![u64::MAX],
            set: set.identity(),
            ..ObjectStep::from_assignment(&counted)
        };
        counted.object_steps.push(made);
    }
    let clock = Arc::new(MonotonicClock::new());
    let start_ns = clock.now().0;
    let times = WindowTimes { start_ns, measure_from_ns: start_ns, measure_until_ns: u64::MAX };
    let stop = StopFlag::default();
    let (count, (output, _)) = allocations_during(|| run_on(&clock, times, &counted, &stop, |engine| engine));
    assert_eq!(output.op_count, ops);
    count
}

fn assert_flat(change: impl Fn(&mut Workload)) {
    let (few, many) = (allocations(1000, &change), allocations(300_000, &change));
    assert!(
        many <= few + ONCE_MAX,
        "{few} allocations for a thousand operations, {many} for 300 times as many"
    );
}

#[test]
fn equal_requests_allocate_nothing() {
    assert_flat(|_| ());
}

#[test]
fn random_orders_allocate_nothing() {
    assert_flat(|workload| workload.order = Order::Random);
    assert_flat(|workload| workload.order = Order::Zipf { theta: 0.99 });
}

#[test]
fn mixes_allocate_nothing() {
    assert_flat(|workload| {
        let share = |op, weight| OpShare { op, weight };
        workload.op_mix = vec![share(Op::Read, 2.0), share(Op::Write, 1.0), share(Op::Sync, 0.1)];
        workload.block_mix =
            [512, 4096].map(|bytes| BlockShare { block_bytes: Bytes(bytes), weight: 1.0 }).into();
    });
}

#[test]
fn schedules_caps_and_thought_allocate_nothing() {
    assert_flat(|workload| workload.arrivals = Arrivals::Poisson { ops_per_s: 1e8 });
    assert_flat(|workload| {
        (workload.think_ns, workload.max_ops_per_s) = (Nanos(100), Some(1e8));
    });
}

#[test]
fn whole_objects_and_transactions_allocate_nothing() {
    let of_objects = |workload: &mut Workload, op, set| {
        (workload.op, workload.objects, workload.queue_depth, workload.batch) = (op, Some(set), 1, 1);
    };
    let set = ObjectSet { count: 400_000, max_bytes: Bytes(1000), ..ObjectSet::default() };
    assert_flat(|workload| of_objects(workload, Op::Put, set));
    let transactions = Transactions { count: 1_000_000, read_bias: Some(5), create_bias: Some(5) };
    let set = ObjectSet { transactions: Some(transactions), ..set };
    assert_flat(|workload| of_objects(workload, Op::Get, set));
}
