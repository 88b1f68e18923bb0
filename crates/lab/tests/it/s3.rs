//! The engine `s3` against a real server: conformance, data seen as files, restarts in the middle of a load, refusals, TLS.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::versity::{BUCKET, KEY_ID, SECRET, Versity};
use crate::support::waits::{pause, wait_for_own_place, wait_until};
use crate::support::{SOON, lab_with_s3};
use narrows_engines::conformance::{self, complete, worker};
use narrows_engines::{
    Engine, EngineFactory, IoRequest, MonotonicClock, OpenSpec, OwnPlace, PlaceRequest, ProtocolCounters,
    Slot,
};
use narrows_lab::{Lab, LabProcess, narrows_bin};
use narrows_model::summary::CellSummary;
use narrows_model::workload::ObjectSet;
use narrows_model::{Bytes, Op, Summary, Workload};
use narrows_remote::s3::{S3Credentials, S3Environment, S3Factory};

const SLOT_BYTES: u32 = 64 << 10;
const BLOCK_BYTES: usize = SLOT_BYTES as usize;

#[allow(clippy::disallowed_methods, reason = "signatures are dated")]
pub(crate) fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

fn environment(secret: &str) -> S3Environment {
    let credentials =
        S3Credentials { key_id: KEY_ID.to_owned(), secret: secret.to_owned(), session_token: None };
    S3Environment { credentials: Some(credentials), ..S3Environment::default() }
}

fn factory() -> S3Factory {
    S3Factory::new(environment(SECRET), now, worker().clock)
}

/// A place of our own below `prefix`.
pub(crate) fn place(factory: &S3Factory, target: &str) -> Result<Box<dyn OwnPlace>, String> {
    let request = PlaceRequest {
        nonce: 7,
        owner: "a test",
        is_gone: &|_| false,
        clock: Arc::new(MonotonicClock::new()),
        timeout_ns: 5_000_000_000,
    };
    let made = factory.own_place(&target.parse().unwrap(), &request).map_err(|error| error.to_string())?;
    Ok(made.unwrap())
}

/// Every file below `folder` with its content, by its path relative to it.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            let inner = files(&entry.path()).into_iter();
            found.extend(inner.map(|(path, content)| (format!("{name}/{path}"), content)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn the_engine_conforms_at_every_depth() {
    let Some(lab) = lab_with_s3() else { return };
    let server = Versity::start(&lab);
    let factory = factory();
    for (depth, connections) in [(1, None), (8, None), (32, None), (32, Some(4))] {
        let own = place(&factory, &server.target("some/prefix")).unwrap();
        let mut spec = conformance::spec(&own.target().to_string(), Op::Read, depth);
        if let Some(connections) = connections {
            spec.workload.engine_options.set("connections", connections);
        }
        conformance::run(&factory, &spec);
    }
    assert_eq!(files(&server.bucket()), BTreeMap::new(), "nothing is left");
}

/// What an object of this number is made of.
fn block_of(number: u32) -> Vec<u8> {
    (0..BLOCK_BYTES).map(|at| u8::try_from((at * 7 + number as usize * 13) % 251).unwrap()).collect()
}

fn object_spec(target: &str, op: Op, depth: u32) -> OpenSpec {
    let set = ObjectSet { count: 64, folders: 2, ..ObjectSet::default() };
    let mut workload = Workload {
        op,
        objects: Some(set),
        block_bytes: Bytes(BLOCK_BYTES as u64),
        queue_depth: depth,
        ..Workload::default()
    };
    workload.engine_options.set("part", 5 << 20);
    OpenSpec { workload, objects: vec!["set".to_owned()], ..conformance::spec(target, Op::Read, depth) }
}

/// Lengths of objects: none, one byte, less than a block, a block, more than one, and three parts of an upload.
const LENGTHS: [u32; 6] = [0, 1, 4096, SLOT_BYTES, SLOT_BYTES + 5, (11 << 20) + 3];

fn objects_of(depth: u32) -> Vec<(u32, u32)> {
    (0..depth.max(6) + 6).map(|number| (number, LENGTHS[number as usize % 6])).collect()
}

fn in_batches(
    engine: &mut dyn Engine,
    op: Op,
    objects: &[(u32, u32)],
    depth: u32,
    mut before: impl FnMut(&mut [u8], u32),
    mut after: impl FnMut(&[u8], u32, u32, u32),
) {
    for batch in objects.chunks(depth as usize) {
        let requests: Vec<IoRequest> = (0..)
            .zip(batch)
            .map(|(tag, (number, length_bytes))| {
                let slot = Slot(tag);
                before(engine.buffer(slot), *number);
                IoRequest { tag, op, object: *number, offset_bytes: 0, length_bytes: *length_bytes, slot }
            })
            .collect();
        let done = complete(engine, &requests);
        for ((tag, result), (number, length)) in done.into_iter().zip(batch) {
            let moved = result.unwrap_or_else(|errno| panic!("{op} of {number}: {errno}"));
            after(engine.buffer(Slot(tag)), *number, *length, moved);
        }
    }
}

#[test]
fn what_is_put_is_a_file_with_these_bytes_and_what_is_got_is_the_same() {
    let Some(lab) = lab_with_s3() else { return };
    let server = Versity::start(&lab);
    let factory = factory();
    for depth in [1, 8, 32] {
        let own = place(&factory, &server.target("data")).unwrap();
        let target = own.target().to_string();
        let objects = objects_of(depth);
        let mut engine = factory.open(&object_spec(&target, Op::Put, depth), &worker()).unwrap();
        let fill = |slot: &mut [u8], number| slot.copy_from_slice(&block_of(number));
        in_batches(engine.as_mut(), Op::Put, &objects, depth, fill, |_, _, length, moved| {
            assert_eq!(moved, length);
        });
        let stored = files(&server.bucket().join("data"));
        for (number, length) in &objects {
            let (_, content) = stored.iter().find(|(path, _)| path.ends_with(&format!("/{number}"))).unwrap();
            let expected: Vec<u8> = block_of(*number).into_iter().cycle().take(*length as usize).collect();
            assert!(*content == expected, "object {number} of {length} bytes at depth {depth}");
        }
        let clear = |slot: &mut [u8], _| slot.fill(0);
        in_batches(engine.as_mut(), Op::Get, &objects, depth, clear, |slot, number, length, moved| {
            assert_eq!(moved, length);
            // Of what is larger than a slot the end is left in it, which begins with a block's start.
            let last = if length == 0 { 0 } else { (length as usize - 1) % BLOCK_BYTES + 1 };
            assert!(slot[..last] == block_of(number)[..last], "object {number}");
        });
        in_batches(engine.as_mut(), Op::Stat, &objects, depth, clear, |_, _, _, _| {});
        let mut counters = ProtocolCounters::default();
        engine.counters(&mut counters);
        let rpc = counters.rpc.unwrap();
        let calls = |name: &str| {
            rpc.procedures.iter().find(|known| known.procedure == name).map_or(0, |known| known.call_count)
        };
        let large = objects.iter().filter(|(_, length)| *length == LENGTHS[5]).count() as u64;
        assert_eq!(calls("CreateMultipartUpload"), large);
        assert_eq!((calls("UploadPart"), calls("CompleteMultipartUpload")), (3 * large, large));
        assert_eq!(
            (calls("PutObject"), calls("GetObject")),
            (objects.len() as u64 - large, objects.len() as u64)
        );
        assert!(
            rpc.procedures.iter().all(|one| one.error_count == 0 && one.retransmit_count == 0),
            "{rpc:?}"
        );
        assert_eq!((rpc.phases[0].phase.as_str(), rpc.phases[0].count), ("connect", u64::from(depth)));
        assert!(rpc.phases.iter().any(|phase| phase.phase == "first byte" && phase.latency_sum_ns.0 > 0));
        in_batches(engine.as_mut(), Op::Delete, &objects, depth, clear, |_, _, _, _| {});
        engine.close().unwrap();
        let names: Vec<String> = files(&server.bucket()).into_keys().collect();
        assert!(names.iter().all(|name| name.ends_with("made-by-narrows")) && names.len() == 1, "{names:?}");
    }
}

#[test]
fn a_listing_visits_every_object_once_and_a_missing_one_is_an_error_with_its_code() {
    let Some(lab) = lab_with_s3() else { return };
    let server = Versity::start(&lab);
    fs::write(server.bucket().join("precious"), "x").unwrap();
    let factory = factory();
    let own = place(&factory, &server.target("data")).unwrap();
    let spec = object_spec(&own.target().to_string(), Op::Put, 1);
    let mut engine = factory.open(&spec, &worker()).unwrap();
    let engine = engine.as_mut();
    let ask = |engine: &mut dyn Engine, op, object| {
        let request = IoRequest { tag: 0, op, object, offset_bytes: 0, length_bytes: 0, slot: Slot(0) };
        complete(engine, &[request]).pop().unwrap().1
    };
    // More than a list has at once.
    for number in 0..1003 {
        assert_eq!(ask(engine, Op::Put, number), Ok(0));
    }
    assert_eq!(ask(engine, Op::Get, 5000), Err("ENOENT".to_owned()));
    assert!(engine.failure_detail(0).unwrap().contains("404 NoSuchKey"));
    for _ in 0..1003 {
        assert_eq!(ask(engine, Op::Delete, narrows_engines::request::OBJECT_LISTED), Ok(0));
    }
    assert_eq!(ask(engine, Op::Stat, narrows_engines::request::OBJECT_LISTED), Err("ENOENT".to_owned()));
    for number in 0..1003 {
        assert_eq!(ask(engine, Op::Put, number), Ok(0));
    }
    factory.remove(&spec).unwrap();
    assert_eq!(files(&server.bucket()).len(), 2, "the marker and what is not ours");
    drop(own);
    assert_eq!(files(&server.bucket()), BTreeMap::from([("precious".to_owned(), b"x".to_vec())]));
}

/// A study of verified reads of ranges.
fn study(target: &str, seconds: u32) -> String {
    format!(
        "title = \"ranges\"\ntarget = \"{target}\"\ncuts = []\n\n[workload]\nverify = true\nop = \"read\"\norder = \
         \"random_with_replacement\"\nfile = \"24MiB\"\nblock = \"64KiB\"\ndepth = 8\n\n[stop]\nwarm_up = \"100ms\"\nmeasure = \
         \"{seconds}s\"\n"
    )
}

/// A run of a study, started; its record is in `NAME`.
fn start_run(lab: &Lab, name: &str, text: &str, environment: &[(&str, &str)]) -> LabProcess {
    let file = lab.scratch().join(format!("{name}.toml"));
    fs::write(&file, text).unwrap();
    let mut command = Command::new(narrows_bin().unwrap());
    command.args(["run", "--yes", "--trials", "1", "--json", "--out"]);
    command.arg(lab.scratch().join(name)).arg(&file).current_dir(lab.scratch());
    command.env("HOME", lab.scratch()).env("AWS_ACCESS_KEY_ID", KEY_ID).env("AWS_SECRET_ACCESS_KEY", SECRET);
    command.envs(environment.iter().copied());
    lab.start(name, command).unwrap()
}

fn summary_of(run: &LabProcess) -> Summary {
    let json = run.stdout().unwrap();
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}\n{}", run.stderr().unwrap()))
}

fn replies(cell: &CellSummary, procedure: &str) -> u64 {
    cell.protocol.iter().find(|known| known.procedure == procedure).map_or(0, |known| known.reply_count)
}

#[test]
fn a_server_that_is_killed_and_started_again_is_counted_and_nothing_is_sent_again() {
    let Some(lab) = lab_with_s3() else { return };
    let mut server = Versity::start(&lab);
    let mut run = start_run(&lab, "restart", &study(&server.target("p"), 6), &[]);
    let own = wait_for_own_place(&server.bucket().join("p"));
    wait_until(|| fs::metadata(own.join("data-0")).is_ok_and(|file| file.len() == 24 << 20));
    pause(Duration::from_millis(1500));
    server.kill();
    pause(Duration::from_millis(300));
    server.start_again();
    run.wait(SOON).unwrap();
    let summary = summary_of(&run);
    let cell = &summary.cells[0];
    let verified = cell.verification.as_ref().unwrap();
    assert_eq!((verified.wrong_bytes.0, verified.mismatch_count), (0, 0), "{verified:?}");
    assert!(verified.checked_bytes.0 > 0, "{verified:?}");
    let errors: u64 = cell.errors.iter().map(|error| error.count).sum();
    assert!((1..=16).contains(&errors), "what was in flight, of a depth of 8: {:?}", cell.errors);
    let events = cell.protocol_events.unwrap();
    assert!((1..=16).contains(&events.reconnect_count), "{events:?}");
    assert!(cell.protocol.iter().all(|one| one.retransmit_count == 0), "{:?}", cell.protocol);
    assert!(replies(cell, "GetObject") > 100, "{:?}", cell.protocol);
    assert!(cell.protocol_phases.iter().any(|phase| phase.phase == "body" && phase.count > 100));
    assert_eq!(files(&server.bucket()), BTreeMap::new(), "nothing is left");
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_and_an_interrupted_one_leaves_nothing() {
    let Some(lab) = lab_with_s3() else { return };
    let server = Versity::start(&lab);
    let theirs = server.bucket().join("p/.narrows-theirs");
    fs::create_dir_all(&theirs).unwrap();
    fs::write(theirs.join("precious"), "x").unwrap();
    let text = study(&server.target("p"), 5);
    let mut killed = start_run(&lab, "killed", &text, &[]);
    let left = wait_for_own_place(&server.bucket().join("p"));
    wait_until(|| left.join("data-0").exists());
    killed.kill9().unwrap();
    assert!(left.exists());
    let mut interrupted = start_run(&lab, "interrupted", &text, &[]);
    wait_until(|| !left.exists());
    let own = wait_for_own_place(&server.bucket().join("p"));
    wait_until(|| own.join("data-0").exists());
    // Twice: the first one waits for the end of the cell.
    interrupted.interrupt().unwrap();
    pause(Duration::from_millis(200));
    interrupted.interrupt().unwrap();
    interrupted.wait(SOON).unwrap();
    assert!(interrupted.stderr().unwrap().contains("which a run that was killed had left"));
    let stays = BTreeMap::from([("p/.narrows-theirs/precious".to_owned(), b"x".to_vec())]);
    assert_eq!(files(&server.bucket()), stays, "{}", interrupted.stderr().unwrap());
}

#[test]
fn loads_of_whole_objects_run_and_writes_of_ranges_are_refused_with_what_is_allowed() {
    let Some(lab) = lab_with_s3() else { return };
    let server = Versity::start(&lab);
    let text = format!(
        "title = \"objects\"\ntarget = \"{}\"\ncuts = []\n\n[workload]\nblock = \"16KiB\"\nworkers = \
         4\n\n[workload.objects]\ncount = 200\nmin = \"16KiB\"\n\n[sweep]\nop = [\"put\", \"get\", \"stat\", \
         \"delete\"]\n",
        server.target("p")
    );
    let mut run = start_run(&lab, "objects", &text, &[("AWS_REGION", "us-east-1")]);
    run.wait(SOON).unwrap();
    let summary = summary_of(&run);
    let procedures = [
        (Op::Put, "PutObject"),
        (Op::Get, "GetObject"),
        (Op::Stat, "HeadObject"),
        (Op::Delete, "DeleteObject"),
    ];
    for (op, procedure) in procedures {
        let cell = summary.cells.iter().find(|cell| cell.op == op).unwrap();
        assert!(cell.errors.is_empty() && replies(cell, procedure) == 200, "{op} {:?}", cell.protocol);
        let opened = cell.protocol_phases.iter().find(|phase| phase.before_load).unwrap();
        assert_eq!((opened.phase.as_str(), opened.count), ("connect", 4));
    }
    assert_eq!(summary.cells.len(), 4, "{}", run.stderr().unwrap());
    assert!(!run.stdout().unwrap().contains(SECRET), "no secret is printed");
    let record = files(&lab.scratch().join("objects"));
    let has_secret = |content: &Vec<u8>| String::from_utf8_lossy(content).contains(SECRET);
    assert!(!record.values().any(has_secret), "no secret is recorded");
    let text = study(&server.target("p"), 1).replace("op = \"read\"", "op = \"write\"");
    let mut run = start_run(&lab, "writes", &text, &[]);
    run.wait(SOON).unwrap();
    let said = run.stdout().unwrap() + &run.stderr().unwrap();
    assert!(said.contains("found the operation write at s3://"), "{said}");
    assert_eq!(files(&server.bucket()), BTreeMap::new(), "nothing is left");
}

#[test]
fn refusals_of_a_server_say_what_to_do() {
    let Some(lab) = lab_with_s3() else { return };
    let server = Versity::start(&lab);
    let refused = |target: &str, environment: &[(&str, &str)]| {
        let mut run = start_run(&lab, "refused", &study(target, 1), environment);
        run.wait(SOON).unwrap();
        run.stderr().unwrap()
    };
    let target = server.target("p");
    let message = refused(&target, &[("AWS_SECRET_ACCESS_KEY", "wrong")]);
    assert!(
        message.contains("SignatureDoesNotMatch") && message.contains("AWS_SECRET_ACCESS_KEY"),
        "{message}"
    );
    let message = refused(&target, &[("AWS_ACCESS_KEY_ID", "nobody")]);
    assert!(message.contains("the provided access key ID"), "{message}");
    let message = refused(&target.replace(BUCKET, "absent"), &[]);
    assert!(message.contains("NoSuchBucket") && message.contains("the name of the bucket"), "{message}");
    let message = refused("s3://bucket/p?endpoint=http://127.0.0.1:1", &[]);
    assert!(message.contains("no connection could be made") && message.contains("refused"), "{message}");
    let message = refused(&target, &[("AWS_ACCESS_KEY_ID", ""), ("AWS_PROFILE", "absent")]);
    assert!(
        message.contains("`absent` (AWS_PROFILE)") && message.contains("~/.aws/credentials"),
        "{message}"
    );
    let late = S3Factory::new(environment(SECRET), || now() - 4000, worker().clock);
    let message = place(&late, &target).err().unwrap();
    assert!(message.contains("s behind the server's") && message.contains("NTP"), "{message}");
    assert_eq!(files(&server.bucket()), BTreeMap::new(), "nothing is left");
}

#[test]
fn a_certificate_is_accepted_with_its_authority_alone() {
    let Some(lab) = lab_with_s3() else { return };
    let folder = lab.scratch().join("tls");
    fs::create_dir(&folder).unwrap();
    make_certificates(&folder);
    let path = |name: &str| folder.join(name).display().to_string();
    let options = ["--cert".to_owned(), path("server.pem"), "--key".to_owned(), path("server.key")];
    let server = Versity::start_with(&lab, &options);
    let target = format!("s3://{BUCKET}/p?endpoint={}", server.endpoint("https"));
    let message = place(&factory(), &target).err().unwrap();
    assert!(message.contains("TLS was refused") && message.contains("UnknownIssuer"), "{message}");
    assert!(message.contains("ca=FILE"), "{message}");
    let trusted = format!("{target}&ca={}", path("ca.pem"));
    let factory = factory();
    let own = place(&factory, &trusted).unwrap();
    let spec = conformance::spec(&own.target().to_string(), Op::Read, 8);
    conformance::run(&factory, &spec);
    let mut engine = factory.open(&OpenSpec { create: true, ..spec }, &worker()).unwrap();
    let mut counters = ProtocolCounters::default();
    engine.counters(&mut counters);
    let phases = counters.rpc.unwrap().phases;
    let handshakes = phases.iter().find(|phase| phase.phase == "TLS").unwrap();
    assert!(handshakes.count >= 8 && handshakes.latency_sum_ns.0 > 0, "{phases:?}");
    engine.close().unwrap();
    drop(own);
    let plain = target.replace("https", "http");
    let message = place(&self::factory(), &plain).err().unwrap();
    assert!(!message.is_empty());
    assert_eq!(files(&server.bucket()), BTreeMap::new(), "nothing is left");
}

/// An authority of its own, and a certificate of it for this machine.
fn make_certificates(folder: &Path) {
    let script = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=lab-ca \
                  -keyout ca.key -out ca.pem -addext basicConstraints=critical,CA:TRUE && \
                  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=lab -keyout server.key \
                  -out server.csr && printf 'subjectAltName=IP:127.0.0.1\\n' >names && \
                  openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names \
                  -out server.pem";
    let made = Command::new("sh").args(["-c", script]).current_dir(folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}
