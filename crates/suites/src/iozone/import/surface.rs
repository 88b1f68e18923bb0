//! The ridges of the surface of record and file sizes: where larger files fall off, and where larger records add nothing.
//!
//! Not here: whose memory the first is, which is known to who gives `memory_bytes`.

use super::{FigureUnit, IozoneImportPoint, table_columns};
use narrows_analysis::{FALL_RATIO, NO_EFFECT_RATIO, SIZES_MIN};
use std::collections::BTreeMap;

/// KiB of a file from which on its records may be a mount's. A smaller one stays in a cache, whose records are memory's.
const MOUNT_FILE_KIB_MIN: f64 = 4096.0;

/// A sentence on each ridge, with the tests that have it.
pub(super) fn ridges(points: &[IozoneImportPoint], unit: FigureUnit) -> Vec<String> {
    let mut remarks: Vec<(String, Vec<&str>)> = Vec::new();
    for test in table_columns() {
        let of_test: Vec<&IozoneImportPoint> = points.iter().filter(|point| point.test == test).collect();
        for sentence in file_ridge(&of_test, unit).into_iter().chain(record_ridge(&of_test, unit)) {
            match remarks.iter_mut().find(|(known, _)| *known == sentence) {
                Some((_, tests)) => tests.push(test.name),
                None => remarks.push((sentence, vec![test.name])),
            }
        }
    }
    remarks.into_iter().map(|(sentence, tests)| format!("{}: {sentence}", tests.join(", "))).collect()
}

/// Larger is faster; a time an operation is turned round.
fn speed(point: &IozoneImportPoint, unit: FigureUnit) -> f64 {
    match unit {
        FigureUnit::MicrosPerOp => point.record_kib / point.value,
        FigureUnit::OpsPerS => point.record_kib * point.value,
        FigureUnit::KbPerS => point.value,
    }
}

/// Sizes in whole bytes, so that they can be keys.
fn key(kib: f64) -> u64 {
    narrows_model::units::round_to_u64(kib * 1024.0)
}

/// Rates by size, the best where one is measured several times.
fn best_by_size(
    points: &[&IozoneImportPoint],
    of: fn(&IozoneImportPoint) -> f64,
    unit: FigureUnit,
) -> Vec<(f64, f64)> {
    let mut best: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for point in points {
        let entry = best.entry(key(of(point))).or_insert((of(point), 0.0));
        entry.1 = entry.1.max(speed(point, unit));
    }
    best.into_values().collect()
}

/// The file size behind which the rate falls to half or less, and stays there.
fn file_ridge(points: &[&IozoneImportPoint], unit: FigureUnit) -> Option<String> {
    let rates = best_by_size(points, |point| point.file_kib, unit);
    if rates.len() < SIZES_MIN {
        return None;
    }
    let falls = (1..rates.len()).filter_map(|index| {
        let (before, after) = rates.split_at(index);
        let (last, rate) = *before.last()?;
        let (next, _) = *after.first()?;
        let most_after = after.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        (most_after > 0.0 && rate >= FALL_RATIO * most_after).then_some((last, next, rate / most_after))
    });
    let (last, next, _) = falls.max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some(format!(
        "falls to half or less between files of {last} and {next} KiB: memory was exhausted there, and smaller files \
         measured it, not the device."
    ))
}

/// The record size from which larger ones add nothing, at the largest file.
fn record_ridge(points: &[&IozoneImportPoint], unit: FigureUnit) -> Option<String> {
    let largest = points.iter().map(|point| point.file_kib).fold(0.0, f64::max);
    let of_file: Vec<&IozoneImportPoint> =
        points.iter().copied().filter(|point| key(point.file_kib) == key(largest)).collect();
    let rates = best_by_size(&of_file, |point| point.record_kib, unit);
    if rates.len() < SIZES_MIN {
        return None;
    }
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let (least, _) = rates.iter().find(|(_, rate)| rate * NO_EFFECT_RATIO >= best)?;
    let (most, _) = rates.last()?;
    (least < most && largest >= MOUNT_FILE_KIB_MIN).then(|| {
        format!(
            "records above {least} KiB add nothing (file of {largest} KiB): if this is a mount's rsize or wsize, \
             larger records are split and measure only the client."
        )
    })
}
