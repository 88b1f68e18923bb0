//! The hosts on which the clients of a load run, where the command names them.

use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host that clients run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ClientHostFacts {
    /// Its name as the command gives it; the figures of its clients have the same.
    pub name: String,
    /// Its host name as it reports it.
    pub hostname: String,
    /// Boot id: equal ids are one machine.
    pub boot_id: Option<String>,
    /// Whether it is the machine of the command, by another name or in another network namespace: the counters of this
    /// machine are then those of its clients too.
    pub shares_machine: bool,
    /// Kernel release.
    pub kernel_release: Option<String>,
    /// CPUs on which its clients may run.
    pub affinity_cpus: Vec<u32>,
    /// Memory that a client can use there; `None` where it is not known.
    #[serde(default)]
    pub memory_bytes: Option<Bytes>,
    /// Its monotonic clock minus that of the command's machine, before the load; 0 where it is the same clock.
    pub clock_offset_ns: i64,
    /// Largest error of the offset: half of the shortest round trip by which it was measured; 0 for the same clock.
    pub clock_uncertainty_ns: Nanos,
}
