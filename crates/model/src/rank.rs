//! Where the ranks of an MPI job run.

use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One rank of the job whose clients put the load on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RankFacts {
    /// Its number, from 0.
    pub rank: u32,
    /// The name of its host.
    pub host: String,
    /// Its process, by the number that its host gives it.
    pub pid: u32,
    /// CPUs on which it may run.
    pub cpus: Vec<u32>,
    /// Memory that it can use on its host; `None` where it is not known.
    #[serde(default)]
    pub memory_bytes: Option<Bytes>,
    /// How far its monotonic clock is before that of rank 0; 0 where it is the same clock.
    pub clock_offset_ns: i64,
    /// How far that may be wrong: half of the shortest round trip by which it was measured; 0 for the same clock.
    pub clock_uncertainty_ns: Nanos,
}

impl RankFacts {
    /// Whether it runs on the machine of rank 0, by another host name perhaps: only there it has the same clock.
    #[must_use]
    pub fn shares_machine(&self) -> bool {
        self.clock_uncertainty_ns.0 == 0
    }
}
