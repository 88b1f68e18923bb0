//! A proxy on loopback with a listener behind it that a test plays itself.

use super::{clock, eventually};
use narrows_endpoint::{Proxy, ProxyOptions, ProxyTotals, ServeError};
use narrows_model::Bytes;
use narrows_model::relay::ForwardMode;
use narrows_run::{StopFlag, StopRequest};
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// All ways of moving bytes.
pub(crate) const MODES: [ForwardMode; 3] = [ForwardMode::Copy, ForwardMode::Splice, ForwardMode::Uring];

/// A call that should return does so long before.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A proxy in a thread of its own.
pub(crate) struct Proxied {
    pub(crate) address: SocketAddr,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    stop: StopFlag,
    thread: Option<JoinHandle<Result<ProxyTotals, ServeError>>>,
}

impl Proxied {
    /// A proxy to `to` as `adapt` makes its options.
    pub(crate) fn start(to: SocketAddr, adapt: impl FnOnce(&mut ProxyOptions)) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let mut options = ProxyOptions::new(SocketAddr::from(([127, 0, 0, 1], 0)), to.to_string(), clock());
        options.journal = Arc::new(move |line| heard.lock().unwrap().push(line.to_owned()));
        adapt(&mut options);
        let stop = StopFlag::default();
        let proxy = Proxy::bind(options, stop.clone()).unwrap();
        let address = proxy.local_address();
        let thread = Some(std::thread::spawn(move || proxy.run()));
        Self { address, lines, stop, thread }
    }

    /// A proxy and the listener that it forwards to.
    pub(crate) fn before_listener(adapt: impl FnOnce(&mut ProxyOptions)) -> (Self, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        (Self::start(listener.local_addr().unwrap(), adapt), listener)
    }

    pub(crate) fn with_mode(mode: ForwardMode, buffer_bytes: u64) -> (Self, TcpListener) {
        Self::before_listener(|options| {
            options.mode = mode;
            options.buffer = Bytes(buffer_bytes);
        })
    }

    /// A connection through the proxy: both its ends.
    pub(crate) fn connect(&self, listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = self.dial();
        let (server, _) = listener.accept().unwrap();
        server.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        (client, server)
    }

    pub(crate) fn dial(&self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        client
    }

    pub(crate) fn has_said(&self, part: &str) -> bool {
        self.lines.lock().unwrap().iter().any(|line| line.contains(part))
    }

    /// Waits until the proxy has said a line with `part`.
    pub(crate) fn says(&self, part: &str) {
        eventually(part, || self.has_said(part));
    }

    pub(crate) fn end(mut self) -> ProxyTotals {
        self.stop.ask(StopRequest::Now);
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Proxied {
    fn drop(&mut self) {
        self.stop.ask(StopRequest::Now);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A byte that identifies its place in the stream of this seed: no two places of a buffer look alike.
fn byte_at(seed: u64, place: usize) -> u8 {
    let mixed = (seed.wrapping_add(place as u64)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9).to_be_bytes()[0]
}

/// This many bytes, each of which identifies its place.
pub(crate) fn content(seed: u64, length: usize) -> Vec<u8> {
    (0..length).map(|place| byte_at(seed, place)).collect()
}

/// All that comes until the end of the stream.
pub(crate) fn read_all(socket: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    socket.read_to_end(&mut all).unwrap();
    all
}

/// What comes until the connection is reset; the test fails where it ends in order.
pub(crate) fn read_to_reset(socket: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let ended = socket.read_to_end(&mut all).map_err(|error| error.kind());
    assert_eq!(ended, Err(ErrorKind::ConnectionReset), "the stream looks complete and is not");
    all
}
