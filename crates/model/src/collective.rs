//! What a suite of collective calls measured: the JSON document `narrows.collective/1`, which `narrows-mpi suite NAME --json`
//! prints.
//!
//! Not a record: a suite makes a fixed number of calls, whose sizes differ from rank to rank, and its rate is over the
//! slowest rank's time in those calls; a record's cells have requests of one size in one window (design 0026).

use crate::rank::RankFacts;
use crate::units::{Bytes, BytesPerSec, Nanos};
use crate::workload::Op;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of the documents written by this version.
pub const COLLECTIVE_SCHEMA: &str = "narrows.collective/1";

/// What a suite measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CollectiveRun {
    /// Always [`COLLECTIVE_SCHEMA`].
    pub schema: String,
    /// Version that measured it.
    pub narrows_version: String,
    /// When the suite had ended, RFC 3339, UTC.
    pub ended_at: String,
    /// The suite, as on the command line.
    pub suite: String,
    /// The words behind the program's name.
    pub command: Vec<String>,
    /// What the MPI library says of itself.
    pub mpi_library: String,
    /// The file, as it was named.
    pub file: String,
    /// Hints that were given for opening the file.
    pub hints: BTreeMap<String, String>,
    /// All ranks of the job, and where they ran.
    pub ranks: Vec<RankFacts>,
    /// What was measured, in its order; several where ranks, bytes or patterns were varied.
    pub points: Vec<CollectivePoint>,
}

/// What so many ranks did with one layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CollectivePoint {
    /// Ranks that took part: the first ones of the job.
    pub rank_count: u32,
    /// How the parts of the ranks are placed in the file, in words.
    pub layout: String,
    /// Hints that the library reports of the open file, on rank 0; null where it does not report them. Some libraries report
    /// all that were given, also those that they do not use.
    pub reported_hints: Option<BTreeMap<String, String>>,
    /// The phases, in their order.
    pub phases: Vec<CollectivePhase>,
}

/// Calls of one kind, which every rank made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CollectivePhase {
    /// Whether they write or read.
    pub op: Op,
    /// Whether all ranks made each call together (`MPI_File_write_all`), or each by itself (`MPI_File_write`).
    pub is_collective: bool,
    /// Timed calls of each rank.
    pub call_count: u64,
    /// Bytes that all ranks moved in these calls; what several of them move counts for each.
    pub bytes: Bytes,
    /// `bytes` over the longest time of a rank; null where the clock did not advance.
    pub rate: Option<BytesPerSec>,
    /// Where writes were synced; null of reads.
    pub sync: Option<PhaseSync>,
    /// Elements of the data read that differ from those written, where they were compared: bytes, or the integers of
    /// `coll-perf` and `noncontig`.
    pub wrong_count: Option<u64>,
    /// Each rank's part, in the order of ranks.
    pub ranks: Vec<RankPhase>,
}

/// Where the writes of a phase were synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PhaseSync {
    /// Within the time of each write.
    EachWrite,
    /// Once after the last write, outside of its time.
    AfterTime,
    /// Nowhere.
    Never,
}

/// What one rank did in a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RankPhase {
    /// The rank.
    pub rank: u32,
    /// Bytes that it moved.
    pub bytes: Bytes,
    /// Time within its calls, all of them together.
    pub transfer_ns: Nanos,
    /// Time within the call that opened the file; null where the suite does not time it.
    pub open_ns: Option<Nanos>,
    /// Time within the call that closed it; null where the suite does not time it.
    pub close_ns: Option<Nanos>,
}

impl CollectivePhase {
    /// The longest time of a rank within its calls: what `rate` is taken over.
    #[must_use]
    pub fn slowest_ns(&self) -> Nanos {
        self.ranks.iter().map(|rank| rank.transfer_ns).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json as _;

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let rank = |rank, transfer_ns| RankPhase {
            rank,
            bytes: Bytes(8),
            transfer_ns: Nanos(transfer_ns),
            open_ns: None,
            close_ns: Some(Nanos(3)),
        };
        let phase = CollectivePhase {
            op: Op::Write,
            is_collective: true,
            call_count: 2,
            bytes: Bytes(16),
            rate: BytesPerSec::over(Bytes(16), Nanos(9)),
            sync: Some(PhaseSync::AfterTime),
            wrong_count: None,
            ranks: vec![rank(0, 9), rank(1, 7)],
        };
        assert_eq!(phase.slowest_ns(), Nanos(9));
        let run = CollectiveRun {
            schema: COLLECTIVE_SCHEMA.to_owned(),
            narrows_version: "1".to_owned(),
            ended_at: "2026-01-01T00:00:00Z".to_owned(),
            suite: "coll-perf".to_owned(),
            command: vec!["suite".to_owned()],
            mpi_library: "x".to_owned(),
            file: "f".to_owned(),
            hints: BTreeMap::from([("cb_nodes".to_owned(), "2".to_owned())]),
            ranks: Vec::new(),
            points: vec![CollectivePoint {
                rank_count: 2,
                layout: "l".to_owned(),
                reported_hints: None,
                phases: vec![phase],
            }],
        };
        let text = run.to_json().unwrap();
        assert!(text.get().contains(r#""sync":"after_time""#), "{text}");
        assert_eq!(CollectiveRun::from_json(text.get()).unwrap(), run);
    }
}
