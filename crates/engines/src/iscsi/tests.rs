//! What only `iscsi` promises, against targets that break the protocol: a clear error, in time, with bounded memory. A real
//! target is in the lab.

use super::*;
use crate::conformance::{spec, worker};
use narrows_wire::iscsi::header::{BasicHeader, HEADER_BYTES, PduKind};
use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Answers of the targets here are waited for no longer.
const TIMEOUT_NS: u64 = 300_000_000;
/// Errors come before this: several times the timeout, for a machine that is busy.
const WITHIN: Duration = Duration::from_secs(15);

/// What opening an engine says to a target that does this with every connection.
fn opened(options: &str, serve: fn(TcpStream) -> Result<()>) -> EngineError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the test's process: nothing waits for it.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            drop(serve(connection));
        }
    });
    let target = format!("iscsi://127.0.0.1:{port}/iqn.2026-01.x:t/1{options}");
    let asked = OpenSpec { answer_timeout_ns: TIMEOUT_NS, ..spec(&target, Op::Read, 4) };
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(IscsiFactory.open(&asked, &worker()).err()));
    receiver.recv_timeout(WITHIN).unwrap().unwrap()
}

/// Reads a PDU, and returns its header.
fn request(connection: &mut TcpStream) -> Result<BasicHeader> {
    let mut header = [0; HEADER_BYTES];
    connection.read_exact(&mut header)?;
    let header = BasicHeader(header);
    let mut data = vec![0; header.data_bytes().next_multiple_of(4)];
    connection.read_exact(&mut data)?;
    Ok(header)
}

/// A response of a login that lets it go on as it was asked.
fn accepted(asked: &BasicHeader) -> BasicHeader {
    let mut answer = BasicHeader::new(PduKind::LoginResponse);
    answer.0[1] = asked.0[1];
    // One command at a time.
    (answer.0[31], answer.0[35]) = (1, 1);
    answer
}

/// Logs an initiator in.
fn log_in(connection: &mut TcpStream) -> Result<()> {
    loop {
        let asked = request(connection)?;
        connection.write_all(&accepted(&asked).0)?;
        if asked.0[1] & 0x83 == 0x83 {
            return Ok(());
        }
    }
}

#[test]
fn a_silent_target_is_given_up_in_time() {
    let silent = |mut connection: TcpStream| {
        let mut bytes = [0; 512];
        while connection.read(&mut bytes)? > 0 {}
        Ok(())
    };
    let error = opened("", silent);
    assert_eq!(error.kind, ErrorKind::PeerGone);
    assert!(error.to_string().contains("no answer within 300 ms"), "{error}");
    let error = opened("", |mut connection| {
        log_in(&mut connection)?;
        connection.read_exact(&mut [0; 4096])
    });
    assert!(error.to_string().contains("no answer within 300 ms"), "{error}");
}

#[test]
fn a_target_that_closes_the_connection_is_gone() {
    let error = opened("", |mut connection| request(&mut connection).map(drop));
    assert_eq!(error.kind, ErrorKind::PeerGone, "{error}");
    assert!(error.to_string().contains("closed the connection"), "{error}");
}

#[test]
fn what_is_no_iscsi_is_called_so() {
    let http = opened("", |mut connection| {
        request(&mut connection)?;
        connection.write_all(&[b'H'; 600])?;
        connection.read_exact(&mut [0; 1])
    });
    assert_eq!(http.kind, ErrorKind::Protocol, "{http}");
    let long = opened("", |mut connection| {
        let asked = request(&mut connection)?;
        let mut answer = accepted(&asked);
        answer.set_data_bytes(0xff_ffff);
        connection.write_all(&answer.0)?;
        connection.read_exact(&mut [0; 1])
    });
    assert_eq!(long.kind, ErrorKind::Protocol, "{long}");
    assert!(long.to_string().contains("16777215 bytes was announced"), "{long}");
    let other = opened("", |mut connection| {
        request(&mut connection)?;
        connection.write_all(&BasicHeader::new(PduKind::ReadyToTransfer).0)?;
        connection.read_exact(&mut [0; 1])
    });
    assert!(other.to_string().contains("no login response"), "{other}");
}

#[test]
fn answers_without_an_end_are_given_up() {
    let logins = opened("", |mut connection| {
        loop {
            let mut asked = request(&mut connection)?;
            // More of the same step follows.
            asked.0[1] = 0x40;
            connection.write_all(&accepted(&asked).0)?;
        }
    });
    assert!(logins.to_string().contains("no end"), "{logins}");
    let pings = opened("", |mut connection| {
        log_in(&mut connection)?;
        let mut ping = BasicHeader::new(PduKind::NopIn);
        ping.0[16..20].fill(0xff);
        ping.0[20..24].fill(0xff);
        loop {
            connection.write_all(&ping.0)?;
        }
    });
    assert_eq!(pings.kind, ErrorKind::PeerGone, "{pings}");
    let data = opened("", |mut connection| {
        log_in(&mut connection)?;
        let asked = request(&mut connection)?;
        let mut part = BasicHeader::new(PduKind::DataIn);
        part.0[16..20].copy_from_slice(&asked.0[16..20]);
        part.set_data_bytes(4096);
        loop {
            connection.write_all(&part.0)?;
            connection.write_all(&[0; 4096])?;
        }
    });
    assert!(data.to_string().contains("nobody asked for"), "{data}");
}

#[test]
fn secrets_that_cannot_be_used_are_refused_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (same, empty, lines) = (file("same", "s3cret\n"), file("empty", "\n"), file("lines", "a\nb\n"));
    let missing = folder.path().join("missing").display().to_string();
    let nobody = |_: TcpStream| Ok(());
    for (path, part) in [
        (missing, "No such file"),
        (empty, "write the secret in one line"),
        (lines, "write the secret in one line"),
    ] {
        let error = opened(&format!("?chap_user=u&chap_secret_file={path}"), nobody);
        assert!(error.to_string().contains(part), "{error}");
    }
    let both = format!("?chap_user=u&chap_secret_file={same}&target_user=t&target_secret_file={same}");
    let error = opened(&both, nobody);
    assert!(error.to_string().contains("both sides have the same secret"), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
}
