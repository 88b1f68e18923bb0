//! What only `null` promises; the rest is in the conformance suite.

use super::*;
use crate::conformance::{self, request, spec, worker};
use narrows_model::Op;

#[test]
fn it_conforms() {
    for target in ["null:", "null:copy"] {
        for depth in [1, 8] {
            conformance::run(&NullFactory, &spec(target, Op::Read, depth));
        }
    }
}

#[test]
fn with_copy_a_read_fills_its_slot() {
    let mut engine = NullFactory.open(&spec("null:copy", Op::Read, 1), &worker()).unwrap();
    engine.buffer(Slot(0)).fill(0);
    engine.queue(&[request(Op::Read, 0, 0)]).unwrap();
    assert!(engine.buffer(Slot(0)).iter().any(|byte| *byte != 0));
}

#[test]
fn copies_go_through_as_much_memory_as_the_object_has() {
    let mut spec = spec("null:copy", Op::Read, 1);
    spec.workload.file_bytes = Bytes(4 * spec.workload.block_bytes.0);
    let mut engine = NullFactory.open(&spec, &worker()).unwrap();
    let blocks = [(); 5].map(|()| {
        assert_eq!(engine.queue(&[request(Op::Read, 0, 0)]).unwrap(), 1);
        engine.commit().unwrap();
        engine.reap(1, Tick(0), &mut Completions::with_capacity(1)).unwrap();
        engine.buffer(Slot(0)).to_vec()
    });
    assert!((1..4).all(|index| blocks[index] != blocks[0]), "a file of four blocks is four blocks of memory");
    assert_eq!(blocks[4], blocks[0]);
}

#[test]
fn without_copy_a_read_leaves_its_slot_alone() {
    let mut engine = NullFactory.open(&spec("null:", Op::Read, 1), &worker()).unwrap();
    engine.buffer(Slot(0)).fill(0);
    engine.queue(&[request(Op::Read, 0, 0)]).unwrap();
    assert!(engine.buffer(Slot(0)).iter().all(|byte| *byte == 0));
}

#[test]
fn it_hands_over_as_many_completions_as_are_waited_for_in_the_order_of_their_requests() {
    let mut engine = NullFactory.open(&spec("null:", Op::Read, 32), &worker()).unwrap();
    let requests: Vec<_> = (0..32).map(|tag| request(Op::Read, tag, 0)).collect();
    assert_eq!(engine.queue(&requests).unwrap(), 32);
    engine.commit().unwrap();
    let mut out = Completions::with_capacity(32);
    let mut seen = Vec::new();
    for (min, expected) in [(16, 16), (1, 1), (0, 15), (1, 0)] {
        out.clear();
        engine.reap(min, Tick(0), &mut out).unwrap();
        assert_eq!(out.len(), expected, "waiting for {min}");
        seen.extend(out.as_slice().iter().map(|done| done.tag));
    }
    assert_eq!(seen, (0..32).collect::<Vec<u32>>());
}
