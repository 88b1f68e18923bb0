//! Endpoints that are not there, are not ours or go away, and servers that must not start.

use crate::support::running::{Running, Served};
use crate::support::{Surroundings, run, strangers_folder};
use narrows_testkit::closed_port::ClosedPort;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

const TOKEN: &str = "a-token-long-enough-to-be-one";

#[test]
fn a_closed_port_is_reported_once_with_what_to_check() {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let closed = ClosedPort::bind().unwrap();
    let address = closed.address().to_string();
    for words in
        [vec!["check", "target", "--server", &address], vec!["check", &format!("tcp://{address}/disk")]]
    {
        let seen = run(folder.path(), &words);
        seen.assert_said(3, &[&address, "Connection refused", "narrows serve"]).assert_no_result();
        assert_eq!(seen.stderr.matches("Connection refused").count(), 1, "{}", seen.stderr);
    }
    before.assert_same(folder.path());
}

#[test]
fn a_name_that_no_host_has_is_reported() {
    let folder = strangers_folder();
    let seen = run(folder.path(), &["check", "tcp://no-such-host.invalid:7300/disk"]);
    seen.assert_said(seen.code.unwrap(), &["no-such-host.invalid"]).assert_no_result();
    assert!(matches!(seen.code, Some(2 | 3)), "{seen:?}");
}

#[test]
fn a_peer_that_is_no_endpoint_is_reported() {
    for answer in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], &[0xff; 4096], &[0; 64], b""] {
        let folder = strangers_folder();
        let before = Surroundings::of(folder.path());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let peer = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            drop(socket.read(&mut [0; 64]));
            drop(socket.write_all(answer));
        });
        let seen = run(folder.path(), &["check", "target", "--server", &address]);
        peer.join().unwrap();
        seen.assert_said(3, &[&address]).assert_no_result();
        before.assert_same(folder.path());
    }
}

#[test]
fn a_wrong_token_is_bad_input_and_the_token_is_not_reported() {
    let folder = strangers_folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("token"), TOKEN).unwrap();
    fs::write(at("other"), "another-token-long-enough").unwrap();
    let served = Served::start(folder.path(), &["--token-file", "token"]);
    let target = format!("tcp://{}/memory", served.address);
    for words in [vec!["check", &target, "--token-file", "other"], vec!["check", &target]] {
        let seen = run(folder.path(), &words);
        seen.assert_said(2, &[&served.address, "token"]).assert_no_result();
        assert!(!seen.stderr.contains("another-token") && !seen.stderr.contains(TOKEN), "{}", seen.stderr);
    }
}

#[test]
fn a_token_file_that_is_none_is_named_with_how_to_make_one() {
    let folder = strangers_folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("short"), "  15-characters\n\n").unwrap();
    fs::write(at("empty"), "").unwrap();
    let before = Surroundings::of(folder.path());
    for (file, problem) in
        [("absent", "No such file"), ("target", "directory"), ("short", "13 bytes"), ("empty", "0 bytes")]
    {
        for words in [vec!["check", "target"], vec!["serve", "--listen", "127.0.0.1:0"]] {
            let seen = run(folder.path(), &[&words[..], &["--token-file", file]].concat());
            seen.assert_said(2, &[file, problem, "/dev/urandom", "FILE"]).assert_no_result();
            // A command that is copied from the message must not fall on the file that was named by mistake.
            assert!(!seen.stderr.contains(&format!("> {file}")), "{}", seen.stderr);
        }
    }
    before.assert_same(folder.path());
}

#[test]
fn a_server_that_others_can_reach_needs_a_token() {
    let folder = strangers_folder();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let seen = run(folder.path(), &["serve", "--listen", address]);
        seen.assert_said(2, &[address, "token", "--token-file"]).assert_no_result();
    }
}

#[test]
fn a_server_does_not_start_without_its_root_or_address() {
    let folder = strangers_folder();
    run(folder.path(), &["serve", "--root", "absent"]).assert_said(2, &["absent", "give a folder"]);
    run(folder.path(), &["serve", "--root", "precious.txt"])
        .assert_said(2, &["precious.txt", "not a directory"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let seen = run(folder.path(), &["serve", "--listen", &address]);
    seen.assert_said(3, &[&address, "choose another port"]).assert_no_result();
}

#[test]
fn a_folder_that_the_server_does_not_serve_is_bad_input() {
    let folder = strangers_folder();
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    let served = Served::start(folder.path(), &["--root", "elsewhere"]);
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &["check", "target", "--server", &served.address]);
    seen.assert_said(2, &[&served.address, "does not serve", "--root"]).assert_no_result();
    before.assert_same(folder.path());
}

#[test]
fn a_server_without_a_disk_cannot_prove_a_mount() {
    let folder = strangers_folder();
    let served = Served::start(folder.path(), &[]);
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &["check", "target", "--server", &served.address]);
    seen.assert_said(2, &[&served.address, "--root"]).assert_no_result();
    before.assert_same(folder.path());
}

/// Kills the server once `line` was printed; returns how the check ends.
fn killed_server(line: &str, folder: &Path) -> crate::support::Seen {
    let mut served = Served::start(folder, &[]);
    let target = format!("tcp://{}/memory", served.address);
    let words =
        ["check", &target, "--block", "4KiB", "--depth", "1", "--cell-seconds", "0.5", "--out", "record"];
    let mut check = Running::start(folder, &[&words[..], &["--whole-plan"]].concat());
    check.wait_for(line);
    served.kill9();
    check.end()
}

#[test]
fn what_was_measured_before_the_server_was_killed_stays_readable() {
    let folder = strangers_folder();
    let seen = killed_server("[2/", folder.path());
    seen.assert_said(4, &["record: record"]);
    let first = seen.stdout.lines().take(3).collect::<Vec<_>>().join(" ");
    assert!(first.starts_with("FAILED: 1 cell"), "{}", seen.stdout);
    assert!(first.contains("127.0.0.1") && first.contains("serve"), "it says what to check: {first}");
    assert!(seen.stdout.contains("cells measured"), "{}", seen.stdout);
    let again = run(folder.path(), &["diagnose", "record"]);
    assert_eq!(again.code, Some(4), "{again:?}");
    assert_eq!(again.stdout, seen.stdout, "the record alone gives the same words");
}
