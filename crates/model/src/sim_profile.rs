//! A declared machine for simulation: what each segment of a path costs and can sustain.
//!
//! Data only; the simulator is in `sim`.

use crate::units::{Bytes, BytesPerSec, Nanos, OpsPerSec};
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queueing station: a fixed cost an operation, a rate for its bytes, and how many it serves at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct StationLaw {
    /// Time an operation takes whatever its size.
    pub per_op_ns: Nanos,
    /// Rate at which its bytes pass; `None` is at once.
    pub bytes_per_s: Option<BytesPerSec>,
    /// Operations served at once.
    pub parallel: u32,
    /// Relative spread of the service time (coefficient of variation of a gamma law); 0 is constant.
    pub variation: f64,
    /// More time that a write takes when it must be durable; a device's alone.
    pub flush_ns: Nanos,
    /// Worker threads, each of which is occupied by one request from its turn until the device is done with it; a
    /// server's alone, `None` for as many as there are requests.
    pub threads: Option<u32>,
    /// Rate of the bus that the devices of several targets share, each of which has one of its own; a device's alone,
    /// `None` without such a bus.
    pub bus_bytes_per_s: Option<BytesPerSec>,
}

impl Default for StationLaw {
    fn default() -> Self {
        Self {
            per_op_ns: Nanos(0),
            bytes_per_s: None,
            parallel: 1,
            variation: 0.0,
            flush_ns: Nanos(0),
            threads: None,
            bus_bytes_per_s: None,
        }
    }
}

/// A network between client and server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NetworkLaw {
    /// Round-trip time without load.
    pub rtt_ns: Nanos,
    /// Payload rate in each direction.
    pub bytes_per_s: BytesPerSec,
    /// Link speed as the interface declares it; `None` for a virtual link.
    pub link_bits_per_s: Option<u64>,
    /// Bytes that one connection may have in flight; `None` for more than the link ever has in flight.
    #[serde(default)]
    pub window_bytes: Option<Bytes>,
    /// Share of the segments that is lost and sent again.
    #[serde(default)]
    pub loss_ratio: f64,
}

/// Where reads are served without reaching the device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct CacheLaw {
    /// Share of buffered reads served by the client's cache.
    pub client_hit_ratio: f64,
    /// Share of reads served by the server's cache.
    pub server_hit_ratio: f64,
}

impl Default for CacheLaw {
    fn default() -> Self {
        Self { client_hit_ratio: 0.0, server_hit_ratio: 0.0 }
    }
}

/// A fault injected into a simulated path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// Every so many operations one fails with this error.
    Error {
        /// Operations between two failures.
        every: u64,
        /// Name of the error, such as `EIO`.
        errno: String,
    },
    /// Every so many operations one takes longer.
    Stall {
        /// Operations between two stalls.
        every: u64,
        /// How much longer.
        extra_ns: Nanos,
    },
    /// After so many operations nothing completes any more.
    Hang {
        /// Operations before it.
        after: u64,
    },
}

/// A declared machine: a client, perhaps a network and a server, and a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SimProfile {
    /// Name for people.
    pub name: String,
    /// CPUs that the client may use (quota included).
    pub client_cpus: f64,
    /// CPU cost of the load generator itself.
    pub generator: StationLaw,
    /// CPU cost on the client: system calls, protocol, copies.
    pub client_cpu: StationLaw,
    /// The network; `None` for a local path.
    pub network: Option<NetworkLaw>,
    /// CPUs that the server may use (quota included); unused for a local path.
    pub server_cpus: f64,
    /// CPU cost on the server.
    pub server_cpu: StationLaw,
    /// The device.
    pub device: StationLaw,
    /// Most operations a second of the device, whatever their size; `None` without such a limit.
    pub device_ops_per_s: Option<OpsPerSec>,
    /// Caches.
    pub cache: CacheLaw,
    /// Whether client and server are one machine.
    pub shared_machine: bool,
    /// CPUs of that one machine; unused otherwise.
    pub machine_cpus: u32,
    /// Faults.
    pub faults: Vec<Fault>,
    /// Size of the simulated file.
    pub file_bytes: Bytes,
}
