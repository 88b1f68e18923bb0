//! One connection at a time to an endpoint: dialled, wrapped in TLS, and timed phase by phase.
//!
//! Every wait ends when nothing was transferred for the answer timeout, when a stop is asked for, and when the engine
//! closes. Not here: its bytes, which are `stream`'s and `transport`'s.

use super::stream::{SharedSocket, WireStream, is_wait};
use narrows_engines::arrivals::SharedArrivals;
use narrows_engines::socket::{ConnectionLocality, SocketWaits, Waited, tcp_counters};
use narrows_engines::{Clock, StopFlag, Tick, host_lookup};
use narrows_model::counters::{Combine, TcpCounters};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a wish to stop is looked at while a peer is waited for.
const SLICE: Duration = Duration::from_millis(20);
/// Wait before a connection that was refused in the middle of a load is tried again.
const REDIAL_NS: u64 = 50_000_000;

/// Why a connection cannot be used, beyond what the system says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WireEnd {
    /// Nothing was transferred for the answer timeout.
    Silent,
    /// A stop was asked for.
    Stopped,
    /// The host's address was not found.
    Unknown(String),
    /// No connection was made.
    Dial(String),
    /// TLS was refused by either side.
    Tls(String),
}

/// Where connections lead, and how long is waited.
#[derive(Clone)]
pub(super) struct WireTarget {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) stop: StopFlag,
    pub(super) timeout_ns: u64,
    /// How fast the bodies of long answers arrive, on all connections of a worker together.
    pub(super) arrivals: Arc<Mutex<SharedArrivals>>,
}

/// Counts and times of one wire.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WireCounts {
    pub(super) connect_count: u64,
    pub(super) connect_ns: u64,
    pub(super) tls_count: u64,
    pub(super) tls_ns: u64,
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    /// Reading of the clock after the last bytes left.
    pub(super) sent_at_ns: u64,
    /// Reading of the clock when the first bytes of an answer came; 0 before.
    pub(super) first_byte_at_ns: u64,
}

#[derive(Debug, Default)]
struct WireSocket {
    socket: Option<Arc<TcpStream>>,
    past: Option<TcpCounters>,
}

/// What the engine and its connection share.
pub(super) struct Wire {
    target: WireTarget,
    counts: Mutex<WireCounts>,
    socket: Mutex<WireSocket>,
    end: Mutex<Option<WireEnd>>,
    closing: AtomicBool,
    /// Whether a connection that is refused is tried again until the answer timeout: once a load has begun.
    waits_for_server: AtomicBool,
    /// When all of an answer must have come; 0 where only silence is bounded.
    whole_by_ns: AtomicU64,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Wire({}:{})", self.target.host, self.target.port)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    pub(super) fn new(target: WireTarget) -> Self {
        Self {
            target,
            counts: Mutex::default(),
            socket: Mutex::default(),
            end: Mutex::default(),
            closing: AtomicBool::new(false),
            waits_for_server: AtomicBool::new(false),
            whole_by_ns: AtomicU64::new(0),
        }
    }

    pub(super) fn counts(&self) -> WireCounts {
        *locked(&self.counts)
    }

    /// A request begins: its answer must have come whole by `whole_by` where that is given.
    pub(super) fn begin(&self, whole_by: Option<Tick>) {
        locked(&self.counts).first_byte_at_ns = 0;
        *locked(&self.end) = None;
        self.whole_by_ns.store(whole_by.map_or(0, |tick| tick.0), Ordering::Relaxed);
    }

    /// Why the last request's connection ended, where this side knows.
    pub(super) fn end(&self) -> Option<WireEnd> {
        locked(&self.end).clone()
    }

    /// From now on a server that is away is waited for.
    pub(super) fn wait_for_server(&self) {
        self.waits_for_server.store(true, Ordering::Relaxed);
    }

    /// Ends every wait now and from now on.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        if let Some(socket) = &locked(&self.socket).socket {
            // One that is closed already is as it should be.
            drop(socket.shutdown(Shutdown::Both));
        }
    }

    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.target.clock)
    }

    /// A connection was made over `socket`.
    pub(super) fn opened(&self, socket: &Arc<TcpStream>) {
        locked(&self.socket).socket = Some(Arc::clone(socket));
    }

    /// The connection over `socket` is dropped: what it has counted is kept.
    pub(super) fn dropped(&self, socket: &Arc<TcpStream>) {
        let counters = counters_of(socket);
        let mut state = locked(&self.socket);
        if state.socket.as_ref().is_some_and(|known| Arc::ptr_eq(known, socket)) {
            state.socket = None;
        }
        match (&mut state.past, counters) {
            (Some(past), Some(counters)) => past.add_interval(&counters),
            (past, Some(counters)) => *past = Some(counters),
            (_, None) => {}
        }
    }

    /// The socket of the present connection.
    pub(super) fn socket(&self) -> Option<Arc<TcpStream>> {
        locked(&self.socket).socket.clone()
    }

    /// What the kernel counts, connections that ended included.
    pub(super) fn tcp(&self) -> Option<TcpCounters> {
        let state = locked(&self.socket);
        let now = state.socket.as_ref().and_then(counters_of);
        match (now, &state.past) {
            (Some(mut now), Some(past)) => {
                now.add_interval(past);
                Some(now)
            }
            (now, past) => now.or_else(|| past.clone()),
        }
    }

    /// A body of `bytes` arrives from now on.
    pub(super) fn begin_body(&self, bytes: u64) -> BodyArrival<'_> {
        BodyArrival { wire: self, is_long: locked(&self.target.arrivals).begin(bytes) }
    }

    pub(super) fn add(&self, change: impl FnOnce(&mut WireCounts)) {
        change(&mut locked(&self.counts));
    }

    fn ended(&self, end: WireEnd) -> io::Error {
        let kind = match end {
            WireEnd::Silent => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::ConnectionAborted,
        };
        *locked(&self.end) = Some(end);
        kind.into()
    }

    fn is_stopped(&self) -> bool {
        self.closing.load(Ordering::Acquire) || self.target.stop.is_now()
    }

    /// Fails where the wait that began at `since_ns` is over.
    pub(super) fn check_wait(&self, since_ns: u64) -> io::Result<()> {
        if self.is_stopped() {
            return Err(self.ended(WireEnd::Stopped));
        }
        let now_ns = self.target.clock.now().0;
        let whole_by_ns = self.whole_by_ns.load(Ordering::Relaxed);
        let is_late = whole_by_ns > 0 && now_ns > whole_by_ns;
        if is_late || now_ns.saturating_sub(since_ns) >= self.target.timeout_ns {
            return Err(self.ended(WireEnd::Silent));
        }
        Ok(())
    }

    pub(super) fn dial(&self) -> io::Result<TcpStream> {
        let target = &self.target;
        let began = target.clock.now();
        let deadline = began.after(target.timeout_ns);
        loop {
            let error = match self.dial_once(deadline) {
                Ok(socket) => {
                    let took_ns = target.clock.now().since(began);
                    self.add(|counts| {
                        counts.connect_count += 1;
                        counts.connect_ns += took_ns;
                    });
                    return Ok(socket);
                }
                Err(error) => error,
            };
            let is_away =
                matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset);
            if !is_away || !self.waits_for_server.load(Ordering::Relaxed) || self.end().is_some() {
                return Err(match self.end() {
                    Some(_) => error,
                    None => self.ended(WireEnd::Dial(error.to_string())),
                });
            }
            if target.clock.now() >= deadline {
                return Err(self.ended(WireEnd::Dial(error.to_string())));
            }
            if self.is_stopped() {
                return Err(self.ended(WireEnd::Stopped));
            }
            target.clock.wait_until(target.clock.now().after(REDIAL_NS));
        }
    }

    fn dial_once(&self, deadline: Tick) -> io::Result<TcpStream> {
        let target = &self.target;
        let within = Duration::from_nanos(deadline.since(target.clock.now()));
        let is_stopped = || self.is_stopped();
        let addresses = host_lookup::look_up(&target.host, target.port, within, &is_stopped)
            .map_err(|error| self.ended(WireEnd::Unknown(error.to_string())))?;
        let waits = SocketWaits { clock: target.clock.as_ref(), stop: &target.stop, deadline };
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            match waits.connect(address, None) {
                Ok(Ok(socket)) => {
                    socket.set_nodelay(true)?;
                    socket.set_read_timeout(Some(SLICE))?;
                    socket.set_write_timeout(Some(SLICE))?;
                    return Ok(socket);
                }
                Ok(Err(Waited::Stopped)) => return Err(self.ended(WireEnd::Stopped)),
                Ok(Err(Waited::Late | Waited::Ready)) => return Err(self.ended(WireEnd::Silent)),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// A stream over `socket`, with TLS where the target asks for it, its handshake done.
    pub(super) fn secured(&self, socket: Arc<TcpStream>) -> io::Result<WireStream> {
        let Some(config) = &self.target.tls else { return Ok(WireStream::Plain(socket)) };
        let failed = |error: &dyn std::fmt::Display| self.ended(WireEnd::Tls(error.to_string()));
        let host = self.target.host.clone();
        let name = ServerName::try_from(host).map_err(|error| failed(&error))?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(|error| failed(&error))?;
        let began = self.target.clock.now();
        let mut stream = StreamOwned::new(connection, SharedSocket(socket));
        while stream.conn.is_handshaking() {
            match stream.conn.complete_io(&mut stream.sock) {
                Ok(_) => {}
                Err(error) if is_wait(&error) => self.check_wait(began.0)?,
                Err(error) => return Err(failed(&error)),
            }
        }
        let took_ns = self.target.clock.now().since(began);
        self.add(|counts| {
            counts.tls_count += 1;
            counts.tls_ns += took_ns;
        });
        Ok(WireStream::Tls(Box::new(stream)))
    }
}

/// A body that arrives.
pub(super) struct BodyArrival<'a> {
    wire: &'a Wire,
    is_long: bool,
}

impl BodyArrival<'_> {
    /// `bytes` of it have arrived.
    pub(super) fn arrived(&self, bytes: usize) {
        if self.is_long {
            let now = self.wire.target.clock.now();
            locked(&self.wire.target.arrivals).arrived(bytes, now);
        }
    }
}

impl Drop for BodyArrival<'_> {
    fn drop(&mut self) {
        if self.is_long {
            locked(&self.wire.target.arrivals).end();
        }
    }
}

fn counters_of(socket: &Arc<TcpStream>) -> Option<TcpCounters> {
    tcp_counters(socket.as_ref(), ConnectionLocality::from_socket(socket.as_ref()))
}
