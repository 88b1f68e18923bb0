//! What an endpoint reports about itself and how its clock relates to the client's.

use crate::units::{Bytes, Nanos};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an endpoint reports about itself after the hello.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ServerFacts {
    /// Address and port as the client reached it.
    pub address: String,
    /// narrows' version there.
    pub narrows_version: String,
    /// The machine's boot id: equal ids are one machine.
    pub boot_id: String,
    /// Host name.
    pub hostname: String,
    /// CPUs on which the endpoint may run.
    pub affinity_cpus: Vec<u32>,
    /// CPUs that the endpoint's quota allows; `None` without a quota.
    pub quota_cpus: Option<f64>,
    /// `major:minor` of the device under the endpoint's store; `None` without a store.
    pub store_device: Option<String>,
    /// Folder of the store as the server sees it; `None` without a store.
    pub store_root: Option<String>,
    /// Most bytes the store may contain; `None` is limited by free space alone.
    pub quota_bytes: Option<Bytes>,
    /// Server clock minus client clock; both are monotonic clocks.
    pub clock_offset_ns: i64,
    /// The offset is right within this much (half the smallest round trip).
    pub clock_offset_error_ns: Nanos,
    /// Smallest round-trip time of the hello's clock exchanges, software included.
    pub round_trip_ns: Nanos,
    /// Of a proxy: where it forwards to, as configured, then the addresses that this has; empty for an endpoint.
    #[serde(default)]
    pub forwards_to: Vec<String>,
    /// Whether the client's machine and the server's are one.
    pub shares_machine: bool,
    /// Its process id; `None` where it is not reported.
    #[serde(default)]
    pub pid: Option<u32>,
    /// The namespace in which that number is valid, by its inode; `None` where it is not known.
    #[serde(default)]
    pub pid_namespace: Option<u64>,
}
