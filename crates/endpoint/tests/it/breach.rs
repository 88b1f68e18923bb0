//! Clients that break the protocol are sent the reason, and the server continues.

use crate::support::raw::{Raw, opening};
use crate::support::{Running, eventually, names_in};
use narrows_model::Layer;
use narrows_wire::request::{RequestHeader, RequestKind};
use std::io::{Read, Write};
use std::net::TcpStream;

/// A data connection by hand, with one block of 4 KiB in flight at most.
fn data_connection(server: &Running, layer: Layer) -> TcpStream {
    let mut raw = Raw::asking(server.address, &opening(layer, &["x"], 1 << 20, None)).unwrap();
    let granted = raw.granted().unwrap();
    assert_eq!((granted.credits.requests, granted.credits.bytes), (1, 4096));
    raw.socket
}

fn request(object: u32, length_bytes: u32) -> [u8; 24] {
    RequestHeader { kind: RequestKind::Write, tag: 0, object, length_bytes, offset_bytes: 0 }.encode()
}

#[test]
fn a_breach_is_answered_in_words_and_the_connection_is_closed() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    for layer in [Layer::Memory, Layer::Disk] {
        for (bytes, words) in [
            (request(1, 0), "object 1 of 1"),
            (request(0, 4097), "4096 were agreed"),
            (request(0, u32::MAX), "4096 were agreed"),
            ([0xff; 24], "unknown kind 255"),
        ] {
            let mut socket = data_connection(&server, layer);
            socket.write_all(&bytes).unwrap();
            let mut last = Vec::new();
            // The server closes its half after its last words; this side closes by going.
            socket.read_to_end(&mut last).unwrap();
            let text = String::from_utf8_lossy(&last);
            assert!(text.contains(words), "{layer:?}: {text}");
        }
    }
    server.control().end().unwrap();
}

#[test]
fn a_request_above_the_credits_is_a_breach() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut socket = data_connection(&server, Layer::Disk);
    // Replies are never waited for, so that sooner or later two requests are in flight where one was granted.
    let read =
        RequestHeader { kind: RequestKind::Read, tag: 0, object: 0, length_bytes: 4096, offset_bytes: 0 }
            .encode();
    socket.write_all(&read.repeat(64)).unwrap();
    let mut last = Vec::new();
    socket.read_to_end(&mut last).unwrap();
    let text = String::from_utf8_lossy(&last);
    assert!(text.contains("2 requests of 8192 bytes in flight where 1 of 4096"), "{text}");
}

#[test]
fn a_client_that_goes_amid_a_payload_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut socket = data_connection(&server, Layer::Disk);
    socket.write_all(&request(0, 4096)).unwrap();
    socket.write_all(&[1; 100]).unwrap();
    drop(socket);
    eventually("the folder is gone", || names_in(root.path()).is_empty());
    server.stop().unwrap();
}
