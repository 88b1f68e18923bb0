//! Many bytes through a proxy to readers that are slower than their senders: every byte arrives, and what the proxy
//! buffers of it stays small; an end of one direction leaves the other intact.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::process::Command;
use std::time::Duration;

use narrows_lab::clock::monotonic_ns;
use narrows_lab::pattern::{fill, first_wrong};
use narrows_lab::{LabProcess, narrows_bin};

const MODES: [&str; 3] = ["copy", "splice", "uring"];

/// Connections at once.
const STREAMS: usize = 4;

/// What each of them is offered: several times what may be under way.
const OFFERED_BYTES: u64 = 40 << 20;

/// The same in a campaign: a gibibyte together.
const CAMPAIGN_OFFERED_BYTES: u64 = 256 << 20;

/// What each of them is sent back once its end has been seen.
const ANSWER_BYTES: u64 = 8 << 20;

/// What a write offers.
const CHUNK_BYTES: usize = 1 << 18;

/// What a slow reader takes of each connection, once its sender was refused.
const SIP_BYTES: usize = 1 << 17;

/// `SO_SNDBUF` and `SO_RCVBUF` of the proxy's sockets.
const SOCKET_BUFFER: &str = "256KiB";

/// What the proxy's resident memory may grow by with all connections stuck: `uring` has four buffers of 128 KiB a
/// connection, and each thread a few pages of stack. A proxy without back-pressure would buffer all bytes.
const GROWTH_BYTES_MAX: u64 = 8 << 20;

/// What may be under way on one connection: the proxy's buffers and its four socket buffers (which the kernel counts
/// double), and those of the test's own two sockets, which grow to 4 MiB and 6 MiB.
const UNDER_WAY_BYTES_MAX: u64 = 16 << 20;

/// Longer than all bytes of one mode take.
const SOON_NS: u64 = 120_000_000_000;

/// One direction of one connection: what was sent, and what came.
struct Flow {
    from: TcpStream,
    to: TcpStream,
    /// Place of the first byte: no two flows have bytes alike.
    base: u64,
    total_bytes: u64,
    sent_bytes: u64,
    got_bytes: u64,
    has_ended: bool,
    /// What is to be sent, and which part of it was not taken yet.
    outgoing: Vec<u8>,
    unsent: Range<usize>,
    /// Room for a sip.
    taken: Vec<u8>,
}

impl Flow {
    fn new(from: &TcpStream, to: &TcpStream, number: usize, total_bytes: u64) -> Self {
        let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        from.set_nonblocking(true).unwrap();
        to.set_nonblocking(true).unwrap();
        let base = (number as u64) << 40;
        Self {
            from,
            to,
            base,
            total_bytes,
            sent_bytes: 0,
            got_bytes: 0,
            has_ended: false,
            outgoing: Vec::new(),
            unsent: 0..0,
            taken: vec![0; SIP_BYTES],
        }
    }

    /// Sends until nothing more is taken, and the end after the last byte; whether anything was taken.
    fn offer(&mut self) -> bool {
        let before_bytes = self.sent_bytes;
        while self.sent_bytes < self.total_bytes {
            if self.unsent.is_empty() {
                let left = usize::try_from(self.total_bytes - self.sent_bytes).unwrap();
                self.outgoing.resize(left.min(CHUNK_BYTES), 0);
                fill(&mut self.outgoing, self.base + self.sent_bytes);
                self.unsent = 0..self.outgoing.len();
            }
            match self.from.write(&self.outgoing[self.unsent.clone()]) {
                Ok(taken) => {
                    self.unsent.start += taken;
                    self.sent_bytes += taken as u64;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}");
                    return self.sent_bytes > before_bytes;
                }
            }
            if self.sent_bytes == self.total_bytes {
                self.from.shutdown(Shutdown::Write).unwrap();
            }
        }
        self.sent_bytes > before_bytes
    }

    /// Takes what is there, at most a sip, and looks at every byte.
    fn sip(&mut self) {
        match self.to.read(&mut self.taken) {
            Ok(0) => self.has_ended = true,
            Ok(length) => {
                assert_eq!(first_wrong(&self.taken[..length], self.base + self.got_bytes), None);
                self.got_bytes += length as u64;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
    }

    fn under_way_bytes(&self) -> u64 {
        self.sent_bytes - self.got_bytes
    }
}

/// A proxy, and its memory use before any connection.
struct Watched {
    process: LabProcess,
    address: String,
    idle_bytes: u64,
    grown_bytes_max: u64,
}

impl Watched {
    fn start(folder: &std::path::Path, mode: &str, to: &str) -> Self {
        let mut command = Command::new(narrows_bin().unwrap());
        command.args(["proxy", "--listen", "127.0.0.1:0", "--mode", mode, "--to", to]);
        command.args(["--send-buffer", SOCKET_BUFFER, "--receive-buffer", SOCKET_BUFFER]);
        let mut process = LabProcess::start("proxy", folder, command).unwrap();
        let line = process.wait_for_line("listening on", Duration::from_mins(1)).unwrap();
        let address = line.rsplit(' ').next().unwrap().to_owned();
        let idle_bytes = resident_bytes(process.pid());
        Self { process, address, idle_bytes, grown_bytes_max: 0 }
    }

    #[track_caller]
    fn assert_small(&mut self) {
        let grown_bytes = resident_bytes(self.process.pid()).saturating_sub(self.idle_bytes);
        self.grown_bytes_max = self.grown_bytes_max.max(grown_bytes);
        assert!(grown_bytes <= GROWTH_BYTES_MAX, "the proxy has grown by {grown_bytes} bytes");
    }
}

/// `VmRSS` of proc(5).
fn resident_bytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Offers until nothing more has been taken for many looks: nobody reads, and the path is full.
fn fill_up(flows: &mut [Flow]) {
    let mut refused_in_a_row = 0;
    while refused_in_a_row < 2000 {
        // All of them are offered, whoever takes something.
        let moved_count = flows.iter_mut().filter_map(|flow| flow.offer().then_some(())).count();
        refused_in_a_row = if moved_count > 0 { 0 } else { refused_in_a_row + 1 };
        std::thread::yield_now();
    }
}

/// Moves all flows to their ends, each sip after its sender was refused; the most that was under way in one.
fn move_slowly(flows: &mut [Flow], proxy: &mut Watched) -> u64 {
    let deadline_ns = monotonic_ns() + SOON_NS;
    let mut under_way_bytes_max = 0;
    for round in 0_u64.. {
        if flows.iter().all(|flow| flow.has_ended) {
            break;
        }
        assert!(monotonic_ns() < deadline_ns, "it does not end");
        for flow in flows.iter_mut().filter(|flow| !flow.has_ended) {
            flow.offer();
            under_way_bytes_max = under_way_bytes_max.max(flow.under_way_bytes());
            flow.sip();
        }
        if round.is_multiple_of(64) {
            proxy.assert_small();
        }
    }
    for flow in flows {
        assert_eq!(flow.got_bytes, flow.total_bytes, "the end came before the last byte");
    }
    under_way_bytes_max
}

#[test]
fn slow_readers_get_every_byte_and_the_proxy_contains_little_of_it() {
    read_slowly(OFFERED_BYTES);
}

#[test]
#[ignore = "campaign: a gibibyte to slow readers in each mode"]
fn slow_readers_get_every_byte_of_a_gibibyte_and_the_proxy_contains_little_of_it() {
    read_slowly(CAMPAIGN_OFFERED_BYTES);
}

#[allow(clippy::print_stdout, reason = "the proof's numbers are what the test is run for")]
fn read_slowly(offered_bytes: u64) {
    let folder = tempfile::tempdir().unwrap();
    for mode in MODES {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap().to_string();
        let mut proxy = Watched::start(folder.path(), mode, &to);
        let pairs: Vec<_> = (0..STREAMS)
            .map(|_| (TcpStream::connect(&proxy.address).unwrap(), listener.accept().unwrap().0))
            .collect();
        let there = |(number, (client, server)): (usize, &(TcpStream, TcpStream))| {
            Flow::new(client, server, number, offered_bytes)
        };
        let mut flows: Vec<_> = pairs.iter().enumerate().map(there).collect();
        fill_up(&mut flows);
        proxy.assert_small();
        let stuck_bytes = flows.iter().map(Flow::under_way_bytes).max().unwrap();
        assert!(stuck_bytes <= UNDER_WAY_BYTES_MAX, "{mode}: {stuck_bytes} bytes taken that nobody reads");
        let under_way_bytes = move_slowly(&mut flows, &mut proxy);
        assert!(under_way_bytes <= UNDER_WAY_BYTES_MAX, "{mode}: {under_way_bytes} bytes under way");
        // Each client has ended its side and still gets all of the answer.
        let back = |(number, (client, server)): (usize, &(TcpStream, TcpStream))| {
            Flow::new(server, client, STREAMS + number, ANSWER_BYTES)
        };
        let mut answers: Vec<_> = pairs.iter().enumerate().map(back).collect();
        fill_up(&mut answers);
        move_slowly(&mut answers, &mut proxy);
        println!(
            "{mode}: {} bytes there; at most {under_way_bytes} under way in one of {STREAMS}; grown by {} bytes",
            STREAMS as u64 * offered_bytes,
            proxy.grown_bytes_max
        );
        assert!(proxy.process.end().unwrap().success());
    }
}

#[test]
fn a_server_that_ends_first_still_gets_all_that_its_client_sends() {
    let folder = tempfile::tempdir().unwrap();
    for mode in MODES {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap().to_string();
        let mut proxy = Watched::start(folder.path(), mode, &to);
        let client = TcpStream::connect(&proxy.address).unwrap();
        let (server, _) = listener.accept().unwrap();
        let mut back = [Flow::new(&server, &client, 0, ANSWER_BYTES)];
        move_slowly(&mut back, &mut proxy);
        // The server's end has arrived: only now does the client send.
        let mut there = [Flow::new(&client, &server, 1, ANSWER_BYTES)];
        fill_up(&mut there);
        move_slowly(&mut there, &mut proxy);
        assert!(proxy.process.end().unwrap().success());
    }
}
