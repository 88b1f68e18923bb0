//! How the engine handles peers that are silent, dishonest, or somebody else. A real server is tested in
//! `narrows-endpoint`.

use super::*;
use crate::clock::{Clock, MonotonicClock, Tick};
use crate::request::{Completions, IoRequest, Slot};
use crate::stop::{StopFlag, StopRequest};
use narrows_model::counters::Combine;
use narrows_model::workload::{Access, Acknowledgement, SyncPolicy};
use narrows_model::{Workload, capabilities::Completion};
use narrows_wire::frame::Decoder;
use narrows_wire::hello::{Nonce, PAYLOAD_BYTES_MAX, ServerHello};
use narrows_wire::open::Credits;
use narrows_wire::{refuse, reply, request};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;

const BLOCK: u32 = 4096;

/// A peer that takes one connection and behaves as `life` says.
fn peer(life: impl FnOnce(TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (address, std::thread::spawn(move || life(listener.accept().unwrap().0)))
}

/// Greets, takes the opening and grants it: what a server does before the first request.
fn grant(socket: &mut TcpStream) {
    let mut decoder = Decoder::new(64 << 10);
    let mut hello = ServerHello::new(Nonce([9; 32]), None);
    let mut frames = Vec::new();
    let mut bytes = [0; 4096];
    while frames.len() < 2 {
        let length = socket.read(&mut bytes).unwrap();
        decoder.push(&bytes[..length]);
        while let Some(frame) = decoder.next().unwrap() {
            if frames.is_empty() {
                socket.write_all(&hello.receive(frame.clone()).unwrap().send).unwrap();
            }
            frames.push(frame);
        }
    }
    let open = OpenRequest::decode(frames.pop().unwrap()).unwrap();
    let granted = Grant {
        access: Some(Access::Buffered),
        alignment_bytes: 1,
        acknowledgement: Some(Acknowledgement::Early),
        sync: SyncPolicy::None,
        write_completion: Completion::InServerMemory,
        credits: Credits { requests: open.depth, bytes: u64::from(open.depth) * open.block_bytes },
    };
    socket.write_all(&granted.encode().unwrap()).unwrap();
}

fn spec(address: SocketAddr, layer: Layer, queue_depth: u32, answer_timeout_ns: u64) -> OpenSpec {
    OpenSpec {
        target: Target::Tcp { host: address.ip().to_string(), port: address.port(), layer, via: None },
        workload: Workload { queue_depth, block_bytes: Bytes(u64::from(BLOCK)), ..Workload::default() },
        objects: vec![String::new()],
        object_bytes: Bytes(1 << 20),
        create: true,
        laid_down: false,
        token: None,
        session: None,
        answer_timeout_ns,
    }
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Engine>, EngineError> {
    open_heeding(spec, StopFlag::default())
}

fn open_heeding(spec: &OpenSpec, stop: StopFlag) -> Result<Box<dyn Engine>, EngineError> {
    let clock: Arc<dyn Clock> = Arc::new(MonotonicClock::new());
    EndpointFactory.open(spec, &WorkerContext { client_index: 0, worker_index: 0, seed: 1, clock, stop })
}

fn ask_for(op: Op, slot: u32) -> IoRequest {
    IoRequest { tag: slot, op, object: 0, offset_bytes: 0, length_bytes: BLOCK, slot: Slot(slot) }
}

const LONG_NS: u64 = 20_000_000_000;
const SHORT_NS: u64 = 50_000_000;

#[test]
fn a_peer_that_speaks_something_else_is_a_breach_of_protocol_with_a_hint() {
    let (address, peer) = peer(|mut socket| {
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let error = open(&spec(address, Layer::Memory, 1, LONG_NS)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(error.to_string().contains("narrows serve"), "{error}");
    peer.join().unwrap();
}

#[test]
fn a_peer_of_another_version_is_distinguished_from_a_stranger() {
    let (address, peer) = peer(|mut socket| {
        let mut hello = Vec::new();
        let payload = [&b"narrows\0"[..], &9_u16.to_le_bytes(), &[0, 0], &[0; 32]].concat();
        narrows_wire::frame::encode(2, &payload, &mut hello).unwrap();
        socket.write_all(&hello).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let error = open(&spec(address, Layer::Memory, 1, LONG_NS)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Protocol);
    assert!(error.to_string().contains("version 9"), "{error}");
    peer.join().unwrap();
}

#[test]
fn a_peer_that_takes_the_connection_and_never_answers_is_left_when_a_stop_is_asked_for() {
    // The kernel takes the connection; nobody ever reads from it, as when the server's process is stopped.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let all = spec(listener.local_addr().unwrap(), Layer::Memory, 1, LONG_NS);
    let stop = StopFlag::default();
    let heeded = stop.clone();
    let waiting = std::thread::spawn(move || open_heeding(&all, heeded).err().unwrap());
    let (mut socket, _) = listener.accept().unwrap();
    socket.read_exact(&mut [0; 1]).unwrap();
    stop.ask(StopRequest::Now);
    let error = waiting.join().unwrap();
    assert_eq!((error.kind, error.errno().as_str()), (ErrorKind::Stopped, "STOPPED"), "{error}");
}

#[test]
fn a_stop_after_the_cell_lets_a_slow_peer_answer() {
    let (address, peer) = peer(|mut socket| {
        grant(&mut socket);
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let stop = StopFlag::default();
    stop.ask(StopRequest::AfterCell);
    let engine = open_heeding(&spec(address, Layer::Memory, 1, LONG_NS), stop).unwrap();
    drop(engine);
    peer.join().unwrap();
}

#[test]
fn a_refusal_keeps_its_kind_and_its_words() {
    let (address, peer) = peer(|mut socket| {
        let mut decoder = Decoder::new(PAYLOAD_BYTES_MAX);
        let mut bytes = [0; 512];
        let length = socket.read(&mut bytes).unwrap();
        decoder.push(&bytes[..length]);
        let refusal = narrows_wire::Error::new(
            narrows_wire::ErrorKind::Refused(narrows_wire::Refusal::NoSpace),
            "the quota is used up",
        );
        socket.write_all(&refuse::encode(&refusal)).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let error = open(&spec(address, Layer::Disk, 1, LONG_NS)).err().unwrap();
    assert_eq!((error.kind, error.detail.as_str()), (ErrorKind::NoSpace, "the quota is used up"));
    peer.join().unwrap();
}

#[test]
fn a_peer_that_says_nothing_is_given_up_after_the_timeout() {
    let (address, peer) = peer(|mut socket| {
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let error = open(&spec(address, Layer::Memory, 1, SHORT_NS)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::PeerGone);
    assert!(error.to_string().contains("no answer within 50 ms"), "{error}");
    peer.join().unwrap();
}

#[test]
fn a_request_without_answer_is_given_up_after_the_timeout_and_not_before_until() {
    let (address, peer) = peer(|mut socket| {
        grant(&mut socket);
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let mut engine = open(&spec(address, Layer::Memory, 1, SHORT_NS)).unwrap();
    let mut done = Completions::with_capacity(1);
    engine.queue(&[ask_for(Op::Read, 0)]).unwrap();
    engine.commit().unwrap();
    engine.reap(1, Tick(0), &mut done).expect("the time to return has passed, the time to answer has not");
    assert!(done.is_empty());
    let error = engine.reap(1, Tick(u64::MAX), &mut done).unwrap_err();
    assert_eq!(error.kind, ErrorKind::PeerGone);
    drop(engine);
    peer.join().unwrap();
}

/// Answer timeout of what follows.
const SLOW_TIMEOUT_NS: u64 = 400_000_000;
/// A write that the slow peer takes several timeouts for: 128 parts with 10 ms between them.
const LARGE_BYTES: u32 = 1 << 20;
/// What the slow peer reads at once.
const PART_BYTES: usize = 8 << 10;

/// A peer with a small receive buffer that grants the opening, then reads `length` bytes slowly and sends `answer`.
fn slow_peer(length: usize, answer: Vec<u8>) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    socket2::SockRef::from(&listener).set_recv_buffer_size(PART_BYTES).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let (mut socket, _) = listener.accept().unwrap();
        grant(&mut socket);
        let (mut part, mut left) = (vec![0; PART_BYTES], length);
        while left > 0 {
            let _ = narrows_sys::clock::wait_ns(10_000_000);
            let most = left.min(PART_BYTES);
            left -= socket.read(&mut part[..most]).unwrap();
        }
        socket.write_all(&answer).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    };
    (address, std::thread::spawn(serve))
}

fn large(address: SocketAddr, layer: Layer) -> OpenSpec {
    let spec = spec(address, layer, 1, SLOW_TIMEOUT_NS);
    OpenSpec { workload: Workload { block_bytes: Bytes(u64::from(LARGE_BYTES)), ..spec.workload }, ..spec }
}

#[test]
fn a_write_that_is_taken_slowly_is_waited_for_while_it_is_acknowledged() {
    let header = reply::ReplyHeader {
        kind: request::RequestKind::Write,
        tag: 0,
        status: 0,
        length_bytes: LARGE_BYTES,
    };
    let length = request::HEADER_BYTES + LARGE_BYTES as usize;
    let (address, peer) = slow_peer(length, header.encode().to_vec());
    let mut engine = open(&large(address, Layer::Memory)).unwrap();
    let mut done = Completions::with_capacity(1);
    engine.queue(&[IoRequest { length_bytes: LARGE_BYTES, ..ask_for(Op::Write, 0) }]).unwrap();
    engine.commit().unwrap();
    let began = MonotonicClock::new();
    engine.reap(1, Tick(u64::MAX), &mut done).unwrap();
    assert_eq!(done.as_slice()[0].result, Ok(LARGE_BYTES));
    assert!(began.now().0 > SLOW_TIMEOUT_NS, "it took longer than an answer is waited for");
    engine.close().unwrap();
    peer.join().unwrap();
}

#[test]
fn a_stream_that_is_taken_slowly_is_waited_for_at_its_end() {
    let total = narrows_wire::open::encode_total(u64::from(LARGE_BYTES));
    let (address, peer) = slow_peer(LARGE_BYTES as usize, total);
    let mut engine = open(&large(address, Layer::Sink)).unwrap();
    engine.queue(&[IoRequest { length_bytes: LARGE_BYTES, ..ask_for(Op::Send, 0) }]).unwrap();
    engine.commit().unwrap();
    let began = MonotonicClock::new();
    engine.reap(1, Tick(u64::MAX), &mut Completions::with_capacity(1)).unwrap();
    engine.close().unwrap();
    assert!(began.now().0 > SLOW_TIMEOUT_NS, "it took longer than an answer is waited for");
    peer.join().unwrap();
}

#[test]
fn a_peer_that_stops_taking_a_large_write_is_given_up() {
    for layer in [Layer::Memory, Layer::Sink] {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (address, peer) = peer(move |mut socket| {
            grant(&mut socket);
            socket.read_exact(&mut [0; PART_BYTES]).unwrap();
            // It stays connected.
            let _ = ended.recv();
        });
        let mut engine = open(&large(address, layer)).unwrap();
        let op = if layer == Layer::Sink { Op::Send } else { Op::Write };
        engine.queue(&[IoRequest { length_bytes: LARGE_BYTES, ..ask_for(op, 0) }]).unwrap();
        engine.commit().unwrap();
        let reaped = engine.reap(1, Tick(u64::MAX), &mut Completions::with_capacity(1));
        // A stream's block is complete once the socket has it.
        let error = if layer == Layer::Sink { engine.close().unwrap_err() } else { reaped.unwrap_err() };
        assert_eq!(error.kind, ErrorKind::PeerGone, "{layer:?}: {error}");
        assert!(error.to_string().contains("no answer within 400 ms"), "{error}");
        drop(end);
        peer.join().unwrap();
    }
}

#[test]
fn a_reply_to_what_was_not_asked_is_a_breach_of_protocol() {
    let (address, peer) = peer(|mut socket| {
        grant(&mut socket);
        let lie =
            reply::ReplyHeader { kind: request::RequestKind::Write, tag: 3, status: 0, length_bytes: 1 };
        socket.write_all(&lie.encode()).unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let mut engine = open(&spec(address, Layer::Memory, 1, LONG_NS)).unwrap();
    engine.queue(&[ask_for(Op::Read, 0)]).unwrap();
    engine.commit().unwrap();
    let error = engine.reap(1, Tick(u64::MAX), &mut Completions::with_capacity(1)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Protocol);
    drop(engine);
    peer.join().unwrap();
}

#[test]
fn a_peer_that_vanishes_amid_a_reply_is_gone() {
    let (address, peer) = peer(|mut socket| {
        grant(&mut socket);
        let mut asked = [0; request::HEADER_BYTES];
        socket.read_exact(&mut asked).unwrap();
        let half =
            reply::ReplyHeader { kind: request::RequestKind::Read, tag: 0, status: 0, length_bytes: BLOCK };
        socket.write_all(&half.encode()).unwrap();
        socket.write_all(&[1; 100]).unwrap();
    });
    let mut engine = open(&spec(address, Layer::Memory, 1, LONG_NS)).unwrap();
    let mut done = Completions::with_capacity(1);
    engine.queue(&[ask_for(Op::Read, 0)]).unwrap();
    engine.commit().unwrap();
    let error = engine.reap(1, Tick(u64::MAX), &mut done).unwrap_err();
    assert_eq!((error.kind, done.len()), (ErrorKind::PeerGone, 0));
    peer.join().unwrap();
}

#[test]
fn no_more_requests_are_taken_than_the_queue_is_deep() {
    let (address, peer) = peer(|mut socket| {
        grant(&mut socket);
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let mut engine = open(&spec(address, Layer::Memory, 2, LONG_NS)).unwrap();
    let many: Vec<IoRequest> = (0..3).map(|slot| ask_for(Op::Read, slot.min(1))).collect();
    assert_eq!(engine.queue(&many).unwrap(), 2);
    assert_eq!(engine.queue(&many).unwrap(), 0);
    assert_eq!(engine.queue(&[ask_for(Op::Send, 0)]).unwrap_err().kind, ErrorKind::Unsupported);
    drop(engine);
    peer.join().unwrap();
}

#[test]
fn a_total_that_differs_from_what_was_sent_is_reported() {
    let (address, peer) = peer(|mut socket| {
        grant(&mut socket);
        let _ = std::io::copy(&mut socket, &mut std::io::sink());
        socket.write_all(&narrows_wire::open::encode_total(7)).unwrap();
    });
    let mut engine = open(&spec(address, Layer::Sink, 1, LONG_NS)).unwrap();
    engine.queue(&[ask_for(Op::Send, 0)]).unwrap();
    engine.commit().unwrap();
    engine.reap(1, Tick(u64::MAX), &mut Completions::with_capacity(1)).unwrap();
    let error = engine.close().unwrap_err();
    assert!(error.to_string().contains("4096 bytes were transferred here and 7 at the server"), "{error}");
    peer.join().unwrap();
}

#[test]
fn means_of_summed_counters_are_weighted_by_connections() {
    use narrows_model::counters::TcpCounters;
    use narrows_model::{Bytes, Nanos};
    let one = TcpCounters {
        at_ns: Nanos(500),
        connection_count: 1,
        rtt_ns: Nanos(100),
        rtt_min_ns: Nanos(50),
        acked_bytes: Bytes(5),
        ..TcpCounters::default()
    };
    let mut sum = TcpCounters {
        at_ns: Nanos(900),
        connection_count: 3,
        rtt_ns: Nanos(20),
        rtt_min_ns: Nanos(10),
        acked_bytes: Bytes(1),
        ..TcpCounters::default()
    };
    sum.add_beside(&one);
    assert_eq!(
        (sum.at_ns, sum.connection_count, sum.rtt_ns, sum.rtt_min_ns, sum.acked_bytes),
        (Nanos(800), 4, Nanos(40), Nanos(10), Bytes(6))
    );
}
