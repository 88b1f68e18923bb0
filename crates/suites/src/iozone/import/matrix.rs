//! The table of IOzone: a row for each file and record size, a column for each test.
//!
//! With `-i` columns are blank, so a figure belongs to the column under whose heading it ends, not to its place in the row.

use super::{IozoneImportPoint, table_columns};
use crate::import::source::{TextLine, TextWord, lines, words};
use crate::iozone::columns::IozoneColumn;
use narrows_model::located::{Complaint, Findings};

/// Figures end at most so many characters from the end of their heading: less than half of a column.
const EDGE_CHARS_MAX: usize = 3;
/// Beyond any size in KiB, and any rate.
pub(super) const MOST: f64 = 8e12;
/// File and record size.
const SIZES: usize = 2;

/// Whether a line is the heading of the table.
pub(super) fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next().is_some_and(|first| first.eq_ignore_ascii_case("kb")) && words.next() == Some("reclen")
}

/// Every figure of every table in `text`.
pub(super) fn points(text: &str, findings: &mut Findings<'_>) -> Vec<IozoneImportPoint> {
    let mut header: Option<Vec<usize>> = None;
    let mut all = Vec::new();
    for line in lines(text) {
        if is_header(line.text) {
            header = Some(edges(line));
            continue;
        }
        let Some(edges) = &header else { continue };
        let row = words(line, char::is_whitespace);
        if row.len() < SIZES || row.iter().any(|word| word.number().is_none()) {
            // The table ends where its rows do.
            if !row.is_empty() {
                broken(line, &row, findings);
                header = None;
            }
            continue;
        }
        all.extend(of_row(line, &row, edges, findings));
    }
    all
}

/// The ends of the headings of tests, in characters of the line.
fn edges(line: TextLine<'_>) -> Vec<usize> {
    words(line, char::is_whitespace).iter().skip(SIZES).map(|word| end(line, word)).collect()
}

fn end(line: TextLine<'_>, word: &TextWord<'_>) -> usize {
    let bytes = word.span.end.saturating_sub(line.start);
    line.text.get(..bytes).map_or(bytes, |before| before.chars().count())
}

/// A row of which some words are numbers is a row that was damaged.
fn broken(line: TextLine<'_>, row: &[TextWord<'_>], findings: &mut Findings<'_>) {
    let sized = row.iter().take(SIZES).filter(|word| word.number().is_some()).count() == SIZES;
    if let Some(word) = row.iter().find(|word| word.number().is_none()).filter(|_| sized) {
        let hint = "check that no lines of other programs are mixed into the table";
        let complaint = Complaint::new("", format!("`{}`", word.text), "a number", hint);
        findings.add(&word.span, complaint);
    } else if row.first().is_some_and(|first| first.number().is_some()) && row.len() == 1 {
        findings.add(&line.span(), torn(0));
    }
}

fn torn(count: usize) -> Complaint {
    Complaint::new(
        "",
        format!("a row of {count} figures"),
        "file size, record size and a figure for each test that was run",
        "the table is cut off: give all of it, or remove the incomplete row",
    )
}

fn of_row(
    line: TextLine<'_>,
    row: &[TextWord<'_>],
    edges: &[usize],
    findings: &mut Findings<'_>,
) -> Vec<IozoneImportPoint> {
    let within = |word: &TextWord<'_>, least: f64, findings: &mut Findings<'_>| {
        let value = word.number().filter(|value| (least..=MOST).contains(value));
        if value.is_none() {
            let allowed = format!("a number from {least} to {MOST}");
            let hint = "IOzone prints no such figure: check that the row is complete";
            findings.add(&word.span, Complaint::new("", format!("`{}`", word.text), allowed, hint));
        }
        value
    };
    let [file, record, figures @ ..] = row else { return Vec::new() };
    let (Some(file_kib), Some(record_kib)) = (within(file, 1.0, findings), within(record, 0.001, findings))
    else {
        return Vec::new();
    };
    if figures.is_empty() {
        findings.add(&line.span(), torn(0));
        return Vec::new();
    }
    let Some(tests) = columns(line, figures, edges, findings) else { return Vec::new() };
    let mut points = Vec::new();
    for (word, test) in figures.iter().zip(tests) {
        let Some(value) = within(word, 0.0, findings) else { continue };
        // 0 means a cell that the crossing of record and file size left out.
        if value > 0.0 {
            points.push(IozoneImportPoint { test, file_kib, record_kib, value });
        }
    }
    points
}

/// The tests that the figures of a row are of.
fn columns(
    line: TextLine<'_>,
    figures: &[TextWord<'_>],
    edges: &[usize],
    findings: &mut Findings<'_>,
) -> Option<Vec<&'static IozoneColumn>> {
    if figures.len() == edges.len() {
        return Some(table_columns().take(figures.len()).collect());
    }
    let nearest = |word: &TextWord<'_>| {
        let end = end(line, word);
        let (index, edge) = edges.iter().enumerate().min_by_key(|(_, edge)| edge.abs_diff(end))?;
        (edge.abs_diff(end) <= EDGE_CHARS_MAX).then_some(index)
    };
    let places: Vec<Option<usize>> = figures.iter().map(nearest).collect();
    let rising = places.windows(2).all(|pair| pair[0] < pair[1]);
    if !rising || places.iter().any(Option::is_none) {
        let found = format!("{} figures that are not below the {} headings", figures.len(), edges.len());
        let hint =
            "the spaces of the table must be kept: give the output as IOzone printed it, or the blocks of -R";
        findings
            .add(&line.span(), Complaint::new("", found, "each figure below the heading of its test", hint));
        return None;
    }
    Some(places.into_iter().flatten().filter_map(|index| table_columns().nth(index)).collect())
}
