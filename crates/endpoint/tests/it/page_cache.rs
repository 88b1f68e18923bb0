//! What a client may have done about the server's page cache: for objects of its own session, and with a dummy file.

use crate::support::Running;
use narrows_engines::ErrorKind;
use narrows_engines::conformance::{self, BLOCK_BYTES};
use narrows_engines::endpoint::ControlClient;
use narrows_model::Op;
use narrows_wire::control::{CacheWork, SCAN_BYTES_MAX};

/// A server on a real file system, and its control connection.
fn served() -> (tempfile::TempDir, Running, ControlClient) {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let server = Running::with_root(root.path());
    let control = server.control();
    (root, server, control)
}

/// Writes a block to an object of the session; returns the object's name.
fn write_one(server: &Running, control: &ControlClient) -> String {
    let mut spec = conformance::spec(&format!("tcp://{}/disk", server.address), Op::Write, 1);
    spec.session = Some(control.session().to_owned());
    let mut engine = crate::support::open(&spec).unwrap();
    crate::support::pass(engine.as_mut(), Op::Write, BLOCK_BYTES, 1);
    engine.close().unwrap();
    spec.objects[0].clone()
}

#[test]
fn what_was_written_is_cached_until_its_pages_are_dropped() {
    let (_root, server, mut control) = served();
    let names = [write_one(&server, &control)];
    assert_eq!(control.cache(&names, CacheWork::Look).unwrap(), Some(1.0));
    assert_eq!(control.cache(&names, CacheWork::Sync).unwrap(), Some(1.0));
    assert_eq!(control.cache(&names, CacheWork::Drop).unwrap(), Some(0.0));
}

#[test]
fn a_dummy_file_is_read_in_parts_and_leaves_nothing() {
    let (root, server, mut control) = served();
    let names = [write_one(&server, &control)];
    control.displace_cache(3 << 20).unwrap();
    assert!(control.cache(&names, CacheWork::Look).unwrap().is_some());
    let too_much =
        CacheWork::Scan { file_bytes: 2 * SCAN_BYTES_MAX, from_bytes: 0, length_bytes: SCAN_BYTES_MAX + 1 };
    assert_eq!(control.cache(&[], too_much).unwrap_err().kind, ErrorKind::Unsupported);
    let beyond = CacheWork::Scan { file_bytes: 10, from_bytes: 5, length_bytes: 6 };
    assert_eq!(control.cache(&[], beyond).unwrap_err().kind, ErrorKind::Unsupported);
    control.end().unwrap();
    assert_eq!(crate::support::names_in(root.path()), Vec::<String>::new());
}

#[test]
fn only_objects_of_the_session_are_touched() {
    let (root, server, mut control) = served();
    let other = server.control();
    let name = write_one(&server, &other);
    std::fs::write(root.path().join("theirs"), "x").unwrap();
    for name in [name.as_str(), "theirs", "../theirs", "made-by-narrows-serve", ""] {
        let refused = control.cache(&[name.to_owned()], CacheWork::Drop).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::NotFound, "{name}");
    }
}

#[test]
fn pages_that_cannot_be_dropped_are_an_error() {
    let root = tempfile::tempdir_in("/dev/shm").unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    let names = [write_one(&server, &control)];
    let refused = control.cache(&names, CacheWork::Drop).unwrap_err();
    assert!(refused.to_string().contains("is still in the server's page cache"), "{refused}");
}
