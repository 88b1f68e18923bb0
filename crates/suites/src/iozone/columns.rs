//! The tests by their numbers, and the columns that each of them fills.

use narrows_model::Op;

/// Numbers of tests end with this one.
pub(super) const NUMBER_MAX: u64 = 12;
/// The test of reads and writes mixed, of several processes alone.
pub(super) const MIXED: u64 = 8;
/// Tests of the table where none is named.
pub(super) const USUAL: [u64; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Tests of throughput mode where none is named, as in the original.
pub(super) const USUAL_THROUGHPUT: [u64; 10] = [0, 1, 2, 3, 5, 6, 7, 8, 9, 10];

/// How a column's requests reach the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// `read` and `write` at the file's own position, after an `lseek` where the record is elsewhere.
    AtPosition,
    /// `pread` and `pwrite`.
    AtOffset,
    /// `fread` and `fwrite`.
    Stdio,
    /// `preadv` and `pwritev`.
    Vectors,
}

/// The way over the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessPattern {
    Forward,
    Backward,
    Random,
    Stride,
    /// The first record again and again.
    OneRecord,
}

/// One column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IozoneColumn {
    /// The number of its test.
    pub(super) number: u64,
    /// Its name in CSV, and the phase's.
    pub(super) name: &'static str,
    /// The two lines of its heading.
    pub(super) heading: [&'static str; 2],
    /// Where its heading ends, in characters of the line.
    pub(super) heading_end: usize,
    /// Its name in the spreadsheet.
    pub(super) report: &'static str,
    /// What its processes are, in throughput mode.
    pub(super) processes: &'static str,
    pub(super) op: Op,
    pub(super) visit: AccessPattern,
    pub(super) calls: CallKind,
    /// It makes the file anew.
    pub(super) makes_file: bool,
    /// It does once more what the column before it did.
    pub(super) is_retest: bool,
}

const fn column(
    number: u64,
    name: &'static str,
    heading: ([&'static str; 2], usize),
    report: &'static str,
    processes: &'static str,
) -> IozoneColumn {
    IozoneColumn {
        number,
        name,
        heading: heading.0,
        heading_end: heading.1,
        report,
        processes,
        op: Op::Read,
        visit: AccessPattern::Forward,
        calls: CallKind::AtPosition,
        makes_file: false,
        is_retest: false,
    }
}

impl IozoneColumn {
    const fn writes(self) -> Self {
        Self { op: Op::Write, ..self }
    }

    const fn makes(self) -> Self {
        Self { op: Op::Write, makes_file: true, ..self }
    }

    const fn again(self) -> Self {
        Self { is_retest: true, ..self }
    }

    const fn by(self, calls: CallKind) -> Self {
        Self { calls, ..self }
    }

    const fn over(self, visit: AccessPattern) -> Self {
        Self { visit, ..self }
    }

    /// Whether its requests read and write.
    pub(super) fn is_mixed(&self) -> bool {
        self.number == MIXED
    }

    /// Whether the original moves the first record once before its clock starts: test 1 alone, by the system calls of
    /// version 3.489.
    pub(super) fn is_primed(&self) -> bool {
        self.number == 1
    }

    /// The column of this name.
    pub(super) fn named(name: &str) -> Option<&'static IozoneColumn> {
        COLUMNS.iter().find(|column| column.name == name)
    }
}

/// Every column, in the order of the table, which is that in which they are measured.
pub(super) const COLUMNS: [IozoneColumn; 22] = [
    column(0, "write", (["", "write"], 33), "Writer", "initial writers").makes(),
    column(0, "rewrite", (["", "rewrite"], 42), "Re-writer", "rewriters").writes().again(),
    column(1, "read", (["", "read"], 50), "Reader", "readers"),
    column(1, "reread", (["", "reread"], 60), "Re-Reader", "re-readers").again(),
    column(2, "random-read", (["random", "read"], 68), "Random read", "random readers")
        .over(AccessPattern::Random),
    column(2, "random-write", (["random", "write"], 78), "Random write", "random writers")
        .writes()
        .over(AccessPattern::Random),
    column(3, "bkwd-read", (["bkwd", "read"], 87), "Backward read", "reverse readers")
        .over(AccessPattern::Backward),
    column(4, "record-rewrite", (["record", "rewrite"], 97), "Record rewrite", "record rewriters")
        .writes()
        .over(AccessPattern::OneRecord),
    column(5, "stride-read", (["stride", "read"], 107), "Stride read", "stride readers")
        .over(AccessPattern::Stride),
    column(6, "fwrite", (["", "fwrite"], 116), "Fwrite", "fwriters").makes().by(CallKind::Stdio),
    column(6, "frewrite", (["", "frewrite"], 125), "Re-Fwrite", "re-fwriters")
        .writes()
        .again()
        .by(CallKind::Stdio),
    column(7, "fread", (["", "fread"], 134), "Fread", "freaders").by(CallKind::Stdio),
    column(7, "freread", (["", "freread"], 143), "Re-Fread", "re-freaders").again().by(CallKind::Stdio),
    column(9, "pwrite", (["", "pwrite"], 152), "Pwrite", "pwrite writers").makes().by(CallKind::AtOffset),
    column(9, "re-pwrite", (["", "repwrite"], 161), "Re-Pwrite", "re-pwrite writers")
        .writes()
        .again()
        .by(CallKind::AtOffset),
    column(10, "pread", (["", "pread"], 170), "Pread", "pread readers").by(CallKind::AtOffset),
    column(10, "re-pread", (["", "repread"], 179), "Re-Pread", "re-pread readers")
        .again()
        .by(CallKind::AtOffset),
    column(11, "pwritev", (["", "pwritev"], 188), "Pwritev", "pwritev writers").makes().by(CallKind::Vectors),
    column(11, "re-pwritev", (["", "repwritv"], 197), "Re-Pwritev", "re-pwritev writers")
        .writes()
        .again()
        .by(CallKind::Vectors),
    column(12, "preadv", (["", "preadv"], 206), "Preadv", "preadv readers").by(CallKind::Vectors),
    column(12, "re-preadv", (["", "repreadv"], 215), "Re-Preadv", "re-preadv readers")
        .again()
        .by(CallKind::Vectors),
    column(MIXED, "mixed", (["", "mixed"], 224), "Mixed", "mixed workload").over(AccessPattern::Random),
];

/// The columns of throughput mode in the original's order: once each but those of tests 0 and 1. The last three it does not
/// have in this mode; they run where they are asked for.
const THROUGHPUT_COLUMNS: [&str; 16] = [
    "write",
    "rewrite",
    "read",
    "reread",
    "bkwd-read",
    "stride-read",
    "random-read",
    "mixed",
    "random-write",
    "pwrite",
    "pread",
    "fwrite",
    "fread",
    "record-rewrite",
    "pwritev",
    "preadv",
];

/// Columns of the tests 0 to 7, which every table has.
pub(super) const USUAL_COLUMNS: usize = 13;

/// The columns of `tests` in the order of the table, or of throughput mode where processes run `together`, without what is
/// done once more where `retests` are left out.
pub(super) fn of_tests(tests: &[u64], retests: bool, is_throughput: bool) -> Vec<&'static IozoneColumn> {
    let is_asked = |column: &&IozoneColumn| tests.contains(&column.number) && (retests || !column.is_retest);
    if is_throughput {
        return THROUGHPUT_COLUMNS
            .iter()
            .filter_map(|name| IozoneColumn::named(name))
            .filter(is_asked)
            .collect();
    }
    COLUMNS.iter().filter(is_asked).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_column_and_every_retest_one_before_it() {
        for number in 0..=NUMBER_MAX {
            assert!(COLUMNS.iter().any(|column| column.number == number), "{number}");
        }
        for pair in COLUMNS.windows(2).filter(|pair| pair[1].is_retest) {
            assert_eq!(
                (pair[0].number, pair[0].op, pair[0].calls),
                (pair[1].number, pair[1].op, pair[1].calls)
            );
        }
        assert!(COLUMNS[..USUAL_COLUMNS].iter().all(|column| column.number < MIXED));
    }

    #[test]
    fn tests_run_by_their_numbers_and_without_retests_once() {
        let names = |tests: &[u64], retests| -> Vec<&str> {
            of_tests(tests, retests, false).iter().map(|column| column.name).collect()
        };
        assert_eq!(names(&[9, 0], true), ["write", "rewrite", "pwrite", "re-pwrite"]);
        assert_eq!(names(&[1, 0], false), ["write", "read"]);
    }

    #[test]
    fn processes_run_together_in_the_originals_order_and_under_its_names() {
        let of = |tests: &[u64], retests| -> Vec<&str> {
            of_tests(tests, retests, true).iter().map(|column| column.processes).collect()
        };
        let usual = [
            "initial writers",
            "rewriters",
            "readers",
            "re-readers",
            "reverse readers",
            "stride readers",
            "random readers",
            "mixed workload",
            "random writers",
            "pwrite writers",
            "pread readers",
            "fwriters",
            "freaders",
        ];
        assert_eq!(of(&USUAL_THROUGHPUT, true), usual);
        assert_eq!(of(&[0, 1, 6], false), ["initial writers", "readers", "fwriters"]);
        assert_eq!(
            of(&[12, 11, 4, 0], false),
            ["initial writers", "record rewriters", "pwritev writers", "preadv readers"]
        );
        // None of them is lost for a name that is misspelled.
        assert!(THROUGHPUT_COLUMNS.iter().all(|name| IozoneColumn::named(name).is_some()));
    }
}
