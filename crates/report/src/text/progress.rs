//! Progress as plain lines, one a cell; when to show them is the caller's business.

use super::names::{block, moves_no_bytes};
use super::units::{NO_FIGURE, op_column, storage_column};
use narrows_model::cell::FactorValue;
use narrows_model::plan::{SUITE_PHASE, SUITE_TEST};
use narrows_model::quantity::{network_rate, span};
use narrows_model::relay::RelayTrial;
use narrows_model::units::NANOS_PER_SEC;
use narrows_model::workload::Workload;
use narrows_model::{BytesPerSec, Cell, Cut, Nanos, OpsPerSec, Repeat, Target};

/// Where a run is: which cell of how many, and how long the rest takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPosition {
    /// The cell's number, from 1.
    pub number: usize,
    /// Cells of the run, as far as they are known.
    pub count: usize,
    /// Time that the rest takes; `None` where it is not known.
    pub remaining_ns: Option<Nanos>,
}

/// What the running cell does now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveRate {
    /// Bytes a second.
    pub bytes_per_s: BytesPerSec,
    /// Operations a second.
    pub ops_per_s: OpsPerSec,
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
pub fn cell_done(position: RunPosition, cell: &Cell, figures: &CellFigures) -> String {
    let rate = match (cell.cut, figures.rate_bytes_per_s) {
        (Cut::NetworkStream | Cut::DirectStream, Some(rate)) => network_rate(rate.0),
        (_, Some(_)) if cell.target == (Target::Null { copy: false }) => {
            format!("{} op/s", op_column(figures.ops_per_s))
        }
        // Operations on files that move no data.
        _ if moves_no_bytes(&cell.workload) => {
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
    format!(
        "{} {}{trial}: {rate}  p50 {wait}{errors}{}",
        format_counter(position),
        load(cell),
        time_left(position)
    )
}

/// `[ 7/90] relay/both/1KiB, trial 2 of 3: 312 MiB/s`: a trial of a point of the buffer experiment that ended.
#[must_use]
pub fn relay_done(position: RunPosition, trial: &RelayTrial, trials: u32) -> String {
    let rate = BytesPerSec::over(trial.received, trial.elapsed_ns).filter(|rate| rate.0 > 0.0);
    let outcome = match &trial.problem {
        Some(problem) => format!("NO RESULT: {problem}"),
        None => storage_column(rate).trim().to_owned(),
    };
    let which = match trials {
        0 | 1 => String::new(),
        count => format!(", trial {} of {count}", trial.trial.saturating_add(1)),
    };
    format!("{} {}{which}: {outcome}", format_counter(position), trial.cell)
}

/// `[ 7/31] path read 4KiB x1`: the cell that runs.
#[must_use]
pub fn running_words(position: RunPosition, cell: &Cell) -> String {
    format!("{} {}", format_counter(position), load(cell))
}

/// `[ 7/31] path read 4KiB x1: 11.2 MiB/s now  (36 s left)`: a cell that has run for a while, on a log.
#[must_use]
pub fn cell_runs(position: RunPosition, cell: &Cell, rate: LiveRate) -> String {
    format!("{}: {} now{}", running_words(position, cell), now_words(cell, rate), time_left(position))
}

/// What a cell does now: `11.2 MiB/s`, of small blocks `11.2 MiB/s, 2.87k op/s`, of a network `94.1 Mbit/s`.
#[must_use]
pub fn now_words(cell: &Cell, rate: LiveRate) -> String {
    let ops = format!("{} op/s", op_column(Some(rate.ops_per_s)).trim());
    let moves_none = cell.target == (Target::Null { copy: false }) || moves_no_bytes(&cell.workload);
    match cell.cut {
        Cut::NetworkStream | Cut::DirectStream => network_rate(rate.bytes_per_s.0),
        _ if moves_none => ops,
        _ => format!("{}, {ops}", storage_column(Some(rate.bytes_per_s)).trim()),
    }
}

/// `34 s left`; `None` where that is not known.
pub(crate) fn time_left_words(remaining_ns: Option<Nanos>) -> Option<String> {
    remaining_ns.map(|ns| format!("{} left", rounded(ns)))
}

/// `[ 7/31] path/read/4KiB/qd1/c1 left out: REASON`: a cell that was not run.
#[must_use]
pub fn cell_left_out(position: RunPosition, cell_id: &str, reason: &str) -> String {
    format!("{} {cell_id} left out: {reason}", format_counter(position))
}

/// `[ 7/31] path/read/4KiB/qd1/c1 FAILED: MESSAGE`: a cell that went on no further.
#[must_use]
pub fn cell_failed(position: RunPosition, cell_id: &str, message: &str) -> String {
    format!("{} {cell_id} FAILED: {message}", format_counter(position))
}

fn format_counter(position: RunPosition) -> String {
    let width = position.count.to_string().len();
    format!("[{:>width$}/{}]", position.number, position.count)
}

fn load(cell: &Cell) -> String {
    let Workload { queue_depth, workers, clients, .. } = &cell.workload;
    let op = cell.workload.name();
    let each = if *workers > 1 { format!(", {workers} workers") } else { String::new() };
    let several = if *clients > 1 { format!(", {clients} clients") } else { String::new() };
    let factors = others(cell);
    let start = test(cell).unwrap_or_else(|| cell.cut.name().to_owned());
    let block = block(&cell.workload).map_or_else(String::new, |block| format!("{block} "));
    format!("{start} {op} {block}x{queue_depth}{each}{several}{factors}")
}

/// The test of a suite with its phase: `run1 putc,`.
fn test(cell: &Cell) -> Option<String> {
    let text = |name: &str| match cell.factors.get(name)? {
        FactorValue::Text(text) => Some(text.as_str()),
        FactorValue::Number(_) => None,
    };
    Some(format!("{} {},", text(SUITE_TEST)?, text(SUITE_PHASE)?))
}

/// Factors of a study that the load's own words do not show.
fn others(cell: &Cell) -> String {
    let shown = ["op", "block", "depth", "workers", "clients", SUITE_TEST, SUITE_PHASE];
    let others = cell.factors.iter().filter(|(name, _)| !shown.contains(&name.as_str()));
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

fn time_left(position: RunPosition) -> String {
    position.remaining_ns.map_or_else(String::new, |ns| format!("  ({} left)", rounded(ns)))
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
    use narrows_model::Op;
    use narrows_model::cell::{CellId, Stop};
    use narrows_model::workload::ObjectSet;
    use std::collections::BTreeMap;

    #[test]
    fn a_test_of_a_suite_is_reported_by_its_name_and_one_that_moves_no_data_by_its_operations() {
        let named = |name: &str| FactorValue::Text(name.to_owned());
        let position = RunPosition { number: 3, count: 5, remaining_ns: None };
        let workload = Workload { op: Op::Stat, objects: Some(ObjectSet::default()), ..Workload::default() };
        let factors = [(SUITE_TEST, "run1"), (SUITE_PHASE, "seq_stat")];
        let cell = Cell {
            id: CellId("run1/seq_stat".to_owned()),
            factors: BTreeMap::from(factors.map(|(factor, name)| (factor.to_owned(), named(name)))),
            ..Cell::new(
                Cut::Path,
                Target::File { path: "/data".into() },
                workload,
                Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(1), bytes_max: None, ops_max: None },
            )
        };
        let figures = CellFigures {
            rate_bytes_per_s: None,
            ops_per_s: Some(OpsPerSec(457_000.0)),
            latency_p50_ns: Some(Nanos(1530)),
            error_count: 0,
            trial: 0,
        };
        assert_eq!(
            cell_done(position, &cell, &figures),
            "[3/5] run1 seq_stat, stat x1: 457k op/s  p50 1.53 us"
        );
    }

    #[test]
    fn time_left_is_reported_in_the_unit_that_fits_it() {
        let shown = |seconds: u64| rounded(Nanos(seconds * NANOS_PER_SEC - 1));
        assert_eq!(
            (shown(34), shown(600), shown(36_000)),
            ("34 s".to_owned(), "10 min".to_owned(), "10 h".to_owned())
        );
    }
}
