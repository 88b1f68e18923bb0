//! What `s3` promises against servers that break the protocol: a clear error, in time, with bounded memory. A real server is
//! in the lab.

use super::*;
use narrows_engines::conformance::{spec, worker};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// Answers of the servers here are waited for no longer.
const TIMEOUT_NS: u64 = 300_000_000;
/// Errors come before this: several times the timeout, for a machine that is busy.
const WITHIN: Duration = Duration::from_secs(15);

fn factory() -> S3Factory {
    let credentials =
        S3Credentials { key_id: "K".to_owned(), secret: "hidden".to_owned(), session_token: None };
    let environment = S3Environment { credentials: Some(credentials), ..S3Environment::default() };
    S3Factory::new(environment, || 1_800_000_000, worker().clock)
}

/// What opening an engine for a read says to a server that does this with every connection.
fn opened(scheme: &str, serve: fn(TcpStream) -> std::io::Result<()>) -> EngineError {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the test's process: nothing waits for it.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            drop(serve(connection));
        }
    });
    let target = format!("s3://bucket/p?endpoint={scheme}://127.0.0.1:{port}");
    let asked = OpenSpec { answer_timeout_ns: TIMEOUT_NS, create: false, ..spec(&target, Op::Read, 4) };
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(factory().open(&asked, &worker()).err()));
    let error = receiver.recv_timeout(WITHIN).unwrap().unwrap();
    assert!(!error.to_string().contains("Signature") && !error.to_string().contains("hidden"), "{error}");
    error
}

/// Reads the head of a request.
fn request(connection: &mut TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(())
}

/// Answers a HEAD with the length of the suite's object, and what follows with `answer`.
fn answered(connection: &mut TcpStream, answer: &[u8]) -> std::io::Result<()> {
    request(connection)?;
    connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 131072\r\n\r\n")?;
    request(connection)?;
    connection.write_all(answer)
}

#[test]
fn a_silent_server_is_given_up_in_time() {
    let error = opened("http", |mut connection| {
        let mut bytes = [0; 512];
        while connection.read(&mut bytes)? > 0 {}
        Ok(())
    });
    assert_eq!(error.kind, ErrorKind::PeerGone);
    assert!(error.to_string().contains("no answer within 300 ms"), "{error}");
}

#[test]
fn a_server_that_closes_the_connection_is_gone() {
    let error = opened("http", |mut connection| request(&mut connection));
    assert_eq!(error.kind, ErrorKind::PeerGone, "{error}");
    assert!(error.to_string().contains("the connection ended"), "{error}");
}

#[test]
fn what_is_no_http_is_called_so() {
    let error = opened("http", |mut connection| {
        request(&mut connection)?;
        connection.write_all(b"SSH-2.0-OpenSSH\r\n\r\n\r\n")?;
        connection.read_exact(&mut [0; 1])
    });
    assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
}

#[test]
fn heads_without_an_end_and_heads_in_drops_are_given_up() {
    let endless = opened("http", |mut connection| {
        request(&mut connection)?;
        connection.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            connection.write_all(b"X-More: 0123456789012345678901234567890123456789\r\n")?;
        }
    });
    assert_eq!(endless.kind, ErrorKind::Protocol, "{endless}");
    let drops = opened("http", |mut connection| {
        request(&mut connection)?;
        connection.write_all(b"HTTP/1.1 200 OK\r\nX-More: ")?;
        let (_open, waits) = std::sync::mpsc::channel::<()>();
        loop {
            let _late = waits.recv_timeout(Duration::from_millis(100));
            connection.write_all(b"x")?;
        }
    });
    assert_eq!(drops.kind, ErrorKind::PeerGone, "{drops}");
}

#[test]
fn a_refusal_without_an_end_is_cut_and_its_code_is_shown() {
    let error = opened("http", |mut connection| {
        request(&mut connection)?;
        connection.write_all(b"HTTP/1.1 403 Forbidden\r\nDate: Fri, 15 Jan 2027 07:00:00 GMT\r\n\r\n")?;
        Ok(())
    });
    assert_eq!(error.kind, ErrorKind::Permission, "{error}");
    assert!(error.to_string().contains("this machine's clock is 3600 s ahead"), "{error}");
}

#[test]
fn a_server_without_tls_is_called_so() {
    let error = opened("https", |mut connection| {
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
        let mut bytes = [0; 512];
        while connection.read(&mut bytes)? > 0 {}
        Ok(())
    });
    assert!(error.to_string().contains("TLS was refused"), "{error}");
}

/// Opens an engine for reads at a server that answers a read so, and returns what comes of the read.
fn read_from(serve: fn(TcpStream) -> std::io::Result<()>) -> (Result<u32, String>, Option<String>) {
    use narrows_engines::conformance::{BLOCK_BYTES, complete};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            std::thread::spawn(move || serve(connection));
        }
    });
    let target = format!("s3://bucket/p?endpoint=http://127.0.0.1:{port}");
    let asked = OpenSpec { create: false, ..spec(&target, Op::Read, 1) };
    let mut engine = factory().open(&asked, &worker()).unwrap();
    let request = narrows_engines::conformance::request(Op::Read, 0, 0);
    assert_eq!(request.length_bytes, BLOCK_BYTES);
    let (_, result) = complete(engine.as_mut(), &[request]).pop().unwrap();
    (result, engine.failure_detail(0))
}

#[test]
fn answers_that_are_too_large_or_for_something_else_are_refused() {
    // The engine asks for the object twice before a load: whether it is there, and by the connection that is then used.
    let (result, detail) = read_from(|mut connection| {
        request(&mut connection)?;
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 131072\r\n\r\n")?;
        answered(&mut connection, b"HTTP/1.1 206 Partial Content\r\nContent-Length: 99999999999\r\n\r\n")
    });
    assert_eq!(result, Err("EMSGSIZE".to_owned()));
    assert!(detail.unwrap().contains("more than the 4096 bytes"));
    let (result, detail) = read_from(|mut connection| {
        request(&mut connection)?;
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 131072\r\n\r\n")?;
        answered(&mut connection, b"HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        loop {
            connection.write_all(b"8\r\nabcdefgh\r\n")?;
        }
    });
    assert_eq!(result, Err("EMSGSIZE".to_owned()), "{detail:?}");
    let (result, detail) = read_from(|mut connection| {
        request(&mut connection)?;
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 131072\r\n\r\n")?;
        answered(&mut connection, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd")
    });
    assert_eq!(result, Err("EPROTO".to_owned()), "{detail:?}");
    let (result, detail) = read_from(|mut connection| {
        request(&mut connection)?;
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 131072\r\n\r\n")?;
        answered(
            &mut connection,
            b"HTTP/1.1 503 Slow Down\r\nContent-Length: 35\r\n\r\n<Error><Code>SlowDown</Code></Error>",
        )
    });
    assert_eq!(result, Err("EBUSY".to_owned()), "{detail:?}");
    assert!(detail.unwrap().contains("503 SlowDown"));
}

#[test]
fn nothing_is_written_and_nothing_removed_outside_of_a_place_of_ours() {
    let target = "s3://bucket/p?endpoint=http://127.0.0.1:1";
    let asked = spec(target, Op::Write, 1);
    for error in [factory().open(&asked, &worker()).err(), factory().remove(&asked).err()] {
        let text = error.unwrap().to_string();
        assert!(text.contains("only below a prefix that narrows has made"), "{text}");
    }
}
