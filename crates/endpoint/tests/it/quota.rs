//! What sessions occupy is charged for as long as it is occupied, and never more than is allowed.

use crate::support::raw::{Raw, opening};
use crate::support::{Running, TERMS, eventually, names_in, options, server_cell, workload};
use narrows_endpoint::ServeOptions;
use narrows_engines::EngineFactory;
use narrows_engines::endpoint::EndpointFactory;
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy};
use narrows_model::{Layer, Op, Target};
use narrows_wire::open::OpenRequest;
use narrows_wire::{Error, ErrorKind, Refusal};
use std::path::Path;

const MIB: u64 = 1 << 20;

/// A server with room for 10 MiB on disk, and for as much in memory with what connections need besides.
fn small(root: &Path) -> Running {
    Running::start(ServeOptions {
        root: Some(root.to_owned()),
        quota_bytes: Some(10 * MIB),
        memory_bytes_max: 14 * MIB,
        ..options()
    })
}

fn refusal(opened: Result<Raw, Error>) -> (ErrorKind, String) {
    let error = opened.err().unwrap();
    (error.kind(), error.to_string())
}

const NO_SPACE: ErrorKind = ErrorKind::Refused(Refusal::NoSpace);

#[test]
fn what_is_not_made_has_no_more_room_than_was_reserved_for_it() {
    let root = tempfile::tempdir().unwrap();
    let server = small(root.path());
    let control = server.control();
    for layer in [Layer::Disk, Layer::Memory] {
        let made = opening(layer, &["x"], MIB, Some(control.session()));
        drop(Raw::data(server.address, &made).unwrap());
        let opens = |object_bytes| OpenRequest { create: false, object_bytes, ..made.clone() };
        drop(Raw::data(server.address, &opens(MIB)).unwrap());
        for huge in [MIB + 1, 1 << 40] {
            let (kind, message) = refusal(Raw::data(server.address, &opens(huge)));
            assert_eq!(kind, ErrorKind::Refused(Refusal::Unsupported), "{message}");
            assert!(message.contains(&MIB.to_string()), "{message}");
        }
        let missing = OpenRequest { objects: vec!["y".to_owned()], ..opens(MIB) };
        assert_eq!(refusal(Raw::data(server.address, &missing)).0, ErrorKind::Refused(Refusal::NotFound));
    }
}

#[test]
fn a_removed_object_is_charged_until_its_last_holder_goes() {
    let root = tempfile::tempdir().unwrap();
    let server = small(root.path());
    let control = server.control();
    for layer in [Layer::Disk, Layer::Memory] {
        let first = opening(layer, &["x"], 8 * MIB, Some(control.session()));
        let mut holder = Raw::data(server.address, &first).unwrap();
        assert_eq!((holder.remove(), holder.remove()), (0, 0), "one that is gone counts as removed");
        let second = opening(layer, &["y"], 8 * MIB, Some(control.session()));
        assert_eq!(refusal(Raw::data(server.address, &second)).0, NO_SPACE, "{layer:?}");
        drop(holder);
        eventually("the room is free again", || Raw::data(server.address, &second).is_ok());
    }
}

#[test]
fn no_name_that_a_client_chooses_frees_the_room_of_cells() {
    let root = tempfile::tempdir().unwrap();
    let server = small(root.path());
    let mut control = server.control();
    let mut cell = server_cell(Target::File { path: ".".into() });
    cell.workload.file_bytes.0 = 8 * MIB;
    control.run_cell(&cell, TERMS, &mut |_| {}, &|| false).unwrap();
    for name in ["files of cells run on the server", "data-0"] {
        let named = opening(Layer::Disk, &[name], 4096, Some(control.session()));
        assert_eq!(Raw::data(server.address, &named).unwrap().remove(), 0);
    }
    let more = opening(Layer::Disk, &["more"], 4 * MIB, Some(control.session()));
    assert_eq!(refusal(Raw::data(server.address, &more)).0, NO_SPACE);
}

#[test]
fn names_that_the_server_uses_itself_are_no_objects() {
    let root = tempfile::tempdir().unwrap();
    let server = small(root.path());
    for name in ["made-by-narrows-serve", "cells"] {
        let taken = opening(Layer::Disk, &[name], 4096, None);
        let (kind, message) = refusal(Raw::data(server.address, &taken));
        assert_eq!(kind, ErrorKind::Refused(Refusal::Permission), "{message}");
    }
}

#[test]
fn an_opening_that_fails_takes_no_room_and_leaves_no_file() {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let server = small(root.path());
    let control = server.control();
    let session = Some(control.session());
    let whole = opening(Layer::Disk, &["whole"], 9 * MIB, session);
    let two = |layer| opening(layer, &["a", "b"], 8 * MIB, session);
    let contradiction =
        OpenRequest { sync: SyncPolicy::Dsync, ..opening(Layer::Disk, &["a"], 8 * MIB, session) };
    let misaligned = OpenRequest {
        access: Access::Direct,
        acknowledgement: Acknowledgement::Late,
        block_bytes: 5000,
        ..opening(Layer::Disk, &["a"], 8 * MIB, session)
    };
    let long =
        OpenRequest { objects: vec!["a".to_owned(), "n".repeat(255), "cells".to_owned()], ..whole.clone() };
    for failing in [two(Layer::Disk), two(Layer::Memory), contradiction, misaligned, long] {
        assert!(Raw::data(server.address, &failing).is_err(), "{failing:?}");
    }
    for name in names_in(root.path()) {
        let left = names_in(&root.path().join(name));
        assert!(!left.iter().any(|name| name == "a" || name == "b"), "{left:?}");
    }
    drop(Raw::data(server.address, &whole).unwrap());
    let memory = opening(Layer::Memory, &["whole"], 9 * MIB, session);
    drop(Raw::data(server.address, &memory).unwrap());
}

#[test]
fn more_than_the_file_system_has_takes_no_room() {
    let root = tempfile::tempdir().unwrap();
    let quota_bytes = Some(3 << 50);
    let server =
        Running::start(ServeOptions { root: Some(root.path().to_owned()), quota_bytes, ..options() });
    let control = server.control();
    for name in ["x", "y", "z"] {
        let huge = opening(Layer::Disk, &[name], 2 << 50, Some(control.session()));
        let (kind, message) = refusal(Raw::data(server.address, &huge));
        assert_eq!(kind, NO_SPACE);
        assert!(message.contains("free"), "{message}");
    }
}

#[test]
fn what_a_connection_needs_in_flight_is_reserved_when_it_is_opened() {
    let root = tempfile::tempdir().unwrap();
    let server = small(root.path());
    let control = server.control();
    let deep = |layer| OpenRequest {
        block_bytes: 16 * MIB,
        depth: 2,
        ..opening(layer, &["x"], MIB, Some(control.session()))
    };
    let (kind, message) = refusal(Raw::data(server.address, &deep(Layer::Disk)));
    assert_eq!(kind, NO_SPACE);
    assert!(message.contains("memory"), "{message}");
    // Large blocks of a store in memory pass between the object and the socket, without a buffer in between.
    drop(Raw::data(server.address, &deep(Layer::Memory)).unwrap());
    let streams = || Raw::data(server.address, &opening(Layer::Sink, &[], 0, None));
    let open_streams: Vec<_> = std::iter::from_fn(|| streams().ok()).take(100).collect();
    assert!((10..100).contains(&open_streams.len()), "{} streams share 14 MiB", open_streams.len());
    drop(open_streams);
    eventually("their memory is free again", || streams().is_ok());
}

#[test]
fn a_cells_blocks_come_out_of_the_same_memory() {
    let root = tempfile::tempdir().unwrap();
    let server = small(root.path());
    let mut control = server.control();
    let mut cell = server_cell(Target::Null { copy: false });
    cell.workload.op = Op::Read;
    cell.workload.block_bytes.0 = MIB;
    cell.workload.workers = 32;
    let error = control.run_cell(&cell, TERMS, &mut |_| {}, &|| false).unwrap_err();
    assert_eq!(error.kind, narrows_engines::ErrorKind::NoSpace, "{error}");
    cell.workload.workers = 2;
    control.run_cell(&cell, TERMS, &mut |_| {}, &|| false).unwrap();
}

#[test]
fn an_object_is_removed_where_there_is_no_room_for_its_blocks() {
    let root = tempfile::tempdir().unwrap();
    let server = small(root.path());
    let control = server.control();
    for layer in [Layer::Disk, Layer::Memory] {
        drop(Raw::data(server.address, &opening(layer, &["data-0"], MIB, Some(control.session()))).unwrap());
        let mut deep = server.spec(layer, workload(Op::Write, 16 * MIB, 2));
        deep.session = Some(control.session().to_owned());
        EndpointFactory.remove(&deep).unwrap();
        let gone = OpenRequest { create: false, ..opening(layer, &["data-0"], 0, Some(control.session())) };
        assert_eq!(refusal(Raw::data(server.address, &gone)).0, ErrorKind::Refused(Refusal::NotFound));
    }
}
