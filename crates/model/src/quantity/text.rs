//! Measured numbers for people, with their units: rates, times, shares.
//!
//! Storage is counted in KiB/s, MiB/s and GiB/s (powers of 1024), networks in kbit/s, Mbit/s and Gbit/s (powers of
//! 1000), three significant digits each. Exact sizes and durations are `size` and `duration`; whole reports are `report`'s.

use crate::units::{Bytes, NANOS_PER_SEC, Nanos};

/// A rate of storage: `11.9 MiB/s`.
#[must_use]
pub fn storage_rate(bytes_per_s: f64) -> String {
    let units =
        [(1_f64, "B/s"), (1024.0, "KiB/s"), (1024.0 * 1024.0, "MiB/s"), (1024.0 * 1024.0 * 1024.0, "GiB/s")];
    scaled(bytes_per_s, &units)
}

/// A rate of a network, from bytes a second: `95.2 Mbit/s`.
#[must_use]
pub fn network_rate(bytes_per_s: f64) -> String {
    scaled(bytes_per_s * 8.0, &[(1.0, "bit/s"), (1e3, "kbit/s"), (1e6, "Mbit/s"), (1e9, "Gbit/s")])
}

/// A rate of operations: `41.2 op/s`, `1.83 thousand op/s`.
#[must_use]
pub fn op_rate(ops_per_s: f64) -> String {
    scaled(ops_per_s, &[(1.0, "op/s"), (1e3, "thousand op/s"), (1e6, "million op/s")])
}

/// A span of time from seconds: `4.2 ms`.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    scaled(seconds * NANOS_PER_SEC as f64, &[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")])
}

/// A span of time: `4.20 ms`.
#[must_use]
pub fn span(nanos: Nanos) -> String {
    seconds(nanos.as_secs_f64())
}

/// A time that people wait: `11.8 s`, `25 min`, `139 h`, `12 days`.
#[must_use]
pub fn rounded_duration(nanos: Nanos) -> String {
    let seconds = nanos.as_secs_f64();
    match seconds / 60.0 {
        minutes if minutes < 3.0 => span(nanos),
        minutes if minutes < 180.0 => format!("{minutes:.0} min"),
        minutes if minutes < 14_400.0 => format!("{:.0} h", minutes / 60.0),
        minutes => format!("{:.0} days", minutes / 1440.0),
    }
}

/// A quantity of bytes, rounded: `1.21 GiB`.
#[must_use]
pub fn amount(bytes: Bytes) -> String {
    let units = [(1_f64, "B"), (1024.0, "KiB"), (1024.0 * 1024.0, "MiB"), (1024.0 * 1024.0 * 1024.0, "GiB")];
    scaled(bytes.as_f64(), &units)
}

/// A share in whole percent, with one digit below ten: `97 %`, `2.3 %`, `under 0.1 %`.
#[must_use]
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    match value.abs() {
        size if size >= 9.95 || size <= 0.0 => format!("{value:.0} %"),
        size if size >= 0.05 => format!("{value:.1} %"),
        _ => "under 0.1 %".to_owned(),
    }
}

/// A number of CPUs: `0.83 CPUs`.
#[must_use]
pub fn cpus(count: f64) -> String {
    format!("{count:.2} CPUs")
}

/// `value` with three significant digits in the largest of `units` that keeps it at one or above.
fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if !value.is_finite() {
        return "unknown".to_owned();
    }
    // 0.9995 rounds to 1.00 in three digits, so the larger unit is taken from there on.
    let fits = |factor: f64| value.abs() >= factor * 0.9995;
    let chosen = units.iter().rev().find(|(factor, _)| fits(*factor)).or(units.first());
    let (factor, unit) = chosen.copied().unwrap_or((1.0, ""));
    format!("{} {unit}", three_digits(value / factor))
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size > 0.0 => format!("{value:.2}"),
        _ => "0".to_owned(),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
