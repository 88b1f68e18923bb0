//! The report: from counts and times to the original's lines, verbose and terse.
//!
//! Times are printed as they were measured, where the original has whole seconds and never fewer than one; rates are
//! those of the printed times, cut to whole numbers as the original's are, so that a reader can compute them again.

use super::labels::{
    APPENDED, CREATED, CREATION_ALONE, DELETED, DELETION_ALONE, KILOBYTE, MEGABYTE, MIXED, READ, TOTAL,
    TRANSACTIONS, WRITTEN,
};
use super::settings::ReportForm;
use std::fmt::Write;

/// What a whole run did, and how long its parts took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PostmarkTotals {
    /// The whole run.
    pub(super) total_s: f64,
    /// Its transactions.
    pub(super) transactions_s: f64,
    /// The creation of the files before them.
    pub(super) creation_s: f64,
    /// The deletion of the files that they left.
    pub(super) deletion_s: f64,
    pub(super) transactions: u64,
    pub(super) created_alone: u64,
    pub(super) created_mixed: u64,
    pub(super) read: u64,
    pub(super) appended: u64,
    pub(super) deleted_alone: u64,
    pub(super) deleted_mixed: u64,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
}

/// The report of `tally`.
pub(super) fn report(tally: &PostmarkTotals, form: ReportForm) -> String {
    let tally = tally.rounded();
    match form {
        ReportForm::Verbose => verbose(&tally),
        ReportForm::Terse => terse(&tally),
    }
}

impl PostmarkTotals {
    fn created(&self) -> u64 {
        self.created_alone + self.created_mixed
    }

    fn deleted(&self) -> u64 {
        self.deleted_alone + self.deleted_mixed
    }

    /// With the times that are printed.
    fn rounded(&self) -> Self {
        Self {
            total_s: rounded(self.total_s),
            transactions_s: rounded(self.transactions_s),
            creation_s: rounded(self.creation_s),
            deletion_s: rounded(self.deletion_s),
            ..*self
        }
    }
}

/// A time with as many digits as are printed; the least that can be printed for less.
fn rounded(seconds: f64) -> f64 {
    format_seconds(seconds).parse().unwrap_or(seconds)
}

/// Seconds: to milliseconds from one second on, and to microseconds below, where they are the better part.
fn format_seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.6}", seconds.max(1e-6)) } else { format!("{seconds:.3}") }
}

/// Seconds as the original's clock has them: whole ones, at least one.
fn whole_seconds(seconds: f64) -> u64 {
    narrows_model::units::round_to_u64(seconds).max(1)
}

fn per_s(count: u64, seconds: f64) -> u64 {
    narrows_model::units::round_to_u64((count as f64 / seconds).floor())
}

fn verbose(tally: &PostmarkTotals) -> String {
    let PostmarkTotals { total_s, transactions_s, .. } = *tally;
    let mut out = "Time:\n".to_owned();
    let rate = |count: u64, seconds: f64| format!("({} per second)", per_s(count, seconds));
    // Writing into a string cannot fail.
    let _ = writeln!(out, "\t{} {TOTAL}", format_seconds(total_s));
    let transactions = rate(tally.transactions, transactions_s);
    let _ = writeln!(out, "\t{} {TRANSACTIONS} {transactions}", format_seconds(transactions_s));
    out.push_str("\nFiles:\n");
    let mut files = |indent: &str, label: &str, count: u64, noun: &str, seconds: f64| {
        let label = if label.is_empty() { String::new() } else { format!("{label}: ") };
        let _ = writeln!(out, "{indent}{label}{count} {noun} {}", rate(count, seconds));
    };
    let (outer, inner) = ("\t", "\t\t");
    files(outer, "", tally.created(), CREATED, total_s);
    files(inner, CREATION_ALONE, tally.created_alone, "files", tally.creation_s);
    files(inner, MIXED, tally.created_mixed, "files", transactions_s);
    files(outer, "", tally.read, READ, transactions_s);
    files(outer, "", tally.appended, APPENDED, transactions_s);
    files(outer, "", tally.deleted(), DELETED, total_s);
    files(inner, DELETION_ALONE, tally.deleted_alone, "files", tally.deletion_s);
    files(inner, MIXED, tally.deleted_mixed, "files", transactions_s);
    out.push_str("\nData:\n");
    for (bytes, verb) in [(tally.bytes_read, READ), (tally.bytes_written, WRITTEN)] {
        let bytes = bytes as f64;
        let _ = writeln!(out, "\t{} {verb} ({} per second)", amount(bytes), amount(bytes / total_s));
    }
    out
}

/// Two times in whole seconds, as programs read them, then rates over the times as measured: of transactions; of files created in all, alone, in transactions; read; appended; deleted in
/// all, alone, in transactions; of bytes read and written.
fn terse(tally: &PostmarkTotals) -> String {
    let PostmarkTotals { total_s, transactions_s, .. } = *tally;
    let rates = [
        (tally.transactions, transactions_s),
        (tally.created(), total_s),
        (tally.created_alone, tally.creation_s),
        (tally.created_mixed, transactions_s),
        (tally.read, transactions_s),
        (tally.appended, transactions_s),
        (tally.deleted(), total_s),
        (tally.deleted_alone, tally.deletion_s),
        (tally.deleted_mixed, transactions_s),
        (tally.bytes_read, total_s),
        (tally.bytes_written, total_s),
    ];
    let each = rates.map(|(count, seconds)| format!("{:.2}", count as f64 / seconds));
    format!("{} {} {}\n", whole_seconds(total_s), whole_seconds(transactions_s), each.join(" "))
}

/// An amount of data: megabytes above one, kilobytes below, and none as the original writes it.
fn amount(bytes: f64) -> String {
    if bytes <= 0.0 {
        "0.000000 bytes".to_owned()
    } else if bytes > MEGABYTE {
        format!("{:.2} megabytes", bytes / MEGABYTE)
    } else {
        format!("{:.2} kilobytes", bytes / KILOBYTE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::units::round_to_u64;

    const LONG: &str = include_str!("../../tests/data/postmark_long.txt");
    const SHORT: &str = include_str!("../../tests/data/postmark_short.txt");
    const TERSE: &str = include_str!("../../tests/data/postmark_terse.txt");

    fn megabytes(value: f64) -> u64 {
        round_to_u64(value * MEGABYTE)
    }

    /// What the original's long report contains.
    fn long() -> PostmarkTotals {
        PostmarkTotals {
            total_s: 25.0,
            transactions_s: 22.0,
            creation_s: 2.0,
            deletion_s: 1.0,
            transactions: 100_000,
            created_alone: 5000,
            created_mixed: 49_925,
            read: 49_988,
            appended: 49_899,
            deleted_alone: 4850,
            deleted_mixed: 50_075,
            bytes_read: megabytes(3124.66),
            bytes_written: megabytes(3447.80),
        }
    }

    fn short() -> PostmarkTotals {
        PostmarkTotals {
            total_s: 1.0,
            transactions_s: 1.0,
            creation_s: 1.0,
            deletion_s: 1.0,
            transactions: 500,
            created_alone: 200,
            created_mixed: 262,
            read: 257,
            appended: 243,
            deleted_alone: 224,
            deleted_mixed: 238,
            bytes_read: megabytes(1.49),
            bytes_written: megabytes(2.85),
        }
    }

    /// From `begins` to the end of the report.
    fn original(text: &str, begins: &str) -> String {
        let report = &text[text.find(begins).unwrap()..];
        report[..report.find("pm>").unwrap()].to_owned()
    }

    /// As the original has it, which knows whole seconds alone.
    fn without_fractions(text: &str) -> String {
        text.replace(".000 ", " ")
    }

    #[test]
    fn from_the_figures_of_a_real_report_that_report_is_printed() {
        assert_eq!(without_fractions(&report(&long(), ReportForm::Verbose)), original(LONG, "Time:"));
        assert_eq!(without_fractions(&report(&short(), ReportForm::Verbose)), original(SHORT, "Time:"));
    }

    #[test]
    fn from_the_figures_of_a_real_terse_report_that_report_is_printed() {
        let tally = PostmarkTotals {
            total_s: 16.0,
            transactions_s: 16.0,
            creation_s: 1.0,
            deletion_s: 1.0,
            transactions: 20_000,
            created_alone: 500,
            created_mixed: 10_082,
            read: 9999,
            appended: 9928,
            deleted_alone: 664,
            deleted_mixed: 9918,
            bytes_read: 4_233_709 * 16,
            bytes_written: 4_472_558 * 16,
        };
        assert_eq!(without_fractions(&report(&tally, ReportForm::Terse)), original(TERSE, "16 16 "));
    }

    #[test]
    fn a_terse_report_divides_each_count_by_its_own_time() {
        // A run of the original whose phases took 19, 1 and 2 of its whole seconds; counts of the same run, verbose.
        let printed = "21 1 1000.00 2881.57 3157.89 513.00 504.00 496.00 2881.57 30013.00 487.00 ";
        let tally = PostmarkTotals {
            total_s: 21.0,
            transactions_s: 1.0,
            creation_s: 19.0,
            deletion_s: 2.0,
            transactions: 1000,
            created_alone: 60_000,
            created_mixed: 513,
            read: 504,
            appended: 496,
            deleted_alone: 60_026,
            deleted_mixed: 487,
            bytes_read: megabytes(10.99),
            bytes_written: megabytes(1277.31),
        };
        let made = without_fractions(&report(&tally, ReportForm::Terse));
        assert!(made.starts_with(printed), "{made}");
    }

    #[test]
    fn times_are_printed_as_measured_and_rates_follow_from_what_is_printed() {
        let tally = PostmarkTotals { total_s: 0.123_456_7, transactions_s: 0.000_000_1, ..short() };
        let made = report(&tally, ReportForm::Verbose);
        assert!(made.contains("\t0.123457 seconds total\n"), "{made}");
        assert!(made.contains("\t0.000001 seconds of transactions (500000000 per second)\n"), "{made}");
        // 462 files in 0.123457 s.
        assert!(made.contains("\t462 created (3742 per second)\n"), "{made}");
    }

    #[test]
    fn amounts_are_kilobytes_up_to_a_megabyte_and_none_is_none() {
        // Read off the original.
        let of = |bytes: u64| amount(bytes as f64);
        assert_eq!(of(0), "0.000000 bytes");
        assert_eq!((of(5), of(6)), ("0.00 kilobytes".to_owned(), "0.01 kilobytes".to_owned()));
        assert_eq!((of(1000), of(1_048_576)), ("0.98 kilobytes".to_owned(), "1024.00 kilobytes".to_owned()));
        assert_eq!(of(1_048_577), "1.00 megabytes");
        assert_eq!(of(3_276_447_744), "3124.66 megabytes");
    }
}
