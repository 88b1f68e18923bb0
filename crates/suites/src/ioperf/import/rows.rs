//! The rows of an IOPerf table, whatever it is written in.
//!
//! A row ends in fifteen figures; the file size and the tag are before them. Not here: what the figures mean.

use super::cells::{FIGURES, cells, figure_count};
use super::{glued, html};
use crate::import::source::{TextLine, TextWord, fields, lines};
use crate::ioperf::TESTS;
use crate::ioperf::native::COLUMNS;
use narrows_model::located::{Complaint, Findings, Span};

/// The largest rate and the largest file that can be meant, in KB.
const KB_MAX: f64 = 1e12;
/// More than a hundred cores are no CPU share of one process.
const CPU_PERCENT_MAX: f64 = 1e4;
/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IoperfImportRowKind {
    /// One run of one process.
    Plain,
    /// `1PV`: one process below a driver.
    Driver,
    /// `NPV`: the mean of several processes at once.
    Processes,
    /// `<pattern*>`: the mean of the hosts below it.
    Mean,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IoperfImportRow {
    /// The table it is of, where the file has several.
    pub section: Option<String>,
    /// Its tag or host.
    pub tag: String,
    pub kind: IoperfImportRowKind,
    /// Size of the file.
    pub file_kb: Option<f64>,
    figures: [Option<f64>; FIGURES],
    span: Span,
}

impl IoperfImportRow {
    /// The figure of a test: KB/sec, RealKB/sec or CPU%.
    pub(super) fn figure(&self, test: usize, column: usize) -> Option<f64> {
        self.figures.get(test * COLUMNS.len() + column).copied().flatten()
    }

    /// Its name among those of all sections.
    pub(super) fn name(&self) -> String {
        match &self.section {
            Some(section) => format!("{section} {}", self.tag),
            None => self.tag.clone(),
        }
    }
}

/// Whether `text` looks like such a table.
pub(super) fn looks_like(text: &str) -> bool {
    let spaceless: String = text.chars().take(64 << 10).filter(|c| !c.is_whitespace()).collect();
    spaceless.contains("RealKB/sec") || text.contains("fwrite_kb_per_s") || has_row(text)
}

/// Whether the first lines have rows, also of columns that run together, whose CPU shares are those of their rates: a table of
/// `vmstat` has as many columns.
fn has_row(text: &str) -> bool {
    let mut all: Vec<Vec<TextWord<'_>>> = lines(text).take(200).map(cells).collect();
    glued::split_all(&mut all);
    let rows = all.iter().filter(|row| figure_count(row) >= FIGURES);
    let tests: Vec<bool> = rows.flat_map(|row| share_agreements(row)).collect();
    let agreeing = tests.iter().filter(|agrees| **agrees).count();
    agreeing > 0 && 2 * agreeing >= tests.len()
}

/// Of each test of a row that used CPU, whether its CPU share is the rate by the clock over that by the CPU. In a row of means
/// it is not always.
fn share_agreements(row: &[TextWord<'_>]) -> Vec<bool> {
    /// Shares are printed as whole numbers, of rates that are rounded too.
    const ROUNDING_POINTS: f64 = 2.0;
    const ROUNDING_RATIO: f64 = 0.1;
    let numbers: Vec<f64> = row[row.len() - FIGURES..].iter().filter_map(TextWord::number).collect();
    let agrees = |test: &[f64]| match test {
        [rate, of_cpu, share_percent] if *of_cpu > 0.0 => {
            let computed = 100.0 * rate / of_cpu;
            Some((computed - share_percent).abs() <= ROUNDING_POINTS.max(ROUNDING_RATIO * computed))
        }
        _ => None,
    };
    numbers.chunks(COLUMNS.len()).filter_map(agrees).collect()
}

/// Every row of `text`.
pub(super) fn rows(text: &str, findings: &mut Findings<'_>) -> Vec<IoperfImportRow> {
    match lines(text).find(|line| line.text.contains("fwrite_kb_per_s")) {
        Some(header) => named(text, header, findings),
        None if html::is_table(text) => {
            html::rows(text).iter().filter_map(|cells| row(cells, findings)).collect()
        }
        None => apart(text, findings),
    }
}

/// Rows of plain text, whose columns may run together.
fn apart(text: &str, findings: &mut Findings<'_>) -> Vec<IoperfImportRow> {
    let mut all: Vec<Vec<TextWord<'_>>> = lines(text).map(cells).collect();
    glued::split_all(&mut all);
    let has_sizes = all.iter().any(|row| figure_count(row) == FIGURES + 1);
    let mut rows = Vec::new();
    for cells in &all {
        match glued::complaint(cells, has_sizes) {
            Some(complaint) => {
                let span = cells.first().zip(cells.last()).map(|(a, b)| a.span.start..b.span.end);
                findings.add(&span.unwrap_or(0..0), complaint);
            }
            None => rows.extend(row(cells, findings)),
        }
    }
    rows
}

/// The row that `cells` are; `None` for a line of words.
fn row(cells: &[TextWord<'_>], findings: &mut Findings<'_>) -> Option<IoperfImportRow> {
    /// Headings and sentences may also contain fewer numbers than this.
    const SENTENCE_MAX: usize = 3;
    let numbers = Some(figure_count(cells)).filter(|count| *count > 0)?;
    let (first, last) = (cells.first()?, cells.last()?);
    let span = first.span.start..last.span.end;
    let is_torn = cells.iter().filter(|cell| cell.number().is_some()).count() > SENTENCE_MAX;
    if numbers < FIGURES {
        if is_torn {
            findings.add(&span, torn(numbers));
        }
        return None;
    }
    let (head, figures) = cells.split_at(cells.len() - FIGURES);
    let size = head.last().filter(|_| head.len() > 1).filter(|size| size.number().is_some());
    let tag = &head[..head.len() - usize::from(size.is_some())];
    let tag: Vec<&str> = tag.iter().map(|word| word.text.as_ref()).collect();
    let tag = if tag.is_empty() { "run".to_owned() } else { tag.join(" ") };
    let figures = figures.iter().map(Some).collect::<Vec<_>>();
    Some(checked(RowHeading { section: None, tag, file_kb: size, span }, &figures, findings))
}

fn torn(numbers: usize) -> Complaint {
    Complaint::new(
        "",
        format!("a row that ends in {numbers} figures"),
        "a tag, the file size, and KB/sec, RealKB/sec and CPU% of five tests: 15 figures",
        "the table is cut off or its columns run together: give it as it was printed",
    )
}

/// The words before the figures of a row.
struct RowHeading<'w, 't> {
    section: Option<String>,
    tag: String,
    file_kb: Option<&'w TextWord<'t>>,
    span: Span,
}

fn checked(
    head: RowHeading<'_, '_>,
    cells: &[Option<&TextWord<'_>>],
    findings: &mut Findings<'_>,
) -> IoperfImportRow {
    let mut figures = [None; FIGURES];
    for (index, (figure, cell)) in figures.iter_mut().zip(cells).enumerate() {
        let most = if index % COLUMNS.len() == 2 { CPU_PERCENT_MAX } else { KB_MAX };
        *figure = cell.and_then(|cell| within(cell, most, findings));
    }
    let file_kb = head.file_kb.and_then(|size| within(size, KB_MAX, findings)).filter(|size| *size > 0.0);
    IoperfImportRow {
        section: head.section,
        kind: kind(&head.tag),
        tag: head.tag,
        file_kb,
        figures,
        span: head.span,
    }
}

fn within(cell: &TextWord<'_>, most: f64, findings: &mut Findings<'_>) -> Option<f64> {
    let value = cell.number().filter(|value| (0.0..=most).contains(value));
    if value.is_none() {
        let hint = "check that the columns are those of IOPerf, and that the row is complete";
        let complaint =
            Complaint::new("", format!("`{}`", cell.text), format!("a number from 0 to {most}"), hint);
        findings.add(&cell.span, complaint);
    }
    value
}

fn kind(tag: &str) -> IoperfImportRowKind {
    if tag.starts_with('<') && tag.ends_with('>') {
        IoperfImportRowKind::Mean
    } else if tag == "1PV" || tag.starts_with("1PV_") {
        IoperfImportRowKind::Driver
    } else if tag == "NPV" || tag.starts_with("NPV_") {
        IoperfImportRowKind::Processes
    } else {
        IoperfImportRowKind::Plain
    }
}

/// Rows of a CSV whose first line names the columns.
fn named(text: &str, header: TextLine<'_>, findings: &mut Findings<'_>) -> Vec<IoperfImportRow> {
    let names = fields(header, |c| c == ',');
    let place = |name: &str| names.iter().position(|field| field.text == name);
    let figures: Vec<String> =
        TESTS.iter().flat_map(|test| (0..COLUMNS.len()).map(|figure| test.csv_column(figure))).collect();
    let missing: Vec<&String> = figures.iter().filter(|name| place(name).is_none()).collect();
    if let Some(first) = missing.first() {
        let allowed = format!("the columns {}", figures.join(", "));
        let found = format!("no column {first}");
        findings
            .add(&header.span(), Complaint::new("", found, allowed, "give the table with its whole header"));
        return Vec::new();
    }
    // A line without a comma is none of the table, such as a prompt behind it.
    let after = lines(text).filter(|line| line.start > header.start && line.text.contains(','));
    after
        .filter_map(|line| {
            let cells = fields(line, |c| c == ',');
            if cells.len() != names.len() {
                let found = format!("a row of {} fields", cells.len());
                let allowed = format!("{} fields, as the header has", names.len());
                findings.add(
                    &line.span(),
                    Complaint::new("", found, allowed, "the file may be cut off: give all of it"),
                );
                return None;
            }
            let cell = |name: &str| cells.get(place(name)?).filter(|cell| !cell.text.is_empty());
            let text = |name: &str| cell(name).map(|cell| cell.text.clone().into_owned());
            let tag = text("row").or_else(|| text("tag")).unwrap_or_else(|| "run".to_owned());
            let of_row: Vec<Option<&TextWord<'_>>> = figures.iter().map(|name| cell(name)).collect();
            let head =
                RowHeading { section: text("section"), tag, file_kb: cell("file_kb"), span: line.span() };
            Some(checked(head, &of_row, findings))
        })
        .collect()
}

/// Complains of asked sections that the table does not have.
pub(super) fn known_sections(
    rows: &[IoperfImportRow],
    asked: &[String],
    option: &str,
    findings: &mut Findings<'_>,
) {
    let mut known: Vec<&str> = rows.iter().filter_map(|row| row.section.as_deref()).collect();
    known.dedup();
    for section in asked.iter().filter(|section| !known.contains(&section.as_str())) {
        let allowed = if known.is_empty() {
            "none: the table has no column `section`".to_owned()
        } else {
            known.join(", ")
        };
        let complaint = Complaint::new(option, format!("`{section}`"), allowed, "name one that the file has");
        findings.add(&rows.first().map_or(0..0, |row| row.span.clone()), complaint);
    }
}

/// The rows of the asked sections; all where none is asked.
pub(super) fn of_sections(rows: Vec<IoperfImportRow>, asked: &[String]) -> Vec<IoperfImportRow> {
    let wanted = |row: &IoperfImportRow| {
        asked.is_empty() || row.section.as_ref().is_some_and(|section| asked.contains(section))
    };
    rows.into_iter().filter(wanted).collect()
}

/// The hosts whose mean the row at `index` is: those that follow it and fit its pattern.
pub(super) fn hosts_of(rows: &[IoperfImportRow], index: usize) -> &[IoperfImportRow] {
    let Some(mean) = rows.get(index).filter(|row| row.kind == IoperfImportRowKind::Mean) else { return &[] };
    let pattern = mean.tag.trim_matches(['<', '>']);
    let after = rows.get(index + 1..).unwrap_or_default();
    let is_host = |row: &&IoperfImportRow| {
        row.kind == IoperfImportRowKind::Plain && row.section == mean.section && fits(&row.tag, pattern)
    };
    let count = after.iter().take_while(is_host).count();
    after.get(..count).unwrap_or_default()
}

/// Whether `name` fits a pattern with `*` for any letters.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = left.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_a_shell_would() {
        assert!(fits("rcas6001", "rcas6*") && fits("a-b-c", "a*b*c") && fits("x", "*") && fits("x", "x"));
        assert!(!fits("rcas5001", "rcas6*") && !fits("ab", "ab*b") && !fits("xy", "x"));
    }

    #[test]
    fn tags_say_what_a_row_is() {
        let kinds = ["ibmtest", "1PV_ibmtest_test", "NPV_ibmtest_test", "<rcas6*>"].map(kind);
        assert_eq!(
            kinds,
            [
                IoperfImportRowKind::Plain,
                IoperfImportRowKind::Driver,
                IoperfImportRowKind::Processes,
                IoperfImportRowKind::Mean
            ]
        );
    }
}
