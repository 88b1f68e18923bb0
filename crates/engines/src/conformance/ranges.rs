//! Groups about ranges other than whole blocks: shorter requests, and ranges that are discarded.

use super::batches::{holds, write};
use super::{BLOCK_BYTES, complete, pattern, request, worker};
use crate::contract::{EngineFactory, OpenSpec};
use crate::request::{IoRequest, Slot};
use narrows_model::Op;
use narrows_model::capabilities::Capabilities;
use narrows_model::workload::Access;

/// Lengths below the block size: one byte, a sector, and an odd one.
const SHORT_BYTES: [u32; 3] = [1, 512, BLOCK_BYTES - 1];

/// A request shorter than the slot moves just its bytes, and leaves the rest of the slot and of the object alone.
pub(super) fn a_shorter_request_moves_just_its_bytes(
    factory: &dyn EngineFactory,
    spec: &OpenSpec,
    capabilities: &Capabilities,
) {
    let mut engine = factory.open(spec, &worker()).unwrap();
    if engine.effective().access == Some(Access::Direct) {
        // Shorter than a block is then not aligned, which the kernel refuses.
        return;
    }
    // Of a unit of blocks whole ones can be asked for.
    let alignment_bytes = engine.effective().alignment_bytes.0;
    let whole = |length_bytes: &u32| u64::from(*length_bytes).is_multiple_of(alignment_bytes);
    for length_bytes in SHORT_BYTES.into_iter().filter(whole) {
        let short = |op| IoRequest { length_bytes, ..request(op, 0, 1) };
        let done = complete(engine.as_mut(), &[short(spec.workload.op)]);
        assert_eq!(done, [(0, Ok(length_bytes))]);
        if !capabilities.stores_data {
            continue;
        }
        write(engine.as_mut(), 1, 3);
        engine.buffer(Slot(0)).fill(4);
        assert_eq!(complete(engine.as_mut(), &[short(Op::Write)]), [(0, Ok(length_bytes))]);
        engine.buffer(Slot(0)).fill(5);
        complete(engine.as_mut(), &[request(Op::Read, 0, 1)]);
        let (head, tail) = engine.buffer(Slot(0)).split_at(length_bytes as usize);
        assert!(head.iter().all(|byte| *byte == 4) && tail.iter().all(|byte| *byte == 3), "{length_bytes}");
        engine.buffer(Slot(0)).fill(5);
        assert_eq!(complete(engine.as_mut(), &[short(Op::Read)]), [(0, Ok(length_bytes))]);
        let (head, tail) = engine.buffer(Slot(0)).split_at(length_bytes as usize);
        assert!(head.iter().all(|byte| *byte == 4) && tail.iter().all(|byte| *byte == 5), "{length_bytes}");
    }
    engine.close().unwrap();
}

/// A trimmed block is discarded as a whole, reads as zeroes, and its neighbours stay.
pub(super) fn a_trimmed_block_reads_as_zeroes(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let mut trimming = spec.clone();
    trimming.workload.op = Op::Trim;
    let mut engine = factory.open(&trimming, &worker()).unwrap();
    for block in 0..3 {
        write(engine.as_mut(), block, pattern(block));
    }
    assert_eq!(complete(engine.as_mut(), &[request(Op::Trim, 0, 1)]), [(0, Ok(BLOCK_BYTES))]);
    assert!(holds(engine.as_mut(), 0, pattern(0)) && holds(engine.as_mut(), 2, pattern(2)));
    assert!(holds(engine.as_mut(), 1, 0), "a trimmed block reads as zeroes");
    write(engine.as_mut(), 1, 9);
    assert!(holds(engine.as_mut(), 1, 9), "a trimmed block can be written again");
    engine.close().unwrap();
}
