//! The spreadsheet: a block for each column, records over its columns and a line for each file size; as text and as CSV.

use super::columns::IozoneColumn;
use super::figures::{IozonePoint, at, sizes};
use super::request::{FigureUnit, Request};
use super::throughput;
use super::words::{format_figure, unit_line};
use narrows_model::Summary;
use std::fmt::Write;

/// The sizes of all blocks.
struct SheetAxes {
    files: Vec<u64>,
    records: Vec<u64>,
}

impl SheetAxes {
    fn new(points: &[IozonePoint]) -> Self {
        let (files, records) = sizes(points);
        Self { files, records }
    }
}

/// The columns that any cell was measured of, in their order.
fn measured<'p>(
    points: &'p [IozonePoint],
    request: &Request,
) -> impl Iterator<Item = &'static IozoneColumn> + use<'p> {
    let columns = request.columns();
    columns.into_iter().filter(|column| points.iter().any(|point| point.column == *column))
}

/// The blocks as the original prints them: every record size that was asked for, in auto mode up to the largest; the row of
/// a file ends with the last record that fits into it, and a cell that was left out is 0.
pub(super) fn blocks(points: &[IozonePoint], request: &Request) -> String {
    let title = |column: &IozoneColumn| format!("{} report", column.report);
    let figure = |point: Option<&IozonePoint>| {
        format!(" {} ", format_figure(point.and_then(|point| point.value(request.unit())), request.unit()))
    };
    text(points, request, title, figure)
}

/// CPU time over wall time in percent, in the same form.
pub(super) fn cpu_blocks(points: &[IozonePoint], request: &Request) -> String {
    let title = |column: &IozoneColumn| {
        format!("{} CPU utilization report (Zero values should be ignored)", column.report)
    };
    let figure = |point: Option<&IozonePoint>| {
        format!(" {:>6.2}", point.and_then(IozonePoint::cpu_percent).unwrap_or(0.0))
    };
    text(points, request, title, figure)
}

fn text(
    points: &[IozonePoint],
    request: &Request,
    title: impl Fn(&IozoneColumn) -> String,
    figure: impl Fn(Option<&IozonePoint>) -> String,
) -> String {
    let axes = SheetAxes { records: request.records_kb(), ..SheetAxes::new(points) };
    let mut out = String::new();
    for column in measured(points, request) {
        // Writing into a string cannot fail.
        let _ = write!(out, "\n\"{}\"\n      ", title(column));
        for record in &axes.records {
            let _ = write!(out, "  \"{record}\"");
        }
        out.push('\n');
        for file in &axes.files {
            let _ = write!(out, "\"{file}\"  ");
            for record in axes.records.iter().filter(|record| *record <= file) {
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
pub(super) fn csv(summary: &Summary) -> Option<String> {
    let request = super::recorded(summary)?;
    let points = super::figures::points(summary);
    Some(if request.is_throughput() { throughput::csv(&points, &request) } else { csv_of(&points, &request) })
}

/// The blocks as CSV, by which a program of spreadsheets and `narrows import iozone` take them.
pub(super) fn csv_of(points: &[IozonePoint], request: &Request) -> String {
    let axes = SheetAxes::new(points);
    let mut out = format!("\"{}\"\n", unit_heading(request.unit()));
    for column in measured(points, request) {
        let _ = writeln!(out, "\n\"{} report\"", column.report);
        for record in &axes.records {
            let _ = write!(out, ",{record}");
        }
        out.push('\n');
        for file in &axes.files {
            let _ = write!(out, "{file}");
            for record in &axes.records {
                let value = at(points, column, *file, *record).and_then(|point| point.value(request.unit()));
                let _ = write!(out, ",{}", format_figure(value, request.unit()));
            }
            out.push('\n');
        }
    }
    out
}

fn unit_heading(unit: FigureUnit) -> String {
    format!("{}, records of the first line's and files of the first column's kB", unit_line(unit))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{point_of, request, surface};
    use super::*;

    /// The records of [`surface`].
    const SURFACE: &str = "-a -r 16 -r 64 -r 256 -r 1024 -i 0";

    #[test]
    fn auto_mode_has_every_record_and_a_row_those_that_fit_into_its_file() {
        let points =
            [point_of("write", 64, 4, 1e6), point_of("write", 64, 64, 2e6), point_of("write", 128, 8, 3e6)];
        // As IOzone 3.489 prints it.
        let printed = "\n\"Writer report\"\n        \"4\"  \"8\"  \"16\"  \"32\"  \"64\"  \"128\"  \"256\"  \"512\"  \
                       \"1024\"  \"2048\"  \"4096\"  \"8192\"  \"16384\"\n\"64\"   1000000  0  0  0  2000000 \n\"128\"   \
                       0  3000000  0  0  0  0 \n";
        assert_eq!(blocks(&points, &request("-R -a -n 64 -g 128 -i 0 -+n")), printed);
    }

    #[test]
    fn blocks_are_the_originals_and_cells_left_out_are_nothing() {
        insta::assert_snapshot!("blocks", blocks(&surface(), &request(&format!("{SURFACE} -i 1 -R"))));
    }

    #[test]
    fn the_sheet_of_a_file_is_csv() {
        insta::assert_snapshot!("sheet_csv", csv_of(&surface(), &request("-a -i 0 -i 1 -b x")));
    }

    #[test]
    fn cpu_shares_stand_in_blocks_of_their_own() {
        insta::assert_snapshot!(
            "cpu_blocks",
            cpu_blocks(&surface(), &request(&format!("{SURFACE} -+u -+n")))
        );
    }
}
