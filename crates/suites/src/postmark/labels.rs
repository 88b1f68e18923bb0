//! The words of a report, for the output and for the importer.

/// Behind the seconds of the whole run.
pub(super) const TOTAL: &str = "seconds total";
/// Behind the seconds of its transactions.
pub(super) const TRANSACTIONS: &str = "seconds of transactions";
/// Before the files that were created before the transactions.
pub(super) const CREATION_ALONE: &str = "Creation alone";
/// Before the files that were deleted behind them.
pub(super) const DELETION_ALONE: &str = "Deletion alone";
/// Before the files of either kind that transactions had.
pub(super) const MIXED: &str = "Mixed with transactions";
/// Behind all files that were created.
pub(super) const CREATED: &str = "created";
/// Behind all files that were deleted.
pub(super) const DELETED: &str = "deleted";
/// Behind files that were appended to.
pub(super) const APPENDED: &str = "appended";
/// Behind bytes, and behind files, that were read.
pub(super) const READ: &str = "read";
/// Behind bytes that were written.
pub(super) const WRITTEN: &str = "written";
/// Units of data, in bytes.
pub(super) const UNITS: [(&str, f64); 4] =
    [("bytes", 1.0), ("kilobytes", KILOBYTE), ("megabytes", MEGABYTE), ("gigabytes", 1_073_741_824.0)];
/// Bytes of a kilobyte.
pub(super) const KILOBYTE: f64 = 1024.0;
/// Bytes of a megabyte.
pub(super) const MEGABYTE: f64 = 1_048_576.0;
