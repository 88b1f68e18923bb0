//! `narrows serve` as others start it: a token over a pipe, and what a killed server leaves behind.

use narrows_engines::endpoint::EndpointFactory;
use narrows_engines::{Engine, EngineFactory, MonotonicClock, OpenSpec, StopFlag, WorkerContext};
use narrows_model::{Bytes, Op, Workload};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef";

/// A server with all its pipes, and where it listens.
fn serve(arguments: &[&str], first_line: &[u8]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_narrows"))
        .args(["serve", "--listen", "127.0.0.1:0", "--until-stdin-ends"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(first_line).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
    (child, address)
}

/// Ends a server by the end of its stdin, and gives what it said.
fn end(mut child: Child) -> String {
    drop(child.stdin.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    said
}

fn open(address: &str, layer: &str, token: Option<&[u8]>) -> Result<Box<dyn Engine>, String> {
    let workload = Workload { op: Op::Write, file_bytes: Bytes(1 << 20), ..Workload::default() };
    let spec = OpenSpec {
        target: format!("tcp://{address}/{layer}").parse().unwrap(),
        objects: vec!["data-0".to_owned()],
        object_bytes: workload.file_bytes,
        workload,
        create: true,
        laid_down: false,
        token: token.map(<[u8]>::to_vec),
        session: None,
        answer_timeout_ns: 20_000_000_000,
    };
    let clock = Arc::new(MonotonicClock::new());
    let worker =
        WorkerContext { client_index: 0, worker_index: 0, seed: 1, clock, stop: StopFlag::default() };
    EndpointFactory.open(&spec, &worker).map_err(|error| error.to_string())
}

#[test]
fn a_token_from_stdin_is_demanded_and_the_server_ends_with_stdin() {
    let (server, address) = serve(&["--token-from-stdin"], &[TOKEN, b"\n"].concat());
    for wrong in [None, Some(&b"fedcba9876543210fedcba9876543210"[..])] {
        assert!(open(&address, "memory", wrong).err().unwrap().contains("token"));
    }
    open(&address, "memory", Some(TOKEN)).unwrap().close().unwrap();
    assert_eq!(end(server), "");
}

/// The nice values of all threads of a process, each once.
fn nice_values(pid: u32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let nice = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat")).unwrap();
        // The name in brackets may contain blanks; nice is the 17th field after it (proc(5)).
        let after = stat.rsplit_once(") ").unwrap().1.to_owned();
        after.split(' ').nth(16).unwrap().parse().unwrap()
    };
    let mut values: Vec<i32> = tasks.map(nice).collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[test]
fn a_server_that_lets_clients_go_first_is_nice_with_all_its_threads() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let root = folder.path().to_str().unwrap();
    let (server, address) = serve(&["--priority", "client", "--root", root], b"");
    let engine = open(&address, "disk", None).unwrap();
    assert_eq!(nice_values(server.id()), [10]);
    engine.close().unwrap();
    assert_eq!(end(server), "");
    let (server, _) = serve(&["--priority", "equal"], b"");
    assert_eq!(nice_values(server.id()), nice_values(std::process::id()));
    assert_eq!(end(server), "");
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_a_killed_server_left_is_named_by_the_next_and_stays() {
    let root = tempfile::tempdir().unwrap();
    let arguments = ["--root", root.path().to_str().unwrap()];
    let (mut killed, address) = serve(&arguments, b"");
    let engine = open(&address, "disk", None).unwrap();
    let (alive, _) = serve(&arguments, b"");
    assert_eq!(end(alive), "", "the owner of the folder lives");
    killed.kill().unwrap();
    killed.wait().unwrap();
    drop(engine);
    let left = names_in(root.path());
    assert_eq!(left.len(), 1);
    let (next, _) = serve(&arguments, b"");
    let said = end(next);
    let path = root.path().canonicalize().unwrap().join(&left[0]);
    let root = root.path().canonicalize().unwrap();
    let advice = format!("{}; remove it with: narrows clean {} --remove", path.display(), root.display());
    assert!(said.contains(&advice), "{said}");
    assert_eq!(names_in(&root), left);
}
