//! What the time of a load was spent on.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shares of the time of the client's load: of its worker threads' time, where that is known. They sum to 1.
///
/// # Units
/// Ratios from 0 to 1. A share that was not measured is `None`, and its time is in `other_ratio`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct TimeShares {
    /// On a CPU in user mode.
    pub cpu_user_ratio: f64,
    /// On a CPU in the kernel.
    pub cpu_kernel_ratio: f64,
    /// Ready to run, and waiting for a CPU that other threads used: the load's own, or other programs'.
    pub cpu_wait_ratio: Option<f64>,
    /// Stopped by the quota of the control group.
    pub throttled_ratio: Option<f64>,
    /// Blocked while the path's device on this machine served requests.
    pub device_ratio: Option<f64>,
    /// The part of `device_ratio` in which the device made written data durable (flushes).
    pub flush_ratio: Option<f64>,
    /// The part of `device_ratio` in which requests waited in the block layer's queue before the device had them, as far as the
    /// kernel's tracepoints could be recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_ratio: Option<f64>,
    /// Blocked for a round trip on the load's connections.
    pub network_ratio: Option<f64>,
    /// All other time: servers, daemons, locks, and what was not measured.
    pub other_ratio: f64,
}

impl TimeShares {
    /// Share of the time on a CPU or ready to run.
    #[must_use]
    pub fn cpu_ratio(&self) -> f64 {
        self.on_cpu_ratio() + self.cpu_wait_ratio.unwrap_or(0.0)
    }

    /// Share of the time on a CPU.
    #[must_use]
    pub fn on_cpu_ratio(&self) -> f64 {
        self.cpu_user_ratio + self.cpu_kernel_ratio
    }
}
