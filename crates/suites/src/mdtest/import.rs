//! The table of rates that mdtest prints, versions 1.9 to 4.1, as observations: for each line the mean over the iterations.
//!
//! Deliberately absent: tables of times, rates of single ranks, and running it.

use super::TESTS;
use crate::import::source::{TextLine, TextWord, lines, words};
use crate::import::{Import, ImportOptions, Importer};
use narrows_model::located::{Complaint, Findings};
use narrows_model::observation::ObservedOp;
use narrows_model::units::OpsPerSec;
use narrows_model::{Observation, Observations};

/// The importer.
pub(crate) static IMPORTER: Importer = Importer {
    name: "mdtest",
    title: "mdtest",
    definition: "The table of rates, of one run or several in one file; the mean of each line becomes an observation of \
                 operations on names, with the number of tasks from the line above it. Lines of zeros, which are phases \
                 that were not run, tables of times and rates of single ranks are left out.",
    source: "mdtest of IOR 3.4 and 4.1, what they print",
    example: "   File creation               18477.110      18477.110      18477.110          0.000",
    takes: &[],
    looks_like,
    reads_tables: false,
    read,
};

/// The line above the table, and what it begins with.
const SUMMARY: &str = "SUMMARY ";
const SUMMARY_OF_RATES: &str = "SUMMARY rate";
/// Before the number of tasks.
const LAUNCHED: &str = " was launched with ";
/// Lines of the original that the suite does not print.
const MORE_TITLES: [&str; 2] = ["Directory rename", "File rename"];
/// Numbers at the end of a line: the greatest, the least, the mean and the deviation.
const FIGURES: usize = 4;
/// Beyond any rate.
const RATE_MAX: f64 = 1e15;
/// A figure is printed to thousandths.
const ROUNDING: f64 = 0.001;

fn looks_like(text: &str) -> bool {
    let is_head = |line: TextLine<'_>| line.text.starts_with("mdtest-") && line.text.contains(LAUNCHED);
    lines(text).any(|line| is_head(line) || line.text.starts_with(SUMMARY_OF_RATES))
}

/// A table as it is read.
#[derive(Debug, Default)]
struct MdtestTable {
    tasks: Option<u64>,
    iterations: Option<u64>,
    /// The title of each line, with its figures.
    lines: Vec<(&'static str, [f64; FIGURES])>,
}

fn read(text: &str, _: &ImportOptions, findings: &mut Findings<'_>) -> Import {
    let tables = tables(text, findings);
    let several = tables.len() > 1;
    let mut made = Import {
        observations: Observations { title: "mdtest".to_owned(), ..Observations::default() },
        ..Import::default()
    };
    for (index, table) in tables.iter().enumerate() {
        let run = if several { format!("run {} ", index + 1) } else { String::new() };
        made.observations.observations.extend(observations(&run, table));
        if table.iterations == Some(1) {
            made.remarks.push(format!("{run}one iteration: its figures have no interval."));
        }
    }
    made
}

fn observations(run: &str, table: &MdtestTable) -> Vec<Observation> {
    let measured = table.lines.iter().filter(|(_, figures)| figures[0] > 0.0);
    let observation = |(title, [max, min, mean, deviation]): &(&str, [f64; FIGURES])| Observation {
        id: format!("{run}{}", title.to_lowercase()),
        op: ObservedOp::Metadata,
        clients: table.tasks,
        ops_per_s: Some(OpsPerSec(*mean)),
        note: table.iterations.filter(|count| *count > 1).map(|count| {
            format!("mean of {count} iterations from {min} to {max}, standard deviation {deviation}")
        }),
        ..Observation::default()
    };
    measured.map(observation).collect()
}

/// Every table of rates in `text`.
fn tables(text: &str, findings: &mut Findings<'_>) -> Vec<MdtestTable> {
    let mut all: Vec<MdtestTable> = Vec::new();
    let (mut tasks, mut is_open) = (None, false);
    for line in lines(text) {
        if let Some((_, behind)) = line.text.split_once(LAUNCHED) {
            (tasks, is_open) = (first_number(behind), false);
        } else if line.text.starts_with(SUMMARY) {
            is_open = line.text.starts_with(SUMMARY_OF_RATES);
            if is_open {
                let iterations = line.text.split_once("(of ").and_then(|(_, behind)| first_number(behind));
                all.push(MdtestTable { tasks, iterations, lines: Vec::new() });
            }
        } else if line.text.starts_with("-- ") {
            is_open = false;
        } else if let Some((table, title)) = all.last_mut().filter(|_| is_open).zip(title_of(line)) {
            table.lines.extend(figures(line, findings).map(|figures| (title, figures)));
        }
    }
    all
}

/// The number at the start of `text`, which is no rate of nothing.
fn first_number(text: &str) -> Option<u64> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|number| (1..=1 << 32).contains(number))
}

/// The title of a line of the table; `None` for other lines.
fn title_of(line: TextLine<'_>) -> Option<&'static str> {
    let mut titles = TESTS.iter().map(|test| test.title).chain(MORE_TITLES);
    titles.find(|title| line.text.trim_start().starts_with(title))
}

/// The last four numbers of a line, which must be such as the original prints; `None` where they are refused.
fn figures(line: TextLine<'_>, findings: &mut Findings<'_>) -> Option<[f64; FIGURES]> {
    let row = words(line, |c| c.is_whitespace() || c == ':');
    let numbers: Vec<f64> = row.iter().rev().map_while(TextWord::number).take(FIGURES).collect();
    let mut refused = |found: String| {
        let hint = "the line is damaged or cut off: give the table as mdtest printed it";
        let allowed = "greatest, least and mean rate, and their deviation";
        findings.add(&line.span(), Complaint::new("", found, allowed, hint));
    };
    let &[deviation, mean, min, max] = numbers.as_slice() else {
        refused(format!("a line with {} figures", numbers.len()));
        return None;
    };
    let is_ordered = min <= mean + ROUNDING && mean <= max + ROUNDING;
    if !is_ordered || ![deviation, mean, min, max].iter().all(|rate| (0.0..=RATE_MAX).contains(rate)) {
        refused(format!("figures out of order or range: {max}, {min}, {mean}, {deviation}"));
        return None;
    }
    Some([max, min, mean, deviation])
}
