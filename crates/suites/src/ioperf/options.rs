//! What a run was asked for, read back from its record.

use narrows_model::Bytes;
use narrows_model::plan::SuiteSource;

/// What the native output and the reading need of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub(super) buffer: Bytes,
    pub(super) count: u64,
    pub(super) passes: u64,
    pub(super) processes: u64,
    pub(super) flush: String,
    pub(super) tag: String,
    pub(super) csv: bool,
    pub(super) memory: Option<Bytes>,
}

impl Options {
    /// Those of a run of this suite; `None` of another one.
    pub(super) fn of(source: &SuiteSource) -> Option<Self> {
        let (number, text) = (|name: &str| source.number(name), |name: &str| source.text(name));
        (source.name == super::NAME).then_some(())?;
        Some(Self {
            buffer: Bytes(number("buffer_bytes")?),
            count: number("count")?,
            passes: number("passes")?,
            processes: number("processes")?,
            flush: text("flush")?,
            tag: text("tag")?,
            csv: text("output")? == "csv",
            memory: number("memory_bytes").map(Bytes),
        })
    }

    /// Size of each process's file in KB.
    pub(super) fn file_kb(&self) -> u64 {
        (self.buffer.0 / 1024).saturating_mul(self.count)
    }

    /// I/Os that each process does in all passes of a test.
    pub(super) fn ios(&self) -> u64 {
        self.count.saturating_mul(self.passes)
    }
}
