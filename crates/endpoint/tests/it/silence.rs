//! A server that falls silent in the midst of a conversation, as one whose process was stopped does.

use crate::support::{Running, TERMS, control, options, server_cell};
use narrows_engines::{ErrorKind, StopFlag, StopRequest};
use narrows_model::{Nanos, Stop, Target};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Passes one connection on to `server`; of its answers none any more once `is_silent`.
fn relay(server: SocketAddr, is_silent: &Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let is_silent = Arc::clone(is_silent);
    std::thread::spawn(move || {
        let client = listener.accept().unwrap().0;
        let server = TcpStream::connect(server).unwrap();
        let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || pass_on(from_server, to_client, &is_silent));
        pass_on(client, server, &AtomicBool::new(false));
    });
    address
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, is_silent: &AtomicBool) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        if !is_silent.load(Ordering::SeqCst) && to.write_all(&bytes[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn a_cell_that_is_to_stop_does_not_wait_for_a_server_that_fell_silent() {
    let root = tempfile::tempdir().unwrap();
    let server = Running::with_root(root.path());
    let is_silent = Arc::new(AtomicBool::new(false));
    let mut control = control(relay(server.address, &is_silent), None).unwrap();
    is_silent.store(true, Ordering::SeqCst);
    let mut cell = server_cell(Target::File { path: ".".into() });
    cell.stop = Stop {
        warm_up_ns: Nanos(0),
        measure_ns: Nanos::from_secs_f64(600.0),
        bytes_max: None,
        ops_max: None,
    };
    let error = control.run_cell(&cell, TERMS, &mut |_| {}, &|| true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Stopped, "{error}");
    // The conversation is over, so that a late answer is taken for no other question's.
    is_silent.store(false, Ordering::SeqCst);
    assert!(control.counters().is_err());
}

#[test]
fn counters_of_a_server_that_fell_silent_are_not_waited_for_once_all_is_to_stop() {
    let server = Running::start(options());
    let is_silent = Arc::new(AtomicBool::new(false));
    let mut control = control(relay(server.address, &is_silent), None).unwrap();
    let stop = StopFlag::default();
    control.set_stop_flag(stop.clone());
    control.counters().unwrap();
    is_silent.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| control.counters().unwrap_err());
        stop.ask(StopRequest::Now);
        assert_eq!(asking.join().unwrap().kind, ErrorKind::Stopped);
    });
    is_silent.store(false, Ordering::SeqCst);
    assert!(control.counters().is_err(), "a late answer is taken for no other question's");
}
