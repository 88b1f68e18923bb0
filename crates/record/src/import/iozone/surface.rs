//! The ridges of the surface of record and file sizes: where larger files fall off, and where larger records add nothing.
//!
//! Not here: whose memory the first is, which is known to who gives `memory_bytes`.

use super::{Point, TESTS, Unit};
use std::collections::BTreeMap;

/// A fall that no noise makes.
const FALL_RATIO: f64 = 2.0;
/// Less than this of a gain from larger records is none.
const NO_GAIN: f64 = 1.05;
/// KiB of a file from which on its records may be a mount's. A smaller one stays in a cache, whose records are memory's.
const MOUNT_FILE_KIB_MIN: f64 = 4096.0;
/// Fewer sizes than this show no ridge.
const SIZES_MIN: usize = 3;

/// A sentence on each ridge, with the tests that have it.
pub(super) fn ridges(points: &[Point], unit: Unit) -> Vec<String> {
    let mut remarks: Vec<(String, Vec<&str>)> = Vec::new();
    for test in TESTS {
        let of_test: Vec<&Point> = points.iter().filter(|point| point.test == test).collect();
        for told in file_ridge(&of_test, unit).into_iter().chain(record_ridge(&of_test, unit)) {
            match remarks.iter_mut().find(|(known, _)| *known == told) {
                Some((_, tests)) => tests.push(test.name),
                None => remarks.push((told, vec![test.name])),
            }
        }
    }
    remarks.into_iter().map(|(told, tests)| format!("{}: {told}", tests.join(", "))).collect()
}

/// Larger is faster; a time an operation is turned round.
fn speed(point: &Point, unit: Unit) -> f64 {
    match unit {
        Unit::MicrosPerOp => point.record_kib / point.value,
        Unit::OpsPerS => point.record_kib * point.value,
        Unit::KibPerS => point.value,
    }
}

/// Sizes in whole bytes, so that they can be keys.
fn key(kib: f64) -> u64 {
    narrows_model::units::round_to_u64(kib * 1024.0)
}

/// Rates by size, the best where one is measured several times.
fn by(points: &[&Point], of: fn(&Point) -> f64, unit: Unit) -> Vec<(f64, f64)> {
    let mut best: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for point in points {
        let entry = best.entry(key(of(point))).or_insert((of(point), 0.0));
        entry.1 = entry.1.max(speed(point, unit));
    }
    best.into_values().collect()
}

/// The file size behind which the rate falls to half or less, and stays there.
fn file_ridge(points: &[&Point], unit: Unit) -> Option<String> {
    let rates = by(points, |point| point.file_kib, unit);
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
        "falls to half or less between files of {last} and {next} KiB: a memory ran out there, and smaller files measured it, \
         not the device."
    ))
}

/// The record size from which larger ones add nothing, at the largest file.
fn record_ridge(points: &[&Point], unit: Unit) -> Option<String> {
    let largest = points.iter().map(|point| point.file_kib).fold(0.0, f64::max);
    let of_file: Vec<&Point> =
        points.iter().copied().filter(|point| key(point.file_kib) == key(largest)).collect();
    let rates = by(&of_file, |point| point.record_kib, unit);
    if rates.len() < SIZES_MIN {
        return None;
    }
    let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let (least, _) = rates.iter().find(|(_, rate)| rate * NO_GAIN >= best)?;
    let (most, _) = rates.last()?;
    (least < most && largest >= MOUNT_FILE_KIB_MIN).then(|| {
        format!(
            "records above {least} KiB add nothing (file of {largest} KiB): where a mount's rsize or wsize is that, larger \
             records are split and measure the client alone."
        )
    })
}
