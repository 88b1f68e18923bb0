//! The classic benchmarks: from a suite's options to a plan, and from the summary of its run to its native output.
//!
//! Each suite is a module with a request that implements [`Suite`]: its plan's cells run as all others do, and its
//! native output is made from the summary alone, so that a record gives the same output later. Deliberately absent:
//! measuring, verdicts (those of `analysis` apply to a suite's cells too), and printing.
#![forbid(unsafe_code)]

pub mod arguments;
pub mod bonnie;
pub mod figure;
mod folder;
pub mod import;
pub mod ioperf;
pub mod iozone;
pub mod jovian;
pub mod machine_name;
pub mod postmark;
mod suite;
mod suite_load;
// new suite: module
#[cfg(test)]
mod testing;

use narrows_model::Summary;

pub use folder::{FolderRun, OnFolder, OutputFile, OutputTextFn, PreparedFolder, SuiteMachine};
pub use suite::{ArgumentError, CellMetrics, IsUser, Suite, SuiteEntry, SuiteStart};

/// Every suite.
pub const SUITES: &[SuiteEntry] = &[
    bonnie::ENTRY,
    ioperf::ENTRY,
    iozone::ENTRY,
    jovian::ENTRY,
    postmark::ENTRY,
    // new suite: entry
];

/// `summary` with the figures of its suite in their cells; unchanged where it is of none.
#[must_use]
pub fn with_metrics(mut summary: Summary) -> Summary {
    let metrics = entry_of(&summary).map(|entry| entry.metrics(&summary)).unwrap_or_default();
    for (id, metric) in metrics {
        if let Some(cell) = summary.cells.iter_mut().find(|cell| cell.id == id) {
            cell.metrics.push(metric);
        }
    }
    summary
}

/// The suite that `summary` is of; `None` where it is of none.
#[must_use]
pub fn entry_of(summary: &Summary) -> Option<&'static SuiteEntry> {
    let source = summary.suite.as_ref()?;
    SUITES.iter().find(|entry| entry.name == source.name)
}
