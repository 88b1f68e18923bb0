//! Engines that are open queue, commit and reap without allocating.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[allow(dead_code, clippy::panic, reason = "a server that other tests need more of")]
#[path = "../src/nfs/objects/testing.rs"]
mod nfs_server;

use narrows_engines::{
    Clock, Completions, Engine, EngineRegistry, IoRequest, MonotonicClock, OpenSpec, ProtocolCounters, Slot,
    StopFlag, WorkerContext,
};
use narrows_model::workload::{ObjectSet, ObjectSync, PsyncCalls, PsyncOptions, SyncPolicy};
use narrows_model::{Bytes, EngineId, Op, Workload};
use narrows_sys::counting_alloc::{CountingAlloc, allocations_during};
use nfs_server::{ServedMemory, ServerHabits};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: CountingAlloc = CountingAlloc;

const BLOCK_BYTES: u32 = 4096;
/// Nothing here takes longer; a test that hangs ends by it.
const PATIENCE_NS: u64 = 20_000_000_000;

fn load(engine: EngineId, queue_depth: u32, sync: SyncPolicy) -> Workload {
    Workload {
        engine: Some(engine),
        op: Op::Write,
        block_bytes: Bytes(BLOCK_BYTES.into()),
        queue_depth,
        sync,
        ..Workload::default()
    }
}

fn spec(target: &str, workload: Workload) -> OpenSpec {
    OpenSpec {
        target: target.parse().unwrap(),
        workload,
        objects: vec!["hot".to_owned()],
        object_bytes: Bytes(64 * u64::from(BLOCK_BYTES)),
        create: true,
        laid_down: false,
        token: None,
        session: None,
        answer_timeout_ns: PATIENCE_NS,
    }
}

fn open(spec: &OpenSpec, clock: &Arc<MonotonicClock>) -> Box<dyn Engine> {
    let worker = WorkerContext {
        client_index: 0,
        worker_index: 0,
        seed: 1,
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        stop: StopFlag::default(),
    };
    let factory = EngineRegistry::for_user().factory(&spec.target, spec.workload.engine).unwrap();
    factory.open(spec, &worker).unwrap()
}

/// Allocations of 50 turns of a full queue of `op` on `target`.
fn allocations(target: &str, engine: EngineId, queue_depth: u32, op: Op, sync: SyncPolicy) -> u64 {
    allocations_of(target, op, load(engine, queue_depth, sync))
}

/// The same, opened for `workload`.
fn allocations_of(target: &str, op: Op, workload: Workload) -> u64 {
    let queue_depth = workload.queue_depth;
    let clock = Arc::new(MonotonicClock::new());
    let mut engine = open(&spec(target, workload), &clock);
    let requests: Vec<IoRequest> = (0..queue_depth)
        .map(|tag| IoRequest {
            tag,
            op,
            object: 0,
            offset_bytes: u64::from(tag * BLOCK_BYTES),
            length_bytes: BLOCK_BYTES,
            slot: Slot(tag),
        })
        .collect();
    let mut out = Completions::with_capacity(queue_depth as usize);
    let mut counters = ProtocolCounters::default();
    let (count, ()) = allocations_during(|| {
        for _ in 0..50 {
            assert_eq!(engine.queue(&requests).unwrap(), requests.len());
            engine.commit().unwrap();
            out.clear();
            let until = clock.now().after(PATIENCE_NS);
            while out.len() < requests.len() {
                engine.reap(1, until, &mut out).unwrap();
                assert!(clock.now() < until, "the engine completes nothing");
            }
            assert!(out.as_slice().iter().all(|done| done.result.is_ok()));
        }
    });
    // Asked for once, when the load is over: the times of syncs are copied then.
    engine.counters(&mut counters);
    count
}

#[test]
fn engines_of_files_allocate_nothing_once_open() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = folder.path().to_str().unwrap();
    for (engine, depth) in
        [(EngineId::Psync, 1), (EngineId::Mmap, 1), (EngineId::Uring, 1), (EngineId::Uring, 32)]
    {
        for sync in [SyncPolicy::None, SyncPolicy::Every(8)] {
            for op in [Op::Write, Op::Read] {
                assert_eq!(
                    allocations(target, engine, depth, op, sync),
                    0,
                    "{engine} at {depth}, {op}, {sync:?}"
                );
            }
        }
    }
}

#[test]
fn psync_allocates_nothing_at_the_files_own_position_either() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let psync = PsyncOptions { calls: PsyncCalls::AtPosition, ..PsyncOptions::default() };
    for op in [Op::Write, Op::Read] {
        let workload = Workload { psync, ..load(EngineId::Psync, 1, SyncPolicy::None) };
        assert_eq!(allocations_of(folder.path().to_str().unwrap(), op, workload), 0, "{op}");
    }
}

#[test]
fn stripes_allocate_nothing_once_open() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let members = ["a", "b"].map(|name| folder.path().join(name));
    for member in &members {
        std::fs::create_dir(member).unwrap();
    }
    let members = members.map(|member| member.display().to_string()).join(",");
    let target = format!("stripe:{members}?unit=1KiB&peer_depth=3");
    for op in [Op::Write, Op::Read] {
        assert_eq!(allocations(&target, EngineId::Psync, 1, op, SyncPolicy::None), 0, "psync, {op}");
        assert_eq!(allocations(&target, EngineId::Uring, 8, op, SyncPolicy::None), 0, "uring, {op}");
        assert_eq!(
            allocations("stripe:null:,null:", EngineId::Null, 8, op, SyncPolicy::None),
            0,
            "null, {op}"
        );
    }
}

#[test]
fn the_engine_null_allocates_nothing_once_open() {
    assert_eq!(allocations("null:copy", EngineId::Null, 32, Op::Write, SyncPolicy::None), 0);
}

/// Every operation on eight objects from `first` on.
fn visit_objects(engine: &mut dyn Engine, first: u32) {
    for op in [Op::Put, Op::Append, Op::Get, Op::Stat, Op::Delete] {
        for object in first..first + 8 {
            let length_bytes = if matches!(op, Op::Stat | Op::Delete) { 0 } else { 3 * BLOCK_BYTES + 5 };
            let request = IoRequest { tag: 0, op, object, offset_bytes: 0, length_bytes, slot: Slot(0) };
            assert!(matches!(engine.perform(&request), Some(Ok(_))), "{op} of {object}");
        }
    }
}

#[test]
fn whole_objects_on_nfs_allocate_nothing_once_each_operation_was_done() {
    for sync in [ObjectSync::None, ObjectSync::Data] {
        let server = ServedMemory::start(ServerHabits::default());
        let set = ObjectSet { sync, folders: 2, count: 100, ..ObjectSet::default() };
        let workload = Workload {
            engine: None,
            op: Op::Put,
            objects: Some(set),
            ..load(EngineId::Nfs, 1, SyncPolicy::None)
        };
        let mut engine = open(&spec(&server.target(), workload), &Arc::new(MonotonicClock::new()));
        visit_objects(engine.as_mut(), 0);
        let (count, ()) = allocations_during(|| visit_objects(engine.as_mut(), 8));
        assert_eq!(count, 0, "{sync:?}");
        engine.close().unwrap();
    }
}
