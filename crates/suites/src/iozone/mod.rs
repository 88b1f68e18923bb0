//! IOzone (William Norcott and Don Capps, from 1991 on): tests of one file over records and file sizes, and of several processes.
//!
//! Test 0 makes a file and the others go over it by their own calls and in their own order; auto mode does so for a surface
//! of record and file sizes, throughput mode for processes that start together. Deliberately absent: the original's options
//! that narrows has of its own (engines, think times, latencies), which are refused with what to take.

mod asked;
mod columns;
mod figures;
mod heading;
mod letters;
mod native;
mod options;
mod plan;
mod problems;
mod reading;
mod request;
mod sheet;
#[cfg(test)]
mod summary_tests;
mod surface;
#[cfg(test)]
mod testing;
mod throughput;

pub use letters::apart;
pub use plan::plan;
pub use request::Request;
pub use sheet::csv as sheet_csv;
pub use surface::{csv as surface_csv, svg as surface_svg};

use crate::Suite;
use std::fmt::Write;

/// The name on the command line.
pub const NAME: &str = "iozone";

/// The suite.
pub const SUITE: Suite = Suite {
    name: NAME,
    title: "one file over record and file sizes: write, read, random, backward, stride, stdio, vectors; several processes",
    source: "IOzone 3, William Norcott and Don Capps",
    native: native::native,
    reading: reading::reading,
    metrics: crate::no_metrics,
};

/// The letters with what they mean, a line each.
#[must_use]
pub fn letters_help() -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    for (name, meaning) in letters::FLAGS {
        let _ = writeln!(out, "  {name:<11} {meaning}");
    }
    for (name, value, meaning) in letters::VALUES.iter().chain([&letters::NAMES]) {
        let _ = writeln!(out, "  {:<11} {meaning}", format!("{name} {value}"));
    }
    out
}
