//! What a record says was moved, added up from its samples: the side of `narrows` in a comparison of byte counts.

use std::collections::BTreeMap;
use std::path::Path;

use narrows_model::{CellId, Cut, Event};
use narrows_record::Record;

/// One cell's account.
#[derive(Debug)]
pub(crate) struct Account {
    /// Where the path was cut.
    pub cut: Cut,
    /// What the cell visited.
    pub target: String,
    /// Bytes of a request.
    pub block_bytes: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Client processes, each with a file of its own.
    pub clients: u32,
    /// Bytes of all samples, those of the warm-up included.
    pub sampled_bytes: u64,
    /// Bytes of the measured samples alone.
    pub measured_bytes: u64,
    /// Bytes that the trials report.
    pub total_bytes: u64,
    /// Size of the file or store that was there.
    pub file_bytes: u64,
    /// How often the cell was measured: once more where the verdict rests on it, or others disturbed it.
    pub measured_count: u64,
}

/// The accounts of all cells that ran, in the order of the plan.
pub(crate) fn accounts(record: &Path) -> Vec<Account> {
    let record = Record::open(record).unwrap();
    let mut sampled: BTreeMap<CellId, (u64, u64)> = BTreeMap::new();
    let mut totals: BTreeMap<CellId, (u64, u64)> = BTreeMap::new();
    let mut repeated: BTreeMap<CellId, u64> = BTreeMap::new();
    for event in record.timeline().unwrap() {
        match event.unwrap() {
            Event::Interval(sample) => {
                let account = sampled.entry(sample.cell.clone()).or_default();
                account.0 += sample.bytes.0;
                account.1 += if sample.measured { sample.bytes.0 } else { 0 };
            }
            Event::TrialFinished(trial) => {
                let account = totals.entry(trial.cell.clone()).or_default();
                account.0 += trial.bytes.0;
                account.1 = trial.file_bytes.0;
            }
            Event::CellRepeated { cell, .. } => *repeated.entry(cell).or_default() += 1,
            _ => {}
        }
    }
    assert!(record.damage().is_empty(), "{:?}", record.damage());
    // The plan of an opened record has the cells that were added while it ran.
    let ran = record.plan().cells.iter().filter_map(|cell| Some((cell, *totals.get(&cell.id)?)));
    ran.map(|(cell, (total_bytes, file_bytes))| {
        let (sampled_bytes, measured_bytes) = sampled.get(&cell.id).copied().unwrap_or_default();
        let in_flight = cell.workload.in_flight_configured();
        Account {
            cut: cell.cut,
            target: cell.target.to_string(),
            block_bytes: cell.workload.block_bytes.0,
            in_flight,
            clients: cell.workload.clients,
            sampled_bytes,
            measured_bytes,
            total_bytes,
            file_bytes,
            measured_count: 1 + repeated.get(&cell.id).copied().unwrap_or_default(),
        }
    })
    .collect()
}

/// Bytes of the files and stores that were made for these cells, at least: each client's once, in the size of its first cell,
/// which is that of the smallest where the files of several clients differ.
pub(crate) fn prepared_bytes<'a>(accounts: impl Iterator<Item = &'a Account>) -> u64 {
    let mut made: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for account in accounts {
        for client in 0..account.clients {
            made.entry((&account.target, client)).or_insert(account.file_bytes);
        }
    }
    made.values().sum()
}
