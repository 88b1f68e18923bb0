//! The blocks of `iozone -R`: the name of a report, a line of record sizes, a line for each file size.
//!
//! The binary spreadsheet of `-b`, saved as text, has the same blocks without quotes.

use super::matrix::MOST;
use super::{IozoneImportPoint, table_columns};
use crate::import::source::{TextLine, TextWord, lines, words};
use crate::iozone::columns::IozoneColumn;
use narrows_model::located::{Complaint, Findings};

/// The test whose report a line names.
pub(super) fn report(line: &str) -> Option<&'static IozoneColumn> {
    let name = line.trim().trim_matches('"').trim().to_ascii_lowercase();
    let name = name.strip_suffix("report")?.trim_end();
    table_columns().find(|column| column.report.eq_ignore_ascii_case(name))
}

/// What follows a report's name above CPU time over wall time in percent, which -+u adds.
const CPU: &str = "cpu utilization report";

/// The test whose CPU shares a line names.
fn cpu_report(line: &str) -> Option<&'static IozoneColumn> {
    let line = line.trim().to_ascii_lowercase();
    let (name, _) = line.split_once(CPU)?;
    report(&format!("{name}report"))
}

/// Every figure of the reports in `text`.
pub(super) fn points(text: &str, findings: &mut Findings<'_>) -> Vec<IozoneImportPoint> {
    of_blocks(text, report, findings)
}

/// Every CPU share above zero of the reports in `text`, in percent; 0 means what the clock could not measure.
pub(super) fn cpu_percents(text: &str, findings: &mut Findings<'_>) -> Vec<IozoneImportPoint> {
    of_blocks(text, cpu_report, findings)
}

fn of_blocks(
    text: &str,
    report: impl Fn(&str) -> Option<&'static IozoneColumn>,
    findings: &mut Findings<'_>,
) -> Vec<IozoneImportPoint> {
    let mut block: Option<(&'static IozoneColumn, Vec<f64>)> = None;
    let mut all = Vec::new();
    let mut rows: Vec<(TextLine<'_>, usize)> = Vec::new();
    for line in lines(text) {
        if let Some(test) = report(line.text) {
            block = Some((test, Vec::new()));
            rows.push((line, 0));
            continue;
        }
        let row = words(line, |c| c.is_whitespace() || matches!(c, '"' | ','));
        let Some((test, records)) = &mut block else { continue };
        if row.is_empty() {
            // A blank line ends a block that has its record sizes.
            if !records.is_empty() {
                block = None;
            }
            continue;
        }
        if row.iter().any(|word| word.number().is_none()) {
            block = None;
            continue;
        }
        let values: Vec<f64> = row.iter().filter_map(|word| within(word, findings)).collect();
        if records.is_empty() {
            *records = values;
        } else {
            all.extend(of_row(line, test, records, &values, findings));
            if let Some((_, count)) = rows.last_mut() {
                *count += 1;
            }
        }
    }
    short(&rows, findings);
    all
}

/// Complains of a last block with fewer files than the one before: every report is of the same files.
fn short(rows: &[(TextLine<'_>, usize)], findings: &mut Findings<'_>) {
    let Some(((name, count), before)) = rows.split_last() else { return };
    let most = before.last().map_or(1, |(_, count)| *count);
    if *count < most {
        let found = format!("a report of {count} files");
        let allowed = format!("a row for each of {most}, as in the report above it");
        let hint = "the last block is cut off: give all of it, or remove it";
        findings.add(&name.span(), Complaint::new("", found, allowed, hint));
    }
}

fn within(word: &TextWord<'_>, findings: &mut Findings<'_>) -> Option<f64> {
    let value = word.number().filter(|value| (0.0..=MOST).contains(value));
    if value.is_none() {
        let hint = "IOzone prints no such figure: check that the row is complete";
        let complaint =
            Complaint::new("", format!("`{}`", word.text), format!("a number from 0 to {MOST}"), hint);
        findings.add(&word.span, complaint);
    }
    value
}

fn of_row(
    line: TextLine<'_>,
    test: &'static IozoneColumn,
    records: &[f64],
    values: &[f64],
    findings: &mut Findings<'_>,
) -> Vec<IozoneImportPoint> {
    let Some((file_kib, rates)) = values.split_first().filter(|(file, _)| **file >= 1.0) else {
        return Vec::new();
    };
    if rates.is_empty() || rates.len() > records.len() {
        let found = format!("{} figures", rates.len());
        let allowed = format!("1 to {}, as many as there are record sizes", records.len());
        let hint = "the block is cut off, or its first line is missing: give all of it";
        findings.add(&line.span(), Complaint::new("", found, allowed, hint));
        return Vec::new();
    }
    let figures = records.iter().zip(rates).filter(|(record, rate)| **record > 0.0 && **rate > 0.0);
    figures
        .map(|(record_kib, value)| IozoneImportPoint {
            test,
            file_kib: *file_kib,
            record_kib: *record_kib,
            value: *value,
        })
        .collect()
}
