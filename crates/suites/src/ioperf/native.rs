//! The native output: the published table, or the same rows as CSV; `narrows import ioperf` reads both.

use super::TESTS;
use super::figures::{IoperfFigure, IoperfMeasurement, IoperfRow, rows};
use super::request::{Request, RowKind};
use crate::client_hosts::HostClient;
use narrows_analysis::SHORT_RUN_S;
use narrows_model::Summary;
use std::fmt::Write;

/// What is printed where a figure is missing.
pub(super) const MISSING: &str = "-";
/// The columns of a test, over the table and in CSV.
pub(super) const COLUMNS: [(&str, &str); 3] =
    [("KB/sec", "kb_per_s"), ("RealKB/sec", "real_kb_per_s"), ("CPU%", "cpu_percent")];

/// The table of a run of `request`.
pub(super) fn native(request: &Request, summary: &Summary) -> String {
    let rows = rows(summary, request);
    if request.csv { csv(&rows, request) } else { table(&rows, request) }
}

/// A line of the table: its name and a figure for each test.
struct TableLine {
    name: String,
    figures: [IoperfFigure; TESTS.len()],
}

/// The rows as they were published, then the gross average over processes, and each of them.
fn lines(rows: &[IoperfRow], request: &Request) -> Vec<TableLine> {
    let of_row = |row: &IoperfRow| TableLine {
        name: row_name(row.kind, request),
        figures: row
            .tests
            .each_ref()
            .map(|test| test.as_ref().map(IoperfMeasurement::figure).unwrap_or_default()),
    };
    let mut lines: Vec<TableLine> = rows.iter().map(of_row).collect();
    let Some(many) = rows.iter().find(|row| row.kind == RowKind::Processes) else { return lines };
    let mean = of_row(many);
    lines.push(TableLine { name: format!("<{}*>", request.name_start()), ..mean });
    let count = many.tests.iter().flatten().map(|test| test.each.len()).max().unwrap_or(0);
    lines.extend(request.clients(count).into_iter().map(|HostClient { index, name }| {
        let own =
            |test: &Option<IoperfMeasurement>| test.as_ref().and_then(|test| test.each.get(index).copied());
        TableLine { name, figures: many.tests.each_ref().map(|test| own(test).unwrap_or_default()) }
    }));
    lines
}

/// The name of a row, as published: `1PV_ibmtest_test`.
pub(super) fn row_name(kind: RowKind, request: &Request) -> String {
    match kind {
        RowKind::Run => request.tag().to_owned(),
        other => format!("{}_{}_test", other.name(), request.tag()),
    }
}

/// The table; words and signs keep other lines than rows from being read as figures.
pub(super) fn table(rows: &[IoperfRow], request: &Request) -> String {
    let lines = lines(rows, request);
    let kb = request.file_kb().to_string();
    let name_width = lines.iter().map(|line| line.name.len()).max().unwrap_or(0).max("tag".len());
    let kb_width = kb.len().max("file KB".len());
    let mut out = heading(request);
    // Writing into a string cannot fail.
    let _ = write!(out, "\n{:name_width$}  {:kb_width$}", "", "");
    for test in TESTS {
        let _ = write!(out, "  {:^31}", test.title);
    }
    trim(&mut out);
    let _ = write!(out, "\n{:name_width$}  {:>kb_width$}", "tag", "file KB");
    for _ in TESTS {
        let _ = write!(out, "  {:>11} {:>12} {:>6}", COLUMNS[0].0, COLUMNS[1].0, COLUMNS[2].0);
    }
    out.push('\n');
    for line in &lines {
        let _ = write!(out, "{:name_width$}  {kb:>kb_width$}", line.name);
        for figure in line.figures {
            let [rate, real, cpu] = figure.columns().map(format_figure);
            let _ = write!(out, "  {rate:>11} {real:>12} {cpu:>6}");
        }
        out.push('\n');
    }
    out + &remarks(rows, request)
}

fn trim(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
}

pub(super) fn format_figure(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |value| format!("{value:.2}"))
}

/// What was run.
fn heading(request: &Request) -> String {
    let Request { count, passes, buffer_kb: kb, .. } = request;
    let flush = request.flush.name();
    let passes = if *passes == 1 { "one pass".to_owned() } else { format!("{passes} passes together") };
    format!("IOPerf: {count} I/Os of {kb} KB, {passes}, {flush} after every write\n")
}

/// What must be known to read the table.
fn remarks(rows: &[IoperfRow], request: &Request) -> String {
    let named = |is: fn(&IoperfMeasurement) -> bool| -> Vec<String> {
        let of_row = |row: &IoperfRow| -> Vec<String> {
            let names = TESTS.iter().zip(&row.tests);
            let found = names.filter(|(_, test)| test.as_ref().is_some_and(is));
            let found: Vec<&str> = found.map(|(test, _)| test.name).collect();
            let row = row_name(row.kind, request);
            if found.len() == TESTS.len() {
                return vec![format!("every test of {row}")];
            }
            found.iter().map(|test| format!("{test} of {row}")).collect()
        };
        rows.iter().flat_map(of_row).collect()
    };
    let mut out = String::new();
    let short = named(IoperfMeasurement::is_short);
    if !short.is_empty() {
        let _ = writeln!(out, "too short to be a rate, under {SHORT_RUN_S} s: {}", short.join(", "));
    }
    let torn = named(|test| test.cut_short);
    if !torn.is_empty() {
        let _ = writeln!(out, "cut short, not all I/Os done: {}", torn.join(", "));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// The same rows with the columns of the published data.
pub(super) fn csv(rows: &[IoperfRow], request: &Request) -> String {
    let mut out = "row,file_kb".to_owned();
    for test in TESTS {
        for figure in 0..COLUMNS.len() {
            let _ = write!(out, ",{}", test.csv_column(figure));
        }
    }
    out.push('\n');
    for line in lines(rows, request) {
        let _ = write!(out, "{},{}", line.name, request.file_kb());
        for value in line.figures.iter().flat_map(IoperfFigure::columns) {
            let _ = write!(out, ",{}", value.map_or_else(String::new, |value| format!("{value:.2}")));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{PUBLISHED, published, request_of_three, row};
    use super::*;

    /// The published client, with its processes in place of ten that are not listed one by one.
    fn measured() -> Vec<IoperfRow> {
        let rows = published();
        let one = |name: &str| rows.iter().rfind(|row| row.row == name).unwrap().figures;
        let of = |kind, figures: [IoperfFigure; 5]| IoperfRow {
            kind,
            tests: figures.map(|figure| {
                Some(IoperfMeasurement { each: vec![figure], shortest_s: Some(4.0), cut_short: false })
            }),
        };
        let hosts: Vec<[IoperfFigure; 5]> = ["rcas6001", "rcas6002", "rcas6005"].map(one).to_vec();
        let each = |test: usize| hosts.iter().map(|host| host[test]).collect();
        vec![
            of(RowKind::Run, one("ibmtest")),
            of(RowKind::OneProcess, one("1PV_ibmtest_test")),
            IoperfRow {
                kind: RowKind::Processes,
                tests: [0, 1, 2, 3, 4].map(|test| {
                    Some(IoperfMeasurement { each: each(test), shortest_s: Some(0.4), cut_short: test == 2 })
                }),
            },
        ]
    }

    #[test]
    fn the_published_figures_stand_in_the_published_rows() {
        insta::assert_snapshot!("published", table(&measured(), &request_of_three()));
    }

    #[test]
    fn csv_has_the_published_columns_and_the_same_figures() {
        let text = csv(&measured(), &request_of_three());
        let header = PUBLISHED.lines().next().unwrap().strip_prefix("section,").unwrap();
        assert_eq!(text.lines().next(), Some(header));
        let row = PUBLISHED.lines().find(|line| line.starts_with("client-to-server,ibmtest,")).unwrap();
        assert_eq!(text.lines().nth(1), row.strip_prefix("client-to-server,"));
        assert_eq!(text.lines().count(), 1 + 3 + 1 + 3);
        assert!(text.lines().nth(4).unwrap().starts_with("<ibmtest.*>,40000,"));
    }

    #[test]
    fn what_was_not_measured_has_no_figure() {
        let mut rows = vec![row(RowKind::Run, &[IoperfFigure::from_times(40_000.0, 4.0, 1.0)])];
        rows[0].tests[4] = None;
        let line = csv(&rows, &request_of_three()).lines().nth(1).unwrap().to_owned();
        assert!(line.ends_with(",10000.00,40000.00,25.00,,,"), "{line}");
        assert!(table(&rows, &request_of_three()).trim_end().ends_with('-'));
        assert_eq!(table(&[], &request_of_three()).lines().count(), 4);
    }
}
