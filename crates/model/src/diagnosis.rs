//! The verdict: what limits, what was cleared, what was not measured, and the findings behind it.

use crate::change::Confirmation;
use crate::segment::Segment;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an entry of the limiting list relates to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It alone limits.
    Sole,
    /// One of the entries with this relation limits; the evidence leaves several.
    OneOf,
    /// The entries with this relation limit together.
    Joint,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Changes how a figure must be read.
    Warning,
    /// A figure must not be used as what it seems.
    Error,
}

/// A number that a statement rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Evidence {
    /// The statement, with its numbers.
    pub text: String,
    /// The counter or measurement it rests on.
    pub counter: String,
    /// A shell command that shows it; empty where only a run can.
    pub command: String,
}

/// A segment that limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Limiting {
    /// The segment.
    pub segment: Segment,
    /// Probability that naming it is right, 0 to 1.
    pub confidence: f64,
    /// How it relates to the other entries of its regime.
    pub relation: Relation,
    /// Which link, node or share; `None` where there is one alone.
    pub scope: Option<String>,
    /// The load to which this applies, such as `bulk write (1MiB, 16 in flight)`.
    pub regime: String,
    /// Codes of the rules that named it.
    pub codes: Vec<String>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// How many times faster the path gets at most when this segment is relieved; `None` where unknown.
    pub relief_gain_ratio: Option<f64>,
    /// Whether the path moved as predicted when this segment was changed; `None` where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmation>,
}

/// A segment that does not limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Exonerated {
    /// The segment.
    pub segment: Segment,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// A segment that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct NotMeasured {
    /// The segment.
    pub segment: Segment,
    /// Why.
    pub why: String,
    /// How to measure it.
    pub how_to: String,
}

/// What one rule found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Finding {
    /// The rule's code, for `narrows explain`.
    pub code: String,
    /// A stable word for programs.
    pub slug: String,
    /// How grave it is.
    pub severity: Severity,
    /// The cells it is about; empty for the whole run.
    pub cells: Vec<String>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Diagnosis {
    /// One sentence that must come first, such as that client and server share the machine; `None` without one.
    pub preface: Option<String>,
    /// What limits, the regime that matters most first.
    pub limiting: Vec<Limiting>,
    /// What was cleared.
    pub exonerated: Vec<Exonerated>,
    /// What was not measured.
    pub not_measured: Vec<NotMeasured>,
    /// What the rules found.
    pub findings: Vec<Finding>,
}
