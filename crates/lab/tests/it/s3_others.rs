//! The engine `s3` against another server than versitygw: what both have in common is not one server's habit.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::s3::{files, now, place};
use crate::support::s3rver::{S3RVER_KEY, S3rver};
use crate::support::{SOON, lab_with_s3rver};
use narrows_engines::conformance::{self, complete, worker};
use narrows_engines::request::OBJECT_LISTED;
use narrows_engines::{Engine, EngineFactory, IoRequest, OpenSpec, Slot};
use narrows_lab::narrows_bin;
use narrows_model::workload::ObjectSet;
use narrows_model::{Bytes, Op, Summary, Workload};
use narrows_remote::s3::{S3Credentials, S3Environment, S3Factory};

/// Longer than a check of ten seconds takes with what is before and after it.
const CHECK: Duration = Duration::from_mins(1);
const BLOCK_BYTES: u32 = 64 << 10;
/// An object of three parts, with a rest.
const LARGE_BYTES: u32 = (12 << 20) + 5;
/// As many as one list may have: this server fails to make a list that goes on.
const COUNT: u32 = 1000;
/// More than that.
const MANY: u32 = 2500;

fn factory() -> S3Factory {
    let credentials =
        S3Credentials { key_id: S3RVER_KEY.to_owned(), secret: S3RVER_KEY.to_owned(), session_token: None };
    let environment = S3Environment { credentials: Some(credentials), ..S3Environment::default() };
    S3Factory::new(environment, now, worker().clock)
}

fn done(engine: &mut dyn Engine, op: Op, object: u32, length_bytes: u32) -> Result<u32, String> {
    let request = IoRequest { tag: 0, op, object, offset_bytes: 0, length_bytes, slot: Slot(0) };
    complete(engine, &[request]).remove(0).1
}

#[test]
#[ignore = "campaign: needs s3rver, which ./test --all installs"]
fn the_engine_conforms_and_every_operation_on_objects_is_done_by_another_server() {
    let Some(lab) = lab_with_s3rver() else { return };
    let server = S3rver::start(&lab);
    let factory = factory();
    for depth in [1, 8] {
        let own = place(&factory, &server.target("some/prefix")).unwrap();
        conformance::run(&factory, &conformance::spec(&own.target().to_string(), Op::Read, depth));
    }
    let own = place(&factory, &server.target("p")).unwrap();
    let mut workload = Workload {
        objects: Some(ObjectSet { count: 2000, ..ObjectSet::default() }),
        block_bytes: Bytes(u64::from(BLOCK_BYTES)),
        ..Workload::default()
    };
    workload.engine_options.set("part", 5 << 20);
    let spec = OpenSpec {
        workload,
        objects: vec!["objects-0-0".to_owned()],
        ..conformance::spec(&own.target().to_string(), Op::Put, 1)
    };
    let mut engine = factory.open(&spec, &worker()).unwrap();
    let engine = engine.as_mut();
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
    engine.buffer(Slot(0)).copy_from_slice(&block);
    assert_eq!(done(engine, Op::Put, 2000, LARGE_BYTES), Ok(LARGE_BYTES), "in parts");
    let stored = files(&server.bucket());
    let (_, large) = stored.iter().find(|(path, _)| path.ends_with("/2000._S3rver_object")).unwrap();
    assert!(large.iter().eq(block.iter().cycle().take(LARGE_BYTES as usize)), "its bytes are there");
    engine.buffer(Slot(0)).fill(0);
    assert_eq!(done(engine, Op::Get, 2000, LARGE_BYTES), Ok(LARGE_BYTES));
    assert_eq!(engine.buffer(Slot(0))[..5], block[..5], "the last block is what is left there");
    assert_eq!(done(engine, Op::Delete, 2000, 0), Ok(0));
    for number in 0..COUNT {
        assert_eq!(done(engine, Op::Put, number, 0), Ok(0));
    }
    assert_eq!(done(engine, Op::Get, 1999, 0), Err("ENOENT".to_owned()));
    assert!(engine.failure_detail(0).unwrap().contains("404 NoSuchKey"));
    for round in 0..COUNT {
        let deleted = done(engine, Op::Delete, OBJECT_LISTED, 0);
        assert_eq!(deleted, Ok(0), "{round}: {:?}", engine.failure_detail(0));
    }
    assert_eq!(done(engine, Op::Stat, OBJECT_LISTED, 0), Err("ENOENT".to_owned()));
    (0..50).for_each(|number| assert_eq!(done(engine, Op::Put, number, 0), Ok(0)));
    factory.remove(&spec).unwrap();
    drop(own);
    assert_eq!(files(&server.bucket()), BTreeMap::new(), "nothing is left");
}

#[test]
#[ignore = "campaign: needs s3rver, which ./test --all installs"]
fn more_objects_than_the_server_lists_at_once_are_removed() {
    let Some(lab) = lab_with_s3rver() else { return };
    let server = S3rver::start(&lab);
    let factory = factory();
    let own = place(&factory, &server.target("p")).unwrap();
    let objects = ObjectSet { count: u64::from(MANY), ..ObjectSet::default() };
    let spec = OpenSpec {
        workload: Workload { objects: Some(objects), block_bytes: Bytes(16), ..Workload::default() },
        objects: vec!["objects-0-0".to_owned()],
        ..conformance::spec(&own.target().to_string(), Op::Put, 1)
    };
    let mut engine = factory.open(&spec, &worker()).unwrap();
    for number in 0..MANY {
        assert_eq!(done(engine.as_mut(), Op::Put, number, 0), Ok(0));
    }
    factory.remove(&spec).unwrap();
    drop(own);
    assert_eq!(files(&server.bucket()), BTreeMap::new(), "nothing is left");
}

#[test]
#[ignore = "campaign: needs s3rver, which ./test --all installs"]
fn a_check_of_another_server_measures_reads_and_uploads_and_leaves_nothing() {
    let Some(lab) = lab_with_s3rver() else { return };
    let server = S3rver::start(&lab);
    let theirs = server.bucket().join("precious");
    fs::write(&theirs, "x").unwrap();
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["check", &server.target("p"), "--seconds", "10", "--json", "--quiet"]);
    command.env("HOME", lab.scratch()).env("AWS_ACCESS_KEY_ID", S3RVER_KEY);
    command.env("AWS_SECRET_ACCESS_KEY", S3RVER_KEY).current_dir(lab.scratch());
    let mut check = lab.start("check", command).unwrap();
    check.wait(CHECK).unwrap();
    let (json, said) = (check.stdout().unwrap(), check.stderr().unwrap());
    let summary: Summary =
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}\n{said}"));
    for op in [Op::Read, Op::Put] {
        let cells = summary.cells.iter().filter(|cell| cell.op == op);
        assert!(
            cells.clone().count() > 0 && cells.clone().all(|cell| cell.errors.is_empty()),
            "{op}: {said}"
        );
    }
    assert_eq!(files(&server.bucket()).into_keys().collect::<Vec<_>>(), ["precious"], "{said}");
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["check", &server.target("p").replace("/bucket/", "/absent/"), "--seconds", "1"]);
    command.env("HOME", lab.scratch()).env("AWS_ACCESS_KEY_ID", S3RVER_KEY);
    command.env("AWS_SECRET_ACCESS_KEY", S3RVER_KEY).current_dir(lab.scratch());
    let mut check = lab.start("absent", command).unwrap();
    check.wait(SOON).unwrap();
    assert!(check.stderr().unwrap().contains("NoSuchBucket"), "{}", check.stderr().unwrap());
}
