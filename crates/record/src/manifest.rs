//! The manifest of a record: what ran, and how it ended; and the check that this version may read it.

use crate::error::{ErrorKind, RecordError};
use narrows_model::event::EndReason;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Schema of records written by this version.
pub const RECORD_SCHEMA: &str = "narrows.record/1";

/// What ran, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct Manifest {
    /// Schema of the record, `narrows.record/1`.
    pub schema: String,
    /// Version of narrows that measured.
    pub narrows_version: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Command line.
    pub command: Vec<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Name of the run, different for every run.
    pub record_id: String,
    /// Why the run ended; `null` while it runs and after a crash.
    pub complete: Option<EndReason>,
    /// Lines that the files had when the run ended; `null` while it runs, after a crash; old records lack it.
    #[serde(default)]
    pub lines: Option<LineCounts>,
}

/// Lines in the files of a record whose run has ended: fewer are damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct LineCounts {
    /// In `events.jsonl`.
    pub events: u64,
    /// In `samples.jsonl`.
    pub samples: u64,
}

narrows_model::json_document!(Manifest, serde_json::from_str);

impl Manifest {
    /// The manifest of a run that begins now.
    #[must_use]
    pub fn new(
        narrows_version: &str,
        started_at: &str,
        command: Vec<String>,
        seed: u64,
        record_id: &str,
    ) -> Self {
        Self {
            schema: RECORD_SCHEMA.to_owned(),
            narrows_version: narrows_version.to_owned(),
            started_at: started_at.to_owned(),
            command,
            seed,
            record_id: record_id.to_owned(),
            complete: None,
            lines: None,
        }
    }
}

/// Refuses a document whose `schema` this version does not read.
///
/// # Errors
/// When there is no schema, it is of something else, or of a version above the one in `known` (`NAME/NUMBER`).
pub(crate) fn check_schema(path: &Path, found: Option<&str>, known: &str) -> Result<(), RecordError> {
    const OPERATION: &str = "read";
    let error = |kind, text: String, hint| {
        Err(RecordError::found(kind, OPERATION, path, text, hint).at(None, Some("schema".to_owned())))
    };
    let Some(found) = found else {
        return error(
            ErrorKind::NotARecord,
            format!("there is no schema instead of `{known}`"),
            "name the folder that a run of narrows wrote",
        );
    };
    let versions = split(found).zip(split(known));
    match versions {
        Some(((name, version), (known_name, known_version))) if name == known_name => {
            if version <= known_version {
                return Ok(());
            }
            error(
                ErrorKind::FromTheFuture,
                format!("it has schema `{found}`, and this narrows reads up to `{known}`"),
                "read it with the narrows that wrote it (narrows_version in manifest.json) or a newer one",
            )
        }
        _ => error(
            ErrorKind::NotARecord,
            format!("it has schema `{found}` instead of `{known}`"),
            "name the folder that a run of narrows wrote",
        ),
    }
}

fn split(schema: &str) -> Option<(&str, u64)> {
    let (name, version) = schema.rsplit_once('/')?;
    Some((name, version.parse().ok()?))
}
