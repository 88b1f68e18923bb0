//! `narrows serve` under a limit of open files: what it raises, keeps free and refuses, and how it waits for them.

use crate::support::Guarded;
use narrows_engines::endpoint::{ControlClient, EndpointFactory};
use narrows_engines::{
    Engine, EngineError, EngineFactory, MonotonicClock, OpenSpec, StopFlag, WorkerContext,
};
use narrows_model::{Bytes, Op, Workload};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Longer than any answer of a server that lives.
const TIMEOUT_NS: u64 = 10_000_000_000;

struct Limited {
    child: Guarded,
    address: String,
    _folder: tempfile::TempDir,
}

impl Limited {
    /// A server with a disk store and a limit of open files, as `prlimit --nofile` takes it.
    fn start(limit: &str) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut child = Guarded(
            Command::new("prlimit")
                .arg(format!("--nofile={limit}"))
                .args([env!("CARGO_BIN_EXE_narrows"), "serve", "--listen", "127.0.0.1:0", "--root"])
                .arg(folder.path())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, address, _folder: folder }
    }

    fn control(&self) -> Result<ControlClient, EngineError> {
        let (host, port) = self.address.split_once(':').unwrap();
        let clock = Arc::new(MonotonicClock::new());
        ControlClient::connect(host, port.parse().unwrap(), None, clock, TIMEOUT_NS)
    }

    /// A data connection with `count` objects of the session `id`.
    fn open(&self, id: &str, count: usize) -> Result<Box<dyn Engine>, EngineError> {
        let workload = Workload { op: Op::Write, file_bytes: Bytes(4096), ..Workload::default() };
        let spec = OpenSpec {
            target: format!("tcp://{}/disk", self.address).parse().unwrap(),
            objects: (0..count).map(|index| format!("data-{index}")).collect(),
            object_bytes: workload.file_bytes,
            workload,
            create: true,
            laid_down: false,
            token: None,
            session: Some(id.to_owned()),
            answer_timeout_ns: TIMEOUT_NS,
        };
        let clock = Arc::new(MonotonicClock::new());
        let worker =
            WorkerContext { client_index: 0, worker_index: 0, seed: 1, clock, stop: StopFlag::default() };
        EndpointFactory.open(&spec, &worker)
    }

    /// CPU time so far, in ticks of 10 ms.
    fn cpu_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.0.id())).unwrap();
        // The name in brackets may contain blanks; utime and stime are the 12th and 13th field after it (proc(5)).
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    fn limit_to(&self, limit: &str) {
        let pid = self.child.0.id().to_string();
        let set =
            Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={limit}")]).status().unwrap();
        assert!(set.success());
    }
}

#[test]
fn a_server_raises_its_soft_limit_to_what_its_clients_may_need() {
    let server = Limited::start("64:4096");
    let control = server.control().unwrap();
    let engine = server.open(control.session(), 500).unwrap();
    engine.close().unwrap();
    control.end().unwrap();
}

#[test]
fn a_client_that_opens_all_it_can_leaves_descriptors_for_other_clients() {
    let server = Limited::start("256:256");
    let greedy = server.control().unwrap();
    // One opening beyond the session's share is refused before anything is opened, with the reason.
    let refused = server.open(greedy.session(), 300).err().unwrap().to_string();
    assert!(refused.contains("open files") && refused.contains("ulimit -n"), "{refused}");
    let mut engines = Vec::new();
    for _ in 0..256 {
        match server.open(greedy.session(), 8) {
            Ok(engine) => engines.push(engine),
            Err(error) => {
                assert!(error.to_string().contains("open files"), "{error}");
                break;
            }
        }
    }
    assert!(engines.len() > 2, "{}", engines.len());
    let mut other = server.control().unwrap();
    other.counters().unwrap();
    let engine = server.open(other.session(), 1).unwrap();
    engine.close().unwrap();
    other.end().unwrap();
    // What was charged is free again with the session.
    drop(engines);
    greedy.end().unwrap();
    let again = server.control().unwrap();
    server.open(again.session(), 8).unwrap().close().unwrap();
}

#[test]
fn control_connections_that_ask_for_counters_are_refused_before_the_server_has_no_descriptor_left() {
    let server = Limited::start("256:256");
    let mut asking = Vec::new();
    let refused = loop {
        match server.control() {
            Ok(mut control) => {
                // It keeps the files open from which they are read.
                control.counters().unwrap();
                asking.push(control);
            }
            Err(error) => break error.to_string(),
        }
        assert!(asking.len() < 256, "none was refused");
    };
    assert!(refused.contains("open files"), "{refused}");
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.child.0.id())).unwrap().count();
    assert!(open < 240, "{open} of 256 descriptors are open");
    // Those that are there are still served, and a place that is given back is free again.
    for control in &mut asking {
        control.counters().unwrap();
    }
    asking.pop().unwrap().end().unwrap();
    let again = (0..100).find_map(|_| {
        let (_open, pause) = std::sync::mpsc::channel::<()>();
        let _ = pause.recv_timeout(Duration::from_millis(20));
        server.control().ok()
    });
    assert!(again.is_some(), "the place is taken for ever");
}

#[test]
fn a_server_without_a_free_descriptor_waits_for_one_and_does_not_spin() {
    let server = Limited::start("256:4096");
    server.control().unwrap().end().unwrap();
    server.limit_to("3:4096");
    let waiting = TcpStream::connect(&server.address).unwrap();
    let before = server.cpu_ticks();
    let (_open, pause) = std::sync::mpsc::channel::<()>();
    let _ = pause.recv_timeout(Duration::from_millis(600));
    let spent = server.cpu_ticks() - before;
    assert!(spent < 15, "{spent} ticks of CPU time in 600 ms");
    server.limit_to("256:4096");
    server.control().unwrap().end().unwrap();
    drop(waiting);
}
