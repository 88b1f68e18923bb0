//! The text tables of bonnie++ 1.03, for results that were kept without their line of CSV.
//!
//! The text of 2.00 is not read: in it the rates of files are not rates (a run of 64 x 1024 files prints 65536 for each of
//! them). Its line of CSV is right.

use super::csv::{figure, leading, sizes};
use super::run::{DATA_TESTS, Run};
use crate::import::source::{Line, Word, lines, words};
use narrows_model::located::{Complaint, Findings};

/// Fields of a test: the rate and the CPU share.
const PAIR: usize = 2;

/// What the next row is of.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    None,
    Data,
    Names,
}

/// The runs of the tables in `text`.
pub(super) fn runs(text: &str, findings: &mut Findings<'_>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut part = Part::None;
    let mut begun: Option<Line<'_>> = None;
    for line in lines(text) {
        if line.text.contains("------Sequential Output------") {
            (part, begun) = (Part::Data, Some(line));
            later_version(line, findings);
        } else if line.text.contains("------Sequential Create------") {
            (part, begun) = (Part::Names, Some(line));
            later_version(line, findings);
        } else if line.text.trim_start().starts_with("---") {
            // A heading that is cut off is one too.
            begun = Some(line);
        }
        let row = words(line, char::is_whitespace);
        let numbers = row.iter().rev().take_while(|word| is_figure(word)).count();
        if numbers < 2 * PAIR {
            continue;
        }
        begun = None;
        match part {
            Part::Data => runs.extend(data(line, &row, numbers, findings)),
            Part::Names => names(runs.last_mut(), line, &row, numbers, findings),
            Part::None => {}
        }
    }
    if let Some(heading) = begun {
        findings.add(&heading.span(), torn(0, DATA_TESTS * PAIR));
    }
    runs
}

/// Other versions have other columns.
fn later_version(line: Line<'_>, findings: &mut Findings<'_>) {
    let version = line.text.trim_start().strip_prefix("Version").map(str::trim_start).unwrap_or_default();
    let version = version.split_whitespace().next().unwrap_or_default();
    if version.starts_with("1.9") || version.starts_with('2') {
        let found = format!("the text table of bonnie++ {version}");
        let hint = "import the line of CSV that bonnie++ prints after the table (with -q it is all of stdout); the rates of \
                    files in this table are not rates";
        findings.add(&line.span(), Complaint::new("", found, "the text table of 1.03, or CSV", hint));
    }
}

fn is_figure(word: &Word<'_>) -> bool {
    word.number().is_some() || (word.text.starts_with("++") && word.text.ends_with('+'))
}

/// The row of a machine: name, size, and pairs for putc, block, rewrite, getc, block and seeks.
fn data(line: Line<'_>, row: &[Word<'_>], numbers: usize, findings: &mut Findings<'_>) -> Option<Run> {
    let wanted = DATA_TESTS * PAIR;
    if numbers < wanted || row.len() < wanted + 1 {
        findings.add(&line.span(), torn(numbers, wanted));
        return None;
    }
    let (head, figures) = row.split_at(row.len() - wanted);
    let (size, name) = head.split_last()?;
    let name: Vec<&str> = name.iter().map(|word| word.text.as_ref()).collect();
    let name = if name.is_empty() { "bonnie++".to_owned() } else { name.join(" ") };
    let mut run = Run { name, ..Run::default() };
    sizes(&mut run, size, findings);
    for (index, pair) in figures.chunks(PAIR).enumerate() {
        if let Some(place) = run.figures.get_mut(index) {
            *place = figure(pair.first(), pair.get(1), findings);
        }
    }
    Some(run)
}

/// The row of files: their number, and pairs for create, stat and delete, sequential and random.
fn names(
    run: Option<&mut Run>,
    line: Line<'_>,
    row: &[Word<'_>],
    numbers: usize,
    findings: &mut Findings<'_>,
) {
    let wanted = DATA_TESTS * PAIR;
    let Some(run) = run else { return };
    if numbers < wanted || row.len() < wanted + 1 {
        findings.add(&line.span(), torn(numbers, wanted));
        return;
    }
    let (head, figures) = row.split_at(row.len() - wanted);
    run.files = head.last().and_then(|files| leading(&files.text));
    for (index, pair) in figures.chunks(PAIR).enumerate() {
        if let Some(place) = run.figures.get_mut(DATA_TESTS + index) {
            *place = figure(pair.first(), pair.get(1), findings);
        }
    }
}

fn torn(numbers: usize, wanted: usize) -> Complaint {
    Complaint::new(
        "",
        format!("a row of {numbers} figures"),
        format!("{wanted}: rate and CPU share of six tests"),
        "the table is cut off or broken into lines: give it as bonnie++ printed it, or its line of CSV",
    )
}
