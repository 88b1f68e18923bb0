//! An endpoint that serves something else than the unit or bucket of a check is refused, with what to do, and nothing is left behind.

use std::fs;
use std::process::Command;

use narrows_lab::{Lab, narrows_bin};

use crate::support::check::serve;
use crate::support::tgt::{Tgt, TgtSetup};
use crate::support::versity::{BUCKET, KEY_ID, SECRET, serve_in_host};
use crate::support::{SOON, assert_nothing_left, lab_with_iscsi, lab_with_s3};

const UNIT_BYTES: u64 = 64 << 20;

/// What a check of `target` beside an endpoint over an empty folder prints, which ends with exit code 2.
fn refused(lab: &Lab, target: &str) -> String {
    let root = lab.scratch().join("elsewhere");
    fs::create_dir_all(&root).unwrap();
    let host = lab.host(2).unwrap();
    let endpoint = serve(lab, &host, Some(&root), |_| ());
    let mut command = lab.host(1).unwrap().command(narrows_bin().unwrap());
    command.args(["check", target, "--server", &endpoint.address, "--token-file"]).arg(endpoint.token());
    command.args(["--seconds", "4", "--out"]).arg(lab.scratch().join("record"));
    command.env("AWS_ACCESS_KEY_ID", KEY_ID).env("AWS_SECRET_ACCESS_KEY", SECRET);
    let mut process = lab.start("refused", command).unwrap();
    let status = process.wait(SOON).unwrap();
    let said = process.stderr().unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains(&endpoint.address) && said.contains("narrows serve --root"), "{said}");
    assert_nothing_left(&root);
    said
}

#[test]
fn an_endpoint_that_does_not_have_the_file_of_the_unit_is_refused_and_the_unit_is_blank_again() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 2, UNIT_BYTES, TgtSetup::default());
    let said = refused(&lab, &server.target(""));
    assert!(said.contains("does not show that it serves the same LUN"), "{said}");
    assert!(server.is_empty(), "the mark is gone");
}

#[test]
fn an_endpoint_beside_a_unit_that_is_only_read_is_refused_before_anything_is_written() {
    let Some(lab) = lab_with_iscsi() else { return };
    let server = Tgt::start(&lab, 2, UNIT_BYTES, TgtSetup::default());
    assert!(Command::new("mkfs.ext4").arg("-q").arg(server.image()).status().unwrap().success());
    let before = fs::read(server.image()).unwrap();
    let endpoint = serve(&lab, &lab.host(2).unwrap(), Some(lab.scratch()), |_| ());
    let mut command = lab.host(1).unwrap().command(narrows_bin().unwrap());
    command.args(["check", &server.target(""), "--server", &endpoint.address, "--token-file"]);
    command.arg(endpoint.token());
    let mut process = lab.start("read-only", command).unwrap();
    let status = process.wait(SOON).unwrap();
    let said = process.stderr().unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("is only read") && said.contains("--server-metrics"), "{said}");
    assert!(fs::read(server.image()).unwrap() == before, "its content is as before");
}

#[test]
fn an_endpoint_that_does_not_have_the_objects_of_the_bucket_is_refused_and_none_is_left() {
    let Some(lab) = lab_with_s3() else { return };
    let store = lab.scratch().join("store");
    let (_server, target) = serve_in_host(&lab, &store, "some/part", |_| ());
    let said = refused(&lab, &target);
    assert!(said.contains("does not show that it serves the same bucket"), "{said}");
    let left = Command::new("find").arg(store.join(BUCKET)).args(["-type", "f"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "nothing is left");
}
