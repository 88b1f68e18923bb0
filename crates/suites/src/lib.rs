//! The classic benchmarks: from a suite's options to a plan, and from the summary of its run to its native output.
//!
//! Each suite is a module with the same two pure sides: `plan`, whose cells run as all others do, and `native`, which
//! reads nothing but the summary, so that a record tells the same later. Deliberately absent: measuring, verdicts
//! (those of `analysis` hold for a suite's cells too), and printing.
#![forbid(unsafe_code)]

mod beside;
pub mod bonnie;
pub mod figure;
pub mod ioperf;
pub mod iozone;
pub mod jovian;
pub mod machine_name;
pub mod postmark;
#[cfg(test)]
mod testing;

use narrows_model::Summary;
use narrows_model::summary::Metric;

/// What a suite is, and how it is told.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, in a line.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Its native output; `None` where the summary is of another suite.
    pub native: fn(&Summary) -> Option<String>,
    /// What stands out in its figures, a sentence each.
    pub reading: fn(&Summary) -> Vec<String>,
    /// Figures of its own beside those of all cells, each with the id of its cell.
    pub metrics: fn(&Summary) -> Vec<(String, Metric)>,
}

/// Of a suite whose figures all cells have.
pub(crate) fn no_metrics(_: &Summary) -> Vec<(String, Metric)> {
    Vec::new()
}

/// Every suite.
pub const SUITES: &[Suite] = &[bonnie::SUITE, ioperf::SUITE, iozone::SUITE, jovian::SUITE, postmark::SUITE];

/// `summary` with the figures of its suite in the cells that they are of; as it is where it is of none.
#[must_use]
pub fn with_metrics(mut summary: Summary) -> Summary {
    let metrics = of(&summary).map(|suite| (suite.metrics)(&summary)).unwrap_or_default();
    for (id, metric) in metrics {
        if let Some(cell) = summary.cells.iter_mut().find(|cell| cell.id == id) {
            cell.metrics.push(metric);
        }
    }
    summary
}

/// The suite that `summary` is of; `None` where it is of none.
#[must_use]
pub fn of(summary: &Summary) -> Option<&'static Suite> {
    let named = summary.suite.as_ref()?;
    SUITES.iter().find(|suite| suite.name == named.name)
}
