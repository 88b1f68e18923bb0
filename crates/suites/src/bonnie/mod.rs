//! bonnie++ (Coker; versions 1.03 and 2.00): one file written, rewritten and read, random seeks in it, then many files
//! made, looked at and deleted.
//!
//! `typed` reads what stands behind its letters, `plan` makes its phases, `text` and `csv` are its native output.
//! Deliberately absent: links in place of files, copies of the program on other machines, and starting anything, which is
//! the command's.

mod csv;
mod figures;
mod native;
mod options;
mod plan;
mod problems;
mod reading;
mod request;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod testing;
mod text;
mod typed;

pub use plan::plan;
pub use problems::{FILE_MIB_MAX, RUNS_MAX};
pub use request::{CHAR_MIB, Edition, FILE_THOUSANDS, Files, Request};
pub use typed::{SizeWord, chars, files, size};

use crate::Suite;
use narrows_model::Op;

/// The name on the command line.
pub const NAME: &str = "bonnie";

/// The suite.
pub const SUITE: Suite = Suite {
    name: NAME,
    title: "one file by characters and blocks, rewritten, sought in; then many files made, looked at and deleted",
    source: "bonnie++ by Russell Coker, versions 1.03 and 2.00; its phases of data by Tim Bray",
    native: native::native,
    reading: reading::reading,
    metrics: crate::no_metrics,
};

/// Rates of data are in KiB.
const KIB: f64 = 1024.0;
const MIB: u64 = 1 << 20;
/// Shorter phases have no figure, in both versions.
const SHORT_S: f64 = 0.5;
/// Of this many seeks the block of the last one is written back.
const SEEKS_WRITTEN_BACK_EVERY: u32 = 10;

/// What a phase does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Moves the file byte by byte.
    Characters(Op),
    /// Moves it block by block.
    Blocks(Op),
    /// Reads each block and writes it back.
    Rewrite,
    /// Reads blocks at random places.
    Seeks,
    /// Does something with every one of many files.
    Files(Op, NameOrder),
}

/// Whether the names of files follow the order in which they are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameOrder {
    Sequential,
    Random,
}

impl Does {
    /// Blocks written back for each that is read, as so many reads for one of them; `None` without any.
    fn write_back_every(self) -> Option<u32> {
        match self {
            Self::Rewrite => Some(1),
            Self::Seeks => Some(SEEKS_WRITTEN_BACK_EVERY),
            _ => None,
        }
    }

    /// Whether its rate is in KiB.
    fn moves_data(self) -> bool {
        matches!(self, Self::Characters(_) | Self::Blocks(_) | Self::Rewrite)
    }
}

/// One of the phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Phase {
    /// Its name, as the columns of the CSV of 2.00 have it.
    name: &'static str,
    /// The same in words.
    words: &'static str,
    does: Does,
}

const fn phase(name: &'static str, words: &'static str, does: Does) -> Phase {
    Phase { name, words, does }
}

/// How many of the phases move data.
const DATA_PHASES: usize = 6;

/// The phases in their order.
const PHASES: [Phase; 12] = [
    phase("putc", "writing characters", Does::Characters(Op::Write)),
    phase("put_block", "writing blocks", Does::Blocks(Op::Write)),
    phase("rewrite", "rewriting", Does::Rewrite),
    phase("getc", "reading characters", Does::Characters(Op::Read)),
    phase("get_block", "reading blocks", Does::Blocks(Op::Read)),
    phase("seeks", "random seeks", Does::Seeks),
    phase("seq_create", "creating in order", Does::Files(Op::Put, NameOrder::Sequential)),
    phase("seq_stat", "stat in order", Does::Files(Op::Stat, NameOrder::Sequential)),
    phase("seq_del", "deleting in order", Does::Files(Op::Delete, NameOrder::Sequential)),
    phase("ran_create", "creating at random", Does::Files(Op::Put, NameOrder::Random)),
    phase("ran_stat", "stat at random", Does::Files(Op::Stat, NameOrder::Random)),
    phase("ran_del", "deleting at random", Does::Files(Op::Delete, NameOrder::Random)),
];
