//! The lines of CSV of each version by the positions of their fields, for the output and for the importer.
//!
//! The header that 2.00 prints with `-x` names 48 columns for 50 fields, so that names are no help.

use super::DATA_PHASES;

/// The positions of the fields of a version.
pub(super) struct CsvLayout {
    /// The version, for messages.
    pub(super) version: &'static str,
    pub(super) field_count: usize,
    pub(super) name: usize,
    pub(super) concurrency: Option<usize>,
    pub(super) size_index: usize,
    pub(super) chunk: Option<usize>,
    pub(super) seeks: Option<usize>,
    /// The first of the phases of data, a rate and a CPU share each; the number of files follows the last.
    pub(super) data: usize,
    /// The first of the phases of files.
    pub(super) names: usize,
    pub(super) latencies: Option<usize>,
}

impl CsvLayout {
    /// The number of files, behind the phases of data.
    pub(super) const fn files(&self) -> usize {
        self.data + 2 * DATA_PHASES
    }
}

/// 27 fields.
pub(super) const V1_03: CsvLayout = CsvLayout {
    version: "1.03",
    field_count: 27,
    name: 0,
    concurrency: None,
    size_index: 1,
    chunk: None,
    seeks: None,
    data: 2,
    names: 15,
    latencies: None,
};
/// 48 fields, of 1.97 too.
pub(super) const V1_96: CsvLayout = CsvLayout {
    version: "1.96",
    field_count: 48,
    name: 2,
    concurrency: Some(3),
    size_index: 5,
    chunk: Some(6),
    seeks: None,
    data: 7,
    names: 24,
    latencies: Some(36),
};
/// 50 fields, of 2.00 too, which calls its format 1.98.
pub(super) const V1_98: CsvLayout = CsvLayout {
    version: "1.98",
    field_count: 50,
    name: 2,
    concurrency: Some(3),
    size_index: 5,
    chunk: Some(6),
    seeks: Some(7),
    data: 9,
    names: 26,
    latencies: Some(38),
};
