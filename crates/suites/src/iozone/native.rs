//! The native output: what the original prints, from its heading to its last line; `narrows import iozone` reads it.

use super::columns::{COLUMNS, IozoneColumn, USUAL_COLUMNS};
use super::figures::{IozonePoint, at, points, sizes};
use super::request::Request;
use super::words::format_figure;
use super::{heading, sheet, throughput};
use narrows_model::Summary;
use std::fmt::Write;

/// Width of the file size, and of each record size and figure behind it.
const SIZE_WIDTH: (usize, usize) = (16, 8);
/// Width of a figure; the original's are wider under two of its headings.
const FIGURE_WIDTH: usize = 9;
const WIDE_FIGURES: ([&str; 2], usize) = (["record-rewrite", "stride-read"], 10);
/// The heading's file and record size.
const SIZES_HEADING: &str = "              kB  reclen";

/// The output of a run of `request`; of one that was stopped without the last line, as the original's, which importers look for.
pub(super) fn native(request: &Request, summary: &Summary) -> String {
    let points = points(summary);
    let mut out = heading::text(request, &summary.command);
    if request.is_throughput() {
        out += &throughput::text(&points, request);
    } else {
        out += &table(&points, request);
    }
    out += if summary.complete { "\niozone test complete.\n" } else { "\n" };
    if request.options().sheet && !request.is_throughput() {
        out += "Excel output is below:\n";
        out += &sheet::blocks(&points, request);
    }
    if request.options().cpu && !request.is_throughput() {
        out += &sheet::cpu_blocks(&points, request);
    }
    out
}

/// Columns of the table: those of tests 0 to 7 always, all up to the last of those that were requested.
fn shown(request: &Request) -> &'static [IozoneColumn] {
    let asked = request.columns();
    let last = COLUMNS.iter().rposition(|column| !column.is_mixed() && asked.contains(&column));
    &COLUMNS[..last.map_or(USUAL_COLUMNS, |last| (last + 1).max(USUAL_COLUMNS))]
}

/// The table.
pub(super) fn table(points: &[IozonePoint], request: &Request) -> String {
    let columns = shown(request);
    let asked = request.columns();
    let is_asked = |column: &IozoneColumn| asked.iter().any(|one| one.number == column.number);
    let mut out = heading_line("", columns, 0) + &heading_line(SIZES_HEADING, columns, 1);
    let (files, records) = sizes(points);
    for file_kb in files {
        let measured =
            |record: &&u64| points.iter().any(|one| one.file_kb == file_kb && one.record_kb == **record);
        for record_kb in records.iter().filter(measured) {
            let _ = write!(out, "{file_kb:>0$}{record_kb:>1$}", SIZE_WIDTH.0, SIZE_WIDTH.1);
            for column in columns {
                // As the original: of a test that was not run the place is empty, of one that was left out it is nothing.
                let figure = if is_asked(column) {
                    // Nor is a part of a test its figure.
                    let point = at(points, column, file_kb, *record_kb).filter(|point| !point.cut_short);
                    format_figure(point.and_then(|point| point.value(request.unit())), request.unit())
                } else {
                    String::new()
                };
                let width = if WIDE_FIGURES.0.contains(&column.name) { WIDE_FIGURES.1 } else { FIGURE_WIDTH };
                let _ = write!(out, "{figure:>width$}");
            }
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
        }
    }
    out
}

/// A line of the heading, each word ending where its column's heading does.
fn heading_line(start: &str, columns: &[IozoneColumn], line: usize) -> String {
    let mut out = start.to_owned();
    for column in columns.iter().filter(|column| !column.heading[line].is_empty()) {
        let width = column.heading_end.saturating_sub(out.len());
        let _ = write!(out, "{:>width$}", column.heading[line]);
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::testing::{request, surface};
    use super::*;

    #[test]
    fn the_table_stands_in_the_originals_columns() {
        let (points, request) = (surface(), request("-a -i 0 -i 1 -i 2"));
        insta::assert_snapshot!("table", table(&points, &request));
    }

    #[test]
    fn every_test_has_its_column_and_what_is_left_out_is_nothing() {
        let points = surface();
        let request = request("-s 4m -i 0 -i 1 -i 9 -i 10 -i 11 -i 12 -+n");
        insta::assert_snapshot!("all_tests", table(&points, &request));
    }
}
