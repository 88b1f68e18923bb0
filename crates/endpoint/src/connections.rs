//! The connections that live now, and the limits that end them.
//!
//! Connections whose hello is not through have few places of their own and little time, so that strangers keep nobody
//! out. A connection that is to end is told so and cut soon after, whatever its peer does.

use narrows_engines::endpoint::{Ends, tcp_counters};
use narrows_model::counters::TcpCounters;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SECOND_NS: u64 = 1_000_000_000;

/// Longest time from the start of a connection to the end of its opening.
const OPENING_S: u64 = 10;

/// A connection that is told to end is cut this much later.
const CUT_AFTER_NS: u64 = 2 * SECOND_NS;

/// Most connections whose hello is not through: as many as a large client opens at once.
const GREETING_MAX: usize = 64;

/// A hello that takes longer than this makes room for a newer one when places are scarce.
const GREETING_NS: u64 = SECOND_NS;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The hello is not through.
    Greeting,
    /// What it is for is not known yet.
    Opening,
    /// It serves.
    Serving,
    /// It serves, and may be silent: its client measures meanwhile.
    Patient,
}

/// Why and since when a connection is to end.
#[derive(Debug)]
struct Ending {
    why: String,
    since_ns: u64,
}

#[derive(Debug)]
struct Standing {
    stage: Stage,
    ending: Option<Ending>,
}

/// One living connection, as others see it.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) id: u64,
    socket: TcpStream,
    ends: Ends,
    started_ns: u64,
    heard_ns: AtomicU64,
    is_cut: AtomicBool,
    standing: Mutex<Standing>,
}

impl Live {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the peer was heard of.
    pub(crate) fn heard(&self, now_ns: u64) {
        self.heard_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Notes that the opening is through.
    pub(crate) fn opened(&self) {
        self.standing().stage = Stage::Serving;
    }

    /// Notes that the opening is through, and allows silence from now on.
    pub(crate) fn opened_to_wait(&self) {
        self.standing().stage = Stage::Patient;
    }

    /// Asks the connection's thread to end: its reads find the end, and it tells the peer why.
    fn end(&self, why: &str, now_ns: u64) {
        let mut standing = self.standing();
        if standing.ending.is_none() {
            standing.ending = Some(Ending { why: why.to_owned(), since_ns: now_ns });
            // A socket that is closed already needs no end.
            let _ = self.socket.shutdown(Shutdown::Read);
        }
    }

    /// Notes that the connection's thread parts with its peer, who has a little time left to hear the last words.
    pub(crate) fn part(&self, now_ns: u64) {
        let ending = Ending { why: String::new(), since_ns: now_ns };
        self.standing().ending.get_or_insert(ending);
    }

    /// Why the connection is to end; `None` while it is not.
    pub(crate) fn ending(&self) -> Option<String> {
        self.standing().ending.as_ref().map(|ending| ending.why.clone())
    }

    /// Cuts the connection at once; whoever reads or writes it finds it closed.
    pub(crate) fn cut(&self, why: &str) {
        self.standing().ending.get_or_insert_with(|| Ending { why: why.to_owned(), since_ns: 0 });
        self.is_cut.store(true, Ordering::Release);
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Whether the connection was cut, so that nothing that it still does reaches anybody.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }

    /// Sends last words, as far as they fit at once.
    pub(crate) fn tell(&self, bytes: &[u8]) {
        // Who cannot be told is cut without words.
        let _ = self.socket.set_nonblocking(true).and_then(|()| (&self.socket).write_all(bytes));
    }

    /// The connection's counters; `None` where the kernel does not tell.
    pub(crate) fn counters(&self) -> Option<TcpCounters> {
        tcp_counters(&self.socket, self.ends)
    }

    /// Ends or cuts the connection if one of its times is over.
    fn watch(&self, limits: &ConnectionLimits, now_ns: u64) {
        let (stage, since_ns) = {
            let standing = self.standing();
            (standing.stage, standing.ending.as_ref().map(|ending| ending.since_ns))
        };
        let above =
            |from_ns: u64, limit_s: u64| now_ns.saturating_sub(from_ns) > limit_s.saturating_mul(SECOND_NS);
        let heard_ns = self.heard_ns.load(Ordering::Relaxed);
        match (since_ns, limits.lifetime_s, limits.silence_s) {
            (Some(since_ns), ..) if now_ns.saturating_sub(since_ns) > CUT_AFTER_NS => self.cut(""),
            (Some(_), ..) => {}
            (None, Some(limit), _) if above(self.started_ns, limit) => {
                self.end(&format!("the server allows a connection {limit} s, and they are over"), now_ns);
            }
            _ if matches!(stage, Stage::Greeting | Stage::Opening) && above(self.started_ns, OPENING_S) => {
                self.end(&format!("the opening took longer than {OPENING_S} s"), now_ns);
            }
            (None, _, limit) if stage != Stage::Patient && above(heard_ns, limit) => {
                self.end(&format!("nothing passed for {limit} s, the most the server waits"), now_ns);
            }
            _ => {}
        }
    }
}

/// Limits on connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionLimits {
    pub(crate) connections: u32,
    pub(crate) lifetime_s: Option<u64>,
    pub(crate) silence_s: u64,
}

/// All living connections.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ConnectionLimits,
    next_id: AtomicU64,
    live: Mutex<HashMap<u64, Arc<Live>>>,
}

/// The place of one connection; it is free again when this value goes.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    connections: &'a Connections,
    pub(crate) live: Arc<Live>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.connections.locked().remove(&self.live.id);
    }
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self { limits, next_id: AtomicU64::new(1), live: Mutex::default() }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<u64, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another connection may be accepted. Where places are scarce, the oldest hello that should be through
    /// is cut for it.
    pub(crate) fn has_room(&self, now_ns: u64) -> bool {
        let live = self.locked();
        let greeting =
            || live.values().filter(|live| live.standing().stage == Stage::Greeting && !live.is_cut());
        if greeting().count() < GREETING_MAX {
            return true;
        }
        let oldest = greeting().min_by_key(|live| live.started_ns);
        let late = oldest.filter(|oldest| now_ns.saturating_sub(oldest.started_ns) > GREETING_NS);
        if let Some(late) = late {
            late.cut("another connection needed its place");
        }
        late.is_some()
    }

    /// Takes a connection in.
    pub(crate) fn admit(&self, socket: &TcpStream, now_ns: u64) -> io::Result<Place<'_>> {
        let live = Arc::new(Live {
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            socket: socket.try_clone()?,
            ends: Ends::of(socket),
            started_ns: now_ns,
            heard_ns: AtomicU64::new(now_ns),
            is_cut: AtomicBool::new(false),
            standing: Mutex::new(Standing { stage: Stage::Greeting, ending: None }),
        });
        self.locked().insert(live.id, Arc::clone(&live));
        Ok(Place { connections: self, live })
    }

    /// Counts a connection whose hello is through among the server's own; the error says why it may not stay.
    pub(crate) fn establish(&self, live: &Live) -> Result<(), String> {
        let all = self.locked();
        let count = all.values().filter(|live| live.standing().stage != Stage::Greeting).count();
        if u32::try_from(count).unwrap_or(u32::MAX) >= self.limits.connections {
            return Err(format!(
                "the server has {count} connections, the most it allows; end some, or raise its limit"
            ));
        }
        live.standing().stage = Stage::Opening;
        Ok(())
    }

    /// Ends the connections whose time is over, and cuts those that do not end.
    pub(crate) fn watch(&self, now_ns: u64) {
        for live in self.locked().values() {
            live.watch(&self.limits, now_ns);
        }
    }

    /// Cuts all connections.
    pub(crate) fn cut_all(&self, why: &str) {
        for live in self.locked().values() {
            live.cut(why);
        }
    }
}
