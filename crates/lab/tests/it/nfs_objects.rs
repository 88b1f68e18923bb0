//! Whole objects on a real NFS server: bytes as the exported folder has them, suites, a restart in the middle of a load.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::nfs::{OPEN, calls, export, start_run, summary_of};
use crate::s3::files;
use crate::support::ganesha::Ganesha;
use crate::support::waits::{pause, wait_for_own_place, wait_until};
use crate::support::{SOON, assert_nothing_left, lab_with_nfs};
use narrows_engines::conformance::{self, complete, worker};
use narrows_engines::nfs::NfsFactory;
use narrows_engines::request::OBJECT_LISTED;
use narrows_engines::{
    Engine, EngineFactory, IoRequest, MonotonicClock, OpenSpec, OwnPlace, PlaceRequest, ProtocolCounters,
    Slot,
};
use narrows_lab::{Lab, narrows_bin};
use narrows_model::workload::{ObjectSet, ObjectSync, SyncPolicy};
use narrows_model::{Bytes, Op, Workload};

const BLOCK_BYTES: usize = 4096;

/// The bytes of an object of this number.
fn content(number: u32, length: usize) -> Vec<u8> {
    let block = (0..BLOCK_BYTES).map(|at| u8::try_from((at * 7 + number as usize * 13) % 251).unwrap());
    block.cycle().take(length).collect()
}

/// Lengths of objects: none, one byte, less than a block, a block, several with a rest.
fn length(number: u32) -> u32 {
    [0, 1, 1000, 4096, 20_000][number as usize % 5]
}

fn done(engine: &mut dyn Engine, op: Op, object: u32, length_bytes: u32) -> u32 {
    let request = IoRequest { tag: 0, op, object, offset_bytes: 0, length_bytes, slot: Slot(0) };
    match complete(engine, &[request]).remove(0).1 {
        Ok(moved) => moved,
        Err(errno) => panic!("{op} of {object}: {errno} {:?}", engine.failure_detail(0)),
    }
}

fn put(engine: &mut dyn Engine, number: u32) {
    engine.buffer(Slot(0)).copy_from_slice(&content(number, BLOCK_BYTES));
    assert_eq!(done(engine, Op::Put, number, length(number)), length(number));
}

/// A place of our own in the export of `server`.
fn own_place(server: &Ganesha<'_>) -> Box<dyn OwnPlace> {
    let place = PlaceRequest {
        nonce: 7,
        owner: "a test",
        is_gone: &|_| false,
        clock: Arc::new(MonotonicClock::new()),
        timeout_ns: 5_000_000_000,
    };
    NfsFactory.own_place(&server.target("/data").parse().unwrap(), &place).unwrap().unwrap()
}

#[test]
fn objects_are_files_of_the_export_with_their_bytes_and_every_operation_finds_them() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let server = Ganesha::start(&lab, 1, &folder, OPEN);
    let own = own_place(&server);
    let set =
        |folders, sync| ObjectSet { count: 100, folders, sync, stat_reads: true, ..ObjectSet::default() };
    for (set, policy, options) in [
        (set(0, ObjectSync::None), SyncPolicy::None, &[][..]),
        (set(3, ObjectSync::DataAndFolder), SyncPolicy::None, &[("connections", 3)]),
        (set(2, ObjectSync::None), SyncPolicy::Dsync, &[("rsize", 1024), ("wsize", 1500)]),
    ] {
        let mut workload = Workload {
            objects: Some(set),
            sync: policy,
            block_bytes: Bytes(BLOCK_BYTES as u64),
            ..Workload::default()
        };
        for (name, value) in options {
            workload.engine_options.set(name, *value);
        }
        let target = own.target().to_string();
        let spec = OpenSpec {
            workload,
            objects: vec!["objects-0-0".to_owned()],
            ..conformance::spec(&target, Op::Put, 1)
        };
        let mut engine = NfsFactory.open(&spec, &worker()).unwrap();
        let engine = engine.as_mut();
        (0..100).for_each(|number| put(engine, number));
        assert_eq!(done(engine, Op::Append, 7, 700), 700);
        let mut stored = files(&wait_for_own_place(&folder).join("objects-0-0")).into_iter();
        let by_number = |path: &str| path.rsplit('/').next().unwrap().parse::<u32>().unwrap();
        let all: BTreeMap<u32, Vec<u8>> =
            stored.by_ref().map(|(path, bytes)| (by_number(&path), bytes)).collect();
        let expected = (0..100).map(|number| {
            let mut bytes = content(number, length(number) as usize);
            // What the last put has left in the block.
            bytes.extend(if number == 7 { content(99, 700) } else { Vec::new() });
            (number, bytes)
        });
        assert_eq!(all, expected.collect::<BTreeMap<_, _>>(), "{set:?}");
        for number in [3, 4, 99] {
            assert_eq!(done(engine, Op::Get, number, length(number)), length(number));
            let rest = length(number) as usize % BLOCK_BYTES;
            let last = if rest == 0 { BLOCK_BYTES } else { rest };
            assert_eq!(engine.buffer(Slot(0))[..last], content(number, BLOCK_BYTES)[..last], "{number}");
        }
        let bytes: u32 = (0..100).map(|_| done(engine, Op::Stat, OBJECT_LISTED, 0)).sum();
        assert_eq!(bytes, (0..100).map(length).sum::<u32>() + 700);
        let paths = || files(&wait_for_own_place(&folder).join("objects-0-0")).into_keys();
        assert_eq!(done(engine, Op::Rename, 5, 0), 0);
        let second: Vec<String> = paths().filter(|path| path.ends_with('~')).collect();
        assert!(second.len() == 1 && second[0].rsplit('/').next() == Some("5~"), "{second:?}");
        assert_eq!(done(engine, Op::Rename, 5, 0), 0);
        assert!(paths().all(|path| !path.ends_with('~')), "its own name again");
        (0..50).for_each(|number| assert_eq!(done(engine, Op::Delete, number, 0), 0));
        assert_eq!(done(engine, Op::Sync, 0, 0), 0);
        // A listing is begun once by each engine.
        let mut engine = NfsFactory.open(&spec, &worker()).unwrap();
        (0..50).for_each(|_| assert_eq!(done(engine.as_mut(), Op::Delete, OBJECT_LISTED, 0), 0));
        assert_eq!(files(&wait_for_own_place(&folder).join("objects-0-0")), BTreeMap::new());
        NfsFactory.remove(&spec).unwrap();
    }
    drop(own);
    assert_nothing_left(&folder);
}

#[test]
fn a_stat_is_a_lookup_or_a_getattr_alone_as_the_server_counts_them() {
    const COUNT: u32 = 40;
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let server = Ganesha::start_logging(&lab, 1, &folder);
    let own = own_place(&server);
    let spec = |stat: &str| {
        let set = ObjectSet { count: u64::from(COUNT), folders: 2, ..ObjectSet::default() };
        let mut workload = Workload { op: Op::Stat, objects: Some(set), ..Workload::default() };
        workload.engine_options.set("stat", stat);
        let target = own.target().to_string();
        let objects = vec!["objects-0-0".to_owned()];
        OpenSpec { workload, objects, ..conformance::spec(&target, Op::Stat, 1) }
    };
    let mut maker = NfsFactory.open(&spec("lookup"), &worker()).unwrap();
    (0..COUNT).for_each(|number| put(maker.as_mut(), number));
    for (stat, getattrs, lookups) in [("lookup", 0, COUNT), ("getattr", COUNT, 0)] {
        let mut engine = NfsFactory.open(&spec(stat), &worker()).unwrap();
        let counted = || ["GETATTR", "LOOKUP"].map(|name| server.logged_calls(name));
        let before = counted();
        (0..COUNT).for_each(|number| assert_eq!(done(engine.as_mut(), Op::Stat, number, 0), 0));
        let after = counted();
        let logged = [after[0] - before[0], after[1] - before[1]];
        assert_eq!(logged, [getattrs as usize, lookups as usize], "{stat}");
        let mut counters = ProtocolCounters::default();
        engine.counters(&mut counters);
        let rpc = counters.rpc.unwrap();
        let names = rpc.procedures.iter().map(|one| (one.procedure.as_str(), one.reply_count));
        let expected = if stat == "getattr" { "GETATTR" } else { "LOOKUP" };
        assert_eq!(names.collect::<Vec<_>>(), [(expected, u64::from(COUNT))], "{stat}");
    }
    // The same as a study, whose stats find the objects that its puts have made.
    let text = format!(
        "title = \"stat\"\ntarget = \"{}\"\ncuts = []\ncell_order = \"as_written\"\n[workload]\nworkers = 2\n\
         [workload.nfs]\nstat = \"getattr\"\n[workload.objects]\ncount = 100\n[sweep]\nop = [\"put\", \"stat\"]\n",
        server.target("/data")
    );
    let mut run = start_run(&lab, "stat", &text);
    run.wait(SOON).unwrap();
    let cells = summary_of(&run).cells;
    assert!(cells[1].errors.is_empty() && cells[1].protocol.len() == 1, "{:?}", cells[1].protocol);
    assert_eq!(calls(&cells[1], "GETATTR").reply_count, 100);
}

/// What a command of narrows prints.
fn printed(lab: &Lab, name: &str, words: &str) -> String {
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(words.split_whitespace()).current_dir(lab.scratch());
    let mut run = lab.start(name, command).unwrap();
    run.wait(SOON).unwrap();
    let printed = run.stdout().unwrap();
    assert!(!printed.is_empty(), "{words}: {}", run.stderr().unwrap());
    printed
}

/// The counts of PostMark's report, which follow from its seed alone.
fn counts(report: &str) -> Vec<String> {
    let counted = report.lines().filter(|line| line.contains('(') && !line.contains("seconds"));
    counted.map(|line| line.split('(').next().unwrap().trim().to_owned()).collect()
}

#[test]
fn studies_and_suites_run_on_an_export_and_leave_nothing() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let server = Ganesha::start(&lab, 1, &folder, OPEN);
    let target = server.target("/data");
    let text = format!(
        "title = \"objects\"\ntarget = \"{target}\"\ncuts = []\ncell_order = \"as_written\"\n[workload]\nclients = 2\n\
         workers = 2\n[workload.objects]\ncount = 100\nmin = 6000\nmax = 6000\nfolders = 2\nsync = \"data\"\n[stop]\n\
         measure = \"20s\"\n[sweep]\nop = [\"put\", \"stat\", \"get\", \"rename\", \"delete\"]\n"
    );
    let mut run = start_run(&lab, "objects", &text);
    run.wait(SOON).unwrap();
    let summary = summary_of(&run);
    let counted: Vec<Vec<(&str, u64)>> = ["CREATE WRITE COMMIT", "LOOKUP", "LOOKUP READ", "RENAME", "REMOVE"]
        .iter()
        .zip(&summary.cells)
        .map(|(names, cell)| {
            assert!(cell.errors.is_empty() && cell.protocol.len() == names.split(' ').count(), "{cell:?}");
            names.split(' ').map(|name| (name, calls(cell, name).call_count)).collect()
        })
        .collect();
    let expected = [
        vec![("CREATE", 200), ("WRITE", 400), ("COMMIT", 200)],
        vec![("LOOKUP", 200)],
        vec![("LOOKUP", 200), ("READ", 400)],
        // To another name and back.
        vec![("RENAME", 400)],
        vec![("REMOVE", 200)],
    ];
    assert_eq!(counted, expected, "2 clients with 100 objects of two blocks each");
    let words = "--number 60 --transactions 200 --buffering false --no-verdict --quiet --yes";
    let report = printed(&lab, "postmark", &format!("suite postmark --location {target} {words}"));
    fs::create_dir(lab.scratch().join("local")).unwrap();
    let local = printed(&lab, "local", &format!("suite postmark --location local {words}"));
    assert_eq!(counts(&report), counts(&local), "the same seed does the same: {report}");
    let bonnie = printed(
        &lab,
        "bonnie",
        &format!("suite bonnie -d {target} -s 0 -n 1:100:100:2 --no-verdict --quiet --yes"),
    );
    assert!(bonnie.contains("-Create-- --Read--- -Delete--"), "{bonnie}");
    assert_nothing_left(&folder);
}

#[test]
fn a_server_that_is_killed_while_objects_are_made_and_deleted_loses_none_and_all_is_counted() {
    let Some(lab) = lab_with_nfs() else { return };
    let folder = export(&lab);
    let mut server = Ganesha::start(&lab, 1, &folder, OPEN);
    let text = format!(
        "title = \"a restart\"\ntarget = \"{}\"\ncuts = []\n[workload]\nblock = \"4KiB\"\n[workload.objects]\ncount = \
         200\nmin = 100\nmax = 9000\n[workload.transactions]\ncount = 10000000\n[stop]\nmeasure = \"3s\"\n",
        server.target("/data")
    );
    let mut run = start_run(&lab, "restart", &text);
    let set = wait_for_own_place(&folder).join("objects-0-0");
    wait_until(|| fs::read_dir(&set).is_ok_and(|names| names.count() >= 200));
    pause(Duration::from_millis(700));
    server.kill();
    pause(Duration::from_millis(100));
    server.start_again();
    run.wait(SOON).unwrap();
    let summary = summary_of(&run);
    let cell = &summary.cells[0];
    assert!(cell.errors.is_empty(), "no object was shorter than it was made: {:?}", cell.errors);
    let events = cell.protocol_events.unwrap();
    assert_eq!((events.reconnect_count, events.verifier_change_count), (1, 1), "{events:?}");
    assert!(events.rewritten_count > 0, "{events:?}");
    let again: u64 = cell.protocol.iter().map(|one| one.retransmit_count).sum();
    assert_eq!(again, 1, "the call that was in flight: {:?}", cell.protocol);
    let failed: u64 = cell.protocol.iter().map(|one| one.error_count).sum();
    // A REMOVE that was executed before: itself, and a WRITE or COMMIT of what it has removed.
    let done_before = events.done_before_count;
    assert!((done_before..=2 * done_before).contains(&failed), "{:?}", cell.protocol);
    assert_nothing_left(&folder);
}
