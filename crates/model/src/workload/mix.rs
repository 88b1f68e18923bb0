//! Shares of operations and of block sizes in a workload that has several.

use super::Op;
use crate::units::Bytes;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many of all requests are of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct OpShare {
    /// The operation.
    pub op: Op,
    /// Its weight against those of the others, above 0.
    pub weight: f64,
}

/// How many of all requests move blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct BlockShare {
    /// Bytes that such a request moves.
    pub block_bytes: Bytes,
    /// Its weight against those of the others, above 0.
    pub weight: f64,
}
