//! Which objects are asked for: each once, none that is not there, as the biases say, alike for one seed.

use super::*;
use crate::worker::tests::{assignment, device};
use narrows_model::Bytes;
use narrows_model::workload::{ObjectSet, Order, Transactions};
use std::collections::{BTreeMap, BTreeSet};

fn load(op: Op, order: Order, set: ObjectSet, workers: u32) -> Assignment {
    let folder = tempfile::tempdir().unwrap();
    let mut assignment = assignment(&device(1, Vec::new()), &folder, 1);
    let workload = &mut assignment.cell.workload;
    (workload.op, workload.order, workload.objects, workload.workers) = (op, order, Some(set), workers);
    assignment
}

/// As if all of the set had been made.
fn made(mut assignment: Assignment) -> Assignment {
    let workload = &assignment.cell.workload;
    let step = ObjectStep {
        set: workload.objects.unwrap().identity(),
        op: Op::Put,
        order: Order::Sequential,
        workers: workload.workers,
        seed: 0,
        done: vec![u64::MAX; workload.workers as usize],
    };
    assignment.object_steps.push(step);
    assignment
}

fn draws(assignment: &Assignment, worker_index: u32) -> Vec<ObjectRequest> {
    let mut objects = ObjectLoad::new(assignment, worker_index).unwrap();
    std::iter::from_fn(|| objects.next()).collect()
}

fn numbers(draws: &[ObjectRequest]) -> Vec<u32> {
    draws.iter().map(|draw| draw.number).collect()
}

fn sized(count: u64, min: u64, max: u64) -> ObjectSet {
    ObjectSet { count, min_bytes: Bytes(min), max_bytes: Bytes(max), seed: 42, ..ObjectSet::default() }
}

fn transacting(set: ObjectSet, count: u64, read_bias: Option<u8>, create_bias: Option<u8>) -> ObjectSet {
    ObjectSet { transactions: Some(Transactions { count, read_bias, create_bias }), ..set }
}

#[test]
fn workers_make_each_object_once_and_every_operation_visits_each_once() {
    let set = sized(1003, 0, 0);
    for order in [Order::Sequential, Order::Random] {
        for op in [Op::Put, Op::Stat, Op::Get, Op::Delete] {
            let assignment = load(op, order, set, 4);
            let assignment = if op == Op::Put { assignment } else { made(assignment) };
            let mut all = Vec::new();
            for worker in 0..4 {
                let draws = draws(&assignment, worker);
                assert!(draws.iter().all(|draw| draw.op == op));
                let numbers = numbers(&draws);
                assert_eq!(numbers.is_sorted(), order == Order::Sequential, "{op} {order}");
                all.extend(numbers);
            }
            all.sort_unstable();
            assert_eq!(all, (0..1003).collect::<Vec<u32>>(), "{op} {order}");
        }
    }
}

#[test]
fn a_load_that_renames_visits_each_object_twice_in_a_row_and_leaves_all_of_them() {
    for order in [Order::Sequential, Order::Random] {
        let mut assignment = made(load(Op::Rename, order, sized(9, 0, 0), 2));
        for worker in 0..2 {
            let draws = draws(&assignment, worker);
            assert!(draws.iter().all(|draw| draw.op == Op::Rename && draw.length_bytes == 0));
            let numbers = numbers(&draws);
            let (pairs, rest) = numbers.as_chunks::<2>();
            assert!(rest.is_empty() && pairs.iter().all(|[first, second]| first == second), "{numbers:?}");
            let once: BTreeSet<u32> = numbers.iter().copied().collect();
            assert_eq!(once.len() * 2, numbers.len(), "{numbers:?}");
        }
        let renamed = ObjectStep { done: vec![3; 2], ..ObjectStep::from_assignment(&assignment) };
        assignment.object_steps.push(renamed);
        assignment.cell.workload.op = Op::Delete;
        let all: BTreeSet<u32> = (0..2).flat_map(|worker| numbers(&draws(&assignment, worker))).collect();
        assert_eq!(all, (0..9).collect(), "an odd count leaves no object out");
    }
}

#[test]
fn a_random_order_is_that_of_its_trial_and_not_that_of_another() {
    let one = made(load(Op::Stat, Order::Random, sized(500, 0, 0), 1));
    let other = Assignment { seed: one.seed + 1, ..one.clone() };
    assert_eq!(draws(&one, 0), draws(&one, 0));
    assert_ne!(draws(&one, 0), draws(&other, 0));
}

#[test]
fn sizes_are_uniform_between_their_bounds_and_those_that_the_objects_were_made_with() {
    let set = sized(20_000, 500, 1000);
    let put = draws(&load(Op::Put, Order::Sequential, set, 1), 0);
    let get = draws(&made(load(Op::Get, Order::Random, set, 1)), 0);
    let sizes = |draws: &[ObjectRequest]| -> BTreeMap<u32, u32> {
        draws.iter().map(|draw| (draw.number, draw.length_bytes)).collect()
    };
    assert_eq!(sizes(&put), sizes(&get));
    let lengths: Vec<u32> = put.iter().map(|draw| draw.length_bytes).collect();
    assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&500), Some(&1000)));
    let mean = lengths.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() / 20_000.0;
    // Five standard errors of a uniform distribution over 501 values.
    assert!((mean - 750.0).abs() < 5.0 * (501.0_f64.powi(2) / 12.0 / 20_000.0).sqrt(), "{mean}");
}

#[test]
fn a_get_reads_no_more_of_an_object_than_was_asked_for() {
    let get = |bytes: u64| {
        let set = ObjectSet { get_bytes: Some(Bytes(bytes)), ..sized(50, 100, 300) };
        let lengths = draws(&made(load(Op::Get, Order::Sequential, set, 1)), 0);
        lengths.iter().map(|draw| draw.length_bytes).collect::<Vec<_>>()
    };
    let whole = draws(&made(load(Op::Get, Order::Sequential, sized(50, 100, 300), 1)), 0);
    let whole: Vec<u32> = whole.iter().map(|draw| draw.length_bytes).collect();
    assert_eq!(get(0), vec![0; 50]);
    assert_eq!(get(200), whole.iter().map(|bytes| (*bytes).min(200)).collect::<Vec<_>>());
    assert_eq!(get(1 << 40), whole);
}

#[test]
fn with_a_stride_a_client_visits_the_objects_of_the_one_that_is_so_much_further_on() {
    let of_client = |client_index: u32, stride: u32| {
        let set = ObjectSet { stride, ..sized(40, 1, 1_000_000) };
        let mut assignment = made(load(Op::Get, Order::Random, set, 1));
        (assignment.client_index, assignment.cell.workload.clients) = (client_index, 3);
        (assignment.object_owner(), draws(&assignment, 0))
    };
    let own = [0, 1, 2].map(|client_index| of_client(client_index, 0).1);
    assert_ne!(own[0], own[1], "sizes differ between clients");
    for (client_index, stride, owner) in [(0, 1, 1), (2, 1, 0), (1, 5, 0), (2, 3, 2), (1, u32::MAX, 1)] {
        let (found, draws) = of_client(client_index, stride);
        assert_eq!((found, &draws), (owner, &own[owner as usize]), "{client_index} + {stride}");
    }
}

#[test]
fn a_load_in_the_order_of_the_listing_asks_for_the_next_as_often_as_there_are_objects() {
    let listed = draws(&made(load(Op::Delete, Order::Listing, sized(77, 0, 0), 1)), 0);
    assert_eq!(listed, vec![ObjectRequest::listed(Op::Delete); 77]);
}

/// Replays `draws` from `live`, the objects there before with their sizes, and checks each against what is there.
fn replay(draws: &[ObjectRequest], live: &mut BTreeMap<u32, u32>, max_bytes: u32) -> BTreeMap<Op, u64> {
    let mut counts = BTreeMap::new();
    for draw in draws {
        *counts.entry(draw.op).or_insert(0) += 1;
        match draw.op {
            Op::Put => {
                assert_eq!(live.insert(draw.number, draw.length_bytes), None, "{draw:?} is there already");
            }
            Op::Delete => assert!(live.remove(&draw.number).is_some(), "{draw:?} is not there"),
            Op::Get => assert_eq!(live.get(&draw.number), Some(&draw.length_bytes), "{draw:?}"),
            _ => {
                let bytes = live.get_mut(&draw.number).expect("what is appended to is there");
                *bytes += draw.length_bytes;
                assert!(draw.length_bytes > 0 && *bytes <= max_bytes, "{draw:?} makes {bytes}");
            }
        }
    }
    counts
}

#[test]
fn transactions_touch_only_what_is_there_and_what_is_left_is_what_was_made_and_not_deleted() {
    for workers in [1, 3] {
        let set = transacting(sized(300, 500, 10_000), 20_000, Some(5), Some(5));
        let assignment = made(load(Op::Get, Order::Sequential, set, workers));
        let mut all = BTreeSet::new();
        for worker in 0..workers {
            let put = draws(&load(Op::Put, Order::Sequential, sized(300, 500, 10_000), workers), worker);
            let mut live: BTreeMap<u32, u32> =
                put.iter().map(|draw| (draw.number, draw.length_bytes)).collect();
            let (at_first, draws) = (live.len() as u64, draws(&assignment, worker));
            let counts = replay(&draws, &mut live, 10_000);
            let left = at_first + counts[&Op::Put] - counts[&Op::Delete];
            assert_eq!(live.len() as u64, left);
            // A load that follows finds just these.
            let mut after = assignment.clone();
            after.cell.workload.op = Op::Delete;
            let done: Vec<u64> =
                (0..workers).map(|worker| super::tests::draws(&assignment, worker).len() as u64).collect();
            after.object_steps.push(ObjectStep { done, ..ObjectStep::from_assignment(&assignment) });
            after.cell.workload.objects = Some(set.identity());
            let deleted = numbers(&super::tests::draws(&after, worker));
            assert_eq!(deleted.iter().copied().collect::<BTreeSet<_>>(), live.keys().copied().collect());
            assert_eq!(deleted.len() as u64, left);
            assert!(deleted.iter().all(|number| all.insert(*number)), "two workers have one object");
        }
    }
}

#[test]
fn what_was_done_in_part_is_known_after_it() {
    for (op, order) in
        [(Op::Put, Order::Random), (Op::Delete, Order::Sequential), (Op::Delete, Order::Random)]
    {
        let first = load(op, order, sized(100, 0, 0), 1);
        let first = if op == Op::Put { first } else { made(first) };
        let done = numbers(&draws(&first, 0)[..40]);
        let mut after = load(Op::Stat, Order::Sequential, sized(100, 0, 0), 1);
        after.object_steps = first.object_steps.clone();
        after.object_steps.push(ObjectStep { done: vec![40], ..ObjectStep::from_assignment(&first) });
        let there: BTreeSet<u32> = numbers(&draws(&after, 0)).into_iter().collect();
        let expected: BTreeSet<u32> =
            (0..100).filter(|number| done.contains(number) == (op == Op::Put)).collect();
        assert_eq!(there, expected, "{op} {order}");
    }
}

#[test]
fn halves_come_in_the_shares_of_their_biases() {
    // Objects far from their largest size and as many that none of both ends is met.
    let set = transacting(sized(200_000, 0, 1 << 29), 100_000, Some(3), Some(6));
    let draws = draws(&made(load(Op::Get, Order::Sequential, set, 1)), 0);
    let share = |op: Op| draws.iter().filter(|draw| draw.op == op).count() as f64 / 100_000.0;
    for (op, expected) in [(Op::Get, 0.3), (Op::Append, 0.7), (Op::Put, 0.6), (Op::Delete, 0.4)] {
        // Five standard deviations of a share.
        let noise = 5.0 * (expected * (1.0_f64 - expected) / 100_000.0).sqrt();
        assert!((share(op) - expected).abs() < noise, "{op}: {} for {expected}", share(op));
    }
}

#[test]
fn a_half_that_is_left_out_is_never_drawn() {
    let ops = |read_bias, create_bias| {
        let set = transacting(sized(500, 100, 1 << 20), 400, read_bias, create_bias);
        let draws = draws(&made(load(Op::Get, Order::Sequential, set, 1)), 0);
        let ops: BTreeSet<Op> = draws.iter().map(|draw| draw.op).collect();
        (draws.len(), ops)
    };
    assert_eq!(ops(Some(10), None), (400, BTreeSet::from([Op::Get])));
    assert_eq!(ops(None, Some(0)), (400, BTreeSet::from([Op::Delete])));
    assert_eq!(ops(Some(5), Some(0)).0, 800);
}

#[test]
fn transactions_end_when_no_object_is_left_and_a_full_table_makes_no_more() {
    let only = |count, create_bias| {
        let set = transacting(sized(10, 0, 0), count, None, Some(create_bias));
        draws(&made(load(Op::Get, Order::Sequential, set, 1)), 0)
    };
    assert_eq!(only(1000, 0).len(), 10, "ten deletes");
    assert_eq!(only(1000, 10).len(), 10, "twice as many as at first are the most");
    assert_eq!(
        only(1000, 10).iter().map(|draw| draw.number).collect::<Vec<_>>(),
        (10..20).collect::<Vec<_>>()
    );
}

#[test]
fn a_seed_repeats_its_transactions_in_any_cell_and_another_seed_has_others() {
    let set = transacting(sized(100, 1, 1000), 1000, Some(5), Some(5));
    let one = made(load(Op::Get, Order::Sequential, set, 1));
    let elsewhere = Assignment { seed: one.seed + 1, ..one.clone() };
    assert_eq!(draws(&one, 0), draws(&elsewhere, 0));
    let other = made(load(Op::Get, Order::Sequential, ObjectSet { seed: 43, ..set }, 1));
    assert_ne!(numbers(&draws(&one, 0)), numbers(&draws(&other, 0)));
    let client = Assignment { client_index: 1, ..one.clone() };
    assert_ne!(numbers(&draws(&one, 0)), numbers(&draws(&client, 0)));
}

#[test]
fn what_failed_is_not_there() {
    let set = transacting(sized(10, 0, 0), 1000, None, Some(10));
    let mut objects = ObjectLoad::new(&made(load(Op::Get, Order::Sequential, set, 1)), 0).unwrap();
    for _ in 0..500 {
        assert_eq!(objects.next().map(|draw| draw.op), Some(Op::Put));
        objects.failed();
        let ObjectChoices::Own { pool, .. } = &objects.choices else { panic!() };
        assert_eq!(pool.len(), 10);
    }
}

#[test]
fn fewer_objects_than_workers_leave_some_without_any() {
    let counts: Vec<usize> = (0..5)
        .map(|worker| draws(&load(Op::Put, Order::Sequential, sized(3, 0, 0), 5), worker).len())
        .collect();
    assert_eq!(counts, [1, 1, 1, 0, 0]);
}
