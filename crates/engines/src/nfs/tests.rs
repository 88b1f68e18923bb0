//! What only `nfs` promises, against servers that break the protocol: a clear error, in time, with bounded memory. A real
//! server is in the lab.

use super::*;
use crate::conformance::{spec, worker};
use narrows_model::Op;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Answers of the servers here are waited for no longer.
const TIMEOUT_NS: u64 = 300_000_000;
/// Errors come before this: several times the timeout, for a machine that is busy.
const WITHIN: Duration = Duration::from_secs(15);

/// What opening an engine says to a server that does this with every connection.
fn opened(serve: fn(TcpStream) -> std::io::Result<()>) -> EngineError {
    opened_within(TIMEOUT_NS, serve)
}

/// The same where the engine waits this long for an answer.
fn opened_within(answer_timeout_ns: u64, serve: fn(TcpStream) -> std::io::Result<()>) -> EngineError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the test's process: nothing waits for it.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            drop(serve(connection));
        }
    });
    let target = format!("nfs://127.0.0.1:{port}/data?mountport={port}");
    let asked = OpenSpec { answer_timeout_ns, ..spec(&target, Op::Write, 4) };
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(NfsFactory.open(&asked, &worker()).err()));
    receiver.recv_timeout(WITHIN).unwrap().unwrap()
}

/// Reads a call, and returns its xid.
fn call(connection: &mut TcpStream) -> std::io::Result<[u8; 4]> {
    let mut mark = [0; 4];
    connection.read_exact(&mut mark)?;
    let mut call = vec![0; (u32::from_be_bytes(mark) & 0x7fff_ffff) as usize];
    connection.read_exact(&mut call)?;
    Ok(call[..4].try_into().unwrap())
}

#[test]
fn a_silent_server_is_given_up_in_time() {
    let error = opened(|mut connection| {
        let mut bytes = [0; 512];
        while connection.read(&mut bytes)? > 0 {}
        Ok(())
    });
    assert_eq!(error.kind, ErrorKind::PeerGone);
    assert!(error.to_string().contains("no answer within 300 ms"), "{error}");
}

#[test]
fn a_server_that_closes_the_connection_is_gone() {
    let error = opened(|mut connection| call(&mut connection).map(drop));
    assert_eq!(error.kind, ErrorKind::PeerGone, "{error}");
    assert!(error.to_string().contains("closed the connection"), "{error}");
}

#[test]
fn what_is_no_nfs_is_called_so() {
    let error = opened(|mut connection| {
        call(&mut connection)?;
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
    let error = opened(|mut connection| {
        let xid = call(&mut connection)?;
        // A reply that is accepted, with results that are none.
        let words = [1_u32, 0, 0, 0, 0, 77].map(u32::to_be_bytes).concat();
        let length = 0x8000_0000 | (4 + u32::try_from(words.len()).unwrap());
        connection.write_all(&[&length.to_be_bytes()[..], &xid, &words].concat())?;
        connection.read_exact(&mut [0; 1])
    });
    assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
}

#[test]
fn a_reply_of_two_gibibytes_is_refused_by_its_length() {
    let error = opened(|mut connection| {
        call(&mut connection)?;
        connection.write_all(&[0xff; 4])?;
        connection.read_exact(&mut [0; 1])
    });
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(error.to_string().contains("2147483647 bytes was announced"), "{error}");
}

#[test]
fn replies_without_an_end_are_given_up() {
    // A debug build under a sanitizer reads what is allowed of them in more than the timeout.
    let fragments = opened_within(20 * TIMEOUT_NS, |mut connection| {
        call(&mut connection)?;
        loop {
            connection.write_all(&[0; 4096])?;
        }
    });
    assert_eq!(fragments.kind, ErrorKind::Protocol, "{fragments}");
    let strays = opened(|mut connection| {
        call(&mut connection)?;
        let stray = [0x8000_0018_u32, 0xdead_beef, 1, 0, 0, 0, 0].map(u32::to_be_bytes).concat();
        loop {
            connection.write_all(&stray)?;
        }
    });
    assert_eq!(strays.kind, ErrorKind::PeerGone, "{strays}");
}

#[test]
fn a_refusal_of_the_caller_is_a_matter_of_permission() {
    let error = opened(|mut connection| {
        let xid = call(&mut connection)?;
        let words = [1_u32, 1, 1, 5].map(u32::to_be_bytes).concat();
        connection.write_all(&[&0x8000_0014_u32.to_be_bytes()[..], &xid, &words].concat())?;
        connection.read_exact(&mut [0; 1])
    });
    assert_eq!(error.kind, ErrorKind::Permission, "{error}");
    assert!(error.to_string().contains("AUTH_TOOWEAK"), "{error}");
}

#[test]
fn a_server_of_other_versions_alone_is_named_with_what_to_do() {
    let error = opened(|mut connection| {
        let xid = call(&mut connection)?;
        // PROG_MISMATCH: version 4 alone.
        let words = [1_u32, 0, 0, 0, 2, 4, 4].map(u32::to_be_bytes).concat();
        connection.write_all(&[&0x8000_0020_u32.to_be_bytes()[..], &xid, &words].concat())?;
        connection.read_exact(&mut [0; 1])
    });
    assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
    let text = error.to_string();
    assert!(text.contains("speaks version 4 of NFS alone, and narrows speaks version 3"), "{text}");
    assert!(text.contains("check the mounted folder") && text.contains("serve version 3 as well"), "{text}");
}

#[test]
fn a_server_without_mount_that_speaks_version_3_keeps_its_error() {
    let error = opened(|mut connection| {
        for _ in 0..2 {
            let xid = call(&mut connection)?;
            // PROG_UNAVAIL.
            let words = [1_u32, 0, 0, 0, 1].map(u32::to_be_bytes).concat();
            connection.write_all(&[&0x8000_0018_u32.to_be_bytes()[..], &xid, &words].concat())?;
        }
        Ok(())
    });
    assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("PROG_UNAVAIL"), "{error}");
}
