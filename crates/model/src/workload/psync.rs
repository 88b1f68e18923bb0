//! How a request of the engine `psync` is handed to the kernel.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most buffers of one call: what POSIX grants everywhere.
pub const VECTORS_MAX: u32 = 16;

/// What moves a request's block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PsyncCalls {
    /// One `pread` or `pwrite`, with an explicit offset.
    #[default]
    AtOffset,
    /// One `read` or `write` at the file's own position, after an `lseek` where the block is elsewhere: as in programs
    /// that walk through a file.
    AtPosition,
}

/// Options of the engine `psync`; ignored by other engines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default)]
pub struct PsyncOptions {
    /// What moves a request's block, where it is not divided into buffers.
    pub calls: PsyncCalls,
    /// Buffers of equal size that a request's block consists of, which one `preadv` or `pwritev` moves, at most
    /// [`VECTORS_MAX`]; `None` is one buffer.
    pub vectors: Option<u32>,
}
