//! How a request of the engine `psync` is handed to the kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most buffers of one call: what POSIX grants everywhere.
pub const VECTORS_MAX: u32 = 16;

/// How requests are wished to be handed over; without meaning for other engines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PsyncWishes {
    /// Buffers of equal size that a request's block consists of, which one `preadv` or `pwritev` moves, at most
    /// [`VECTORS_MAX`]; `None` is one `pread` or `pwrite`.
    pub vectors: Option<u32>,
}
