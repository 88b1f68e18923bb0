//! Files that somebody else puts in the place of a session's own: neither written, truncated nor removed, and the request
//! ends with the reason.

use crate::support::raw::{Raw, opening};
use crate::support::{Running, TERMS, eventually, names_in, one, open, options, server_cell, workload};
use narrows_endpoint::{ServeErrorKind, ServeOptions};
use narrows_engines::ErrorKind;
use narrows_engines::endpoint::ControlClient;
use narrows_model::{Layer, Op, Target};
use narrows_wire::control::CacheWork;
use narrows_wire::open::OpenRequest;
use narrows_wire::request::{RequestHeader, RequestKind};
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// What a file of somebody else contains.
const THEIRS: &str = "of somebody else";

/// A server with a session, and the session's folder.
struct Served {
    root: tempfile::TempDir,
    server: Running,
    control: ControlClient,
}

impl Served {
    fn start() -> Self {
        let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let server = Running::with_root(root.path());
        let control = server.control();
        Self { root, server, control }
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join(format!(".narrows-{}", self.control.session()))
    }

    fn opening(&self, objects: &[&str]) -> OpenRequest {
        opening(Layer::Disk, objects, MIB, Some(self.control.session()))
    }

    /// Puts a file of somebody else in the place of `name` in the session's folder; returns where it is.
    fn replace(&self, name: &str) -> PathBuf {
        let (theirs, at) = (self.root.path().join("theirs"), self.folder().join(name));
        fs::write(&theirs, THEIRS).unwrap();
        fs::rename(&theirs, &at).unwrap();
        at
    }

    /// Ends session and server; the session's folder must be named, and what is at `at` be as it was put there.
    fn end_with(self, at: &Path) {
        self.control.end().unwrap();
        let error = self.server.stop().unwrap_err();
        assert_eq!(error.kind, ServeErrorKind::Leftover, "{error}");
        assert!(error.to_string().contains(".narrows-"), "{error}");
        assert_eq!(fs::read_to_string(at).unwrap(), THEIRS);
    }
}

#[test]
fn a_file_in_the_place_of_an_object_is_not_opened_by_a_session() {
    let mut served = Served::start();
    let mut spec = served.server.spec(Layer::Disk, workload(Op::Write, 4096, 1));
    spec.session = Some(served.control.session().to_owned());
    let mut engine = open(&spec).unwrap();
    assert_eq!(one(engine.as_mut(), Op::Write, 0, 4096), Ok(4096));
    let at = served.replace("data-0");
    // What is open is the file that was made.
    assert_eq!(one(engine.as_mut(), Op::Write, 4096, 4096), Ok(4096));
    engine.close().unwrap();
    for create in [true, false] {
        let error = open(&narrows_engines::OpenSpec { create, ..spec.clone() }).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("somebody else replaced or moved it"), "{error}");
    }
    for work in [CacheWork::Look, CacheWork::Sync, CacheWork::Drop] {
        let error = served.control.cache(&["data-0".to_owned()], work).unwrap_err();
        assert!(error.to_string().contains("somebody else replaced or moved it"), "{error}");
    }
    served.end_with(&at);
}

#[test]
fn a_file_in_the_place_of_an_object_is_not_removed_by_a_session() {
    let served = Served::start();
    let mut raw = Raw::data(served.server.address, &served.opening(&["x"])).unwrap();
    let at = served.replace("x");
    let remove =
        RequestHeader { kind: RequestKind::Remove, tag: 0, object: 0, length_bytes: 0, offset_bytes: 0 };
    raw.socket.write_all(&remove.encode()).unwrap();
    // A server that removes it goes on until this side ends.
    raw.socket.shutdown(std::net::Shutdown::Write).unwrap();
    let mut last = Vec::new();
    raw.socket.read_to_end(&mut last).unwrap();
    let text = String::from_utf8_lossy(&last);
    assert!(text.contains("somebody else replaced or moved it"), "{text}");
    drop(raw);
    served.end_with(&at);
}

#[test]
fn an_opening_that_finds_its_name_taken_removes_only_what_it_made() {
    let served = Served::start();
    drop(Raw::data(served.server.address, &served.opening(&["first"])).unwrap());
    let at = served.replace("taken");
    let error = Raw::data(served.server.address, &served.opening(&["fresh", "taken"])).err().unwrap();
    assert!(error.to_string().contains("somebody else replaced or moved it"), "{error}");
    assert_eq!(fs::read_to_string(&at).unwrap(), THEIRS);
    assert!(!served.folder().join("fresh").exists());
    fs::remove_file(&at).unwrap();
    drop(Raw::data(served.server.address, &served.opening(&["fresh", "taken"])).unwrap());
}

#[test]
fn a_file_in_the_place_of_one_of_cells_is_not_used() {
    let mut served = Served::start();
    let cell = server_cell(Target::File { path: ".".into() });
    served.control.run_cell(&cell, TERMS, &mut |_| {}, &|| false).unwrap();
    let at = served.replace("cells/data-0");
    let error = served.control.run_cell(&cell, TERMS, &mut |_| {}, &|| false).unwrap_err();
    assert!(error.to_string().contains("somebody else replaced or moved it"), "{error}");
    served.end_with(&at);
}

#[test]
fn names_of_objects_on_disk_are_charged_to_the_memory_until_they_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::start(ServeOptions {
        root: Some(root.path().to_owned()),
        memory_bytes_max: 4 * MIB,
        ..options()
    });
    let control = server.control();
    let request = |opening_index: u32| {
        let names: Vec<String> = (0..100).map(|index| format!("{opening_index:0>200}-{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        opening(Layer::Disk, &names, 0, Some(control.session()))
    };
    let opened = |index: &u32| Raw::data(server.address, &request(*index)).is_ok();
    let opened_count = (0..60).filter(opened).count();
    assert!((5..=40).contains(&opened_count), "{opened_count} times 100 names of 1 KiB fit into 4 MiB");
    let folder = root.path().join(names_in(root.path()).remove(0));
    assert_eq!(names_in(&folder).len(), opened_count * 100 + 1, "what was refused leaves nothing");
    control.end().unwrap();
    let again = opening(Layer::Disk, &["x"], 0, None);
    eventually("the memory is free again", || Raw::data(server.address, &again).is_ok());
}
