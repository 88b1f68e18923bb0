//! The spreadsheet: a block for each column, records over its columns and a line for each file size; as text and as CSV.

use super::columns::Column;
use super::figures::{Point, at, sizes};
use super::native::{told, unit_line};
use super::options::Options;
use super::request::Unit;
use super::throughput;
use narrows_model::Summary;
use std::fmt::Write;

/// The sizes of all blocks.
struct Axes {
    files: Vec<u64>,
    records: Vec<u64>,
}

impl Axes {
    fn of(points: &[Point]) -> Self {
        let (files, records) = sizes(points);
        Self { files, records }
    }
}

/// The columns that any cell was measured of, in their order.
fn measured<'p>(points: &'p [Point], options: &Options) -> impl Iterator<Item = &'static Column> + use<'p> {
    let columns = options.columns();
    columns.into_iter().filter(|column| points.iter().any(|point| point.column == *column))
}

/// The blocks as the original prints them; a cell that was left out is 0.
pub(super) fn blocks(points: &[Point], options: &Options) -> String {
    let title = |column: &Column| format!("{} report", column.report);
    let figure = |point: Option<&Point>| {
        format!(" {} ", told(point.and_then(|point| point.value(options.unit)), options.unit))
    };
    text(points, options, title, figure)
}

/// CPU time over wall time in percent, in the same form.
pub(super) fn cpu_blocks(points: &[Point], options: &Options) -> String {
    let title =
        |column: &Column| format!("{} CPU utilization report (Zero values should be ignored)", column.report);
    let figure =
        |point: Option<&Point>| format!(" {:>6.2}", point.and_then(Point::cpu_percent).unwrap_or(0.0));
    text(points, options, title, figure)
}

fn text(
    points: &[Point],
    options: &Options,
    title: impl Fn(&Column) -> String,
    figure: impl Fn(Option<&Point>) -> String,
) -> String {
    let axes = Axes::of(points);
    let mut out = String::new();
    for column in measured(points, options) {
        // Writing into a string cannot fail.
        let _ = write!(out, "\n\"{}\"\n      ", title(column));
        for record in &axes.records {
            let _ = write!(out, "  \"{record}\"");
        }
        out.push('\n');
        for file in &axes.files {
            let _ = write!(out, "\"{file}\"  ");
            for record in &axes.records {
                out += &figure(at(points, column, *file, *record));
            }
            out.push('\n');
        }
    }
    out
}

/// The spreadsheet of a run as CSV; `None` where `summary` is of another suite.
///
/// # Units
/// kB for sizes; figures as asked for, in the first line.
#[must_use]
pub fn csv(summary: &Summary) -> Option<String> {
    let options = Options::of(summary.suite.as_ref()?)?;
    let points = super::figures::points(summary);
    Some(if options.throughput { throughput::csv(&points, &options) } else { csv_of(&points, &options) })
}

/// The blocks as CSV, by which a program of spreadsheets and `narrows import iozone` take them.
pub(super) fn csv_of(points: &[Point], options: &Options) -> String {
    let axes = Axes::of(points);
    let mut out = format!("\"{}\"\n", unit_heading(options.unit));
    for column in measured(points, options) {
        let _ = writeln!(out, "\n\"{} report\"", column.report);
        for record in &axes.records {
            let _ = write!(out, ",{record}");
        }
        out.push('\n');
        for file in &axes.files {
            let _ = write!(out, "{file}");
            for record in &axes.records {
                let value = at(points, column, *file, *record).and_then(|point| point.value(options.unit));
                let _ = write!(out, ",{}", told(value, options.unit));
            }
            out.push('\n');
        }
    }
    out
}

fn unit_heading(unit: Unit) -> String {
    format!("{}, records of the first line's and files of the first column's kB", unit_line(unit))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{options, surface};
    use super::*;

    #[test]
    fn blocks_are_the_originals_and_cells_left_out_are_nothing() {
        insta::assert_snapshot!("blocks", blocks(&surface(), &options("-a -i 0 -i 1 -R")));
    }

    #[test]
    fn the_sheet_of_a_file_is_csv() {
        insta::assert_snapshot!("sheet_csv", csv_of(&surface(), &options("-a -i 0 -i 1 -b x")));
    }

    #[test]
    fn cpu_shares_stand_in_blocks_of_their_own() {
        insta::assert_snapshot!("cpu_blocks", cpu_blocks(&surface(), &options("-a -i 0 -+u -+n")));
    }
}
