//! What `narrows diagnose FILE.toml --json` prints: the verdict on observations with the figures it was made of.

use super::ObservedOp;
use crate::counters::Role;
use crate::diagnosis::Diagnosis;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Schema of the document.
pub const SCHEMA: &str = "narrows.diagnosis/1";

/// The verdict on observations, as one document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct DiagnosisDocument {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of narrows that made the diagnosis.
    pub narrows_version: String,
    /// What was measured, in one line.
    pub title: String,
    /// Where the numbers come from; `None` where the file does not say it.
    pub source: Option<String>,
    /// Observations in the file.
    pub observation_count: u64,
    /// Costs of a call, one for each set of roles whose buffers were varied together.
    pub per_call: Vec<PerCall>,
    /// The verdict.
    pub diagnosis: Diagnosis,
    /// Every observation of the file in its order, with what it was used for.
    #[serde(default)]
    pub observations: Vec<ObservationUse>,
}

/// What an observation was used for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ObservationUse {
    /// The observation.
    pub id: String,
    /// What it does.
    pub op: ObservedOp,
    /// Bytes a second of all clients; `None` where that is not known.
    pub bytes_per_s: Option<f64>,
    /// Operations a second of all clients; `None` where that is not known.
    pub ops_per_s: Option<f64>,
    /// The codes of the rules that stated something of it, each once.
    pub rules: Vec<String>,
    /// Whether it is evidence for what is stated of another one.
    pub is_evidence: bool,
    /// Why no rule used it; `None` where one did.
    pub not_used: Option<String>,
}

/// Elapsed time as a line over the calls of the roles whose buffers were varied: T = a + b x calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PerCall {
    /// The roles, from the client to the server.
    pub roles: Vec<Role>,
    /// a: the time of no calls at all.
    pub fixed_s: f64,
    /// The interval of a at 95 %; `None` for two observations.
    #[serde(default)]
    pub fixed_s_interval: Option<[f64; 2]>,
    /// b: the time that one call of each of the roles adds.
    pub call_s: f64,
    /// The interval of b at 95 %; `None` for two observations.
    pub call_s_interval: Option<[f64; 2]>,
    /// Observations that the line rests on.
    pub observations: Vec<String>,
    /// Observations left out because their printed counts repeat another's.
    pub excluded: Vec<String>,
    /// Observations that the count of calls does not explain.
    pub breaks: Vec<PerCallBreak>,
}

/// An observation that the count of calls does not explain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PerCallBreak {
    /// The observation.
    pub observation: String,
    /// What it took over what the line through the others promises: all others, or at the end of a sweep those with fewer
    /// calls.
    pub elapsed_ratio: f64,
    /// Busy share of the role that was full with fewer calls; `None` where that did not fall.
    pub cpu_ratio: Option<f64>,
}
