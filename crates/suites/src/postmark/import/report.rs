//! The lines of a PostMark report.
//!
//! Not here: what its figures say.

use super::cut;
use crate::import::source::{TextLine, TextWord, lines, number, words};
use crate::postmark::labels::{
    APPENDED, CREATED, CREATION_ALONE, DELETED, DELETION_ALONE, MIXED, READ, TOTAL, TRANSACTIONS, UNITS,
    WRITTEN,
};
use narrows_model::located::{Complaint, Findings};
use narrows_model::observation::Claim;
use narrows_model::units::ratio;

/// How each line of counts ends.
const PER_SECOND: &str = "per second)";
/// Numbers of a terse report.
const TERSE: usize = 13;
/// Beyond any count, time or amount.
const MOST: f64 = 1e15;

/// One report.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct PostmarkReport {
    pub total_s: f64,
    pub transactions_s: f64,
    transactions_per_s: Option<f64>,
    pub created: Option<f64>,
    pub created_alone: Option<f64>,
    created_alone_per_s: Option<f64>,
    pub created_mixed: Option<f64>,
    /// Files that transactions read.
    pub read: Option<f64>,
    /// Files that they appended to.
    pub appended: Option<f64>,
    pub deleted: Option<f64>,
    pub deleted_alone: Option<f64>,
    deleted_alone_per_s: Option<f64>,
    pub deleted_mixed: Option<f64>,
    pub bytes_read: f64,
    pub bytes_written: f64,
    /// A terse report gives rates, of which the counts are made.
    is_terse: bool,
    /// By what it was timed.
    pub clock: ReportClock,
}

/// By what a report was timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ReportClock {
    #[default]
    WholeSeconds,
    /// Finer times, which are printed: `narrows suite postmark`, verbose.
    Fine,
    /// Finer times, which are printed in whole seconds beside rates of the finer ones: the same, terse.
    FineRates,
}

impl PostmarkReport {
    /// Transactions: each creates or deletes one file, unless the bias of creating is -1. Then their number follows
    /// from their printed rate, which is truncated to a whole number: reading and appending skip some transactions.
    pub(super) fn transactions(&self) -> f64 {
        let counted = self.mixed();
        if counted > 0.0 && self.clock != ReportClock::FineRates {
            return counted;
        }
        self.transactions_per_s.unwrap_or(0.0) * self.transactions_s
    }

    /// Transactions that created or deleted a file.
    fn mixed(&self) -> f64 {
        self.created_mixed.unwrap_or(0.0) + self.deleted_mixed.unwrap_or(0.0)
    }

    pub(super) fn creation_s(&self) -> Option<f64> {
        self.seconds(self.created_alone, self.created_alone_per_s)
    }

    pub(super) fn deletion_s(&self) -> Option<f64> {
        self.seconds(self.deleted_alone, self.deleted_alone_per_s)
    }

    /// Seconds that a phase took, whole ones of a clock that has no others: its count over its printed rate.
    fn seconds(&self, count: Option<f64>, per_s: Option<f64>) -> Option<f64> {
        let seconds = ratio(count?, per_s?)?;
        Some(if self.clock == ReportClock::WholeSeconds { seconds.round() } else { seconds })
    }

    /// Printed sums and rates, with what they are computed from.
    pub(super) fn claims(&self, run: &str) -> Vec<Claim> {
        if self.is_terse {
            return Vec::new();
        }
        let sum = |name: &str, a: Option<f64>, b: Option<f64>, all: Option<f64>| {
            let (a, b, all) = (a?, b?, all?);
            Some(Claim {
                text: format!("{run}{all} {name}"),
                left: format!("{a} + {b}"),
                left_value: a + b,
                right: all,
                tolerance_ratio: 0.0,
            })
        };
        let rate = self.transactions_per_s.filter(|_| self.mixed() > 0.0).and_then(|printed| {
            Some(Claim {
                text: format!("{run}{printed} transactions per second"),
                left: format!("{} / {}", self.transactions(), self.transactions_s),
                left_value: ratio(self.transactions(), self.transactions_s)?,
                right: printed,
                tolerance_ratio: cut(printed),
            })
        });
        let sums = [
            sum("created", self.created_alone, self.created_mixed, self.created),
            sum("deleted", self.deleted_alone, self.deleted_mixed, self.deleted),
            sum("created, and as many deleted", self.deleted, Some(0.0), self.created),
        ];
        sums.into_iter().flatten().chain(rate).collect()
    }
}

/// Whether `text` has such a report, or the run of one.
pub(super) fn looks_like(text: &str) -> bool {
    ["PostMark v", TRANSACTIONS, "Performing transactions"].iter().any(|mark| text.contains(mark))
}

/// Whether a line is one that a run prints before its report, whole or cut off.
fn starts(line: &str) -> bool {
    const FIRST: &str = "Creating files...";
    let printed = line.trim_start_matches("pm>");
    let is_first = printed.starts_with(FIRST) || (!printed.is_empty() && FIRST.starts_with(printed));
    is_first || line.contains("Performing transactions")
}

/// Every report of `text`.
pub(super) fn reports(text: &str, findings: &mut Findings<'_>) -> Vec<PostmarkReport> {
    let mut all: Vec<PostmarkReport> = Vec::new();
    let mut reading: Option<ReportParser> = None;
    let mut started: Option<TextLine<'_>> = None;
    for line in lines(text) {
        let trimmed = line.text.trim();
        if trimmed == "Time:" {
            close(reading.take(), &mut all, findings);
            (reading, started) = (Some(ReportParser::at(line)), None);
        } else if let Some(report) = terse(line, findings) {
            close(reading.take(), &mut all, findings);
            all.push(report);
            started = None;
        } else if let Some(open) = &mut reading {
            open.line(line, findings);
        }
        if starts(trimmed) {
            started = Some(line);
        }
    }
    close(reading, &mut all, findings);
    if let Some(line) = started.filter(|_| findings.is_empty()) {
        let hint = "the run was stopped or its output cut off: give the output of a complete run";
        findings.add(
            &line.span(),
            Complaint::new("", "a run without its report", "the report from `Time:` to `Data:`", hint),
        );
    }
    all
}

struct ReportParser {
    report: PostmarkReport,
    at: std::ops::Range<usize>,
    in_deletion: bool,
    seen: [bool; 4],
}

/// What a report must have, in the order of `Reading::seen`.
const PARTS: [&str; 4] = [
    "`N seconds total`",
    "`N seconds of transactions`",
    "`Mixed with transactions`",
    "`N megabytes written`",
];

impl ReportParser {
    fn at(line: TextLine<'_>) -> Self {
        Self { report: PostmarkReport::default(), at: line.span(), in_deletion: false, seen: [false; 4] }
    }

    fn mark_part(&mut self, part: usize) {
        if let Some(seen) = self.seen.get_mut(part) {
            *seen = true;
        }
    }

    fn line(&mut self, line: TextLine<'_>, findings: &mut Findings<'_>) {
        let row = words(line, |c| c.is_whitespace() || matches!(c, '(' | ')'));
        let text = line.text.trim();
        let has = |label: &str| text.contains(label);
        // "Deletion alone: 4850 files (4850 per second)": the count is the first number, the rate the second.
        if let Some(word) = uncounted(&row, text) {
            let hint = "the line is damaged: give the report as PostMark printed it";
            let complaint = Complaint::new("", format!("`{}`", word.text), "a number", hint);
            findings.add(&word.span, complaint);
            return;
        }
        let numbers: Vec<f64> = row.iter().filter_map(|word| checked(word, findings)).collect();
        let (Some(count), per_s) = (numbers.first().copied(), numbers.get(1).copied()) else { return };
        let report = &mut self.report;
        if has(TOTAL) {
            report.total_s = count;
            report.clock = clock_of(&row);
            self.mark_part(0);
        } else if has(TRANSACTIONS) {
            (report.transactions_s, report.transactions_per_s) = (count, per_s);
            self.mark_part(1);
        } else if has(CREATION_ALONE) {
            (report.created_alone, report.created_alone_per_s) = (Some(count), per_s);
        } else if has(DELETION_ALONE) {
            (report.deleted_alone, report.deleted_alone_per_s) = (Some(count), per_s);
        } else if has(MIXED) && self.in_deletion {
            report.deleted_mixed = Some(count);
            self.mark_part(2);
        } else if has(MIXED) {
            report.created_mixed = Some(count);
        } else if has(CREATED) {
            report.created = Some(count);
        } else if has(DELETED) {
            report.deleted = Some(count);
            self.in_deletion = true;
        } else if has(APPENDED) {
            report.appended = Some(count);
        } else if row.get(1).is_some_and(|word| word.text == READ) {
            report.read = Some(count);
        } else if let Some(unit) = row.get(1).and_then(|unit| unit_bytes(&unit.text)) {
            if has(READ) {
                report.bytes_read = count * unit;
            } else if has(WRITTEN) {
                report.bytes_written = count * unit;
                self.mark_part(3);
            }
        }
    }
}

/// What a line of counts, each with its rate behind it, has in the place of its count, where that is no number: the rate
/// would be taken for it.
fn uncounted<'r, 't>(row: &'r [TextWord<'t>], text: &str) -> Option<&'r TextWord<'t>> {
    let is_of_counts = text.ends_with(PER_SECOND);
    let place = row.iter().rposition(|word| word.text.ends_with(':')).map_or(0, |label| label + 1);
    row.get(place).filter(|word| is_of_counts && word.number().is_none())
}

/// The clock of a line that begins with a time.
fn clock_of(row: &[TextWord<'_>]) -> ReportClock {
    let has_fraction = row.first().is_some_and(|seconds| seconds.text.contains('.'));
    if has_fraction { ReportClock::Fine } else { ReportClock::WholeSeconds }
}

fn close(reading: Option<ReportParser>, all: &mut Vec<PostmarkReport>, findings: &mut Findings<'_>) {
    let Some(reading) = reading else { return };
    let missing: Vec<&str> =
        PARTS.iter().zip(reading.seen).filter(|(_, seen)| !seen).map(|(part, _)| *part).collect();
    if missing.is_empty() {
        all.push(reading.report);
    } else {
        let found = format!("a report without {}", missing.join(", "));
        let hint = "the file may be cut off: give the complete report";
        findings.add(&reading.at, Complaint::new("", found, "the report from `Time:` to `Data:`", hint));
    }
}

fn checked(word: &TextWord<'_>, findings: &mut Findings<'_>) -> Option<f64> {
    let value = number(&word.text)?;
    if (0.0..=MOST).contains(&value) {
        return Some(value);
    }
    let hint = "PostMark prints no such figure: check that the report is complete";
    let complaint =
        Complaint::new("", format!("`{}`", word.text), format!("a number from 0 to {MOST}"), hint);
    findings.add(&word.span, complaint);
    None
}

fn unit_bytes(unit: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, bytes)| *bytes)
}

/// A terse report: two times and eleven rates in one line.
fn terse(line: TextLine<'_>, findings: &mut Findings<'_>) -> Option<PostmarkReport> {
    let row = words(line, char::is_whitespace);
    let is_one = row.len() == TERSE && row.iter().all(|word| word.number().is_some());
    let values: Vec<f64> = row.iter().filter(|_| is_one).filter_map(|word| checked(word, findings)).collect();
    let &[
        total_s,
        transactions_s,
        per_s,
        created,
        alone,
        mixed,
        reads,
        appends,
        deleted,
        gone,
        removed,
        read,
        written,
    ] = values.as_slice()
    else {
        return None;
    };
    let of_transactions = [per_s, mixed, reads, appends, removed];
    let clock = match clock_of(&row) {
        ReportClock::WholeSeconds if !of_transactions.iter().all(|rate| is_count(*rate, transactions_s)) => {
            ReportClock::FineRates
        }
        clock => clock,
    };
    // The seconds that make a count of a rate: with whole ones beside finer rates there are no counts, and a second of
    // each rate is as good as any.
    let (total_s, transactions_s) =
        if clock == ReportClock::FineRates { (1.0, 1.0) } else { (total_s, transactions_s) };
    let alone_of = |all: f64, mixed: f64, rate: f64| match clock {
        ReportClock::FineRates => Some(rate),
        _ => Some(all * total_s - mixed * transactions_s).filter(|count| *count > 0.0),
    };
    Some(PostmarkReport {
        total_s,
        transactions_s,
        transactions_per_s: Some(per_s),
        created: Some(created * total_s),
        created_alone: alone_of(created, mixed, alone),
        created_alone_per_s: Some(alone),
        created_mixed: Some(mixed * transactions_s),
        read: Some(reads * transactions_s),
        appended: Some(appends * transactions_s),
        deleted: Some(deleted * total_s),
        deleted_alone: alone_of(deleted, removed, gone),
        deleted_alone_per_s: Some(gone),
        deleted_mixed: Some(removed * transactions_s),
        bytes_read: read * total_s,
        bytes_written: written * total_s,
        is_terse: true,
        clock,
    })
}

/// Whether a rate with two digits behind its point is that of a whole number of operations in so many seconds.
fn is_count(rate: f64, seconds: f64) -> bool {
    let count = rate * seconds;
    (count - count.round()).abs() <= 0.0051 * seconds
}
