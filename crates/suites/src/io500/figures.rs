//! The figures of a run: for each phase its score and its time, and whether it was measured to its end.

use super::request::Request;
use super::{Io500Phase, PHASES};
use narrows_model::units::ratio;
use narrows_model::{Cut, Summary, summary::CellSummary};

/// Bytes of a GiB.
pub(super) const GIB: f64 = 1_073_741_824.0;
/// Operations of a kIOP.
const KILO: f64 = 1000.0;

/// What all ranks did in one phase.
#[derive(Debug, Clone)]
pub(super) struct Io500Figure<'s> {
    pub(super) phase: &'static Io500Phase,
    /// Its loads that were measured, in their order; of all phases but the find one.
    pub(super) cells: Vec<&'s CellSummary>,
    /// Seconds from the first call of any rank to the last end of all, of all loads.
    pub(super) elapsed_s: f64,
    /// GiB/s, or thousands of files a second, of all ranks together until then.
    pub(super) score: f64,
    /// Every rank has done all that it was to do, and no operation failed.
    pub(super) is_whole: bool,
}

impl Io500Figure<'_> {
    /// Whether a rank has begun the phase.
    pub(super) fn is_begun(&self) -> bool {
        !self.cells.is_empty()
    }

    /// The rate of each rank until it was done itself, of the first load: bytes or operations a second.
    pub(super) fn rank_rates(&self) -> Vec<f64> {
        let of_bytes = self.phase.is_of_bytes();
        let ranks = self.cells.first().map(|cell| &cell.per_client);
        let done = |bytes: u64, ops: u64| if of_bytes { bytes as f64 } else { ops as f64 };
        let rate = |done: f64, elapsed_s: f64| ratio(done, elapsed_s).unwrap_or(0.0);
        ranks.into_iter().flatten().map(|rank| rate(done(rank.bytes.0, rank.ops), rank.elapsed_s)).collect()
    }
}

/// The figures of a run of `request`.
///
/// # Shape
/// All twelve phases in the order of a run.
pub(super) fn figures<'s>(summary: &'s Summary, request: &Request) -> Vec<Io500Figure<'s>> {
    PHASES.iter().map(|phase| figure(summary, request, phase)).collect()
}

fn figure<'s>(summary: &'s Summary, request: &Request, phase: &'static Io500Phase) -> Io500Figure<'s> {
    let loads = phase.loads();
    let cells: Vec<&CellSummary> = loads.iter().filter_map(|load| measured(summary, *load)).collect();
    let elapsed_s = cells.iter().filter_map(|cell| cell.trials.first()).map(|trial| trial.elapsed_s).sum();
    let ranks = || cells.iter().flat_map(|cell| &cell.per_client);
    let amount = if phase.is_of_bytes() {
        ranks().map(|rank| rank.bytes.as_f64()).sum::<f64>() / GIB
    } else {
        ranks().map(|rank| rank.ops as f64).sum::<f64>() / KILO
    };
    let all_done = ranks().filter(|rank| rank.ops == request.ops(phase)).count();
    let no_errors = cells.iter().all(|cell| cell.errors.is_empty());
    Io500Figure {
        phase,
        elapsed_s,
        score: ratio(amount, elapsed_s).unwrap_or(0.0),
        is_whole: no_errors && all_done as u64 == u64::from(request.ranks()) * loads.len() as u64,
        cells,
    }
}

/// The cell of a load, if a trial of it ended.
fn measured<'s>(summary: &'s Summary, (test, phase): (&str, &str)) -> Option<&'s CellSummary> {
    let is_it = |cell: &&CellSummary| {
        let names = (cell.test.as_deref(), cell.phase.as_deref());
        cell.cut == Cut::Path && names == (Some(test), Some(phase)) && !cell.trials.is_empty()
    };
    summary.cells.iter().find(is_it)
}
