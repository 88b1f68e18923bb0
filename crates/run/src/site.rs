//! Where cells run: the engines, clock, clients and counters of one machine.

use crate::coordinator::Coordinator;
use crate::link::CounterSource;
use crate::overrun::{Overruns, REPORTED_NS};
use crate::peer_monitor::PeerLoss;
use crate::prepare::PreparedObjects;
use crate::server_metrics::ServerMetrics;
use crate::stop::StopFlag;
use narrows_engines::{Clock, EngineRegistry};
use narrows_model::Nanos;
use std::sync::Arc;

/// Longest wait for a peer's answer unless set otherwise: longer than any disk's own retries.
pub const ANSWER_TIMEOUT_NS: u64 = 30_000_000_000;

/// Longest wait for a peer's answer in a run of this `budget`: no longer than all of it, unless that is short.
#[must_use]
pub fn answer_timeout(budget: Nanos) -> Nanos {
    const LEAST_NS: u64 = 5_000_000_000;
    let whole = if budget.0 == 0 { u64::MAX } else { budget.0.max(LEAST_NS) };
    Nanos(ANSWER_TIMEOUT_NS.min(whole))
}

/// One machine on which cells run.
pub struct CellSite {
    /// Engines by target.
    pub registry: EngineRegistry,
    /// The clock that everything is timed by.
    pub clock: Arc<dyn Clock>,
    /// The request to stop.
    pub stop: StopFlag,
    /// What happened to a peer that stopped answering.
    pub peer_loss: PeerLoss,
    /// Starts the clients.
    pub coordinator: Box<dyn Coordinator>,
    /// Counters of the role that this site plays.
    pub counters: Box<dyn CounterSource>,
    /// Counters of a server on which nothing of ours runs; `None` where none are asked for.
    pub server_metrics: Option<Box<dyn ServerMetrics>>,
    /// This machine's name.
    pub hostname: String,
    /// Seed of every random choice.
    pub seed: u64,
    /// Time between samples.
    pub interval_ns: Nanos,
    /// Token of the endpoint.
    pub token: Option<Vec<u8>>,
    /// Longest wait for an answer.
    pub answer_timeout_ns: Nanos,
    /// What was prepared so far; start with the default.
    pub prepared: PreparedObjects,
    /// Trials so far that took longer than planned; start with the default.
    pub overruns: Overruns,
}

impl CellSite {
    /// What much of the time so far was used for beside loads of the planned length, in brackets after a space; empty
    /// where that is little.
    #[must_use]
    pub fn time_used_for(&self) -> String {
        let prepared = self.prepared.took_ns();
        let preparation =
            (prepared.0 >= REPORTED_NS).then(|| format!("{:.1} s for preparation", prepared.as_secs_f64()));
        let parts: Vec<String> = [preparation, self.overruns.described()].into_iter().flatten().collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
    }
}

impl std::fmt::Debug for CellSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CellSite")
            .field("hostname", &self.hostname)
            .field("seed", &self.seed)
            .field("prepared", &self.prepared)
            .finish_non_exhaustive()
    }
}
