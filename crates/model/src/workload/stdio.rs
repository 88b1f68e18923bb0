//! How the C library's buffered streams are used: by which calls, with which buffer, flushed when.

use crate::units::Bytes;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What moves the bytes of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StdioCalls {
    /// One `fwrite` or `fread` of the whole block.
    #[default]
    Block,
    /// A `putc` or `getc` for every byte of it.
    Character,
}

/// What follows each request that writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StdioFlush {
    /// Nothing: the C library writes when its buffer is full.
    #[default]
    None,
    /// `fflush`: the bytes are in the page cache.
    Fflush,
    /// `fflush` and `fdatasync`: the bytes are durable.
    Fdatasync,
    /// `fflush` and `fsync`: the bytes and the file's times are durable.
    Fsync,
}

/// Options of the engine `stdio`; ignored by other engines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(default)]
pub struct StdioOptions {
    /// What moves the bytes of a request.
    pub calls: StdioCalls,
    /// What follows each request that writes, by block and by character.
    pub flush: StdioFlush,
    /// Bytes of a stream's buffer, 0 for none; `None` is what the C library chooses.
    #[serde(alias = "buffer")]
    pub buffer_bytes: Option<Bytes>,
}
