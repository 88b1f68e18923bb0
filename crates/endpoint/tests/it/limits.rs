//! What a server refuses, and what it leaves behind: nothing.

use crate::support::{HandClock, Running, control, eventually, names_in, one, open, options, pass, workload};
use narrows_endpoint::{ServeErrorKind, ServeOptions, Server};
use narrows_engines::{Clock, ErrorKind, Tick};
use narrows_model::{Bytes, Layer, Op};
use narrows_testkit::closed_port::ClosedPort;
use narrows_wire::frame;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

const TOKEN: &[u8] = b"0123456789abcdef0123456789abcdef";

fn with_token() -> Running {
    Running::start(ServeOptions { token: Some(TOKEN.to_vec()), ..options() })
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let listen = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = Server::bind(ServeOptions { listen, ..options() }).unwrap_err();
    assert_eq!(error.kind, ServeErrorKind::Options);
    assert!(
        error.to_string().contains("needs a token") && error.to_string().contains("--token-file"),
        "{error}"
    );
    let short = Server::bind(ServeOptions { token: Some(b"short".to_vec()), ..options() }).unwrap_err();
    assert!(short.to_string().contains("needs 16"), "{short}");
}

#[test]
fn a_wrong_or_missing_token_is_refused_on_every_kind_of_connection() {
    let server = with_token();
    for token in [None, Some(&b"another token of enough length"[..])] {
        assert_eq!(control(server.address, token).unwrap_err().kind, ErrorKind::Token);
        let mut spec = server.spec(Layer::Memory, workload(Op::Read, 4096, 1));
        spec.token = token.map(<[u8]>::to_vec);
        assert_eq!(open(&spec).err().unwrap().kind, ErrorKind::Token);
    }
    control(server.address, Some(TOKEN)).unwrap().end().unwrap();
}

#[test]
fn the_token_is_never_on_the_wire() {
    let server = with_token();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (far_address, kept) = (server.address, Arc::clone(&seen));
    let relaying = std::thread::spawn(move || {
        let (near, _) = listener.accept().unwrap();
        let far = TcpStream::connect(far_address).unwrap();
        let copy = |mut from: TcpStream, mut to: TcpStream, kept: Arc<Mutex<Vec<u8>>>| {
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(length @ 1..) = from.read(&mut bytes) {
                    kept.lock().unwrap().extend_from_slice(&bytes[..length]);
                    if to.write_all(&bytes[..length]).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(Shutdown::Write);
            })
        };
        let out = copy(near.try_clone().unwrap(), far.try_clone().unwrap(), Arc::clone(&kept));
        copy(far, near, kept).join().unwrap();
        out.join().unwrap();
    });
    control(relay, Some(TOKEN)).unwrap().end().unwrap();
    relaying.join().unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 500);
    assert!(!seen.windows(8).any(|part| TOKEN.windows(8).any(|secret| secret == part)));
}

#[test]
fn names_that_lead_out_of_the_store_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    let root = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    let server = Running::with_root(root.path());
    for name in ["../x", "/etc/passwd", "..", "a/../../x", "link/secret"] {
        let mut spec = server.spec(Layer::Disk, workload(Op::Read, 4096, 1));
        spec.objects = vec![name.to_owned()];
        assert_eq!(open(&spec).err().unwrap().kind, ErrorKind::Permission, "{name}");
    }
}

#[test]
fn a_store_above_its_quota_is_refused_until_there_is_room() {
    let root = tempfile::tempdir().unwrap();
    let limited = ServeOptions {
        root: Some(root.path().to_owned()),
        quota_bytes: Some(10 << 20),
        memory_bytes_max: 10 << 20,
        ..options()
    };
    let server = Running::start(limited);
    for layer in [Layer::Memory, Layer::Disk] {
        let control = server.control();
        let mut spec = server.spec(layer, workload(Op::Write, 4096, 1));
        spec.session = Some(control.session().to_owned());
        let first = open(&spec).unwrap();
        let mut second = spec.clone();
        second.objects = vec!["data-1".to_owned()];
        let error = open(&second).err().unwrap();
        assert_eq!(error.kind, ErrorKind::NoSpace);
        assert!(error.to_string().contains("raise its limit"), "{error}");
        drop(first);
        control.end().unwrap();
        // The session's store went with it, and its room is free again.
        let control = server.control();
        spec.session = Some(control.session().to_owned());
        open(&spec).unwrap();
    }
}

#[test]
fn more_room_than_the_file_system_has_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let mut spec = server.spec(Layer::Disk, workload(Op::Write, 4096, 1));
    spec.object_bytes = Bytes(1 << 60);
    assert_eq!(open(&spec).err().unwrap().kind, ErrorKind::NoSpace);
}

#[test]
fn a_connection_too_many_is_refused_with_the_reason() {
    let server = Running::start(ServeOptions { connections_max: 2, ..options() });
    let (_one, _two) = (server.control(), server.control());
    let error = control(server.address, None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refused);
    assert!(error.to_string().contains("2 connections"), "{error}");
}

#[test]
fn a_connection_ends_with_its_time_and_is_reported_why() {
    let clock = Arc::new(HandClock::default());
    let hand: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
    let server = Running::start(ServeOptions { seconds_max: Some(60), clock: hand, ..options() });
    let mut connection = server.control();
    let mut engine = open(&server.spec(Layer::Memory, workload(Op::Write, 4096, 1))).unwrap();
    let mut sink = open(&server.spec(Layer::Sink, workload(Op::Send, 4096, 1))).unwrap();
    pass(engine.as_mut(), Op::Write, 4096, 10);
    pass(sink.as_mut(), Op::Send, 4096, 10);
    clock.wait_until(Tick(61_000_000_000));
    let mut errors = Vec::new();
    eventually("the connection ends", || {
        errors.extend(one(engine.as_mut(), Op::Write, 0, 4096).err());
        !errors.is_empty()
    });
    assert!(errors[0].contains("60 s, which have passed"), "{errors:?}");
    // A later connection is served: the look at all others is over.
    server.control().end().unwrap();
    let ended = sink.close().unwrap_err();
    assert!(ended.to_string().contains("60 s, which have passed"), "{ended}");
    let mut gone = None;
    eventually("the control connection ends", || {
        gone = connection.counters().err();
        gone.is_some()
    });
    assert_eq!(gone.unwrap().kind, ErrorKind::PeerGone);
}

#[test]
fn a_silent_connection_ends_but_a_control_connection_may_be_silent() {
    let clock = Arc::new(HandClock::default());
    let hand: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
    let server = Running::start(ServeOptions { idle_seconds_max: 3, clock: hand, ..options() });
    let mut connection = server.control();
    let mut mute = TcpStream::connect(server.address).unwrap();
    // The mute connection has been let in once a later one has been served.
    server.control().end().unwrap();
    clock.wait_until(Tick(4_000_000_000));
    let mut said = Vec::new();
    mute.read_to_end(&mut said).unwrap();
    assert!(String::from_utf8_lossy(&said).contains("the connection was idle for 3 s"));
    connection.counters().unwrap();
}

#[test]
fn garbage_and_half_a_hello_leave_the_server_well() {
    let server = Running::start(options());
    for bytes in [&b"GET / HTTP/1.0\r\n\r\n"[..], &[0xff; 4000], &[44, 0, 0, 0, 1, b'n', b'a']] {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.write_all(bytes).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
    }
    server.control().end().unwrap();
}

#[test]
fn another_version_is_refused_with_both_versions() {
    let server = Running::start(options());
    let mut hello = Vec::new();
    let payload = [&b"narrows\0"[..], &7_u16.to_le_bytes(), &[1, 0], &[0; 32]].concat();
    frame::encode(1, &payload, &mut hello).unwrap();
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket.write_all(&hello).unwrap();
    let mut answer = Vec::new();
    socket.shutdown(Shutdown::Write).unwrap();
    socket.read_to_end(&mut answer).unwrap();
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("version 7") && text.contains("version 2"), "{text}");
}

#[test]
fn a_server_that_stops_amid_a_write_leaves_no_files_and_the_client_learns_of_it() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("mine"), "kept").unwrap();
    let server = Running::with_root(root.path());
    let mut engine = open(&server.spec(Layer::Disk, workload(Op::Write, 65_536, 8))).unwrap();
    pass(engine.as_mut(), Op::Write, 65_536, 20);
    assert_eq!(names_in(root.path()).len(), 2);
    let mut half = TcpStream::connect(server.address).unwrap();
    half.write_all(&[44, 0]).unwrap();
    server.stop().unwrap();
    assert_eq!(names_in(root.path()), ["mine"]);
    assert!(one(engine.as_mut(), Op::Write, 0, 65_536).is_err());
}

#[test]
fn a_client_that_vanishes_leaves_no_files() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let control = server.control();
    let mut spec = server.spec(Layer::Disk, workload(Op::Write, 65_536, 8));
    spec.session = Some(control.session().to_owned());
    let mut engine = open(&spec).unwrap();
    pass(engine.as_mut(), Op::Write, 65_536, 20);
    drop(control);
    // The session's end cuts its data connections.
    eventually("the connection is cut", || one(engine.as_mut(), Op::Write, 0, 65_536).is_err());
    eventually("the folder is gone", || names_in(root.path()).is_empty());
    assert_eq!(open(&spec).err().unwrap().kind, ErrorKind::NotFound, "the session has ended");
}

#[test]
fn a_port_where_nothing_listens_is_refused_with_a_hint() {
    let closed = ClosedPort::bind().unwrap();
    let error = control(closed.address(), None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refused);
    assert!(error.to_string().contains("narrows serve"), "{error}");
}
