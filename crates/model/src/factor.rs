//! What a study varies on purpose, with the values it takes.
//!
//! Not here: the value of a factor in one cell, which is the cell's.

use crate::cell::FactorValue;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the numbers of a factor count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FactorUnit {
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Bytes a second.
    BytesPerSecond,
    /// Operations a second.
    OpsPerSecond,
    /// Things: requests, workers, clients.
    Count,
    /// Nothing: the values are names, or numbers without a unit.
    #[default]
    None,
}

/// One factor of a sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Factor {
    /// Its key in the study.
    pub name: String,
    /// What its numbers count.
    #[serde(default)]
    pub unit: FactorUnit,
    /// Its values in the order of the sweep.
    pub values: Vec<FactorValue>,
}
