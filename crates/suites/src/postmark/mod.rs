//! PostMark (Katcher, NetApp, 1997; version 1.5): transactions on many small files, as a mail server makes them.
//!
//! Files are created; each transaction reads or appends to one and creates or deletes one; what is left is deleted.
//! Deliberately absent: starting anything, reading scripts' files, several folders at once.

mod command;
mod figures;
mod native;
mod options;
mod plan;
mod reading;
mod report;
mod request;
mod script;
mod settings;
mod show;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod testing;

pub use native::{Printed, printed};
pub use plan::plan;
pub use request::Request;
pub use script::{Load, Note, Run, Session, Step, set};
pub use settings::{
    Location, PUBLISHED_BIAS, PUBLISHED_BLOCK, PUBLISHED_NUMBER, PUBLISHED_SEED, PUBLISHED_SIZE_HIGH,
    PUBLISHED_SIZE_LOW, PUBLISHED_TRANSACTIONS, Report, Settings,
};

use crate::Suite;

/// The name on the command line.
pub const NAME: &str = "postmark";

/// The suite.
pub const SUITE: Suite = Suite {
    name: NAME,
    title: "many small files: their creation, transactions that read, append, create and delete, their deletion",
    source: "Katcher, PostMark: A New File System Benchmark, NetApp TR3022, 1997; version 1.5",
    native: native::native,
    reading: reading::reading,
    metrics: crate::no_metrics,
};

/// Shorter phases are flagged.
const SHORT_S: f64 = 0.5;
