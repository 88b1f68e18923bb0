//! The connections that are forwarded now: their number, their counters, and the ends that silence and a stop put to
//! them.

use super::pair::ConnectionPair;
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
    pub upstream_bytes: u64,
    /// Bytes to clients.
    pub downstream_bytes: u64,
}

impl ProxyTotals {
    fn add(&mut self, pair: &ConnectionPair) {
        self.upstream_bytes += pair.upstream.bytes.load(Ordering::Relaxed);
        self.downstream_bytes += pair.downstream.bytes.load(Ordering::Relaxed);
    }
}

/// A forwarded connection and when something last passed it, as far as was looked.
#[derive(Debug)]
struct MonitoredPair {
    pair: Arc<ConnectionPair>,
    call_count: u64,
    last_active_ns: u64,
}

impl MonitoredPair {
    /// Whether its client has sent nothing since it connected.
    fn is_unused(&self) -> bool {
        self.pair.upstream.call_count.load(Ordering::Relaxed) == 0
    }

    /// Notes what has passed since the last look; how long nothing has.
    fn silent_ns(&mut self, now_ns: u64) -> u64 {
        let call_count = [&self.pair.upstream, &self.pair.downstream]
            .into_iter()
            .map(|passed| passed.call_count.load(Ordering::Relaxed))
            .sum();
        if self.call_count != call_count {
            (self.call_count, self.last_active_ns) = (call_count, now_ns);
        }
        now_ns.saturating_sub(self.last_active_ns)
    }
}

#[derive(Debug, Default)]
struct PairsState {
    live: HashMap<u64, MonitoredPair>,
    nonces: HashSet<Nonce>,
    ended: ProxyTotals,
    ended_tcp: TcpCounters,
}

/// All connections that are forwarded.
#[derive(Debug, Default)]
pub(super) struct ConnectionPairs {
    next_id: AtomicU64,
    state: Mutex<PairsState>,
}

/// The place of one connection among them; freed when this is dropped.
#[derive(Debug)]
pub(super) struct PairRegistration<'a> {
    pairs: &'a ConnectionPairs,
    id: u64,
    nonce: Option<Nonce>,
}

impl PairRegistration<'_> {
    /// Notes the nonce of the connection's hello; whether no other connection has it.
    pub(super) fn claim_nonce(&mut self, nonce: Nonce) -> bool {
        let is_first = self.pairs.locked().nonces.insert(nonce);
        if is_first {
            self.nonce = Some(nonce);
        }
        is_first
    }
}

impl Drop for PairRegistration<'_> {
    fn drop(&mut self) {
        let mut state = self.pairs.locked();
        if let Some(nonce) = &self.nonce {
            state.nonces.remove(nonce);
        }
        if let Some(watched) = state.live.remove(&self.id) {
            state.ended.add(&watched.pair);
            watched.pair.add_tcp_to(&mut state.ended_tcp);
        }
    }
}

impl ConnectionPairs {
    fn locked(&self) -> MutexGuard<'_, PairsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts `pair` among the connections.
    pub(super) fn add(&self, pair: &Arc<ConnectionPair>, now_ns: u64) -> PairRegistration<'_> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut state = self.locked();
        state.ended.connection_count += 1;
        state
            .live
            .insert(id, MonitoredPair { pair: Arc::clone(pair), call_count: 0, last_active_ns: now_ns });
        PairRegistration { pairs: self, id, nonce: None }
    }

    /// Resets the connections that nothing has passed for longer than `idle_ns_max`; how many those were.
    pub(super) fn end_silent(&self, idle_ns_max: u64, now_ns: u64) -> usize {
        let mut state = self.locked();
        let mut count = 0;
        for watched in state.live.values_mut() {
            if watched.silent_ns(now_ns) > idle_ns_max {
                watched.pair.reset();
                // One that is reset and not gone yet is not reported again.
                watched.last_active_ns = now_ns;
                count += 1;
            }
        }
        count
    }

    /// Resets the connections whose next hop is gone and that nothing has passed for longer than `least_ns`: their clients
    /// take nothing, and would keep them.
    pub(super) fn end_abandoned(&self, least_ns: u64, now_ns: u64) {
        for watched in self.locked().live.values_mut() {
            if watched.silent_ns(now_ns) > least_ns && watched.pair.is_without_next_hop() {
                watched.pair.reset();
            }
        }
    }

    /// Resets a connection whose client has sent nothing since it connected and that nothing has passed for `least_ns`,
    /// the most silent of them; whether there was one.
    ///
    /// A client that has sent something may be silent for as long as its run measures elsewhere.
    pub(super) fn end_unused(&self, least_ns: u64, now_ns: u64) -> bool {
        let mut state = self.locked();
        let unused = state.live.values_mut().filter(|watched| watched.is_unused());
        let by_silence = unused.map(|watched| (watched.silent_ns(now_ns), watched));
        let most = by_silence.max_by_key(|(silent_ns, _)| *silent_ns);
        let Some((_, watched)) = most.filter(|(silent_ns, _)| *silent_ns >= least_ns) else { return false };
        watched.pair.reset();
        // One that is reset and not gone yet makes room once.
        watched.last_active_ns = now_ns;
        true
    }

    /// Resets all connections; how many there were.
    pub(super) fn end_all(&self) -> usize {
        let state = self.locked();
        state.live.values().for_each(|watched| watched.pair.reset());
        state.live.len()
    }

    /// What has passed until now.
    pub(super) fn totals(&self) -> ProxyTotals {
        let state = self.locked();
        let mut totals = state.ended;
        state.live.values().for_each(|watched| totals.add(&watched.pair));
        totals
    }

    /// The counters of all connections' sockets, of those that ended too; `None` before the first.
    pub(super) fn tcp(&self) -> Option<TcpCounters> {
        let state = self.locked();
        let mut sum = state.ended_tcp.clone();
        state.live.values().for_each(|watched| watched.pair.add_tcp_to(&mut sum));
        (sum.connection_count > 0).then_some(sum)
    }
}
