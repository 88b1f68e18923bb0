//! What only loads of objects on NFS promise: their calls as a server counts them, and nothing lost, done twice or left behind
//! where connections end and servers restart. A real server is in the lab.

use super::super::{INFO, NfsFactory};
use super::testing::{
    COMMIT, CREATE, GETATTR, LIST, LOOKUP, REMOVE, RENAME, ServedMemory, ServerFault, ServerHabits, WRITE,
};
use crate::conformance::{complete, worker};
use crate::contract::{Engine, EngineFactory, OpenSpec, PlaceRequest, ProtocolCounters};
use crate::error::ErrorKind;
use crate::request::{Errno, IoRequest, OBJECT_LISTED, Slot};
use narrows_model::capabilities::Completion;
use narrows_model::rpc::RpcEvents;
use narrows_model::workload::{NameForm, ObjectCalls, ObjectSet, ObjectSync, Order, SyncPolicy};
use narrows_model::{Bytes, Op, Workload};
use narrows_wire::nfs::Procedure;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A procedure and how often it was executed.
type ExecutedCount = (u32, u64);

const BLOCK_BYTES: usize = 512;
/// Answers are waited for no longer: several times what a busy machine takes.
const TIMEOUT_NS: u64 = 20_000_000_000;

fn spec(server: &ServedMemory, set: ObjectSet) -> OpenSpec {
    let workload =
        Workload { objects: Some(set), block_bytes: Bytes(BLOCK_BYTES as u64), ..Workload::default() };
    OpenSpec {
        workload,
        objects: vec!["objects-0-0".to_owned()],
        answer_timeout_ns: TIMEOUT_NS,
        ..crate::conformance::spec(&server.target(), Op::Put, 1)
    }
}

fn open(spec: &OpenSpec) -> Box<dyn Engine> {
    NfsFactory.open(spec, &worker()).unwrap()
}

fn request(op: Op, object: u32, length_bytes: u32) -> IoRequest {
    IoRequest { tag: 0, op, object, offset_bytes: 0, length_bytes, slot: Slot(0) }
}

/// Objects with even numbers by themselves, others through the queue: the same comes of both.
fn ask(engine: &mut dyn Engine, op: Op, object: u32, length_bytes: u32) -> Result<u32, String> {
    let asked = request(op, object, length_bytes);
    if object.is_multiple_of(2) {
        return engine.perform(&asked).unwrap().map_err(Errno::name);
    }
    complete(engine, &[asked]).remove(0).1
}

/// Puts an object whose bytes follow from its number.
fn put(engine: &mut dyn Engine, number: u32, length_bytes: u32) {
    engine.buffer(Slot(0))[..BLOCK_BYTES].copy_from_slice(&block(number));
    assert_eq!(ask(engine, Op::Put, number, length_bytes), Ok(length_bytes), "{number}");
}

fn block(number: u32) -> Vec<u8> {
    (0..BLOCK_BYTES).map(|at| u8::try_from((at * 7 + number as usize * 13) % 251).unwrap()).collect()
}

/// The bytes of an object that was put.
fn content(number: u32, length: usize) -> Vec<u8> {
    block(number).into_iter().cycle().take(length).collect()
}

fn counted(engine: &mut dyn Engine) -> (BTreeMap<u32, u64>, RpcEvents) {
    let mut counters = ProtocolCounters::default();
    engine.counters(&mut counters);
    let rpc = counters.rpc.unwrap();
    let number = |name: &str| Procedure::ALL.iter().find(|one| one.name() == name).unwrap().number();
    let calls = rpc.procedures.iter().map(|one| (number(&one.procedure), one.reply_count)).collect();
    (calls, rpc.events)
}

/// What the server executed after `before`.
fn executed_since(server: &ServedMemory, before: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    let mut now = server.counts();
    for (procedure, count) in &mut now {
        *count -= before.get(procedure).copied().unwrap_or(0);
    }
    now.retain(|_, count| *count > 0);
    now
}

#[test]
fn each_operation_is_its_calls_as_the_server_counts_them_and_its_bytes_are_there() {
    const READ: u32 = 6;
    for folders in [0, 2] {
        let server = ServedMemory::start(ServerHabits::default());
        let mut engine = open(&spec(&server, ObjectSet { count: 4, folders, ..ObjectSet::default() }));
        let engine = engine.as_mut();
        let path = |number: u32| match folders {
            0 => format!("objects-0-0/{number}"),
            _ => format!("objects-0-0/0000{}/{number}", number / 2),
        };
        let steps: [(Op, u32, u32, &[ExecutedCount]); 11] = [
            (Op::Put, 3, 1300, &[(CREATE, 1), (WRITE, 3)]),
            (Op::Put, 0, 0, &[(CREATE, 1)]),
            (Op::Append, 3, 700, &[(LOOKUP, 1), (WRITE, 2)]),
            (Op::Get, 3, 2000, &[(LOOKUP, 1), (READ, 4)]),
            (Op::Get, 0, 0, &[(LOOKUP, 1)]),
            (Op::Stat, 3, 0, &[(LOOKUP, 1)]),
            (Op::Rename, 3, 0, &[(RENAME, 1)]),
            (Op::Rename, 3, 0, &[(RENAME, 1)]),
            (Op::Sync, 0, 0, &[(COMMIT, 2)]),
            (Op::Delete, 0, 0, &[(REMOVE, 1)]),
            (Op::Sync, 0, 0, &[]),
        ];
        let start = server.counts();
        for (op, number, length, calls) in steps {
            let before = server.counts();
            engine.buffer(Slot(0))[..BLOCK_BYTES].copy_from_slice(&block(number));
            let moved = if matches!(op, Op::Put | Op::Append | Op::Get) { length } else { 0 };
            assert_eq!(ask(engine, op, number, length), Ok(moved), "{op} {number}");
            let expected: BTreeMap<u32, u64> = calls.iter().copied().collect();
            assert_eq!(executed_since(&server, &before), expected, "{op} {number}");
        }
        let (calls, events) = counted(engine);
        assert_eq!((calls, events), (executed_since(&server, &start), RpcEvents::default()));
        let mut files = server.files(true);
        files.retain(|path, _| !path.ends_with('/'));
        let expected = [content(3, 1300), content(3, 700)].concat();
        assert_eq!(files, BTreeMap::from([(path(3), expected.clone())]), "durable after the sync");
        engine.buffer(Slot(0)).fill(0);
        assert_eq!(ask(engine, Op::Get, 3, 2001), Ok(2000), "what is there of it");
        assert_eq!(engine.buffer(Slot(0))[..464], expected[1536..], "the last block is what is left there");
    }
}

/// A spec of stats by GETATTR in this order.
fn stats_by_handle(server: &ServedMemory, order: Order) -> OpenSpec {
    let mut asked = spec(server, ObjectSet { count: 10, folders: 2, ..ObjectSet::default() });
    (asked.workload.op, asked.workload.order) = (Op::Stat, order);
    asked.workload.engine_options.set("stat", "getattr");
    asked
}

#[test]
fn a_stat_by_handle_is_a_getattr_alone_and_a_lookup_where_the_handle_is_not_known_or_stale() {
    let server = ServedMemory::start(ServerHabits::default());
    let mut before = BTreeMap::new();
    let mut calls_of = |engine: &mut dyn Engine, op: Op, number: u32| {
        before = server.counts();
        let done = ask(engine, op, number, if op == Op::Put { 700 } else { 0 });
        (done, executed_since(&server, &before))
    };
    let calls = |counts: &[ExecutedCount]| counts.iter().copied().collect::<BTreeMap<_, _>>();
    let mut first = open(&stats_by_handle(&server, Order::Sequential));
    for number in 0..9 {
        put(first.as_mut(), number, 700);
    }
    let getattr = (Ok(0), calls(&[(GETATTR, 1)]));
    assert_eq!(calls_of(first.as_mut(), Op::Stat, 8), getattr, "known from CREATE");
    let before_open = server.counts();
    let mut second = open(&stats_by_handle(&server, Order::Sequential));
    // The set, its two folders, and ten objects, of which nine exist.
    assert_eq!(executed_since(&server, &before_open)[&LOOKUP], 13);
    for number in 0..9 {
        assert_eq!(calls_of(second.as_mut(), Op::Stat, number), getattr, "{number} was looked up before");
    }
    let absent = (Err("ENOENT".to_owned()), calls(&[(LOOKUP, 1)]));
    assert_eq!(calls_of(second.as_mut(), Op::Stat, 9), absent);
    assert_eq!(ask(second.as_mut(), Op::Delete, 3, 0), Ok(0));
    assert_eq!(calls_of(second.as_mut(), Op::Stat, 3), absent, "its handle is not used any more");
    // Another client makes two objects again.
    for number in [5, 6] {
        assert_eq!(ask(second.as_mut(), Op::Delete, number, 0), Ok(0));
        put(second.as_mut(), number, 10);
    }
    let again = (Ok(0), calls(&[(GETATTR, 1), (LOOKUP, 1)]));
    assert_eq!(calls_of(first.as_mut(), Op::Stat, 5), again, "NFS3ERR_STALE, and looked up again");
    assert_eq!(calls_of(first.as_mut(), Op::Stat, 5), getattr);
}

#[test]
fn a_stat_by_handle_of_a_listing_uses_the_handles_that_the_listing_has() {
    for (says_everything, lookups) in [(true, 0), (false, 9)] {
        let server = ServedMemory::start(ServerHabits { says_everything, ..ServerHabits::default() });
        let mut engine = open(&stats_by_handle(&server, Order::Listing));
        for number in 0..9 {
            put(engine.as_mut(), number, 700);
        }
        let before = server.counts();
        for _ in 0..9 {
            assert_eq!(ask(engine.as_mut(), Op::Stat, OBJECT_LISTED, 0), Ok(0));
        }
        let calls = executed_since(&server, &before);
        assert_eq!((calls[&GETATTR], calls.get(&LOOKUP).copied().unwrap_or(0)), (9, lookups));
    }
}

#[test]
fn data_is_as_durable_as_it_is_asked_to_be() {
    let cases = [
        (ObjectSync::None, SyncPolicy::None, 0, false),
        (ObjectSync::Data, SyncPolicy::None, 1, true),
        (ObjectSync::DataAndFolder, SyncPolicy::None, 1, true),
        (ObjectSync::None, SyncPolicy::Dsync, 0, true),
    ];
    for (sync, policy, commits, is_durable) in cases {
        let server = ServedMemory::start(ServerHabits::default());
        let mut asked = spec(&server, ObjectSet { sync, ..ObjectSet::default() });
        asked.workload.sync = policy;
        let mut engine = open(&asked);
        put(engine.as_mut(), 5, 1300);
        let stored = server.files(true)["objects-0-0/5"].clone();
        assert_eq!(stored == content(5, 1300), is_durable, "{sync:?} {policy:?}");
        assert_eq!(server.counts().get(&COMMIT).copied().unwrap_or(0), commits, "{sync:?} {policy:?}");
        assert_eq!(engine.effective().write_completion == Completion::Durable, is_durable);
        engine.close().unwrap();
        assert_eq!(server.files(true)["objects-0-0/5"], content(5, 1300), "at the end all of it is");
    }
}

#[test]
fn what_a_server_leaves_out_is_asked_for_and_larger_blocks_are_several_calls() {
    let habits = ServerHabits { says_everything: false, transfer_bytes: 200, ..ServerHabits::default() };
    let server = ServedMemory::start(habits);
    let mut engine = open(&spec(&server, ObjectSet { stat_reads: true, ..ObjectSet::default() }));
    let engine = engine.as_mut();
    let before = server.counts();
    put(engine, 2, 1000);
    // Blocks of 512 bytes: 200, 200 and 112, then 200, 200 and 88.
    assert_eq!(executed_since(&server, &before), BTreeMap::from([(CREATE, 1), (LOOKUP, 1), (WRITE, 6)]));
    assert_eq!(server.files(false)["objects-0-0/2"], content(2, 1000));
    assert_eq!(ask(engine, Op::Append, 2, 24), Ok(24));
    assert_eq!(ask(engine, Op::Stat, 2, 0), Ok(1024), "it is read too");
    assert_eq!(server.counts()[&GETATTR], 2);
    assert_eq!(ask(engine, Op::Get, 2, 1024), Ok(1024));
    assert_eq!(engine.buffer(Slot(0))[..488], content(2, 1000)[512..]);
}

#[test]
fn the_listing_covers_every_object_of_all_folders_once_even_where_positions_move() {
    for (folders, names, position_moves) in
        [(0, NameForm::Number, false), (3, NameForm::LettersNumber, true), (1, NameForm::NumberLetters, true)]
    {
        let server = ServedMemory::start(ServerHabits { position_moves, ..ServerHabits::default() });
        let set = ObjectSet { folders, names, count: 100, stat_reads: true, ..ObjectSet::default() };
        let spec = spec(&server, set);
        let mut engine = open(&spec);
        (0..100).for_each(|number| put(engine.as_mut(), number, 3));
        // A stat reads the file that it finds, and so shows that it has found one.
        let read: u32 = (0..100).map(|_| ask(engine.as_mut(), Op::Stat, OBJECT_LISTED, 0).unwrap()).sum();
        assert_eq!((read, server.counts()[&LOOKUP] >= 100), (300, true));
        assert!(server.counts()[&LIST] >= 100 / 7, "{:?}", server.counts());
        assert_eq!(ask(engine.as_mut(), Op::Stat, OBJECT_LISTED, 0), Err("ENOENT".to_owned()));
        let mut engine = open(&spec);
        for _ in 0..100 {
            assert_eq!(ask(engine.as_mut(), Op::Delete, OBJECT_LISTED, 0), Ok(0));
        }
        assert!(server.files(false).keys().all(|path| path.ends_with('/')));
        assert_eq!(ask(engine.as_mut(), Op::Delete, OBJECT_LISTED, 0), Err("ENOENT".to_owned()));
    }
}

#[test]
fn a_call_that_was_executed_before_its_connection_ended_counts_as_done_and_is_no_error() {
    let server = ServedMemory::start(ServerHabits::default());
    let mut engine = open(&spec(&server, ObjectSet::default()));
    let engine = engine.as_mut();
    server.plan_fault(CREATE, 0, ServerFault::LoseAnswer);
    put(engine, 0, 700);
    server.plan_fault(REMOVE, 0, ServerFault::LoseAnswer);
    put(engine, 1, 600);
    assert_eq!(ask(engine, Op::Delete, 1, 0), Ok(0));
    let (_, events) = counted(engine);
    assert_eq!((events.done_before_count, events.reconnect_count), (2, 2), "{events:?}");
    // Calls that were not executed are executed when they are sent again.
    server.plan_fault(CREATE, 0, ServerFault::LoseCall);
    put(engine, 2, 800);
    server.plan_fault(REMOVE, 0, ServerFault::LoseCall);
    assert_eq!(ask(engine, Op::Delete, 0, 0), Ok(0));
    server.plan_fault(WRITE, 1, ServerFault::LoseAnswer);
    put(engine, 3, 900);
    let (_, events) = counted(engine);
    assert_eq!((events.done_before_count, events.reconnect_count), (2, 5), "{events:?}");
    let mut counters = ProtocolCounters::default();
    engine.counters(&mut counters);
    let of = |name: &str| {
        let all = counters.rpc.iter().flat_map(|rpc| &rpc.procedures);
        let mut found =
            all.filter(|one| one.procedure == name).map(|one| (one.retransmit_count, one.error_count));
        found.next_back().unwrap()
    };
    assert_eq!((of("CREATE"), of("REMOVE"), of("WRITE")), ((2, 1), (2, 1), (1, 0)));
    let expected = [(2, 800), (3, 900)].map(|(n, l)| (format!("objects-0-0/{n}"), content(n, l)));
    let mut files = server.files(false);
    files.retain(|path, _| !path.ends_with('/'));
    assert_eq!(files, BTreeMap::from(expected));
    // What was never sent twice is refused as by a folder of this machine.
    assert_eq!(ask(engine, Op::Put, 3, 1), Err("EEXIST".to_owned()));
    assert_eq!(ask(engine, Op::Delete, 0, 0), Err("ENOENT".to_owned()));
    assert_eq!(server.files(false)["objects-0-0/3"], content(3, 900), "what was there stays");
}

#[test]
fn a_server_that_restarts_has_all_data_again_and_what_was_written_again_is_counted() {
    for connections in [1, 3] {
        let server = ServedMemory::start(ServerHabits::default());
        let mut asked = spec(&server, ObjectSet::default());
        asked.workload.engine_options.set("connections", connections);
        let mut engine = open(&asked);
        (0..20).for_each(|number| put(engine.as_mut(), number, 1300));
        assert_eq!(ask(engine.as_mut(), Op::Delete, 4, 0), Ok(0));
        engine.buffer(Slot(0))[..BLOCK_BYTES].copy_from_slice(&block(0));
        assert_eq!(ask(engine.as_mut(), Op::Append, 0, 10), Ok(10));
        assert_eq!(ask(engine.as_mut(), Op::Delete, OBJECT_LISTED, 0), Ok(0), "number 0");
        server.plan_fault(WRITE, 1, ServerFault::Restart);
        put(engine.as_mut(), 20, 1300);
        let (_, events) = counted(engine.as_mut());
        assert_eq!((events.verifier_change_count, events.forced_commit_count), (1, 0), "{events:?}");
        // Three writes of each object, one of the new one; of number 0, which is gone, none.
        assert_eq!((events.rewritten_count, events.rewritten_bytes), (55, Bytes(18 * 1300 + 512)));
        assert!(events.reconnect_count >= 1, "{events:?}");
        // That it is gone is noticed once, for all that was written of it.
        let mut counters = ProtocolCounters::default();
        engine.counters(&mut counters);
        let errors: u64 =
            counters.rpc.iter().flat_map(|rpc| &rpc.procedures).map(|one| one.error_count).sum();
        assert_eq!(errors, 1, "{:?}", counters.rpc);
        // A second one at the end, while all is made durable.
        server.plan_fault(COMMIT, 5, ServerFault::Restart);
        engine.close().unwrap();
        let expected = (1..=20).filter(|number| *number != 4);
        let expected = expected.map(|number| (format!("objects-0-0/{number}"), content(number, 1300)));
        let mut files = server.files(true);
        files.retain(|path, _| !path.ends_with('/'));
        assert_eq!(files, expected.collect::<BTreeMap<_, _>>(), "{connections} connections");
    }
}

#[test]
fn a_sync_is_answered_when_a_restart_in_it_is_over() {
    let server = ServedMemory::start(ServerHabits::default());
    let mut engine = open(&spec(&server, ObjectSet { sync: ObjectSync::Data, ..ObjectSet::default() }));
    server.plan_fault(COMMIT, 0, ServerFault::Restart);
    put(engine.as_mut(), 8, 1300);
    assert_eq!(server.files(true)["objects-0-0/8"], content(8, 1300));
    let (_, events) = counted(engine.as_mut());
    assert_eq!((events.rewritten_count, events.verifier_change_count), (3, 1), "{events:?}");
}

#[test]
fn memory_for_unstable_data_is_bounded_by_commits_that_are_counted() {
    let server = ServedMemory::start(ServerHabits::default());
    let mut asked = spec(&server, ObjectSet::default());
    asked.workload.engine_options.set("keep", 8 * BLOCK_BYTES as u64);
    let mut engine = open(&asked);
    (0..20).for_each(|number| put(engine.as_mut(), number, 512));
    assert_eq!(counted(engine.as_mut()).1.forced_commit_count, 12);
    // One object of more bytes than are kept.
    put(engine.as_mut(), 20, 20 * 512);
    engine.close().unwrap();
    let mut files = server.files(true);
    files.retain(|path, _| !path.ends_with('/'));
    assert!(files.len() == 21 && files["objects-0-0/20"] == content(20, 20 * 512));
    assert!((0..20).all(|number| files[&format!("objects-0-0/{number}")] == content(number, 512)));
}

#[test]
fn what_cannot_be_done_is_a_completion_with_its_status_and_a_put_that_fails_leaves_nothing() {
    let server = ServedMemory::start(ServerHabits::default());
    let mut engine = open(&spec(&server, ObjectSet::default()));
    let engine = engine.as_mut();
    for op in [Op::Get, Op::Append, Op::Stat, Op::Delete] {
        assert_eq!(ask(engine, op, 6, 10), Err("ENOENT".to_owned()), "{op}");
    }
    assert_eq!(engine.failure_detail(0).as_deref(), Some("the server answered NFS3ERR_NOENT"));
    server.plan_fault(WRITE, 1, ServerFault::Fail(28));
    assert_eq!(ask(engine, Op::Put, 2, 1300), Err("ENOSPC".to_owned()));
    assert_eq!(server.files(false).into_keys().collect::<Vec<_>>(), ["objects-0-0/"]);
    assert_eq!(ask(engine, Op::Read, 2, 10), Err("EINVAL".to_owned()));
    put(engine, 2, 1300);
    assert_eq!(ask(engine, Op::Sync, 0, 0), Ok(0));
}

#[test]
fn a_server_that_is_silent_in_the_load_is_given_up_in_time() {
    let server = ServedMemory::start(ServerHabits::default());
    let mut engine =
        open(&OpenSpec { answer_timeout_ns: 300_000_000, ..spec(&server, ObjectSet::default()) });
    put(engine.as_mut(), 0, 10);
    server.plan_fault(CREATE, 0, ServerFault::Silence);
    assert_eq!(engine.perform(&request(Op::Put, 1, 10)), None, "it is to be queued");
    assert_eq!(engine.queue(&[request(Op::Put, 1, 10)]).unwrap(), 1);
    let error = engine.commit().unwrap_err();
    assert_eq!(error.kind, ErrorKind::PeerGone);
    assert!(error.to_string().contains("no answer within 300 ms"), "{error}");
    engine.close().unwrap();
}

#[test]
fn what_the_engine_cannot_do_is_refused_at_the_opening() {
    let server = ServedMemory::start(ServerHabits::default());
    let with = |change: &dyn Fn(&mut OpenSpec)| {
        let mut spec = spec(&server, ObjectSet::default());
        change(&mut spec);
        NfsFactory.open(&spec, &worker()).err().unwrap().to_string()
    };
    let set = |set: ObjectSet| with(&move |spec| spec.workload.objects = Some(set));
    for (message, words) in [
        (with(&|spec| spec.workload.queue_depth = 2), "a depth of 2"),
        (set(ObjectSet { calls: ObjectCalls::Streams, ..ObjectSet::default() }), "C library's streams"),
        (set(ObjectSet { count: 0, ..ObjectSet::default() }), "0 objects"),
        (with(&|spec| spec.objects = vec!["../x".to_owned()]), "a unique name"),
        (with(&|spec| spec.create = false), "NFS3ERR_NOENT"),
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    server.make("objects-0-0", false);
    let message = with(&|_| ());
    assert!(message.contains("NFS3ERR_NOTDIR"), "a file in the place of the folder: {message}");
    assert!(INFO.ops.contains(&Op::Append));
}

#[test]
fn a_set_and_a_folder_of_our_own_are_removed_with_all_that_narrows_made_and_nothing_else_is() {
    for says_everything in [true, false] {
        let server = ServedMemory::start(ServerHabits { says_everything, ..ServerHabits::default() });
        server.make("precious", false);
        let request = PlaceRequest {
            nonce: 7,
            owner: "a test",
            is_gone: &|_| false,
            clock: Arc::new(crate::clock::MonotonicClock::new()),
            timeout_ns: TIMEOUT_NS,
        };
        let own = NfsFactory.own_place(&server.target().parse().unwrap(), &request).unwrap().unwrap();
        let set = ObjectSet { folders: 3, count: 60, ..ObjectSet::default() };
        let asked = OpenSpec { target: own.target().clone(), ..spec(&server, set) };
        for round in 0..2 {
            let mut engine = open(&asked);
            (0..60).for_each(|number| put(engine.as_mut(), number, 1));
            engine.close().unwrap();
            if round == 0 {
                NfsFactory.remove(&asked).unwrap();
                NfsFactory.remove(&asked).unwrap();
                assert_eq!(server.files(false).len(), 3, "our own folder and its marker stay");
            }
        }
        // A run that was killed drops nothing; the next one removes what it has left.
        std::mem::forget(own);
        let next = PlaceRequest { nonce: 8, is_gone: &|_| true, ..request };
        let own = NfsFactory.own_place(&server.target().parse().unwrap(), &next).unwrap().unwrap();
        assert!(own.notes().iter().any(|note| note.contains("removed")), "{:?}", own.notes());
        assert_eq!(server.files(false).len(), 3);
        // A folder that is no set of objects is none of ours, and stays with those around it.
        let name = own.target().to_string().split(['/', '?']).nth(4).unwrap().to_owned();
        server.make(&format!("{name}/theirs"), true);
        drop(own);
        let left: Vec<String> = server.files(false).into_keys().collect();
        assert!(
            left.contains(&format!("{name}/theirs/")) && left.contains(&"precious".to_owned()),
            "{left:?}"
        );
    }
}

#[test]
fn an_object_has_another_name_after_one_renaming_and_its_own_after_two_or_the_end() {
    let server = ServedMemory::start(ServerHabits::default());
    let mut engine = open(&spec(&server, ObjectSet::default()));
    let has = |name: &str| server.files(false).contains_key(&format!("objects-0-0/{name}"));
    assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Err("ENOENT".to_owned()));
    put(engine.as_mut(), 0, 700);
    server.plan_fault(RENAME, 0, ServerFault::LoseAnswer);
    assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Ok(0), "the call sent again finds its own work");
    assert!(has("0~") && !has("0"));
    assert_eq!(counted(engine.as_mut()).1.done_before_count, 1);
    server.plan_fault(RENAME, 0, ServerFault::LoseCall);
    assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Ok(0));
    assert!(has("0") && !has("0~"));
    assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Ok(0));
    engine.close().unwrap();
    assert!(has("0") && !has("0~"), "{:?}", server.files(false).keys());
}
