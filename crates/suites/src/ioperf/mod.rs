//! IOPerf (STAR at the RHIC Computing Facility, 2002): five tests of C's standard I/O on one file, and what CPU they cost.
//!
//! Block `fwrite` makes the file and block `fread` reads it; character `putc` makes it anew and `getc` reads it; then 20
//! bytes are read at random places. Deliberately absent: starting processes, here and on other machines, and servers, which
//! is the command's.

mod arguments;
mod expected;
mod figures;
mod import;
mod legacy;
mod native;
mod plan;
mod reading;
mod request;
#[cfg(test)]
mod summary_tests;
#[cfg(test)]
mod testing;

pub use arguments::Arguments;
pub(crate) use import::IMPORTER;
pub use request::{FlushCall, Request, RowKind};

use crate::SuiteStart;
use crate::client_hosts::SuiteHosts;
use crate::folder::{OnFolder, PreparedFolder, SuiteMachine};
use crate::machine_name;
use crate::suite::{ArgumentError, IsUser, Suite, SuiteEntry, to_source};
use narrows_model::plan::SuiteSource;
use narrows_model::workload::{Order, StdioCalls};
use narrows_model::{Bytes, Op, Plan, Summary};
use narrows_study::Problem;

/// The name on the command line.
pub const NAME: &str = "ioperf";

/// The suite.
pub const ENTRY: SuiteEntry = SuiteEntry::new::<Request>(
    NAME,
    "IOPerf: fwrite, fread, putc, getc and random seeks through C's standard I/O, one process and several",
    "IOPerf, STAR at the RHIC Computing Facility, 2002",
)
.with_hosts();

impl Suite for Request {
    type Arguments = Arguments;
    type Prepared = PreparedFolder;

    fn parse(arguments: Arguments, _: IsUser<'_>) -> Result<SuiteStart, ArgumentError> {
        arguments.run().map(SuiteStart::Folder).map_err(ArgumentError::Problems)
    }

    fn problems(&self) -> Vec<Problem> {
        self.problems()
    }

    fn plan(&self, folder: PreparedFolder) -> Result<Plan, Vec<Problem>> {
        plan::plan(self, folder)
    }

    fn source(&self) -> SuiteSource {
        to_source(NAME, self.has_cuts, self)
    }

    fn from_options(options: &SuiteSource) -> Option<Self> {
        legacy::request(options)
    }

    fn native(&self, summary: &Summary) -> String {
        let table = native::native(self, summary);
        if self.csv || (self.hosts.is_empty() && self.link.is_none()) {
            return table;
        }
        table + &expected::table(&figures::rows(summary, self), self, self.link_ceiling(summary))
    }

    fn reading(&self, summary: &Summary) -> Vec<String> {
        let rows = figures::rows(summary, self);
        let link = self.link_ceiling(summary);
        let mut all = reading::sentences(&rows, self);
        all.extend(reading::of_hosts(&rows, self, link));
        all
    }
}

impl OnFolder for Request {
    fn cut_block_bytes(&self) -> Bytes {
        self.buffer_bytes()
    }

    fn on_hosts(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        self.set_hosts(hosts)
    }

    fn on_ranks(&mut self, hosts: &SuiteHosts) -> Result<(), Vec<Problem>> {
        self.set_ranks(hosts)
    }

    /// The link that all hosts share is measured from all of them.
    fn cut_clients(&self) -> u32 {
        self.ranks.unwrap_or(1)
    }

    fn learn(&mut self, machine: &dyn SuiteMachine) {
        self.tag.get_or_insert_with(|| tag_of(machine.hostname()));
        (self.memory, self.free) = (machine.memory_bytes(), machine.free_bytes());
    }
}

/// KB are 1024 bytes throughout, as published.
const KB: f64 = 1024.0;
/// Bytes that count for each I/O of the seek test, and that it reads.
const SEEK_BYTES: Bytes = Bytes(20);

/// One of the tests.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IoperfTest {
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
const TESTS: [IoperfTest; 5] = [
    test("fwrite", "block fwrite", Op::Write, StdioCalls::Block),
    test("fread", "block fread", Op::Read, StdioCalls::Block),
    test("putc", "character putc", Op::Write, StdioCalls::Character),
    test("getc", "character getc", Op::Read, StdioCalls::Character),
    IoperfTest {
        order: Order::RandomWithReplacement,
        block: Some(SEEK_BYTES),
        ..test("seek", "random seek", Op::Read, StdioCalls::Block)
    },
];

impl IoperfTest {
    /// The column of CSV that has the figure `figure` of the test.
    fn csv_column(&self, figure: usize) -> String {
        format!("{}_{}", self.name, native::COLUMNS[figure].1)
    }
}

const fn test(name: &'static str, title: &'static str, op: Op, calls: StdioCalls) -> IoperfTest {
    IoperfTest { name, title, op, calls, order: Order::Sequential, block: None }
}

/// A host's name as a tag: rows of several processes begin with NPV.
fn tag_of(hostname: &str) -> String {
    if hostname.starts_with(RowKind::Processes.name()) {
        return machine_name::of_host(&format!("-{hostname}"));
    }
    machine_name::of_host(hostname)
}

#[cfg(test)]
mod tests {
    use super::tag_of;

    #[test]
    fn a_host_whose_name_is_no_tag_gets_one() {
        assert_eq!(tag_of("rcas6001.example"), "rcas6001.example");
        assert_eq!((tag_of("12ab"), tag_of("NPV7")), ("host-12ab".to_owned(), "host--NPV7".to_owned()));
    }
}
