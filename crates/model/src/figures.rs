//! Two sets of figures side by side: those of observation files, of imports, of records of suites.
//!
//! Deliberately absent: any statement of significance, for which such figures have too few runs.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema of the document.
pub const SCHEMA: &str = "narrows.figures/1";

/// Figures of two sides, those of the same name in one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct FigureComparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of narrows that made it.
    pub narrows_version: String,
    /// The baseline.
    pub a: FigureSide,
    /// What is compared with it.
    pub b: FigureSide,
    /// Figures that both have, in the order of A.
    pub rows: Vec<FigureRow>,
    /// Names that only A has.
    pub only_in_a: Vec<String>,
    /// Names that only B has.
    pub only_in_b: Vec<String>,
    /// What must be known before anything is concluded.
    pub remarks: Vec<String>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct FigureSide {
    /// As it was named.
    pub name: String,
    /// What it is: an observation file, output of a tool, a record of a suite.
    pub kind: String,
    /// Title of the figures.
    pub title: String,
    /// What is known of the machine and of where the figures come from, a phrase each.
    pub known: Vec<String>,
    /// Runs that its figures are of; `None` where that is not known.
    pub run_count: Option<u64>,
}

/// A figure that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct FigureRow {
    /// Its name in A.
    pub a: String,
    /// Its name in B.
    pub b: String,
    /// Whether the rates are of bytes, else of operations.
    pub is_of_bytes: bool,
    /// The rate of A, a second.
    pub rate_a: f64,
    /// The rate of B, a second.
    pub rate_b: f64,
    /// B over A; `None` where A is 0.
    pub ratio: Option<f64>,
    /// Options in which the two differ, or that one of them does not say, bounds, and how far the runs of a side are apart
    /// where it is their mean; a phrase each.
    pub differs: Vec<String>,
}
