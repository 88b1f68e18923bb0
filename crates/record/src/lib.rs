//! On-disk formats: the folder that a run leaves, written while it runs, readable after a crash, versioned; and
//! the text of observations.
//!
//! ```text
//! manifest.json   what ran, when, with which version and seed; how it ended
//! plan.json       the plan as it was at the start
//! inventory.json  the machine of the command
//! events.jsonl    what happened, one line each, in order (the rest of the plan included)
//! samples.jsonl   interval samples and counter readings, one line each
//! summary.json    what the analysis made of it; can always be made again
//! ```
//!
//! Promises: the manifest appears last, when plan and inventory are whole; afterwards lines are only appended, each
//! with one `write`, a sequence number and a CRC-32, so that a process killed at any moment leaves a record that opens
//! with every line it had written. A record is for its user alone, and all of it is in the folder that was made or
//! accepted at the start, whatever others do to its path. Nothing that narrows did not create is touched.
//!
//! Deliberately absent: durability against loss of power, compression, any judgement of what was recorded.
#![forbid(unsafe_code)]

mod damage;
mod decode;
mod error;
mod files;
mod folder;
mod line;
mod lines;
mod locate;
mod manifest;
mod observations;
mod reader;
#[cfg(feature = "schemas")]
pub mod schemas;
mod staging;
mod timeline;
mod writer;

pub use damage::{DAMAGE_LISTED_MAX, Damage, DamageKind, DamageList};
pub use error::{ErrorKind, RecordError};
pub use line::RecordLine;
pub use manifest::{LineCounts, Manifest, RECORD_SCHEMA};
pub use observations::observations_text;
pub use reader::{Events, Record};
pub use staging::{StagingFolder, staging_folders};
pub use timeline::Timeline;
pub use writer::{MovedRecord, Writer};

#[cfg(test)]
mod samples;
