//! How often verdicts on paths with a known fault are right: shares with Wilson's interval, the confusion matrix, and how
//! far the stated confidences agree with what happened.

use super::reliability::{Forecast, brier_score, reliability_table};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::Duration;

/// From this share of the named loads right, and up to this share of all unknown, verdicts are good enough.
pub const RIGHT_MIN_RATIO: f64 = 0.95;
/// See [`RIGHT_MIN_RATIO`].
pub const UNKNOWN_MAX_RATIO: f64 = 0.10;

/// Confidence above which a wrong verdict counts as a sure one.
const SURE_MIN: f64 = 0.8;
/// Rows of the reliability table.
const BINS: NonZeroUsize = NonZeroUsize::new(10).unwrap();

/// Whether the segment that was named for a load is one that limits it in truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerdictOutcome {
    /// One that does, or the wider segment that it is a part of.
    Right,
    /// Another one.
    Wrong,
    /// None was named.
    Unknown,
}

/// What was said of one load of one path.
#[derive(Debug, Clone)]
pub struct ScoredLoad<'a> {
    /// The fault, in words: a row of the confusion matrix.
    pub fault: &'a str,
    /// What else distinguishes the path, such as its seed or its neighbour.
    pub setting: String,
    /// The load.
    pub load: &'a str,
    /// The segment that was named, or `unknown`.
    pub named: String,
    /// The stated probability, 0 to 1.
    pub confidence: f64,
    /// The segments that limit it in truth.
    pub truth: String,
    /// What that comes to.
    pub outcome: VerdictOutcome,
}

/// What came of all loads.
#[derive(Debug, Default)]
pub struct VerdictScore {
    lines: Vec<String>,
    right: u32,
    wrong: u32,
    unknown: u32,
    failed: u32,
    /// Those that were wrong though sure, as lines.
    sure_and_wrong: Vec<String>,
    confusion: BTreeMap<(String, String), u32>,
    forecasts: Vec<Forecast>,
    check_times: Vec<Duration>,
}

impl VerdictScore {
    /// Adds how long the check of a path took.
    pub fn add_check_time(&mut self, wall_time: Duration) {
        self.check_times.push(wall_time);
    }

    /// Adds what was said of a load.
    pub fn add(&mut self, load: &ScoredLoad<'_>) {
        let outcome = load.outcome;
        match outcome {
            VerdictOutcome::Right => self.right += 1,
            VerdictOutcome::Unknown => self.unknown += 1,
            VerdictOutcome::Wrong => self.wrong += 1,
        }
        if outcome != VerdictOutcome::Unknown {
            let probability = load.confidence.clamp(0.0, 1.0);
            self.forecasts.push(Forecast { probability, outcome: outcome == VerdictOutcome::Right });
        }
        *self.confusion.entry((load.fault.to_owned(), load.named.clone())).or_default() += 1;
        let line = format!(
            "{outcome:?}: {}{}: {}: {} ({:.0} %), true: {}",
            load.fault,
            load.setting,
            load.load,
            load.named,
            load.confidence * 100.0,
            load.truth,
        );
        if outcome == VerdictOutcome::Wrong && load.confidence > SURE_MIN {
            self.sure_and_wrong.push(line.clone());
        }
        self.lines.push(line);
    }

    /// A load of which nothing was said.
    pub fn add_missing(&mut self, fault: &str, load: &str) {
        self.unknown += 1;
        self.lines.push(format!("Unknown: {fault}: nothing is said of {load}"));
    }

    /// A path that could not be measured.
    pub fn add_failed(&mut self, fault: &str) {
        self.failed += 1;
        self.lines.push(format!("failed: {fault}"));
    }

    /// Adds a line that is printed among the loads.
    pub fn add_line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// How many loads were named rightly.
    #[must_use]
    pub fn right(&self) -> u32 {
        self.right
    }

    /// Share of the loads for which a segment was named that were right.
    #[must_use]
    pub fn right_ratio(&self) -> f64 {
        f64::from(self.right) / f64::from((self.right + self.wrong).max(1))
    }

    /// Share of all loads for which no segment was named.
    #[must_use]
    pub fn unknown_ratio(&self) -> f64 {
        f64::from(self.unknown) / f64::from((self.right + self.wrong + self.unknown).max(1))
    }

    /// Share of the loads for which a segment was named that were wrong at a confidence above 80 %.
    #[must_use]
    pub fn sure_and_wrong_ratio(&self) -> f64 {
        self.sure_and_wrong.len() as f64 / f64::from((self.right + self.wrong).max(1))
    }

    /// Paths that could not be measured.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// Every load in a line.
    #[must_use]
    pub fn loads(&self) -> String {
        self.lines.join("\n")
    }

    /// The shares, the confusion matrix and the calibration.
    #[must_use]
    pub fn report(&self, title: &str) -> String {
        let named = self.right + self.wrong;
        let mut out = format!(
            "{title}: {} of {named} named loads right ({:.1} %, 95 % interval from {:.2}), {} unknown of {} ({:.1} %), {} wrong \
             above 80 % sure, {} cases failed\n",
            self.right,
            self.right_ratio() * 100.0,
            wilson_low(self.right, named),
            self.unknown,
            named + self.unknown,
            self.unknown_ratio() * 100.0,
            self.sure_and_wrong.len(),
            self.failed,
        );
        for line in &self.sure_and_wrong {
            let _ = writeln!(out, "  {line}");
        }
        out.push_str(&self.times());
        out.push_str("\nfault -> named, loads:\n");
        for ((fault, named), count) in &self.confusion {
            let _ = writeln!(out, "{count:4}  {fault} -> {named}");
        }
        out.push_str(&self.calibration());
        out
    }

    /// How long the checks took; empty where nobody looked.
    fn times(&self) -> String {
        let mut seconds: Vec<f64> = self.check_times.iter().map(Duration::as_secs_f64).collect();
        seconds.sort_by(f64::total_cmp);
        let Some(longest) = seconds.last() else { return String::new() };
        format!("checks took {:.1} s in the median, {longest:.1} s at most\n", seconds[seconds.len() / 2])
    }

    /// The reliability table and the Brier score beside that of a constant; empty without any verdict.
    fn calibration(&self) -> String {
        let Ok(brier) = brier_score(&self.forecasts) else { return String::new() };
        let base = self.right_ratio();
        let mut out = format!(
            "\nconfidence: Brier score {brier:.3}; always saying {:.1} % scores {:.3}\nstated, verdicts, mean stated, right:\n",
            base * 100.0,
            base * (1.0 - base),
        );
        for bin in reliability_table(&self.forecasts, BINS).into_iter().flatten() {
            if let (Some(stated), Some(observed)) = (bin.mean_predicted, bin.observed_share) {
                let _ = writeln!(
                    out,
                    "{:.1} to {:.1} {:5} {stated:.2} {observed:.2}",
                    bin.low, bin.high, bin.count
                );
            }
        }
        out
    }
}

/// The lower end of Wilson's 95 % interval of a share; 0 without any.
#[must_use]
pub fn wilson_low(hits: u32, count: u32) -> f64 {
    wilson(hits, count)[0]
}

/// Wilson's 95 % interval of a share, its lower and its upper end; 0 to 1 without any.
///
/// # Source
/// Wilson, J. American Statistical Association 22 (1927).
#[must_use]
pub fn wilson(hits: u32, count: u32) -> [f64; 2] {
    const Z: f64 = 1.959_964;
    if count == 0 {
        return [0.0, 1.0];
    }
    let (n, share) = (f64::from(count), f64::from(hits) / f64::from(count));
    let centre = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    [centre - spread, centre + spread].map(|end| (end / (1.0 + Z * Z / n)).clamp(0.0, 1.0))
}

/// The probability of `hits` or more of `count` where each is one with probability `share`; 1 without any.
///
/// # Shape
/// `count` up to a thousand: the smallest term must not be too small for a number.
#[must_use]
pub fn binomial_tail(hits: u32, count: u32, share: f64) -> f64 {
    let mut term = (1.0 - share).powf(f64::from(count));
    let mut below = 0.0;
    for k in 0..hits.min(count + 1) {
        below += term;
        term *= f64::from(count - k) / f64::from(k + 1) * share / (1.0 - share);
    }
    (1.0 - below).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_tail_is_that_of_exact_fractions() {
        for (hits, count, share, expected) in [
            (0, 5, 0.5, 1.0),
            (5, 5, 0.5, 0.031_25),
            (4, 4, 0.5, 0.062_5),
            (7, 8, 0.5, 9.0 / 256.0),
            (2, 5, 0.05, 0.022_592_5),
            (1, 3, 0.05, 0.142_625),
            (6, 5, 0.5, 0.0),
        ] {
            let found = binomial_tail(hits, count, share);
            assert!((found - expected).abs() < 1e-9, "{hits} of {count}: {found}");
        }
    }

    #[test]
    fn wilsons_lower_end_is_that_of_the_tables() {
        // R: prop.test(95, 100, correct = FALSE)$conf.int[1] = 0.8882496.
        assert!((wilson_low(95, 100) - 0.888_249_6).abs() < 1e-6);
        assert!((wilson_low(10, 10) - 0.722_467_2).abs() < 1e-6);
        assert_eq!(wilson_low(0, 0).to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn wilsons_interval_of_a_few_hits_is_that_of_the_tables() {
        // By the formula in exact fractions: 5 of 100 and its complement.
        let ([low, high], [of_rest, to_rest]) = (wilson(5, 100), wilson(95, 100));
        assert!((low - 0.021_543_7).abs() < 1e-6 && (high - 0.111_750_4).abs() < 1e-6, "{low} {high}");
        assert!((1.0 - high - of_rest).abs() < 1e-12 && (1.0 - low - to_rest).abs() < 1e-12);
        assert_eq!(wilson(0, 0).map(f64::to_bits), [0.0_f64, 1.0].map(f64::to_bits));
    }

    #[test]
    fn shares_leave_unknown_loads_out_of_the_right_ones_and_sure_errors_are_counted() {
        let mut score = VerdictScore::default();
        let mut add = |outcome, confidence, named: &str| {
            score.add(&ScoredLoad {
                fault: "slow disk",
                setting: String::new(),
                load: "bulk read",
                named: named.to_owned(),
                confidence,
                truth: "device".to_owned(),
                outcome,
            });
        };
        for _ in 0..3 {
            add(VerdictOutcome::Right, 0.9, "device");
        }
        add(VerdictOutcome::Wrong, 0.85, "server.cpu");
        add(VerdictOutcome::Unknown, 0.0, "unknown");
        assert!((score.right_ratio() - 0.75).abs() < 1e-12);
        assert!((score.unknown_ratio() - 0.2).abs() < 1e-12);
        assert!((score.sure_and_wrong_ratio() - 0.25).abs() < 1e-12);
        for seconds in [9, 4, 30] {
            score.add_check_time(Duration::from_secs(seconds));
        }
        let report = score.report("matrix");
        assert!(report.contains("checks took 9.0 s in the median, 30.0 s at most"), "{report}");
        assert!(report.contains("   3  slow disk -> device"), "{report}");
        // (3 x 0.1² + 0.85²) / 4 = 0.188125.
        assert!(report.contains("Brier score 0.188; always saying 75.0 % scores 0.188"), "{report}");
    }
}
