//! The connections that are forwarded now: their number, their counters, and the ends that silence and a stop put to
//! them.

use super::pair::Pair;
use narrows_model::counters::TcpCounters;
use narrows_wire::hello::Nonce;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What has passed a proxy since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProxyTotals {
    /// Connections that were forwarded.
    pub connection_count: u64,
    /// Bytes from clients.
    pub there_bytes: u64,
    /// Bytes to clients.
    pub back_bytes: u64,
}

impl ProxyTotals {
    fn add(&mut self, pair: &Pair) {
        self.there_bytes += pair.there.bytes.load(Ordering::Relaxed);
        self.back_bytes += pair.back.bytes.load(Ordering::Relaxed);
    }
}

/// A forwarded connection and when something last passed it, as far as was looked.
#[derive(Debug)]
struct Watched {
    pair: Arc<Pair>,
    call_count: u64,
    moved_ns: u64,
}

impl Watched {
    /// Notes what has passed since the last look; how long nothing has.
    fn silent_ns(&mut self, now_ns: u64) -> u64 {
        let call_count = [&self.pair.there, &self.pair.back]
            .into_iter()
            .map(|passed| passed.call_count.load(Ordering::Relaxed))
            .sum();
        if self.call_count != call_count {
            (self.call_count, self.moved_ns) = (call_count, now_ns);
        }
        now_ns.saturating_sub(self.moved_ns)
    }
}

#[derive(Debug, Default)]
struct Ledger {
    live: HashMap<u64, Watched>,
    nonces: HashSet<Nonce>,
    ended: ProxyTotals,
    ended_tcp: TcpCounters,
}

/// All connections that are forwarded.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    next_id: AtomicU64,
    ledger: Mutex<Ledger>,
}

/// The place of one connection among them; it goes with this value.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pairs: &'a Pairs,
    id: u64,
    nonce: Option<Nonce>,
}

impl Place<'_> {
    /// Notes the nonce of the connection's hello; whether no other connection has it.
    pub(super) fn carries(&mut self, nonce: Nonce) -> bool {
        let is_first = self.pairs.locked().nonces.insert(nonce);
        if is_first {
            self.nonce = Some(nonce);
        }
        is_first
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut ledger = self.pairs.locked();
        if let Some(nonce) = &self.nonce {
            ledger.nonces.remove(nonce);
        }
        if let Some(watched) = ledger.live.remove(&self.id) {
            ledger.ended.add(&watched.pair);
            watched.pair.add_tcp_to(&mut ledger.ended_tcp);
        }
    }
}

impl Pairs {
    fn locked(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts `pair` among the connections.
    pub(super) fn add(&self, pair: &Arc<Pair>, now_ns: u64) -> Place<'_> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut ledger = self.locked();
        ledger.ended.connection_count += 1;
        ledger.live.insert(id, Watched { pair: Arc::clone(pair), call_count: 0, moved_ns: now_ns });
        Place { pairs: self, id, nonce: None }
    }

    /// Resets the connections that nothing has passed for longer than `idle_ns_max`; how many those were.
    pub(super) fn end_silent(&self, idle_ns_max: u64, now_ns: u64) -> usize {
        let mut ledger = self.locked();
        let mut count = 0;
        for watched in ledger.live.values_mut() {
            if watched.silent_ns(now_ns) > idle_ns_max {
                watched.pair.reset();
                // One that is reset and not gone yet is not told of again.
                watched.moved_ns = now_ns;
                count += 1;
            }
        }
        count
    }

    /// Resets all connections; how many there were.
    pub(super) fn end_all(&self) -> usize {
        let ledger = self.locked();
        ledger.live.values().for_each(|watched| watched.pair.reset());
        ledger.live.len()
    }

    /// What has passed until now.
    pub(super) fn totals(&self) -> ProxyTotals {
        let ledger = self.locked();
        let mut totals = ledger.ended;
        ledger.live.values().for_each(|watched| totals.add(&watched.pair));
        totals
    }

    /// The counters of all connections' sockets, of those that ended too; `None` before the first.
    pub(super) fn tcp(&self) -> Option<TcpCounters> {
        let ledger = self.locked();
        let mut sum = ledger.ended_tcp.clone();
        ledger.live.values().for_each(|watched| watched.pair.add_tcp_to(&mut sum));
        (sum.connection_count > 0).then_some(sum)
    }
}
