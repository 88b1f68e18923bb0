//! What an IOPerf table must obey, computed again: CPU% = 100 x KB/sec / RealKB/sec in rows of single runs, and the plain
//! mean of every column in the row of a pattern.
//!
//! A check that fails becomes a claim, so that the diagnosis reports it.

use super::TESTS;
use super::cells::FIGURES;
use super::rows::{IoperfImportRow, IoperfImportRowKind, hosts_of};
use narrows_analysis::SHORT_RUN_S;
use narrows_model::observation::Claim;
use narrows_model::units::ratio;

/// Half of the last printed digit.
const HALF_DIGIT: f64 = 0.005;
/// What adding up floating-point numbers may do to that.
const SUMMING: f64 = 1e-6;

/// Claims that are wrong, and a sentence on each check.
pub(super) fn checks(rows: &[IoperfImportRow]) -> (Vec<Claim>, Vec<String>) {
    let mut claims = Vec::new();
    let mut remarks = vec![columns(rows, &mut claims)];
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == IoperfImportRowKind::Mean) {
        remarks.push(mean(row, hosts_of(rows, index), &mut claims));
    }
    remarks.extend(short(rows));
    remarks.retain(|remark| !remark.is_empty());
    (claims, remarks)
}

/// Rows whose columns obey CPU% = 100 x KB/sec / RealKB/sec; means of ratios need not.
fn columns(rows: &[IoperfImportRow], claims: &mut Vec<Claim>) -> String {
    let broken: Vec<(&IoperfImportRow, Vec<Claim>)> = rows
        .iter()
        .map(|row| (row, (0..TESTS.len()).filter_map(|test| share(row, test)).collect::<Vec<_>>()))
        .filter(|(_, found)| !found.is_empty())
        .collect();
    let is_mean = |row: &IoperfImportRow| {
        matches!(row.kind, IoperfImportRowKind::Mean | IoperfImportRowKind::Processes)
    };
    let named: Vec<String> = broken
        .iter()
        .map(|(row, _)| format!("{}{}", row.name(), if is_mean(row) { " (a mean of ratios)" } else { "" }))
        .collect();
    claims.extend(broken.iter().filter(|(row, _)| !is_mean(row)).flat_map(|(_, found)| found.clone()));
    let matching = rows.len() - broken.len();
    let but = if named.is_empty() { String::new() } else { format!("; not: {}", shortened(&named)) };
    format!("{matching} of {} rows obey CPU% = 100 x KB/sec / RealKB/sec{but}.", rows.len())
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", "))
}

/// The claim of a row and a test that its three columns break, beyond what rounding does.
fn share(row: &IoperfImportRow, test: usize) -> Option<Claim> {
    let (rate, real, cpu) = (row.figure(test, 0)?, row.figure(test, 1)?, row.figure(test, 2)?);
    let computed = ratio(100.0 * rate, real)?;
    let rounding = HALF_DIGIT + computed * (ratio(HALF_DIGIT, rate)? + ratio(HALF_DIGIT, real)?) + SUMMING;
    let name = TESTS.get(test)?.name;
    ((computed - cpu).abs() > rounding).then(|| Claim {
        text: format!("{} {name}: {cpu} % CPU", row.name()),
        left: format!("100 * {rate} / {real}"),
        left_value: computed,
        right: cpu,
        tolerance_ratio: ratio(rounding, cpu).unwrap_or(0.0).min(10.0),
    })
}

/// Whether the row of a pattern is the mean of its hosts, to the last digit.
fn mean(row: &IoperfImportRow, hosts: &[IoperfImportRow], claims: &mut Vec<Claim>) -> String {
    if hosts.is_empty() {
        return format!("{}: its hosts are not in the table, so its mean cannot be recomputed.", row.name());
    }
    let (mut matching, mut all) = (0, 0);
    for place in 0..FIGURES {
        let (test, column) = (place / 3, place % 3);
        let of_hosts: Vec<f64> = hosts.iter().filter_map(|host| host.figure(test, column)).collect();
        let Some(printed) = row.figure(test, column).filter(|_| of_hosts.len() == hosts.len()) else {
            continue;
        };
        all += 1;
        let sum: f64 = of_hosts.iter().sum();
        let computed = sum / hosts.len() as f64;
        if (computed - printed).abs() <= HALF_DIGIT + SUMMING {
            matching += 1;
            continue;
        }
        claims.push(Claim {
            text: format!("{}: mean of column {} is {printed}", row.name(), place + 1),
            left: format!("{sum} / {}", hosts.len()),
            left_value: computed,
            right: printed,
            tolerance_ratio: ratio(HALF_DIGIT + SUMMING, printed).unwrap_or(0.0).min(10.0),
        });
    }
    format!(
        "{}: the mean of {} hosts is reproduced to the last digit in {matching} of {all} columns.",
        row.name(),
        hosts.len()
    )
}

/// Phases too short for their figure.
fn short(rows: &[IoperfImportRow]) -> Option<String> {
    let names: Vec<String> = rows
        .iter()
        .flat_map(|row| (0..TESTS.len() - 1).filter_map(move |test| Some((row, test, elapsed_s(row, test)?))))
        .filter(|(_, _, elapsed_s)| *elapsed_s < SHORT_RUN_S)
        .filter_map(|(row, test, elapsed_s)| {
            Some(format!("{} {} ({elapsed_s:.2} s)", row.name(), TESTS.get(test)?.name))
        })
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Shorter than half a second, with a clock that ticks every 10 ms, so the rate is not meaningful: {}.",
            shortened(&names)
        )
    })
}

fn elapsed_s(row: &IoperfImportRow, test: usize) -> Option<f64> {
    ratio(row.file_kb?, row.figure(test, 0)?)
}
