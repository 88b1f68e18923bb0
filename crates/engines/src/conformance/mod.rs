//! The suite that every engine passes, its groups chosen by the engine's declared capabilities.
//!
//! Not here: what only one engine promises, which is in that engine's own tests. The feature `conformance` opens the
//! suite to tests of other crates, which bring the servers that some engines need.
#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "a suite for tests: it panics where an engine breaks its contract"
)]

use crate::clock::{MonotonicClock, Tick};
use crate::contract::{Engine, EngineFactory, OpenSpec, ProtocolCounters, WorkerContext};
use crate::request::{Completions, IoRequest, Slot};
use crate::stop::StopFlag;
use narrows_model::capabilities::Capabilities;
use narrows_model::{Bytes, Op, Target, Workload};
use std::sync::Arc;

mod batches;
mod ranges;
mod shrunk;

/// Block size of the suite.
pub const BLOCK_BYTES: u32 = 4096;
/// Blocks of the object that the suite works on.
const BLOCK_COUNT: u64 = 32;
/// No request of the suite may take longer; a real clock is read only to end a hung test.
const WAIT_NS_MAX: u64 = 20_000_000_000;

/// What to open `target` for, with one object that is made when missing.
pub fn spec(target: &str, op: Op, queue_depth: u32) -> OpenSpec {
    OpenSpec {
        target: target.parse().unwrap(),
        workload: Workload {
            op,
            block_bytes: Bytes(u64::from(BLOCK_BYTES)),
            file_bytes: Bytes(u64::from(BLOCK_BYTES) * BLOCK_COUNT),
            queue_depth,
            ..Workload::default()
        },
        objects: vec!["conformance".to_owned()],
        object_bytes: Bytes(u64::from(BLOCK_BYTES) * BLOCK_COUNT),
        create: true,
        laid_down: false,
        token: None,
        session: None,
        answer_timeout_ns: WAIT_NS_MAX,
    }
}

/// The first worker of the first client.
pub fn worker() -> WorkerContext {
    WorkerContext {
        client_index: 0,
        worker_index: 0,
        seed: 7,
        clock: Arc::new(MonotonicClock::new()),
        stop: StopFlag::default(),
    }
}

/// A request for block `block_index` in the slot of the same number as its tag.
pub fn request(op: Op, tag: u32, block_index: u64) -> IoRequest {
    IoRequest {
        tag,
        op,
        object: 0,
        offset_bytes: block_index * u64::from(BLOCK_BYTES),
        length_bytes: BLOCK_BYTES,
        slot: Slot(tag),
    }
}

/// Runs `requests` to their end and returns the sorted tags with their results.
pub fn complete(engine: &mut dyn Engine, requests: &[IoRequest]) -> Vec<(u32, Result<u32, String>)> {
    let deadline = Tick(worker().clock.now().0 + WAIT_NS_MAX);
    let mut out = Completions::with_capacity(requests.len());
    let mut taken = 0;
    while out.len() < requests.len() {
        taken += engine.queue(&requests[taken..]).unwrap();
        engine.commit().unwrap();
        engine.reap(1, deadline, &mut out).unwrap();
        assert!(worker().clock.now() < deadline, "the engine completes nothing");
    }
    let mut results: Vec<_> = out
        .as_slice()
        .iter()
        .map(|done| (done.tag, done.result.map_err(crate::request::Errno::name)))
        .collect();
    results.sort_by_key(|(tag, _)| *tag);
    results
}

/// Runs every group that the capabilities of `factory` ask for.
pub fn run(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let capabilities = factory.capabilities(&spec.target).unwrap();
    assert!(capabilities.queue_depth_max >= 1 && !capabilities.ops.is_empty());
    // Where nothing is written block by block, what is read is checked by tests of that engine.
    let capabilities = Capabilities {
        stores_data: capabilities.stores_data && capabilities.ops.contains(&Op::Write),
        ..capabilities
    };
    if capabilities.stores_data {
        what_is_written_is_read(factory, spec);
    }
    every_request_completes_once(factory, spec);
    a_request_executed_by_itself_is_as_one_that_is_queued(factory, spec);
    a_full_queue_takes_no_more(factory, spec);
    reaping_nothing_ends_at_the_deadline(factory, spec);
    batches::a_batch_is_waited_for_together(factory, spec);
    batches::waiting_for_too_many_ends(factory, spec);
    batches::engines_share_an_object(factory, spec, &capabilities);
    ranges::a_shorter_request_moves_just_its_bytes(factory, spec, &capabilities);
    if [Op::Read, Op::Write].iter().all(|op| capabilities.ops.contains(op)) {
        batches::operations_mix_in_one_batch(factory, spec, &capabilities);
    }
    if capabilities.ops.contains(&Op::Trim) {
        ranges::a_trimmed_block_reads_as_zeroes(factory, spec);
    }
    if factory.files_stay_with_worker() {
        a_table_of_open_files_of_its_own_suffices(factory, spec);
    }
    what_is_granted_is_said(factory, spec, capabilities.queue_depth_max);
    if capabilities.direct.is_yes() {
        direct_access_is_granted_or_refused(factory, spec, capabilities.alignment_bytes);
    }
    if let (Target::File { path }, true) = (&spec.target, spec.create) {
        shrunk::a_file_that_shrank_is_an_error_and_stays_as_it_is(factory, spec, path);
    }
    if spec.create {
        factory.remove(spec).unwrap();
    }
}

/// What the engine opens is in its thread's table alone, and no other thread needs it.
fn a_table_of_open_files_of_its_own_suffices(factory: &dyn EngineFactory, spec: &OpenSpec) {
    narrows_sys::testing::in_own_file_table(|| {
        let mut engine = factory.open(spec, &worker()).unwrap();
        let done = complete(engine.as_mut(), &[request(spec.workload.op, 0, 0)]);
        assert!(matches!(done[..], [(0, Ok(_))]), "{done:?}");
        engine.close().unwrap();
    });
}

fn every_request_completes_once(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let mut engine = factory.open(spec, &worker()).unwrap();
    let depth = engine.effective().queue_depth;
    for round in 0..8_u64 {
        let requests: Vec<_> = (0..depth)
            .map(|tag| request(spec.workload.op, tag, (round + u64::from(tag)) % BLOCK_COUNT))
            .collect();
        let results = complete(engine.as_mut(), &requests);
        let expected: Vec<_> = (0..depth).map(|tag| (tag, Ok(BLOCK_BYTES))).collect();
        assert_eq!(results, expected);
    }
    let mut counters = ProtocolCounters::default();
    engine.counters(&mut counters);
    assert!(counters.reply_count >= 8 * u64::from(depth), "{counters:?}");
    engine.close().unwrap();
}

fn a_request_executed_by_itself_is_as_one_that_is_queued(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let mut engine = factory.open(spec, &worker()).unwrap();
    let counted = |engine: &mut dyn Engine| {
        let mut counters = ProtocolCounters::default();
        engine.counters(&mut counters);
        counters.reply_count
    };
    let asked = request(spec.workload.op, 0, 0);
    let performed = engine.perform(&asked);
    let by_itself = counted(engine.as_mut());
    assert_eq!(complete(engine.as_mut(), &[asked]), [(0, Ok(BLOCK_BYTES))], "nothing is left in flight");
    let queued = counted(engine.as_mut()) - by_itself;
    match performed {
        Some(result) => {
            assert_eq!(engine.effective().queue_depth, 1, "others have requests in flight");
            assert_eq!((result, by_itself), (Ok(BLOCK_BYTES), queued));
        }
        None => assert_eq!(by_itself, 0, "nothing was taken"),
    }
    engine.close().unwrap();
}

fn a_full_queue_takes_no_more(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let mut engine = factory.open(spec, &worker()).unwrap();
    let depth = engine.effective().queue_depth;
    let mut requests: Vec<_> = (0..depth).map(|tag| request(spec.workload.op, tag, 0)).collect();
    requests.push(request(spec.workload.op, 0, 1));
    assert_eq!(engine.queue(&requests).unwrap(), depth as usize);
    assert_eq!(engine.queue(&requests[..1]).unwrap(), 0, "a full queue must take none");
    engine.commit().unwrap();
    let mut out = Completions::with_capacity(depth as usize);
    let deadline = worker().clock.now().after(WAIT_NS_MAX);
    while out.len() < depth as usize {
        engine.reap(1, deadline, &mut out).unwrap();
    }
    engine.close().unwrap();
}

fn reaping_nothing_ends_at_the_deadline(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let context = worker();
    let mut engine = factory.open(spec, &context).unwrap();
    let mut out = Completions::with_capacity(1);
    engine.reap(1, context.clock.now().after(1_000_000), &mut out).unwrap();
    assert!(out.is_empty());
    engine.close().unwrap();
}

fn what_is_granted_is_said(factory: &dyn EngineFactory, spec: &OpenSpec, queue_depth_max: u32) {
    let engine = factory.open(spec, &worker()).unwrap();
    let effective = engine.effective().clone();
    engine.close().unwrap();
    assert_eq!(effective.queue_depth, spec.workload.queue_depth);
    assert!(effective.queue_depth <= queue_depth_max);
    assert!(!effective.engine.is_empty());
    if queue_depth_max < u32::MAX / 2 {
        let mut too_deep = spec.clone();
        too_deep.workload.queue_depth = queue_depth_max + 1;
        assert!(
            factory.open(&too_deep, &worker()).is_err(),
            "a depth above the declared one must be refused"
        );
    }
}

fn what_is_written_is_read(factory: &dyn EngineFactory, spec: &OpenSpec) {
    let mut engine = factory.open(spec, &worker()).unwrap();
    let depth = engine.effective().queue_depth;
    for first in (0..BLOCK_COUNT).step_by(depth as usize) {
        let count = u64::from(depth).min(BLOCK_COUNT - first);
        let tags: Vec<u32> = (0..u32::try_from(count).unwrap()).collect();
        for tag in &tags {
            engine.buffer(Slot(*tag)).fill(pattern(first + u64::from(*tag)));
        }
        let writes: Vec<_> =
            tags.iter().map(|tag| request(Op::Write, *tag, first + u64::from(*tag))).collect();
        assert!(complete(engine.as_mut(), &writes).iter().all(|(_, result)| *result == Ok(BLOCK_BYTES)));
    }
    let synced = complete(engine.as_mut(), &[IoRequest { length_bytes: 0, ..request(Op::Sync, 0, 0) }]);
    assert_eq!(synced, [(0, Ok(0))]);
    for block in (0..BLOCK_COUNT).rev() {
        engine.buffer(Slot(0)).fill(0);
        complete(engine.as_mut(), &[request(Op::Read, 0, block)]);
        assert!(engine.buffer(Slot(0)).iter().all(|byte| *byte == pattern(block)), "block {block}");
    }
    engine.close().unwrap();
}

fn pattern(block: u64) -> u8 {
    u8::try_from(block % 250).unwrap() + 1
}

fn direct_access_is_granted_or_refused(factory: &dyn EngineFactory, spec: &OpenSpec, alignment: Bytes) {
    use narrows_model::workload::Access;
    let mut direct = spec.clone();
    direct.workload.access = Access::Direct;
    let engine = factory.open(&direct, &worker()).unwrap();
    assert_eq!(engine.effective().access, Some(Access::Direct));
    engine.close().unwrap();
    if alignment == Bytes(1) {
        return;
    }
    direct.workload.block_bytes = Bytes(alignment.0 + 1);
    assert!(
        factory.open(&direct, &worker()).is_err(),
        "direct access with an unaligned block must be refused"
    );
}
