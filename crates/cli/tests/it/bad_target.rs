//! What cannot be checked is refused before anything is touched: the exit code, and what, where and what to do.

use crate::support::{Surroundings, run, strangers_folder};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Runs `check` with `words` in a stranger's folder, and fails if anything there changes.
#[track_caller]
fn refused(words: &[&str], code: i32, said: &[&str]) {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &[&["check", "--json"], words].concat());
    seen.assert_said(code, said).assert_no_result();
    before.assert_same(folder.path());
}

#[test]
fn a_scheme_nobody_knows_is_named_with_those_that_are() {
    refused(&["gopher://h/x"], 2, &["`gopher`", "file:PATH", "tcp://HOST:PORT"]);
}

#[test]
fn a_file_that_is_mostly_holes_is_refused_and_one_that_is_mostly_written_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = |name: &str, written_bytes: usize| {
        let path = folder.path().join(name);
        fs::write(&path, vec![7; written_bytes]).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_len(4 << 20).unwrap();
    };
    sparse("holes", 1 << 20);
    sparse("data", 3 << 20);
    run(folder.path(), &["check", "holes", "--plan"])
        .assert_said(2, &["1.00 MiB of data in 4.00 MiB", "reach no storage", "content in all of it"]);
    assert_eq!(run(folder.path(), &["check", "data", "--plan"]).code, Some(0));
}

#[test]
fn a_process_without_free_descriptors_is_not_taken_for_a_stranger_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("target")).unwrap();
    for limit in [14, 16, 24] {
        let script =
            format!("ulimit -n {limit}; exec '{}' check target --seconds 6", env!("CARGO_BIN_EXE_narrows"));
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!stderr.contains("somebody else") && !stderr.contains("panicked"), "{limit}: {stderr}");
    }
    assert_eq!(fs::read_dir(folder.path().join("target")).unwrap().count(), 0, "nothing is left");
}

#[test]
fn an_export_of_a_server_is_answered_with_its_forms_that_work() {
    refused(&["filer:/export/home"], 2, &["mount point", "nfs://filer/export/home", "tcp://filer:7300/disk"]);
}

#[test]
fn a_failure_is_json_where_json_was_asked_for_and_text_alone_where_it_was_not() {
    let folder = strangers_folder();
    let seen = run(folder.path(), &["check", "--json", "missing"]);
    let document: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    let error = &document["error"];
    assert_eq!((&error["kind"], &error["code"]), (&"bad_input".into(), &2.into()), "{document}");
    assert_eq!(error["hint"], "give a folder or file that exists", "{document}");
    let seen = run(folder.path(), &["check", "--json", "--seconds", "-5"]);
    let document: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
    assert!(
        document["error"]["message"].as_str().unwrap().contains("`-5` is not a time above 0"),
        "{document}"
    );
    assert_eq!(run(folder.path(), &["check", "missing"]).stdout, "");
    assert_eq!(run(folder.path(), &["check", "--seconds", "-5"]).stdout, "");
}

#[test]
fn a_record_that_cannot_be_made_is_refused_before_the_load_is_announced() {
    let folder = strangers_folder();
    let seen = run(folder.path(), &["check", "--out", "."]);
    seen.assert_said(2, &["the folder is not empty", "--out"]).assert_no_result();
    assert!(!seen.stderr.contains("Load on"), "{}", seen.stderr);
}

#[test]
fn targets_of_other_versions_come_with_what_to_do_instead() {
    refused(&["mpiio:x"], 2, &["mpiio:x", "an engine of narrows-mpi", "mpirun -np N narrows-mpi run STUDY"]);
}

#[test]
fn what_is_no_block_device_is_refused_with_what_to_give() {
    refused(&["block:/dev/sda"], 2, &["`block` is not a known scheme", "blk:/dev/NAME"]);
    refused(&["blk:sda"], 2, &["whole path", "blk:/dev/NAME"]);
    refused(&["blk:/dev/absent"], 2, &["give a block device that exists"]);
    refused(&["blk:/dev/null"], 2, &["is no block device", "without blk:"]);
    refused(&["null:", "--overwrite-device", "1GiB"], 2, &["null: is not a storage path"]);
}

#[test]
fn targets_without_a_storage_path_are_refused() {
    refused(&["nfs://127.0.0.1:1/e"], 3, &["nfs://127.0.0.1:1/e", "connect"]);
    refused(&["iscsi://127.0.0.1:1/iqn.x/0"], 3, &["connect iscsi://127.0.0.1:1/iqn.x/0", "iSCSI target"]);
    refused(&["iscsi://h/i/0"], 2, &["begins with iqn.", "iscsi://HOST"]);
    // With credentials in the environment it is the connection that fails.
    let bucket = "s3://bucket/p?endpoint=http://127.0.0.1:1";
    refused(&[bucket], 3, &[bucket]);
    refused(&["s3://bucket/p?endpoint=http://k:secret@h"], 2, &["a user or a password"]);
    refused(&["nfs:h"], 2, &["misses `//`", "nfs://HOST"]);
    refused(&["null:"], 2, &["null:", "give a folder"]);
    refused(&["sim:disk"], 2, &["sim:disk", "give a folder"]);
    refused(&["tcp://127.0.0.1:1/sink"], 2, &["one cut", "/disk"]);
    refused(&["tcp://127.0.0.1:1/tape"], 2, &["`tape` is not a layer", "sink, source, memory, disk"]);
    refused(&[""], 2, &["is empty", "PATH"]);
}

#[test]
fn a_stripe_is_refused_with_what_to_do_and_a_wrong_one_with_the_member_or_key_it_is_wrong_in() {
    refused(&["stripe:a,b"], 2, &["spans several targets", "narrows run", "check one member"]);
    refused(&["stripe:a,b,a"], 2, &["`a` twice, as member 1 and 3", "stripe:MEMBER,MEMBER"]);
    refused(&["stripe:a,tcp://h:1/disk"], 2, &["members of two kinds: 1 is `a` and 2 is `tcp://h:1/disk`"]);
    refused(&["stripe:a,b?unit=1000"], 2, &["a unit of 1000B", "a multiple of 512 bytes"]);
    refused(&["stripe:a,b?widht=1"], 2, &["the key `widht`", "unit and peer_depth"]);
    refused(&["stripe:"], 2, &["names no member"]);
}

#[test]
fn a_missing_folder_is_named() {
    refused(&["target/absent"], 2, &["target/absent", "No such file", "give a folder or file that exists"]);
    refused(&["precious.txt/below"], 2, &["precious.txt/below"]);
}

#[test]
fn what_is_neither_file_nor_folder_is_refused() {
    refused(&["/dev/null"], 2, &["/dev/null", "neither a file nor a folder"]);
}

#[test]
fn an_empty_file_has_nothing_to_read() {
    let folder = strangers_folder();
    fs::write(folder.path().join("empty"), "").unwrap();
    let seen = run(folder.path(), &["check", "empty"]);
    seen.assert_said(2, &["empty", "nothing to read"]).assert_no_result();
}

#[test]
fn a_server_goes_with_a_folder_alone() {
    refused(&["precious.txt", "--server", "self"], 2, &["precious.txt is a file", "--server"]);
    refused(&["tcp://127.0.0.1:1/disk", "--server", "self"], 2, &["--server is for folders"]);
    refused(&["target", "--server", "storage"], 2, &["--server storage", "HOST:PORT"]);
    refused(&["target", "--server", "storage:99999"], 2, &["--server storage:99999", "HOST:PORT"]);
}

#[test]
fn a_record_that_would_fall_on_other_files_is_refused() {
    refused(&["target", "--out", "target"], 2, &["target", "not empty", "--out"]);
    refused(&["target", "--out", "precious.txt"], 2, &["precious.txt", "--out"]);
    refused(&["target", "--out", "precious.txt/record"], 2, &["precious.txt/record", "--out"]);
}

#[test]
fn a_folder_without_room_for_its_own_names_is_reported() {
    if is_root() {
        return;
    }
    let folder = strangers_folder();
    let closed = folder.path().join("target");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &["check", "target"]);
    seen.assert_said(3, &["target", "Permission denied", "may write"]).assert_no_result();
    before.assert_same(folder.path());
}

/// Root may write everywhere; the lab repeats the test as another user.
fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

#[test]
fn a_plan_with_a_server_of_its_own_leaves_nothing() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &["check", "target", "--server", "self", "--plan"]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("Load on target") && !seen.stdout.contains("CELLS"), "{}", seen.stdout);
    before.assert_same(folder.path());
}
