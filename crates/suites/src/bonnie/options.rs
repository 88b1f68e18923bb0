//! What a run was asked for, read back from its record.

use super::request::Edition;
use narrows_model::Bytes;
use narrows_model::plan::SuiteSource;

/// What the native output and the reading need of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub(super) edition: Edition,
    pub(super) file: Bytes,
    pub(super) chunk: Bytes,
    pub(super) seeks: u64,
    pub(super) seekers: u64,
    pub(super) thousands: u64,
    pub(super) max: u64,
    pub(super) min: u64,
    pub(super) folders: u64,
    pub(super) file_chunk: u64,
    pub(super) runs: u64,
    pub(super) processes: u64,
    pub(super) name: String,
    pub(super) csv_alone: bool,
    pub(super) is_direct: bool,
    pub(super) memory: Option<Bytes>,
}

impl Options {
    /// Those of a run of this suite; `None` of another one.
    pub(super) fn of(source: &SuiteSource) -> Option<Self> {
        let (number, text) = (|name: &str| source.number(name), |name: &str| source.text(name));
        (source.name == super::NAME).then_some(())?;
        Some(Self {
            edition: Edition::named(&text("edition")?)?,
            file: Bytes(number("file_bytes")?),
            chunk: Bytes(number("chunk_bytes")?),
            seeks: number("seeks")?,
            seekers: number("seekers")?,
            thousands: number("file_thousands")?,
            max: number("file_bytes_max")?,
            min: number("file_bytes_min")?,
            folders: number("folders")?,
            file_chunk: number("file_chunk_bytes")?,
            runs: number("runs")?,
            processes: number("processes")?,
            name: text("name")?,
            csv_alone: text("output")? == "csv",
            is_direct: text("access")? == "direct",
            memory: number("memory_bytes").map(Bytes),
        })
    }

    /// The size as it is printed: whole GiB, else MiB, with a chunk that is not the usual one.
    pub(super) fn size(&self) -> String {
        let mib = self.file.0 / super::MIB;
        if mib > 0 && mib.is_multiple_of(1024) { format!("{}G", mib / 1024) } else { format!("{mib}M") }
    }

    /// The chunk as the edition prints it; empty for the usual one.
    pub(super) fn chunk(&self) -> String {
        match (self.chunk.0, self.edition) {
            (8192, _) => String::new(),
            (MIB, Edition::V2_00) => "1m".to_owned(),
            (bytes, _) if bytes.is_multiple_of(1024) => format!("{}k", bytes / 1024),
            (bytes, _) => bytes.to_string(),
        }
    }
}

const MIB: u64 = super::MIB;
