//! What only `objects` promises: operations on whole files, seen from outside of the engine.

use super::*;
use crate::clock::Tick;
use crate::conformance::worker;
use crate::request::{Completions, IoRequest, OBJECT_LISTED, Slot};
use narrows_model::workload::{Access, MemberWeights, NameForm, ObjectKind};
use narrows_model::{Op, Workload};
use narrows_sys::denied_calls::{DeniedCall, deny_in_this_thread};
use rustix::io::Errno as Call;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const BLOCK_BYTES: u64 = 512;

fn spec(folder: &Path, set: ObjectSet) -> OpenSpec {
    let workload = Workload { objects: Some(set), block_bytes: Bytes(BLOCK_BYTES), ..Workload::default() };
    OpenSpec {
        workload,
        objects: vec!["set".to_owned()],
        ..crate::conformance::spec(folder.to_str().unwrap(), Op::Put, 1)
    }
}

fn open(spec: &OpenSpec) -> Box<dyn Engine> {
    ObjectsFactory::unconfined().open(spec, &worker()).unwrap()
}

fn ask(engine: &mut dyn Engine, op: Op, object: u32, length_bytes: u32) -> Result<u32, String> {
    let request = IoRequest { tag: 0, op, object, offset_bytes: 0, length_bytes, slot: Slot(0) };
    // By turns by itself and through the queue: the same comes of both.
    let mut counters = crate::contract::ProtocolCounters::default();
    engine.counters(&mut counters);
    let result = if counters.request_count % 2 == 0 {
        engine.perform(&request).unwrap()
    } else {
        assert_eq!(engine.queue(&[request]).unwrap(), 1);
        engine.commit().unwrap();
        let mut done = Completions::with_capacity(1);
        engine.reap(1, Tick(u64::MAX), &mut done).unwrap();
        done.as_slice()[0].result
    };
    result.map_err(crate::request::Errno::name)
}

/// Files below `folder` with their lengths, by their paths relative to it.
fn files(folder: &Path) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        match entry.metadata().unwrap() {
            status if status.is_dir() => {
                found.extend(
                    files(&entry.path()).into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)),
                );
            }
            status => drop(found.insert(name, status.len())),
        }
    }
    found
}

/// Whole objects come back, whichever calls are larger: the counts of calls are looked at in the lab.
#[test]
fn objects_are_whole_where_reads_move_other_blocks_than_writes() {
    for (calls, read_block) in
        [(ObjectCalls::System, 100), (ObjectCalls::System, 4000), (ObjectCalls::Streams, 700)]
    {
        let folder = tempfile::tempdir().unwrap();
        let set =
            ObjectSet { calls, read_block_bytes: Some(Bytes(read_block)), count: 4, ..ObjectSet::default() };
        let mut engine = open(&spec(folder.path(), set));
        let engine = engine.as_mut();
        assert_eq!(ask(engine, Op::Put, 1, 1300), Ok(1300));
        assert_eq!(ask(engine, Op::Append, 1, 10), Ok(10));
        assert_eq!(ask(engine, Op::Get, 1, 1310), Ok(1310));
        let stored = fs::read(folder.path().join("set/1")).unwrap();
        assert_eq!(
            (stored.len(), &stored[..276]),
            (1310, &stored[1024..1300]),
            "a block of 512 again and again"
        );
    }
}

#[test]
fn an_object_is_made_appended_to_read_looked_at_and_deleted() {
    for calls in [ObjectCalls::System, ObjectCalls::Streams] {
        let folder = tempfile::tempdir().unwrap();
        let mut engine =
            open(&spec(folder.path(), ObjectSet { calls, folders: 2, count: 4, ..ObjectSet::default() }));
        let engine = engine.as_mut();
        let set = folder.path().join("set");
        assert_eq!(ask(engine, Op::Put, 3, 1300), Ok(1300));
        assert_eq!(ask(engine, Op::Put, 0, 0), Ok(0));
        assert_eq!(files(&set), BTreeMap::from([("00000/0".to_owned(), 0), ("00001/3".to_owned(), 1300)]));
        assert_eq!(ask(engine, Op::Append, 3, 700), Ok(700));
        assert_eq!(ask(engine, Op::Get, 3, 2000), Ok(2000));
        assert_eq!(ask(engine, Op::Get, 3, 2001), Ok(2000), "what is there of it");
        assert_eq!((ask(engine, Op::Stat, 3, 0), ask(engine, Op::Get, 0, 0)), (Ok(0), Ok(0)));
        assert_eq!(ask(engine, Op::Delete, 3, 0), Ok(0));
        assert_eq!(ask(engine, Op::Sync, 0, 0), Ok(0), "of the whole file system");
        assert_eq!(files(&set), BTreeMap::from([("00000/0".to_owned(), 0)]));
    }
}

#[test]
fn what_is_stored_is_the_block_again_and_again() {
    for calls in [ObjectCalls::System, ObjectCalls::Streams] {
        let folder = tempfile::tempdir().unwrap();
        let mut engine = open(&spec(folder.path(), ObjectSet { calls, ..ObjectSet::default() }));
        let block: Vec<u8> = (0..=255).chain(0..=255).collect();
        engine.buffer(Slot(0)).copy_from_slice(&block);
        assert_eq!(ask(engine.as_mut(), Op::Put, 0, 1100), Ok(1100));
        let expected: Vec<u8> = block.iter().copied().cycle().take(1100).collect();
        assert_eq!(fs::read(folder.path().join("set/0")).unwrap(), expected);
        engine.buffer(Slot(0)).fill(0);
        ask(engine.as_mut(), Op::Get, 0, 1100).unwrap();
        assert_eq!(
            engine.buffer(Slot(0))[..76],
            expected[1024..],
            "the last block is what is left in the buffer"
        );
    }
}

#[test]
fn what_cannot_be_done_is_a_completion_with_the_errors_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = open(&spec(folder.path(), ObjectSet::default()));
    let engine = engine.as_mut();
    let failed = |name: &str| Err(name.to_owned());
    for op in [Op::Get, Op::Append, Op::Stat, Op::Delete] {
        assert_eq!(ask(engine, op, 5, 10), failed("ENOENT"), "{op}");
    }
    ask(engine, Op::Put, 5, 10).unwrap();
    assert_eq!(ask(engine, Op::Put, 5, 10), failed("EEXIST"));
    assert_eq!(fs::metadata(folder.path().join("set/5")).unwrap().len(), 10, "what was there stays");
    assert_eq!(ask(engine, Op::Read, 5, 10), failed("EINVAL"));
    assert_eq!(ask(engine, Op::Delete, OBJECT_LISTED, 0), Ok(0));
    assert_eq!(ask(engine, Op::Stat, OBJECT_LISTED, 0), failed("ENOENT"), "the listing is at its end");
}

#[test]
fn a_put_that_finds_no_room_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    for calls in [ObjectCalls::System, ObjectCalls::Streams] {
        let spec = spec(folder.path(), ObjectSet { calls, ..ObjectSet::default() });
        // The refusal lasts as long as its thread.
        let full = std::thread::spawn(move || {
            let errno = narrows_sys::SysErrno::from_raw(Call::NOSPC.raw_os_error());
            deny_in_this_thread(DeniedCall::Write, errno).unwrap();
            let mut engine = open(&spec);
            [ask(engine.as_mut(), Op::Put, 1, 9000), ask(engine.as_mut(), Op::Put, 2, 0)]
        });
        assert_eq!(full.join().unwrap(), [Err("ENOSPC".to_owned()), Ok(0)]);
        assert_eq!(files(&folder.path().join("set")), BTreeMap::from([("2".to_owned(), 0)]));
        fs::remove_file(folder.path().join("set/2")).unwrap();
    }
}

#[test]
fn the_listing_covers_every_object_of_all_folders_once() {
    for (folders, names) in
        [(0, NameForm::Number), (3, NameForm::LettersNumber), (1, NameForm::NumberLetters)]
    {
        let folder = tempfile::tempdir().unwrap();
        let set = ObjectSet { folders, names, count: 1500, stat_reads: true, ..ObjectSet::default() };
        let spec = spec(folder.path(), set);
        let mut engine = open(&spec);
        for number in 0..1500 {
            assert_eq!(ask(engine.as_mut(), Op::Put, number, 3), Ok(3));
        }
        // A stat reads the file it finds, and so shows that it has found one.
        let read: u32 = (0..1500).map(|_| ask(engine.as_mut(), Op::Stat, OBJECT_LISTED, 0).unwrap()).sum();
        assert_eq!(read, 4500);
        let mut engine = open(&spec);
        for _ in 0..1500 {
            assert_eq!(ask(engine.as_mut(), Op::Delete, OBJECT_LISTED, 0), Ok(0));
        }
        assert_eq!(files(&folder.path().join("set")), BTreeMap::new());
    }
}

#[test]
fn in_a_folder_of_several_clients_the_listing_covers_the_objects_of_one_and_a_find_looks_at_those_that_it_names()
 {
    let folder = tempfile::tempdir().unwrap();
    let set = ObjectSet {
        count: 120,
        shared_folder: true,
        names: NameForm::Mdtest,
        stat_finds: true,
        ..ObjectSet::default()
    };
    let spec = spec(folder.path(), set);
    let of_client = |client_index| WorkerContext { client_index, ..worker() };
    for client in [1, 12] {
        let mut engine = ObjectsFactory::unconfined().open(&spec, &of_client(client)).unwrap();
        for number in 0..120 {
            assert_eq!(ask(engine.as_mut(), Op::Put, number, 0), Ok(0));
        }
    }
    for client in [1, 12] {
        let mut engine = ObjectsFactory::unconfined().open(&spec, &of_client(client)).unwrap();
        let listed = (0..120).filter(|_| ask(engine.as_mut(), Op::Stat, OBJECT_LISTED, 0) == Ok(0)).count();
        assert_eq!(
            (listed, ask(engine.as_mut(), Op::Stat, OBJECT_LISTED, 0)),
            (120, Err("ENOENT".to_owned()))
        );
    }
    // Of the objects of client 12 only 101 has 01 in its name: nothing looks at the attributes of the others.
    fs::create_dir(folder.path().join("links")).unwrap();
    for number in [7, 101] {
        let name = folder.path().join(format!("links/file.mdtest.12.{number}"));
        std::os::unix::fs::symlink("nowhere", name).unwrap();
    }
    let links = OpenSpec { objects: vec!["links".to_owned()], ..spec };
    let mut engine = ObjectsFactory::unconfined().open(&links, &of_client(12)).unwrap();
    let mut found: Vec<_> = (0..2).map(|_| ask(engine.as_mut(), Op::Stat, OBJECT_LISTED, 0)).collect();
    found.sort();
    assert_eq!(found, [Ok(0), Err("ENOENT".to_owned())]);
}

#[test]
fn a_set_is_removed_with_its_folders_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("precious"), "x").unwrap();
    let factory = ObjectsFactory::unconfined();
    for folders in [0, 3] {
        let spec = spec(folder.path(), ObjectSet { folders, count: 600, ..ObjectSet::default() });
        let mut engine = open(&spec);
        for number in 0..600 {
            assert_eq!(ask(engine.as_mut(), Op::Put, number, 0), Ok(0));
        }
        factory.remove(&spec).unwrap();
        factory.remove(&spec).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    // A link in its place is not followed.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("theirs"), "x").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("set")).unwrap();
    assert!(factory.remove(&spec(folder.path(), ObjectSet::default())).is_err());
    assert!(elsewhere.path().join("theirs").exists());
}

/// Two folders and a set over both, all of it in `folder`.
fn stripe_spec(folder: &Path, set: ObjectSet) -> OpenSpec {
    let members = ["one", "two"].map(|name| folder.join(name));
    for member in &members {
        fs::create_dir_all(member).unwrap();
    }
    let [one, two] = members.map(|member| member.to_str().unwrap().to_owned());
    OpenSpec { target: format!("stripe:{one},{two}").parse().unwrap(), ..spec(folder, set) }
}

#[test]
fn over_a_stripe_each_object_is_in_one_folder_where_every_operation_finds_it() {
    let weights = MemberWeights::new(&[1, 3]).unwrap();
    for (folders, sync) in [(0, ObjectSync::None), (3, ObjectSync::DataAndFolder)] {
        let folder = tempfile::tempdir().unwrap();
        let set = ObjectSet { folders, sync, count: 400, member_weights: weights, ..ObjectSet::default() };
        let spec = stripe_spec(folder.path(), set);
        let mut engine = open(&spec);
        let engine = engine.as_mut();
        for number in 0..400 {
            assert_eq!(ask(engine, Op::Put, number, 100), Ok(100));
        }
        let stored = ["one", "two"].map(|member| files(&folder.path().join(member)).len());
        assert_eq!(stored.iter().sum::<usize>(), 400);
        // Five standard deviations of a quarter.
        assert!(stored[0].abs_diff(100) < 45, "{stored:?}");
        for number in 0..400 {
            assert_eq!(ask(engine, Op::Append, number, 20), Ok(20));
            assert_eq!(ask(engine, Op::Get, number, 120), Ok(120));
            assert_eq!(ask(engine, Op::Stat, number, 0), Ok(0));
        }
        assert_eq!(ask(engine, Op::Sync, 0, 0), Ok(0));
        let listed = (0..400).filter(|_| ask(engine, Op::Stat, OBJECT_LISTED, 0).is_ok()).count();
        assert_eq!((listed, ask(engine, Op::Stat, OBJECT_LISTED, 0).is_err()), (400, true));
        for number in 0..400 {
            assert_eq!(ask(engine, Op::Delete, number, 0), Ok(0));
        }
        assert_eq!(files(folder.path()), BTreeMap::new());
        ObjectsFactory::unconfined().remove(&spec).unwrap();
        assert_eq!(
            ["one", "two"].map(|member| fs::read_dir(folder.path().join(member)).unwrap().count()),
            [0, 0]
        );
    }
}

#[test]
fn a_set_over_a_stripe_is_refused_with_other_weights_than_members_or_too_many_open_folders() {
    let folder = tempfile::tempdir().unwrap();
    let said = |set: ObjectSet| {
        let refused = ObjectsFactory::unconfined().open(&stripe_spec(folder.path(), set), &worker());
        refused.err().unwrap().to_string()
    };
    let weights = MemberWeights::new(&[1, 2, 3]).unwrap();
    let message = said(ObjectSet { member_weights: weights, ..ObjectSet::default() });
    assert!(message.contains("3 weights for 2 folders"), "{message}");
    let message = said(ObjectSet { folders: 200, sync: ObjectSync::DataAndFolder, ..ObjectSet::default() });
    assert!(message.contains("400 folders in all"), "{message}");
    // A member that is gone is an error that names it.
    let spec = stripe_spec(folder.path(), ObjectSet::default());
    fs::remove_dir(folder.path().join("two")).unwrap();
    let refused = ObjectsFactory::unconfined().open(&spec, &worker()).err().unwrap().to_string();
    assert!(refused.contains("/two") && !refused.contains("stripe:"), "{refused}");
}

#[test]
fn what_the_engine_cannot_do_is_refused_at_the_opening() {
    let folder = tempfile::tempdir().unwrap();
    let usual = || spec(folder.path(), ObjectSet::default());
    let said =
        |spec: OpenSpec| ObjectsFactory::unconfined().open(&spec, &worker()).err().unwrap().to_string();
    let with = |change: &dyn Fn(&mut OpenSpec)| {
        let mut spec = usual();
        change(&mut spec);
        said(spec)
    };
    for (message, words) in [
        (with(&|spec| spec.workload.queue_depth = 2), "queue depth 2"),
        (with(&|spec| spec.workload.access = Access::Direct), "through the page cache"),
        (with(&|spec| spec.workload.objects = None), "only operations on whole objects"),
        (
            with(&|spec| spec.workload.objects = Some(ObjectSet { count: 0, ..ObjectSet::default() })),
            "0 objects",
        ),
        (
            with(&|spec| {
                let folders =
                    ObjectSet { kind: ObjectKind::Folder, max_bytes: Bytes(9), ..ObjectSet::default() };
                spec.workload.objects = Some(folders);
            }),
            "with bytes, which only files have",
        ),
        (with(&|spec| spec.objects = vec![String::new()]), "a unique name"),
        (with(&|spec| spec.objects = vec!["../x".to_owned()]), "a unique name"),
        (with(&|spec| spec.objects.clear()), "in one folder"),
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let message = with(&|spec| spec.target = file.to_str().unwrap().parse().unwrap());
    assert!(message.contains("give a folder"), "{message}");
}

/// Names below `folder`, those of folders with a slash.
fn names_in(folder: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| {
        let slash = if entry.file_type().unwrap().is_dir() { "/" } else { "" };
        format!("{}{slash}", entry.file_name().into_string().unwrap())
    };
    let mut all: Vec<String> = fs::read_dir(folder).unwrap().map(|entry| name(entry.unwrap())).collect();
    all.sort();
    all
}

#[test]
fn objects_that_are_folders_are_made_looked_at_and_deleted_in_both_orders() {
    let failed = |name: &str| Err(name.to_owned());
    for folders in [0, 2] {
        let folder = tempfile::tempdir().unwrap();
        let set = ObjectSet { kind: ObjectKind::Folder, count: 4, folders, ..ObjectSet::default() };
        let spec = spec(folder.path(), set);
        let mut engine = open(&spec);
        let engine = engine.as_mut();
        for number in 0..4 {
            assert_eq!(ask(engine, Op::Put, number, 0), Ok(0));
            assert_eq!(ask(engine, Op::Put, number, 0), failed("EEXIST"));
            assert_eq!(ask(engine, Op::Stat, number, 0), Ok(0));
        }
        let place = folder.path().join(if folders == 0 { "set" } else { "set/00000" });
        assert_eq!(
            names_in(&place),
            if folders == 0 { vec!["0/", "1/", "2/", "3/"] } else { vec!["0/", "1/"] }
        );
        assert_eq!(
            (ask(engine, Op::Get, 1, 5), ask(engine, Op::Append, 1, 5)),
            (failed("EISDIR"), failed("EISDIR"))
        );
        assert_eq!(ask(engine, Op::Delete, 0, 0), Ok(0));
        assert_eq!(
            (ask(engine, Op::Delete, 0, 0), ask(engine, Op::Stat, 0, 0)),
            (failed("ENOENT"), failed("ENOENT"))
        );
        // One that is not empty is no object any more, and stays.
        fs::write(place.join("1/theirs"), "x").unwrap();
        assert_eq!(ask(engine, Op::Delete, 1, 0), failed("ENOTEMPTY"));
        fs::remove_file(place.join("1/theirs")).unwrap();
        for _ in 0..3 {
            assert_eq!(ask(engine, Op::Delete, OBJECT_LISTED, 0), Ok(0));
        }
        assert_eq!(ask(engine, Op::Delete, OBJECT_LISTED, 0), failed("ENOENT"));
        assert_eq!(names_in(&place), Vec::<String>::new());
        ask(engine, Op::Put, 2, 0).unwrap();
        ObjectsFactory::unconfined().remove(&spec).unwrap();
        assert_eq!(names_in(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn clients_with_names_of_their_own_work_in_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let set = ObjectSet { names: NameForm::Mdtest, shared_folder: true, count: 2, ..ObjectSet::default() };
    let spec = spec(folder.path(), set);
    let as_client = |client_index: u32| {
        ObjectsFactory::unconfined().open(&spec, &WorkerContext { client_index, ..worker() }).unwrap()
    };
    let (mut first, mut other) = (as_client(0), as_client(7));
    for number in 0..2 {
        assert_eq!(ask(first.as_mut(), Op::Put, number, 3), Ok(3));
        assert_eq!(ask(other.as_mut(), Op::Put, number, 5), Ok(5));
    }
    let names = ["file.mdtest.0.0", "file.mdtest.0.1", "file.mdtest.7.0", "file.mdtest.7.1"];
    assert_eq!(names_in(&folder.path().join("set")), names);
    // What one has made another one finds by its number.
    let mut visitor = as_client(0);
    assert_eq!(ask(visitor.as_mut(), Op::Get, 1, 9), Ok(3));
    assert_eq!(ask(as_client(7).as_mut(), Op::Delete, 1, 0), Ok(0));
    assert_eq!(names_in(&folder.path().join("set")), [names[0], names[1], names[2]]);
}

#[test]
fn synced_objects_are_said_to_be_durable() {
    let folder = tempfile::tempdir().unwrap();
    for sync in [ObjectSync::None, ObjectSync::Data, ObjectSync::DataAndFolder] {
        let mut engine =
            open(&spec(folder.path(), ObjectSet { sync, folders: 2, count: 2, ..ObjectSet::default() }));
        let durable = engine.effective().write_completion == Completion::Durable;
        assert_eq!(durable, sync != ObjectSync::None);
        for op in [Op::Put, Op::Append, Op::Delete] {
            assert!(ask(engine.as_mut(), op, 1, if op == Op::Delete { 0 } else { 9 }).is_ok(), "{op}");
        }
    }
}

#[test]
fn an_object_has_another_name_after_one_renaming_and_its_own_after_two_or_the_end() {
    for (folders, kind) in [(0, ObjectKind::File), (2, ObjectKind::File), (0, ObjectKind::Folder)] {
        let folder = tempfile::tempdir().unwrap();
        let sync = if kind == ObjectKind::File { ObjectSync::DataAndFolder } else { ObjectSync::None };
        let set = ObjectSet { count: 2, folders, kind, sync, ..ObjectSet::default() };
        let mut engine = open(&spec(folder.path(), set));
        let place = folder.path().join(if folders == 0 { "set" } else { "set/00000" });
        let end = if kind == ObjectKind::Folder { "/" } else { "" };
        let present = |number: u32, own: bool| {
            let name = format!("{number}{}{end}", if own { "" } else { "~" });
            names_in(&place).contains(&name)
        };
        assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Err("ENOENT".to_owned()));
        ask(engine.as_mut(), Op::Put, 0, 0).unwrap();
        assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Ok(0));
        assert!(present(0, false) && !present(0, true), "{:?}", names_in(&place));
        assert_eq!(ask(engine.as_mut(), Op::Stat, 0, 0), Err("ENOENT".to_owned()));
        assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Ok(0));
        assert!(present(0, true) && !present(0, false), "{:?}", names_in(&place));
        assert_eq!(ask(engine.as_mut(), Op::Rename, 0, 0), Ok(0));
        engine.close().unwrap();
        assert!(present(0, true) && !present(0, false), "{:?}", names_in(&place));
    }
}

#[test]
fn an_object_that_is_gone_while_it_has_its_second_name_is_named_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = open(&spec(folder.path(), ObjectSet { count: 2, ..ObjectSet::default() }));
    ask(engine.as_mut(), Op::Put, 1, 0).unwrap();
    ask(engine.as_mut(), Op::Rename, 1, 0).unwrap();
    fs::remove_file(folder.path().join("set/1~")).unwrap();
    let error = engine.close().unwrap_err().to_string();
    assert!(error.contains("give its own name back to 1"), "{error}");
}
