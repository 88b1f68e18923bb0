//! The endpoint engine passes the suite of all engines against a running server, at every layer.

use crate::support::Running;
use narrows_engines::conformance;
use narrows_engines::endpoint::EndpointFactory;
use narrows_model::Op;

fn conforms(layer: &str, op: Op) {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let server = Running::with_root(root.path());
    let mut spec = conformance::spec(&format!("tcp://{}/{layer}", server.address), op, 8);
    // The suite opens several engines one after the other; the objects are in the session that all of them join.
    let control = server.control();
    spec.session = Some(control.session().to_owned());
    conformance::run(&EndpointFactory, &spec);
    control.end().unwrap();
    server.stop().unwrap();
    assert_eq!(crate::support::names_in(root.path()), Vec::<String>::new());
}

#[test]
fn writes_into_memory_conform() {
    conforms("memory", Op::Write);
}

#[test]
fn reads_from_memory_conform() {
    conforms("memory", Op::Read);
}

#[test]
fn writes_to_disk_conform() {
    conforms("disk", Op::Write);
}

#[test]
fn reads_from_disk_conform() {
    conforms("disk", Op::Read);
}

#[test]
fn sending_into_a_sink_conforms() {
    conforms("sink", Op::Send);
}

#[test]
fn receiving_from_a_source_conforms() {
    conforms("source", Op::Receive);
}
