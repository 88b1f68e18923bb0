//! What only `null` promises; the rest is in the conformance suite.

use super::*;
use crate::conformance::{self, request, spec, worker};

#[test]
fn it_conforms() {
    for target in ["null:", "null:copy"] {
        conformance::run(&NullFactory, &spec(target, Op::Read, 8));
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
fn without_copy_a_read_leaves_its_slot_alone() {
    let mut engine = NullFactory.open(&spec("null:", Op::Read, 1), &worker()).unwrap();
    engine.buffer(Slot(0)).fill(0);
    engine.queue(&[request(Op::Read, 0, 0)]).unwrap();
    assert!(engine.buffer(Slot(0)).iter().all(|byte| *byte == 0));
}
