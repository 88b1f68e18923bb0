//! One living connection, as others see it: how far it has come, its signs of life, and the limits that end it.
//!
//! A connection that is to end is notified and cut soon after, whatever its peer does.

use crate::life::{SIGN_OF_LIFE_S, SessionLife};
use narrows_engines::endpoint::{ConnectionLocality, tcp_counters};
use narrows_model::counters::TcpCounters;
use narrows_model::units::NANOS_PER_SEC;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Longest time from the start of a connection to the end of its opening.
const OPENING_S: u64 = 5;

/// A connection that is asked to end is cut this much later.
const CUT_AFTER_NS: u64 = 2 * NANOS_PER_SEC;

/// Longest silence of a connection whose client measures elsewhere meanwhile and gives no signs of life besides (see
/// [`crate::life`]): longer than any cell of a usual run.
const QUIET_S: u64 = 3600;

/// A hello that takes longer than this makes room for a newer one when places are scarce.
const GREETING_NS: u64 = NANOS_PER_SEC;

/// Limits on the time of a connection, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    /// From its start to its end; `None` is unbounded.
    pub(crate) lifetime_s: Option<u64>,
    /// Without a byte from its peer.
    pub(crate) silence_s: u64,
}

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionStage {
    /// The hello is not through.
    Greeting,
    /// What it is for is not known yet.
    Opening,
    /// It serves.
    Serving,
    /// It serves, and may be silent: its client measures meanwhile.
    AllowsSilence,
}

/// Why and since when a connection is to end.
#[derive(Debug)]
struct PendingEnd {
    why: String,
    since_ns: u64,
}

#[derive(Debug)]
struct ConnectionStatus {
    stage: ConnectionStage,
    ending: Option<PendingEnd>,
}

/// One living connection, as others see it.
#[derive(Debug)]
pub(crate) struct LiveConnection {
    pub(crate) id: u64,
    socket: TcpStream,
    ends: ConnectionLocality,
    pub(crate) started_ns: u64,
    last_activity_ns: AtomicU64,
    /// The session that it belongs to.
    life: OnceLock<Arc<SessionLife>>,
    /// The session whose client asks on it all the while.
    probed_life: OnceLock<Arc<SessionLife>>,
    is_cut: AtomicBool,
    status: Mutex<ConnectionStatus>,
}

impl LiveConnection {
    /// The connection `id` on `socket`, which starts at `now_ns` with its hello.
    pub(crate) fn start(id: u64, socket: &TcpStream, now_ns: u64) -> io::Result<Self> {
        Ok(Self {
            id,
            socket: socket.try_clone()?,
            ends: ConnectionLocality::from_socket(socket),
            started_ns: now_ns,
            last_activity_ns: AtomicU64::new(now_ns),
            life: OnceLock::new(),
            probed_life: OnceLock::new(),
            is_cut: AtomicBool::new(false),
            status: Mutex::new(ConnectionStatus { stage: ConnectionStage::Greeting, ending: None }),
        })
    }

    fn status(&self) -> MutexGuard<'_, ConnectionStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the peer was active.
    pub(crate) fn note_activity(&self, now_ns: u64) {
        self.last_activity_ns.store(now_ns, Ordering::Relaxed);
        self.lives().for_each(|life| life.note_sign(now_ns));
    }

    /// The sessions that it gives signs of life of.
    fn lives(&self) -> impl Iterator<Item = &SessionLife> {
        [self.life.get(), self.probed_life.get()].into_iter().flatten().map(|life| &**life)
    }

    /// Notes the session that the connection belongs to: what arrives on it is a sign of life of its client, without
    /// which it ends. The first one stays.
    pub(crate) fn set_life(&self, life: &Arc<SessionLife>) {
        let _ = self.life.set(Arc::clone(life));
    }

    /// Has `life` watched from now on: its client asks on this connection all the while. Only the first one is.
    pub(crate) fn watch(&self, life: Option<Arc<SessionLife>>, now_ns: u64) {
        if let Some(life) = life
            && self.probed_life.set(Arc::clone(&life)).is_ok()
        {
            life.watch(now_ns);
        }
    }

    /// Whether a session whose client promised signs of life has had none for too long.
    fn is_without_life(&self, now_ns: u64) -> bool {
        let most_ns = SIGN_OF_LIFE_S * NANOS_PER_SEC;
        self.lives().filter_map(|life| life.silent_ns(now_ns)).any(|silent_ns| silent_ns > most_ns)
    }

    /// When the connection, or another one of its session, was last active.
    fn last_sign_ns(&self) -> u64 {
        let own = self.last_activity_ns.load(Ordering::Relaxed);
        self.life.get().map_or(own, |life| own.max(life.last_sign_ns()))
    }

    /// How far it has come.
    pub(crate) fn stage(&self) -> ConnectionStage {
        self.status().stage
    }

    /// Whether its hello takes so long at `now_ns` that it makes room for a newer one.
    pub(crate) fn is_late(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.started_ns) > GREETING_NS
    }

    /// Notes that the hello is through.
    pub(crate) fn mark_greeted(&self) {
        self.status().stage = ConnectionStage::Opening;
    }

    /// Notes that the opening is through.
    pub(crate) fn mark_open(&self) {
        self.status().stage = ConnectionStage::Serving;
    }

    /// Notes that the opening is through, and allows silence from now on.
    pub(crate) fn mark_open_silent(&self) {
        self.status().stage = ConnectionStage::AllowsSilence;
    }

    /// Asks the connection's thread to end: its reads return end of stream, and it sends the peer the reason.
    fn request_end(&self, why: &str, now_ns: u64) {
        let mut status = self.status();
        if status.ending.is_none() {
            status.ending = Some(PendingEnd { why: why.to_owned(), since_ns: now_ns });
            // A socket that is closed already needs no end.
            let _ = self.socket.shutdown(Shutdown::Read);
        }
    }

    /// Notes that the connection's thread is leaving; the peer has a little time left to receive the last words.
    pub(crate) fn note_closing(&self, now_ns: u64) {
        let ending = PendingEnd { why: String::new(), since_ns: now_ns };
        self.status().ending.get_or_insert(ending);
    }

    /// Why the connection is to end; `None` while it is not.
    pub(crate) fn ending(&self) -> Option<String> {
        self.status().ending.as_ref().map(|ending| ending.why.clone())
    }

    /// Cuts the connection at once; whoever reads or writes it finds it closed.
    pub(crate) fn cut(&self, why: &str) {
        self.status().ending.get_or_insert_with(|| PendingEnd { why: why.to_owned(), since_ns: 0 });
        self.is_cut.store(true, Ordering::Release);
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Whether the connection was cut, so that nothing that it still does reaches anybody.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }

    /// Sends last words, as far as they fit at once.
    pub(crate) fn try_send(&self, bytes: &[u8]) {
        // A peer that cannot be notified is cut silently.
        let _ = self.socket.set_nonblocking(true).and_then(|()| (&self.socket).write_all(bytes));
    }

    /// The connection's counters; `None` where the kernel does not report them.
    pub(crate) fn counters(&self) -> Option<TcpCounters> {
        tcp_counters(&self.socket, self.ends)
    }

    /// Ends or cuts the connection if one of its times is over.
    pub(crate) fn enforce_limits(&self, limits: &TimeLimits, now_ns: u64) {
        let (stage, since_ns) = {
            let status = self.status();
            (status.stage, status.ending.as_ref().map(|ending| ending.since_ns))
        };
        let above = |from_ns: u64, limit_s: u64| {
            now_ns.saturating_sub(from_ns) > limit_s.saturating_mul(NANOS_PER_SEC)
        };
        match (since_ns, limits.lifetime_s, limits.silence_s) {
            (Some(since_ns), ..) if now_ns.saturating_sub(since_ns) > CUT_AFTER_NS => self.cut(""),
            (Some(_), ..) => {}
            (None, Some(limit), _) if above(self.started_ns, limit) => {
                self.request_end(
                    &format!("the server limits a connection to {limit} s, which have passed"),
                    now_ns,
                );
            }
            _ if matches!(stage, ConnectionStage::Greeting | ConnectionStage::Opening)
                && above(self.started_ns, OPENING_S) =>
            {
                self.request_end(&format!("opening the connection took longer than {OPENING_S} s"), now_ns);
            }
            _ if self.is_without_life(now_ns) => {
                let why = format!(
                    "the client gave no sign of life for {SIGN_OF_LIFE_S} s; it was stopped or cut off"
                );
                self.request_end(&why, now_ns);
            }
            (None, _, limit) => {
                let (limit, last_ns) = match stage {
                    ConnectionStage::AllowsSilence => (limit.max(QUIET_S), self.last_sign_ns()),
                    _ => (limit, self.last_activity_ns.load(Ordering::Relaxed)),
                };
                if above(last_ns, limit) {
                    let why = format!("the connection was idle for {limit} s, the server's limit");
                    self.request_end(&why, now_ns);
                }
            }
        }
    }
}
