//! Progress as plain lines, one a cell; when to show them is the caller's business.

use super::units::{NO_FIGURE, op_column, storage_column};
use narrows_analysis::text::{network_rate, span};
use narrows_model::relay::RelayTrial;
use narrows_model::units::NANOS_PER_SEC;
use narrows_model::workload::Workload;
use narrows_model::{BytesPerSec, Cell, Cut, Nanos, OpsPerSec, Repeat, Target};

/// Where a run is: which cell of how many, and how long the rest takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The cell's number, from 1.
    pub number: usize,
    /// Cells of the run, as far as they are known.
    pub count: usize,
    /// Time that the rest takes; `None` where it is not known.
    pub remaining_ns: Option<Nanos>,
}

/// What a cell gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellFigures {
    /// The rate; `None` when nothing completed.
    pub rate_bytes_per_s: Option<BytesPerSec>,
    /// Operations a second; `None` when nothing completed.
    pub ops_per_s: Option<OpsPerSec>,
    /// Median response time; `None` when nothing completed.
    pub latency_p50_ns: Option<Nanos>,
    /// Requests that failed.
    pub error_count: u64,
    /// The trial, from 0.
    pub trial: u32,
}

/// `[ 7/31] path read 4KiB x1: 11.2 MiB/s  p50 360 us  (34 s left)`: a trial of a cell that ended, with its number where
/// there are several.
#[must_use]
pub fn cell_done(place: Place, cell: &Cell, figures: &CellFigures) -> String {
    let rate = match (cell.cut, figures.rate_bytes_per_s) {
        (Cut::NetworkStream | Cut::DirectStream, Some(rate)) => network_rate(rate.0),
        (_, Some(_)) if cell.target == (Target::Null { copy: false }) => {
            format!("{} op/s", op_column(figures.ops_per_s))
        }
        (_, rate) => storage_column(rate),
    };
    let wait = figures.latency_p50_ns.map_or_else(|| NO_FIGURE.to_owned(), span);
    let errors = match figures.error_count {
        0 => String::new(),
        count => format!("  {count} FAILED"),
    };
    let trial = trial(figures.trial, cell);
    format!("{} {}{trial}: {rate}  p50 {wait}{errors}{}", position(place), load(cell), left(place))
}

/// `[ 7/90] relay/both/1KiB, trial 2 of 3: 312 MiB/s`: a trial of a point of the buffer experiment that ended.
#[must_use]
pub fn relay_done(place: Place, trial: &RelayTrial, trials: u32) -> String {
    let rate = BytesPerSec::over(trial.received, trial.elapsed_ns).filter(|rate| rate.0 > 0.0);
    let outcome = match &trial.problem {
        Some(problem) => format!("NO RESULT: {problem}"),
        None => storage_column(rate).trim().to_owned(),
    };
    let which = match trials {
        0 | 1 => String::new(),
        count => format!(", trial {} of {count}", trial.trial.saturating_add(1)),
    };
    format!("{} {}{which}: {outcome}", position(place), trial.cell)
}

/// `[ 7/31] path read 4KiB x1 ...  (36 s left)`: a cell that began.
#[must_use]
pub fn cell_begun(place: Place, cell: &Cell) -> String {
    format!("{} {} ...{}", position(place), load(cell), left(place))
}

/// `[ 7/31] path/read/4KiB/qd1/c1 left out: REASON`: a cell that was not run.
#[must_use]
pub fn cell_left_out(place: Place, cell_id: &str, reason: &str) -> String {
    format!("{} {cell_id} left out: {reason}", position(place))
}

/// `[ 7/31] path/read/4KiB/qd1/c1 FAILED: MESSAGE`: a cell that went on no further.
#[must_use]
pub fn cell_failed(place: Place, cell_id: &str, message: &str) -> String {
    format!("{} {cell_id} FAILED: {message}", position(place))
}

fn position(place: Place) -> String {
    let width = place.count.to_string().len();
    format!("[{:>width$}/{}]", place.number, place.count)
}

fn load(cell: &Cell) -> String {
    let Workload { block_bytes, queue_depth, workers, clients, .. } = &cell.workload;
    let op = cell.workload.name();
    let each = if *workers > 1 { format!(", {workers} workers") } else { String::new() };
    let several = if *clients > 1 { format!(", {clients} clients") } else { String::new() };
    let factors = others(cell);
    format!("{} {op} {block_bytes} x{queue_depth}{each}{several}{factors}", cell.cut.name())
}

/// Factors of a study that the load's own words do not tell.
fn others(cell: &Cell) -> String {
    let told = ["op", "block", "depth", "workers", "clients"];
    let others = cell.factors.iter().filter(|(name, _)| !told.contains(&name.as_str()));
    others.fold(String::new(), |words, (name, value)| format!("{words} {name}={value}"))
}

/// Which trial of how many; without an end where the figures decide it.
fn trial(trial: u32, cell: &Cell) -> String {
    match (cell.trials, cell.repeat) {
        (0 | 1, _) => String::new(),
        (count, Repeat::Fixed) => format!(", trial {} of {count}", trial.saturating_add(1)),
        (count, _) => format!(", trial {} of at most {count}", trial.saturating_add(1)),
    }
}

fn left(place: Place) -> String {
    place.remaining_ns.map_or_else(String::new, |ns| format!("  ({} left)", rounded(ns)))
}

/// Whole units: the estimate is no better than that.
fn rounded(remaining_ns: Nanos) -> String {
    let seconds = remaining_ns.0.div_ceil(NANOS_PER_SEC);
    match seconds {
        0..=180 => format!("{seconds} s"),
        181..=10_800 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_told_in_the_unit_that_fits_it() {
        let told = |seconds: u64| rounded(Nanos(seconds * NANOS_PER_SEC - 1));
        assert_eq!(
            (told(34), told(600), told(36_000)),
            ("34 s".to_owned(), "10 min".to_owned(), "10 h".to_owned())
        );
    }
}
