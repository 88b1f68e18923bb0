//! The proof that client and server see the same folder reveals nothing else.

use crate::support::Running;
use narrows_engines::ErrorKind;
use std::fs;
use std::path::Path;

const FOLDER: &str = ".narrows-0123456789abcdef";
const PROOF: &str = ".narrows-0123456789abcdef/mount-proof";

fn root_with_proof(content: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    put(root.path(), content);
    root
}

fn put(parent: &Path, content: &str) {
    fs::create_dir(parent.join(FOLDER)).unwrap();
    fs::write(parent.join(PROOF), content).unwrap();
}

#[test]
fn a_proof_is_found_at_any_depth_and_must_contain_just_what_is_asked() {
    let root = root_with_proof("nonce");
    fs::create_dir_all(root.path().join("deep/er")).unwrap();
    put(&root.path().join("deep/er"), "other");
    let server = Running::with_root(root.path());
    let mut control = server.control();
    assert!(control.stores_file(PROOF, "nonce").unwrap());
    assert!(control.stores_file(&format!("deep/er/{PROOF}"), "other").unwrap());
    for other in ["nonc", "nonce2", "noncf", ""] {
        assert!(!control.stores_file(PROOF, other).unwrap(), "{other}");
    }
    assert!(!control.stores_file(".narrows-0123456789abcdee/mount-proof", "nonce").unwrap());
}

#[test]
fn nothing_but_a_proof_is_looked_at() {
    let outside = root_with_proof("s");
    let root = root_with_proof("s");
    fs::write(root.path().join("passwords"), "s").unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    let absolute = outside.path().join(PROOF).display().to_string();
    let relative = format!("../{}/{PROOF}", outside.path().file_name().unwrap().to_str().unwrap());
    let names = [
        absolute.as_str(),
        &relative,
        &format!("link/{PROOF}"),
        "passwords",
        "mount-proof",
        &format!("{FOLDER}/../passwords"),
        ".narrows-0123456789ABCDEF/mount-proof",
        ".narrows-0123456789abcdef0/mount-proof",
        ".narrows-/mount-proof",
        "",
    ];
    for name in names {
        assert_eq!(control.stores_file(name, "s").unwrap_err().kind, ErrorKind::Permission, "{name}");
    }
    let long = "n".repeat(10_000);
    assert_eq!(control.stores_file(PROOF, &long).unwrap_err().kind, ErrorKind::Unsupported);
}

#[test]
fn a_pipe_in_a_proofs_place_is_not_waited_for() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join(FOLDER)).unwrap();
    let folder = fs::File::open(root.path()).unwrap();
    rustix::fs::mknodat(&folder, PROOF, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let server = Running::with_root(root.path());
    let mut control = server.control();
    assert!(control.stores_file(PROOF, "nonce").is_err());
    control.counters().unwrap();
}
