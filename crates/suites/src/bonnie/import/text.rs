//! The text tables of bonnie++ 1.03, for results that were kept without their line of CSV.
//!
//! The text of 2.00 is not read: in it the rates of files are not rates (a run of 64 x 1024 files prints 65536 for each of
//! them). Its line of CSV is right.

use super::csv::{figure, leading, sizes};
use super::run::{BonnieRun, LinkKind};
use crate::bonnie::DATA_PHASES;
use crate::import::source::{TextLine, TextWord, lines, words};
use narrows_model::located::{Complaint, Findings};

/// Fields of a test: the rate and the CPU share.
const PAIR: usize = 2;
/// Columns of a rate and of both, with the blanks before them; longer figures push what follows to the right.
const RATE_COLUMNS: usize = 6;
const CPU_COLUMNS: usize = 4;
const DATA_HEAD: &str = "------Sequential Output------";
const NAMES_HEAD: &str = "------Sequential Create------";

/// What the next row is of.
#[derive(Clone, Copy, PartialEq)]
enum TableSection {
    None,
    Data,
    Names,
}

/// A table, as far as it is read.
struct BonnieTable<'t> {
    part: TableSection,
    /// The column under which the first test begins.
    first_column: usize,
    /// Runs before those of this table, and rows of its files so far.
    runs_before: usize,
    names_rows: usize,
    /// The machine, where the heading of files has it.
    name: Option<&'t str>,
}

/// The runs of the tables in `text`.
pub(super) fn runs(text: &str, findings: &mut Findings<'_>) -> Vec<BonnieRun> {
    let mut runs: Vec<BonnieRun> = Vec::new();
    let mut table =
        BonnieTable { part: TableSection::None, first_column: 0, runs_before: 0, names_rows: 0, name: None };
    let mut begun: Option<TextLine<'_>> = None;
    for line in lines(text) {
        if table.begins(line, runs.len()) {
            begun = Some(line);
            later_version(line, findings);
        } else if line.text.trim_start().starts_with("---") {
            // A heading that is cut off is one too.
            begun = Some(line);
        } else if let Some((name, _)) = line.text.split_once("-Create-- --Read---") {
            table.name = Some(name.trim()).filter(|name| !name.is_empty());
        }
        let row = words(line, char::is_whitespace);
        let numbers = row.iter().rev().take_while(|word| is_figure(word)).count();
        if numbers < 2 * PAIR {
            continue;
        }
        begun = None;
        match table.part {
            TableSection::Data => runs.extend(data(line, &row, table.first_column, findings)),
            TableSection::Names => names(&mut runs, &mut table, line, &row, findings),
            TableSection::None => {}
        }
    }
    if let Some(heading) = begun {
        findings.add(&heading.span(), torn(0, DATA_PHASES * PAIR));
    }
    runs
}

impl<'t> BonnieTable<'t> {
    /// Whether `line` is its heading, which is taken.
    fn begins(&mut self, line: TextLine<'t>, run_count: usize) -> bool {
        let heads = [(DATA_HEAD, TableSection::Data), (NAMES_HEAD, TableSection::Names)];
        let found = heads.into_iter().find_map(|(head, part)| Some((line.text.find(head)?, part)));
        let Some((at, part)) = found else { return false };
        self.part = part;
        self.first_column = column(line, at).saturating_sub(1);
        (self.names_rows, self.name) = (0, None);
        // The table of files follows the table of data, under a heading without a version.
        if part == TableSection::Data || line.text.trim_start().starts_with("Version") {
            self.runs_before = run_count;
        }
        true
    }
}

/// The column of the byte `at` of a line, both from 0.
fn column(line: TextLine<'_>, at: usize) -> usize {
    line.text.get(..at).map_or(0, |before| before.chars().count())
}

/// Other versions have other columns.
fn later_version(line: TextLine<'_>, findings: &mut Findings<'_>) {
    let version = line.text.trim_start().strip_prefix("Version").map(str::trim_start).unwrap_or_default();
    let version = version.split_whitespace().next().unwrap_or_default();
    if version.starts_with("1.9") || version.starts_with('2') {
        let found = format!("the text table of bonnie++ {version}");
        let hint = "import the line of CSV that bonnie++ prints after the table (with -q it is all of stdout); the rates of \
                    files in this table are not rates";
        findings.add(&line.span(), Complaint::new("", found, "the text table of 1.03, or CSV", hint));
    }
}

fn is_figure(word: &TextWord<'_>) -> bool {
    word.number().is_some() || (word.text.starts_with("++") && word.text.ends_with('+'))
}

/// A row: the words before the figures, and of each test the rate and the CPU share, or nothing where it was not run.
struct BonnieTextRow<'w, 't> {
    head: &'w [TextWord<'t>],
    tests: [Option<[&'w TextWord<'t>; PAIR]>; DATA_PHASES],
}

/// The row of `words`: all figures from the right, or where some are missing each by its column.
fn row_of<'w, 't>(
    line: TextLine<'_>,
    words: &'w [TextWord<'t>],
    first_column: usize,
) -> Option<BonnieTextRow<'w, 't>> {
    let head_count = words.len().checked_sub(DATA_PHASES * PAIR);
    if let Some((head, figures)) = head_count.filter(|count| *count > 0).map(|count| words.split_at(count))
        && figures.iter().all(is_figure)
    {
        let mut pairs = figures.chunks(PAIR);
        let tests = std::array::from_fn(|_| match pairs.next() {
            Some([rate, cpu]) => Some([rate, cpu]),
            _ => None,
        });
        return Some(BonnieTextRow { head, tests });
    }
    by_columns(line, words, first_column)
}

/// A row in which tests were not run: their columns are blank. The last one always is, else the row is cut off.
fn by_columns<'w, 't>(
    line: TextLine<'_>,
    words: &'w [TextWord<'t>],
    first_column: usize,
) -> Option<BonnieTextRow<'w, 't>> {
    let begin = |word: &TextWord<'_>| column(line, word.span.start.saturating_sub(line.start));
    let end = |word: &TextWord<'_>| begin(word) + word.text.chars().count();
    let head_count = words.iter().take_while(|word| end(word) <= first_column).count();
    let (head, mut rest) = words.split_at(head_count);
    // The words before the figures end where the figures begin.
    head.last().filter(|last| end(last) == first_column)?;
    let is_under = |word: &TextWord<'_>, at: usize, columns: usize| {
        is_figure(word) && (end(word) == at + columns || begin(word) == at + 1 && end(word) > at + columns)
    };
    let (mut at, mut tests) = (first_column, [None; DATA_PHASES]);
    for test in &mut tests {
        let [rate, after @ ..] = rest else { return None };
        if begin(rate) > at + RATE_COLUMNS {
            at += RATE_COLUMNS + CPU_COLUMNS;
            continue;
        }
        let [cpu, after @ ..] = after else { return None };
        if !is_under(rate, at, RATE_COLUMNS) || !is_under(cpu, end(rate), CPU_COLUMNS) {
            return None;
        }
        (at, rest, *test) = (end(cpu), after, Some([rate, cpu]));
    }
    rest.is_empty().then_some(BonnieTextRow { head, tests })
}

/// Puts the figures of a row in their places from `first` on.
fn place(run: &mut BonnieRun, first: usize, row: &BonnieTextRow<'_, '_>, findings: &mut Findings<'_>) {
    for (place, test) in run.figures.iter_mut().skip(first).zip(&row.tests) {
        let [rate, cpu] = test.map_or([None, None], |pair| pair.map(Some));
        *place = figure(rate, cpu, findings);
    }
}

/// The row of a machine: name, size, and pairs for putc, block, rewrite, getc, block and seeks.
fn data(
    line: TextLine<'_>,
    words: &[TextWord<'_>],
    first_column: usize,
    findings: &mut Findings<'_>,
) -> Option<BonnieRun> {
    let row = row_or_torn(line, words, first_column, findings)?;
    let (size, name) = row.head.split_last()?;
    let mut run = BonnieRun { name: named(name, None), ..BonnieRun::default() };
    sizes(&mut run, size, findings);
    place(&mut run, 0, &row, findings);
    Some(run)
}

/// The row of files: their number, and pairs for create, stat and delete, sequential and random. Without data the run is
/// of these alone.
fn names(
    runs: &mut Vec<BonnieRun>,
    table: &mut BonnieTable<'_>,
    line: TextLine<'_>,
    words: &[TextWord<'_>],
    findings: &mut Findings<'_>,
) {
    let Some(row) = row_or_torn(line, words, table.first_column, findings) else { return };
    let Some((files, name)) = row.head.split_last() else { return };
    let index = table.runs_before + table.names_rows;
    table.names_rows += 1;
    if runs.get(index).is_none() {
        runs.push(BonnieRun { name: named(name, table.name), ..BonnieRun::default() });
    }
    let Some(run) = runs.get_mut(index) else { return };
    run.files = leading(&files.text);
    run.links = LinkKind::named(&files.text);
    place(run, DATA_PHASES, &row, findings);
}

/// A machine's name: the words before a row's figures, else that of the heading, else the program's.
fn named(words: &[TextWord<'_>], heading: Option<&str>) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.text.as_ref()).collect();
    if words.is_empty() { heading.unwrap_or("bonnie++").to_owned() } else { words.join(" ") }
}

fn row_or_torn<'w, 't>(
    line: TextLine<'_>,
    words: &'w [TextWord<'t>],
    first_column: usize,
    findings: &mut Findings<'_>,
) -> Option<BonnieTextRow<'w, 't>> {
    let row = row_of(line, words, first_column);
    if row.is_none() {
        let numbers = words.iter().rev().take_while(|word| is_figure(word)).count();
        findings.add(&line.span(), torn(numbers, DATA_PHASES * PAIR));
    }
    row
}

fn torn(numbers: usize, wanted: usize) -> Complaint {
    Complaint::new(
        "",
        format!("a row of {numbers} figures"),
        format!("{wanted}: rate and CPU share of six tests, blank where a test was not run"),
        "the table is cut off or broken into lines: give it as bonnie++ printed it, or its line of CSV",
    )
}
