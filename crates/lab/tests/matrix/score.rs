//! How often the verdicts were right: by load, with Wilson's interval, and the confusion matrix.

use super::cases::MatrixCase;
use narrows_model::{Segment, Summary};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What came of one load of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoadOutcome {
    Right,
    Wrong,
    Unknown,
}

/// What came of all.
#[derive(Debug, Default)]
pub(crate) struct Score {
    lines: Vec<String>,
    right: u32,
    wrong: u32,
    unknown: u32,
    failed: u32,
    /// Wrong ones at a confidence above 0.8.
    sure_and_wrong: u32,
    confusion: BTreeMap<(String, String), u32>,
}

impl Score {
    /// Adds what a check said of each load for which the case knows what is true. A load is right if the first segment that
    /// is named for it is one of those that are true, or the parent of one.
    pub(crate) fn add(&mut self, case: &MatrixCase, has_neighbour: bool, summary: &Summary) {
        for (load, truth) in case.truth {
            let mut seen: Vec<&str> = Vec::new();
            for entry in summary.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with(load)) {
                if seen.contains(&entry.regime.as_str()) {
                    continue; // Another segment of the same load.
                }
                seen.push(&entry.regime);
                let is_true = |named: Segment| {
                    truth.iter().any(|segment| *segment == named || segment.parent() == Some(named))
                };
                let outcome = match entry.segment {
                    Segment::Unknown => LoadOutcome::Unknown,
                    named if is_true(named) => LoadOutcome::Right,
                    _ => LoadOutcome::Wrong,
                };
                self.count(outcome, entry.confidence);
                *self.confusion.entry((case.fault.to_owned(), entry.segment.to_string())).or_default() += 1;
                self.lines.push(format!(
                    "{outcome:?}: {}{}: {}: {} ({:.0} %), true: {}",
                    case.fault,
                    if has_neighbour { " beside a busy loop" } else { "" },
                    entry.regime,
                    entry.segment,
                    entry.confidence * 100.0,
                    truth.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
                ));
            }
            if seen.is_empty() {
                self.unknown += 1;
                self.lines.push(format!("Unknown: {}: nothing is said of {load}", case.fault));
            }
        }
    }

    /// A case whose check could not be run.
    pub(crate) fn fail(&mut self, case: &MatrixCase) {
        self.failed += 1;
        self.lines.push(format!("failed: {}", case.fault));
    }

    fn count(&mut self, outcome: LoadOutcome, confidence: f64) {
        match outcome {
            LoadOutcome::Right => self.right += 1,
            LoadOutcome::Unknown => self.unknown += 1,
            LoadOutcome::Wrong => {
                self.wrong += 1;
                self.sure_and_wrong += u32::from(confidence > 0.8);
            }
        }
    }

    /// Share of the loads for which a segment was named that were right.
    pub(crate) fn right_ratio(&self) -> f64 {
        f64::from(self.right) / f64::from((self.right + self.wrong).max(1))
    }

    /// Share of all loads for which no segment was named.
    pub(crate) fn unknown_ratio(&self) -> f64 {
        f64::from(self.unknown) / f64::from((self.right + self.wrong + self.unknown).max(1))
    }

    /// All of it in lines.
    pub(crate) fn report(&self) -> String {
        let mut out = self.lines.join("\n");
        let named = self.right + self.wrong;
        let _ = write!(
            out,
            "\n\nmatrix: {} of {named} named loads right ({:.1} %, 95 % interval from {:.2}), {} unknown of {} ({:.1} %), {} wrong \
             above 80 % sure, {} cases failed\n\nfault -> named, loads:\n",
            self.right,
            self.right_ratio() * 100.0,
            wilson_low(self.right, named),
            self.unknown,
            named + self.unknown,
            self.unknown_ratio() * 100.0,
            self.sure_and_wrong,
            self.failed,
        );
        for ((fault, named), count) in &self.confusion {
            let _ = writeln!(out, "{count:4}  {fault} -> {named}");
        }
        out
    }
}

/// The lower end of Wilson's 95 % interval of a share; 0 without any.
///
/// # Source
/// Wilson, J. American Statistical Association 22 (1927).
fn wilson_low(hits: u32, count: u32) -> f64 {
    const Z: f64 = 1.959_964;
    if count == 0 {
        return 0.0;
    }
    let (n, share) = (f64::from(count), f64::from(hits) / f64::from(count));
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    (centre - spread) / (1.0 + Z * Z / n)
}

#[test]
fn wilsons_lower_end_is_that_of_the_tables() {
    // R: prop.test(95, 100, correct = FALSE)$conf.int[1] = 0.8882496.
    assert!((wilson_low(95, 100) - 0.888_249_6).abs() < 1e-6);
    assert!((wilson_low(10, 10) - 0.722_467_2).abs() < 1e-6);
}
