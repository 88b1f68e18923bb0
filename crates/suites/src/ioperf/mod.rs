//! IOPerf (STAR at the RHIC Computing Facility, 2002): five tests of C's standard I/O on one file, and what CPU they cost.
//!
//! Block `fwrite` makes the file and block `fread` reads it; character `putc` makes it anew and `getc` reads it; then 20
//! bytes are read at random places. Deliberately absent: starting processes and servers, which is the command's, and
//! clients on other machines.

mod figures;
mod native;
mod options;
mod plan;
mod reading;
mod request;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod testing;

pub use plan::plan;
pub use request::{
    BUFFER_KB_MAX, COUNT_MAX, Flush, PASSES_MAX, PROCESSES_MAX, PUBLISHED_BUFFER_KB, PUBLISHED_COUNT,
    Request, RowKind,
};

use crate::Suite;
use narrows_model::workload::{Order, StdioCalls};
use narrows_model::{Bytes, Op};

/// The name on the command line.
pub const NAME: &str = "ioperf";

/// The suite.
pub const SUITE: Suite = Suite {
    name: NAME,
    title: "C's standard I/O on one file: rate, rate by CPU time and CPU share of fwrite, fread, putc, getc and seek",
    source: "IOPerf, STAR at the RHIC Computing Facility, 2002",
    native: native::native,
    reading: reading::reading,
    metrics: crate::no_metrics,
};

/// KB are 1024 bytes throughout, as published.
const KB: f64 = 1024.0;
/// Bytes that count for each I/O of the seek test, and that it reads.
const SEEK_BYTES: Bytes = Bytes(20);
/// Shorter phases are flagged.
const SHORT_S: f64 = 0.5;

/// One of the tests.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Test {
    /// Its name in CSV, and the phase's.
    name: &'static str,
    /// Its name over the table.
    title: &'static str,
    op: Op,
    calls: StdioCalls,
    order: Order,
    /// Bytes of an I/O; `None` for the buffer.
    block: Option<Bytes>,
}

/// The tests in the published order.
const TESTS: [Test; 5] = [
    test("fwrite", "block fwrite", Op::Write, StdioCalls::Block),
    test("fread", "block fread", Op::Read, StdioCalls::Block),
    test("putc", "character putc", Op::Write, StdioCalls::Character),
    test("getc", "character getc", Op::Read, StdioCalls::Character),
    Test {
        order: Order::RandomWithReplacement,
        block: Some(SEEK_BYTES),
        ..test("seek", "random seek", Op::Read, StdioCalls::Block)
    },
];

const fn test(name: &'static str, title: &'static str, op: Op, calls: StdioCalls) -> Test {
    Test { name, title, op, calls, order: Order::Sequential, block: None }
}
