//! Groups about several requests at once: waited for together, of different operations, from several engines.

use super::{BLOCK_BYTES, BLOCK_COUNT, WAIT_NS_MAX, complete, pattern, request, worker};
use crate::contract::{Engine, EngineFactory, OpenSpec};
use crate::request::{Completions, IoRequest, Slot};
use narrows_model::capabilities::Capabilities;
use narrows_model::workload::OpShare;
use narrows_model::{Op, Target};

/// Engines that work on one object at the same time.
const ENGINE_COUNT: u64 = 3;

/// A reap gives as many completions as were waited for, in any order, and all of them come once.
pub(super) fn a_batch_is_waited_for_together(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let mut engine = factory.open(spec, &worker()).unwrap();
    let depth = engine.effective().queue_depth;
    let deadline = worker().clock.now().after(WAIT_NS_MAX);
    for batch in [1, depth.div_ceil(2), depth] {
        let requests: Vec<_> =
            (0..depth).map(|tag| request(spec.workload.op, tag, u64::from(tag) % BLOCK_COUNT)).collect();
        assert_eq!(engine.queue(&requests).unwrap(), requests.len());
        engine.commit().unwrap();
        let mut out = Completions::with_capacity(requests.len());
        while out.len() < requests.len() {
            let before = out.len();
            let awaited = (requests.len() - before).min(batch as usize);
            engine.reap(u32::try_from(awaited).unwrap(), deadline, &mut out).unwrap();
            assert!(out.len() - before >= awaited, "{} of {awaited} awaited came", out.len() - before);
        }
        let mut tags: Vec<u32> = out.as_slice().iter().map(|done| done.tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, (0..depth).collect::<Vec<u32>>());
        assert!(out.as_slice().iter().all(|done| done.result == Ok(BLOCK_BYTES)));
    }
    engine.close().unwrap();
}

/// Waiting for more than is in flight ends: at the deadline at the latest, with what there is.
pub(super) fn waiting_for_too_many_ends(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let context = worker();
    let mut engine = factory.open(spec, &context).unwrap();
    complete(engine.as_mut(), &[request(spec.workload.op, 0, 0)]);
    engine.queue(&[request(spec.workload.op, 0, 0)]).unwrap();
    engine.commit().unwrap();
    let mut out = Completions::with_capacity(1);
    engine.reap(2, context.clock.now().after(20_000_000), &mut out).unwrap();
    while out.is_empty() {
        engine.reap(1, context.clock.now().after(WAIT_NS_MAX), &mut out).unwrap();
    }
    assert_eq!(out.len(), 1);
    engine.close().unwrap();
}

/// Reads and writes in one batch end as each would alone.
pub(super) fn operations_mix_in_one_batch(
    factory: &dyn EngineFactory,
    spec: &OpenSpec,
    capabilities: &Capabilities,
) {
    let mut mixed = spec.clone();
    mixed.workload.op_mix = [Op::Read, Op::Write].map(|op| OpShare { op, weight: 1.0 }).to_vec();
    let mut engine = factory.open(&mixed, &worker()).unwrap();
    let count = u64::from(engine.effective().queue_depth).min(BLOCK_COUNT / 2);
    let tags: Vec<u32> = (0..u32::try_from(count).unwrap()).collect();
    // What will be read is in the first half, what is written in the second.
    for block in 0..count {
        write(engine.as_mut(), block, pattern(block));
    }
    let is_read = |tag: u32| tag.is_multiple_of(2);
    let requests: Vec<_> = tags
        .iter()
        .map(|tag| {
            engine.buffer(Slot(*tag)).fill(200);
            let block = u64::from(*tag);
            if is_read(*tag) {
                request(Op::Read, *tag, block)
            } else {
                request(Op::Write, *tag, count + block)
            }
        })
        .collect();
    let expected: Vec<_> = tags.iter().map(|tag| (*tag, Ok(BLOCK_BYTES))).collect();
    assert_eq!(complete(engine.as_mut(), &requests), expected);
    if capabilities.stores_data {
        for tag in tags {
            let (block, byte) = if is_read(tag) {
                (u64::from(tag), pattern(u64::from(tag)))
            } else {
                (count + u64::from(tag), 200)
            };
            if is_read(tag) {
                assert!(
                    engine.buffer(Slot(tag)).iter().all(|seen| *seen == byte),
                    "read {block} within the mix"
                );
            }
            assert!(holds(engine.as_mut(), block, byte), "block {block} after the mix");
        }
    }
    sync_among_others(engine.as_mut(), capabilities);
    engine.close().unwrap();
}

/// A sync in the midst of a batch completes as one more request.
fn sync_among_others(engine: &mut dyn Engine, capabilities: &Capabilities) {
    if engine.effective().queue_depth < 3 || !capabilities.stores_data {
        return;
    }
    let sync = IoRequest { length_bytes: 0, ..request(Op::Sync, 1, 0) };
    let results = complete(engine, &[request(Op::Write, 0, 0), sync, request(Op::Read, 2, 1)]);
    assert_eq!(results, [(0, Ok(BLOCK_BYTES)), (1, Ok(0)), (2, Ok(BLOCK_BYTES))]);
}

/// Several engines on one object do not disturb each other.
pub(super) fn engines_share_an_object(
    factory: &dyn EngineFactory,
    spec: &OpenSpec,
    capabilities: &Capabilities,
) {
    let mut writing = spec.clone();
    if capabilities.stores_data {
        writing.workload.op = Op::Write;
    }
    let (writing, stores_data) = (&writing, capabilities.stores_data);
    // Where nothing is kept, a few requests each are enough, and a simulated disk takes its time.
    let end = if stores_data { BLOCK_COUNT } else { 2 * ENGINE_COUNT };
    std::thread::scope(|scope| {
        for first in 0..ENGINE_COUNT {
            scope.spawn(move || {
                let mut engine = factory.open(writing, &worker()).unwrap();
                for block in (first..end).step_by(usize::try_from(ENGINE_COUNT).unwrap()) {
                    if stores_data {
                        write(engine.as_mut(), block, pattern(block));
                        assert!(holds(engine.as_mut(), block, pattern(block)), "block {block}");
                    } else {
                        let done = complete(engine.as_mut(), &[request(writing.workload.op, 0, block)]);
                        assert_eq!(done, [(0, Ok(BLOCK_BYTES))]);
                    }
                }
                engine.close().unwrap();
            });
        }
    });
    // An endpoint's store without a session ends with its engine; files stay.
    if stores_data && spec.target.members().iter().all(|target| matches!(target, Target::File { .. })) {
        let mut engine = factory.open(spec, &worker()).unwrap();
        assert!((0..BLOCK_COUNT).all(|block| holds(engine.as_mut(), block, pattern(block))));
        engine.close().unwrap();
    }
}

/// Writes one whole block of `byte`.
pub(super) fn write(engine: &mut dyn Engine, block: u64, byte: u8) {
    engine.buffer(Slot(0)).fill(byte);
    assert_eq!(complete(engine, &[request(Op::Write, 0, block)]), [(0, Ok(BLOCK_BYTES))]);
}

/// Whether one whole block is read as `byte`.
pub(super) fn holds(engine: &mut dyn Engine, block: u64, byte: u8) -> bool {
    engine.buffer(Slot(0)).fill(!byte);
    assert_eq!(complete(engine, &[request(Op::Read, 0, block)]), [(0, Ok(BLOCK_BYTES))]);
    engine.buffer(Slot(0)).iter().all(|seen| *seen == byte)
}
