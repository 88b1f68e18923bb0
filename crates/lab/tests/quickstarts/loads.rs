//! The loads of a check with what the kernel counted while each of them ran.

use crate::readings::{Reading, used};
use crate::truth::ReadLoad;
use narrows_model::summary::CellSummary;
use narrows_model::workload::Access;
use narrows_model::{Cut, Event, Op, Summary};
use narrows_record::Record;
use std::collections::BTreeMap;
use std::path::Path;

/// When the repetitions of each cell ran, on the clock of the readings.
pub(crate) type Windows = BTreeMap<String, Vec<(u64, u64)>>;

/// The windows that a record notes; `None` where it cannot be read.
pub(crate) fn windows(record: &Path) -> Option<Windows> {
    let mut windows = Windows::new();
    for event in Record::open(record).ok()?.timeline().ok()? {
        if let Event::TrialFinished(trial) = event.ok()? {
            let ended = trial.ended_ns.unwrap_or(trial.last_done_ns).max(trial.last_done_ns);
            // Both count from the start.
            let window = (trial.start_ns.0, trial.start_ns.0 + ended.0);
            windows.entry(trial.cell.to_string()).or_default().push(window);
        }
    }
    Some(windows)
}

/// The loads of the path and of the device alone, with the names of their cells. Loads whose time the readings do not cover
/// are left out.
pub(crate) fn read_loads(
    summary: &Summary,
    windows: &Windows,
    readings: &[Reading],
) -> Vec<(String, ReadLoad)> {
    let is_of_path = |cell: &&CellSummary| matches!(cell.cut, Cut::Path | Cut::LocalDevice);
    let read = |cell: &CellSummary| {
        // Repetitions are alike: the last one represents all of them.
        let (from_ns, to_ns) = *windows.get(&cell.id)?.last()?;
        let used = used(readings, from_ns, to_ns)?;
        Some((
            cell.id.clone(),
            ReadLoad {
                block_bytes: cell.block_bytes.0,
                in_flight: cell.in_flight.configured,
                workers: cell.requested.workers,
                is_read: cell.op == Op::Read,
                is_direct: cell.requested.access == Access::Direct,
                ops_per_s: cell.ops_per_s?.0,
                asked_bytes: cell.rate_bytes_per_s?.0 * used.seconds,
                used,
            },
        ))
    };
    summary.cells.iter().filter(is_of_path).filter_map(read).collect()
}

/// The cells of the path that a verdict is about, by the words of its load: `bulk read and write (1MiB, 16 in flight)`.
pub(crate) fn cells_of<'s>(summary: &'s Summary, regime: &str) -> Vec<&'s CellSummary> {
    let Some((words, size)) = regime.split_once(" (") else { return Vec::new() };
    let is_of_load = |cell: &&CellSummary| {
        let direction = if cell.op == Op::Read { "read" } else { "write" };
        let settings = format!("{}, {} in flight)", cell.block_bytes, cell.in_flight.configured);
        cell.cut == Cut::Path && size == settings && words.split(' ').any(|word| word == direction)
    };
    summary.cells.iter().filter(is_of_load).collect()
}
