//! PostMark (Katcher, NetApp, 1997; version 1.5): transactions on many small files, as a mail server makes them.
//!
//! Files are created; each transaction reads or appends to one and creates or deletes one; what is left is deleted.
//! Deliberately absent: starting anything, reading scripts' files.

mod arguments;
mod command;
mod figures;
mod import;
mod labels;
mod legacy;
mod native;
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

pub use arguments::Arguments;
pub(crate) use import::IMPORTER;
pub use native::{BANNER, NativeOutput, native_output};
pub use request::Request;
pub use script::{PostmarkRun, PostmarkSession, ScriptLoader, ScriptOutput, ScriptStep, reading_from};
pub use settings::{Location, PostmarkSettings, ReportForm};

use crate::SuiteStart;
use crate::folder::{ObjectSupport, OnFolder, PreparedFolder, SuiteMachine};
use crate::suite::{ArgumentError, IsUser, Suite, SuiteEntry, to_source};
use narrows_model::plan::SuiteSource;
use narrows_model::{Bytes, Plan, Summary};
use narrows_study::Problem;
use std::path::PathBuf;

/// The name on the command line.
pub const NAME: &str = "postmark";

/// The suite.
pub const ENTRY: SuiteEntry = SuiteEntry::new::<Request>(
    NAME,
    "PostMark: creation of many small files, transactions that read, append, create and delete, their deletion; its command language from a script or stdin, or as options",
    "Katcher, PostMark: A New File System Benchmark, NetApp TR3022, 1997; version 1.5",
);

impl Suite for Request {
    type Arguments = Arguments;
    type Prepared = PreparedFolder;

    fn parse(arguments: Arguments, _: IsUser<'_>) -> Result<SuiteStart, ArgumentError> {
        arguments.settings()?;
        Ok(SuiteStart::Script(Box::new(arguments)))
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
        native::native(self, summary)
    }

    fn reading(&self, summary: &Summary) -> Vec<String> {
        reading::reading(self, summary)
    }
}

impl OnFolder for Request {
    /// Blocks of the cuts are no smaller than those of the transactions.
    fn cut_block_bytes(&self) -> Bytes {
        let largest = self.settings.read_bytes.max(self.settings.write_bytes);
        Bytes(largest.next_multiple_of(CUT_BLOCK_STEP))
    }

    fn spread_over(&self) -> Vec<PathBuf> {
        let locations = &self.settings.locations;
        if locations.len() < 2 {
            return Vec::new();
        }
        locations.iter().map(|location| PathBuf::from(&location.path)).collect()
    }

    fn object_support(&self) -> ObjectSupport {
        if self.settings.locations.len() > 1 {
            return ObjectSupport::NotSo(
                "files are spread over several locations, and on a server they are in one; give one location",
            );
        }
        if self.settings.is_buffered {
            return ObjectSupport::NotSo(
                "the buffer of C's streams belongs to open files, and a server is called for whole files; give \
                 --buffering false (set buffering false), or mount it and give the mount point",
            );
        }
        ObjectSupport::Yes
    }

    fn learn(&mut self, machine: &dyn SuiteMachine) {
        (self.memory, self.free) = (machine.memory_bytes(), machine.free_bytes());
        self.rooms = machine.rooms();
    }
}

/// Blocks of cuts are whole pages, which direct access needs too.
const CUT_BLOCK_STEP: u64 = 4096;
