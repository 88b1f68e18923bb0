//! Closed paths simulated event by event, for what mean value analysis cannot express: windows, stripes, and memory that
//! acknowledges early.
//!
//! It deliberately knows no bytes, no measured path and no open arrivals. What a product-form network expresses is solved by
//! [`crate::mva`], exactly and at once.

mod batches;
mod flat;
mod lists;
mod run;

use std::num::NonZeroU32;

use crate::error::StatsError;
use flat::FlatPath;
use run::PathRun;

/// Most requests in flight, parts of striped ones included: they and their queues are in memory.
const TOKENS_MAX: usize = 1 << 22;

/// How the service times of a station vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceLaw {
    /// All are the mean.
    Constant,
    /// Exponential: their standard deviation is the mean.
    Exponential,
}

/// Equal servers behind one queue, first come, first served.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceStation {
    /// Seconds that a visit takes one of the servers on average; above 0.
    pub mean_s: f64,
    /// How many servers there are.
    pub servers: NonZeroU32,
    /// How the seconds vary.
    pub law: ServiceLaw,
}

impl ServiceStation {
    /// One server with exponential service times, as mean value analysis assumes.
    #[must_use]
    pub fn exponential(mean_s: f64) -> Self {
        Self { mean_s, servers: NonZeroU32::MIN, law: ServiceLaw::Exponential }
    }
}

/// One step of the path that every request takes.
#[derive(Debug, Clone, PartialEq)]
pub enum PathStep {
    /// Time in which a request waits for nothing that others use.
    Delay {
        /// The same seconds for every request, 0 or more.
        delay_s: f64,
    },
    /// A station that the requests of all clients share.
    Station(ServiceStation),
    /// Steps that a client has a bounded number of requests in; its further ones wait before them in their order.
    Window {
        /// The most requests of one client.
        in_flight: NonZeroU32,
        /// The steps.
        steps: Vec<PathStep>,
    },
    /// A request is divided over neighbouring members, from a random one on, and continues when its last part is served.
    Stripe {
        /// The members; the mean of each is that of one part.
        members: Vec<ServiceStation>,
        /// Into how many parts a request is divided, at most one for each member.
        parts: NonZeroU32,
    },
    /// A request continues as soon as there is room for it in memory, which a device empties in its own time.
    Memory {
        /// Requests that it has room for.
        room_len: u64,
        /// Requests that are in it at the start.
        stored_len: u64,
        /// The device behind it.
        device: ServiceStation,
    },
}

/// Clients that keep their requests in flight: each starts its next one when one is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedLoad {
    /// How many clients there are.
    pub clients: NonZeroU32,
    /// Requests in flight of each.
    pub depth: NonZeroU32,
}

impl ClosedLoad {
    fn in_flight(self) -> usize {
        (self.clients.get() as usize).saturating_mul(self.depth.get() as usize)
    }
}

/// How long to simulate, from which seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationPlan {
    /// The seed; the same seed and path give the same result.
    pub seed: u64,
    /// Fewest completions that are measured; more are where each request in flight would be measured less than 2.5 times.
    pub completions_min: u64,
}

impl SimulationPlan {
    /// A plan of 50 000 completions: a full exponential station's rate is then known to 0.5 %.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { seed, completions_min: 50_000 }
    }
}

/// When the first memory of a path was full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryFull {
    /// Seconds from the start until a request found no room.
    pub after_s: f64,
    /// Requests that were done before.
    pub completion_count: u64,
}

/// What a path was simulated to sustain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedRate {
    /// Requests done in a second; with memory that filled, after that.
    pub rate_per_s: f64,
    /// Standard error of the rate over the rate.
    pub relative_error: f64,
    /// When memory was full; `None` without memory, and where the simulation ended before.
    pub memory_full: Option<MemoryFull>,
}

/// The rate of `load` on the path of `steps`.
///
/// # Errors
/// [`StatsError::BadArgument`] for a path without steps that take time, a mean or a delay that is not finite or below its
/// bound, a stripe of more parts than members, more stored than there is room for, and more requests in flight (with the
/// parts of striped ones) than 4 194 304.
///
/// # Cost
/// O(c s log n) in time, c the completions (3.5 times those in flight, or `completions_min` and 10 000 more), s the steps and n
/// the requests in service; O(m) in memory, m those in flight. 100 000 clients, a window, a stripe of four and memory take
/// less than a second on one core.
///
/// # Source
/// Event scheduling of a closed network. A request takes its first step at a random moment of the time that it needs alone,
/// so that constant delays do not keep all in step; as many completions as there are requests, and 10 000 more, are left
/// out. The error is that of 20 batch means (Schmeiser, Operations Research 30, 1982). Checked against mean value analysis
/// where the network has a product form, against birth and death processes for several servers, and against rates of
/// windows, stripes and memory that follow by hand (`simulation/tests.rs`).
pub fn simulate(
    steps: &[PathStep],
    load: ClosedLoad,
    plan: SimulationPlan,
) -> Result<SimulatedRate, StatsError> {
    let path = FlatPath::new(steps)?;
    let tokens = load.in_flight().saturating_mul(1 + path.parts_max);
    if tokens > TOKENS_MAX {
        return Err(StatsError::BadArgument {
            requirement: "at most 4 194 304 requests and parts in flight",
        });
    }
    PathRun::new(&path, load, plan).measured()
}

#[cfg(test)]
mod tests;
