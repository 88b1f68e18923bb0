//! Mistaken requests to the buffer experiment, and peers that are no roles: refused with what to do, and nothing
//! partial reported as complete.

use crate::support::running::Served;
use crate::support::{Seen, Surroundings, run, strangers_folder};
use narrows_model::relay::CallSizes;
use narrows_model::{Nanos, Summary};
use narrows_testkit::closed_port::ClosedPort;
use narrows_wire::frame::{self, Decoder, Frame};
use narrows_wire::relay::{ROLE_REPLY, RoleReply, RoleReport};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

/// Runs `narrows relay` and fails unless it is refused with `words` and nothing is left.
#[track_caller]
fn refused(code: i32, words: &[&str], said: &[&str]) -> Seen {
    let folder = strangers_folder();
    let before = Surroundings::of(folder.path());
    let seen = run(folder.path(), &[&["relay"], words].concat());
    seen.assert_said(code, said).assert_no_result();
    before.assert_same(folder.path());
    seen
}

#[test]
fn buffers_and_transfers_that_do_not_fit_are_refused_with_what_does() {
    refused(2, &["--sizes", "4096,0"], &["--sizes", "must be above 0"]);
    refused(2, &["--bytes", "0"], &["--bytes", "must be above 0"]);
    refused(2, &["--bytes", "2048"], &["a buffer of 4KiB, larger than the transfer", "up to the 2KiB"]);
    refused(2, &["--sizes", "64MiB"], &["a buffer of 64MiB, larger than the transfer", "up to the 48MiB"]);
    refused(2, &["--sizes", "128MiB", "--bytes", "1GiB"], &["a buffer of 128MiB", "64MiB"]);
    refused(2, &["--bytes", "50000000"], &["not a multiple", "--bytes 49999872 and --bytes 50012160"]);
    refused(2, &["--send-buffer", "4GiB"], &["send-buffer", "without it the kernel decides"]);
    refused(2, &["--trials", "0"], &["--trials"]);
    refused(2, &["--bytes", "1e9"], &["--bytes", "is not a size"]);
}

#[test]
fn a_sweep_that_there_is_not_is_refused_with_the_nearest_name() {
    refused(2, &["--sweep", "both,proxi"], &["did you mean \"proxy\"?", "client+server", "all-3"]);
}

#[test]
fn options_that_contradict_each_other_are_reported_at_once() {
    let words = ["--transport", "unix", "--no-delay", "--receive-buffer", "64KiB", "--server", "127.0.0.1:1"];
    refused(2, &words, &["TCP_NODELAY", "SO_RCVBUF", "a role on another host with Unix sockets"]);
    refused(2, &["--sweep", "client", "--proxy-mode", "splice"], &["only sweeps of two nodes"]);
    refused(2, &["--proxy", "192.0.2.1:7301"], &["--proxy 192.0.2.1:7301", "--server"]);
    refused(2, &["--server", "nowhere"], &["--server nowhere names no port", "HOST:PORT"]);
}

#[test]
fn peers_that_are_not_there_or_no_roles_are_reported() {
    let closed_port = ClosedPort::bind().unwrap();
    let closed = closed_port.address().to_string();
    refused(3, &["--server", &closed], &[&closed, "Connection refused"]);
    let seen =
        refused(3, &["--proxy", &closed], &[&closed, "Connection refused", "`narrows proxy` runs there"]);
    assert!(!seen.stderr.contains("narrows serve"), "{}", seen.stderr);
    let folder = strangers_folder();
    let served = Served::start(folder.path(), &[]);
    refused(
        2,
        &["--proxy", &served.address, "--sweep", "proxy"],
        &[&served.address, "not a `narrows proxy`", "--server"],
    );
    std::fs::write(folder.path().join("token"), "a-token-long-enough-to-be-one").unwrap();
    for more in [&[][..], &["--token-file", "token"]] {
        let proxy = Served::of("proxy", folder.path(), &[&["--to", &served.address], more].concat());
        // Whether it answers this user or not, it would let the conversation pass and not the stream.
        refused(2, &["--server", &proxy.address], &[&proxy.address, "is a `narrows proxy`", "--proxy"]);
    }
}

#[test]
fn a_peer_of_another_version_is_reported_with_both_versions() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let peer = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut hello = [0; 512];
        let length = socket.read(&mut hello).unwrap();
        // The same greeting as a challenge, of version 999.
        let mut answer = hello[..length].to_vec();
        answer[4] = 2;
        answer[13..15].copy_from_slice(&999_u16.to_le_bytes());
        answer[15] = 0;
        socket.write_all(&answer).unwrap();
        drop(socket.read(&mut hello));
    });
    refused(3, &["--server", &address], &["version 999", "use the same version of narrows on both sides"]);
    peer.join().unwrap();
}

/// What a liar does to a report.
type Change = fn(&mut RoleReport);

/// Is between a command and an endpoint, and changes what its roles report.
fn liar(endpoint: String, change: Change) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(&endpoint).unwrap());
            std::thread::spawn(move || pass_on(&client, &server, change));
        }
    });
    address
}

/// Passes one connection on, with its answers changed.
fn pass_on(client: &TcpStream, server: &TcpStream, change: Change) {
    let (mut asks, mut asked) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        drop(std::io::copy(&mut asks, &mut asked));
        drop(asked.shutdown(Shutdown::Both));
    });
    answers(server, client, change);
    drop(client.shutdown(Shutdown::Both));
}

fn answers(mut from: &TcpStream, mut to: &TcpStream, change: Change) {
    let mut decoder = Decoder::new(frame::PAYLOAD_BYTES_MAX);
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        decoder.push(&buffer[..length]);
        while let Ok(Some(frame)) = decoder.next() {
            if to.write_all(&changed(&frame, change)).is_err() {
                return;
            }
        }
    }
}

fn changed(frame: &Frame, change: Change) -> Vec<u8> {
    if frame.kind == ROLE_REPLY
        && let Ok(RoleReply::Done(mut done)) = RoleReply::decode(frame.clone())
    {
        change(&mut done);
        return RoleReply::Done(done).encode().unwrap();
    }
    let mut bytes = Vec::new();
    frame::encode(frame.kind, &frame.payload, &mut bytes).unwrap();
    bytes
}

#[test]
fn a_peer_that_misreports_lengths_or_counts_makes_no_result() {
    let false_answers: [(Change, &str); 8] = [
        (|done| done.output.reads = calls(&[(1 << 40, 1)]), "reads of 1099511627776 bytes with a buffer"),
        (|done| done.output.reads = calls(&[(64, u64::MAX)]), "of more bytes than there are"),
        (|done| done.output.reads = calls(&[(64, 1)]), "received 64 bytes of"),
        (|done| done.output.host = "\u{1b}[31m".into(), "the name of its host is invalid"),
        (|done| done.output.user_ns = Nanos(1 << 40), "ns of CPU time of one thread in"),
        (|done| done.output.elapsed_ns = Nanos(0), "65536 bytes moved in no time"),
        (|done| done.output.elapsed_ns = Nanos(1 << 40), "1099511627776 ns of a trial of"),
        (|done| done.content_fault = Some("x".repeat(100_000)), "a fault of 100000 bytes of text"),
    ];
    let folder = strangers_folder();
    let served = Served::start(folder.path(), &[]);
    for (number, (change, said)) in false_answers.into_iter().enumerate() {
        let address = liar(served.address.clone(), change);
        let record = format!("record-{number}");
        let words = ["relay", "--server", &address, "--sweep", "both", "--sizes", "64", "--bytes", "64KiB"];
        let seen = run(folder.path(), &[&words[..], &["--trials", "1", "--json", "--out", &record]].concat());
        seen.assert_said(3, &["nothing could be measured", said]);
        let summary: Summary = serde_json::from_str(&seen.stdout).unwrap();
        let relay = summary.relay.unwrap();
        assert!(!summary.complete && relay.points[0].trial_count == 0 && relay.points[0].rate_mean.is_none());
    }
}

fn calls(sizes: &[(u64, u64)]) -> CallSizes {
    CallSizes { by_bytes: sizes.iter().copied().collect::<BTreeMap<_, _>>() }
}

#[test]
fn a_record_of_counts_that_cannot_be_is_refused_and_not_believed() {
    let folder = strangers_folder();
    let words =
        ["relay", "--sweep", "both", "--sizes", "64", "--bytes", "64KiB", "--trials", "1", "--out", "record"];
    assert_eq!(run(folder.path(), &words).code, Some(0));
    let events = folder.path().join("record/events.jsonl");
    let text = std::fs::read_to_string(&events).unwrap();
    std::fs::write(&events, text.replace("\"64\":1024", "\"64\":1023")).unwrap();
    let seen = run(folder.path(), &["diagnose", "record", "--json"]);
    assert_ne!(seen.code, Some(0), "{seen:?}");
}
