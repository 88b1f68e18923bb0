//! Runs, sides made of them, and what `narrows compare` says of two sides.

use narrows_lab::{Lab, narrows_bin};
use narrows_testkit::statistics::verdicts::{binomial_tail, wilson};
use serde_json::Value;
use std::fmt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The records of one side.
pub(crate) type Side = Vec<PathBuf>;

/// Longer than any check here is allowed to take.
const CHECKED: Duration = Duration::from_mins(2);

/// Runs a check with its own seed, and returns its record.
pub(crate) fn measured(lab: &Lab, run: usize, mut command: Command, words: &str) -> PathBuf {
    let record = lab.scratch().join(format!("record-{run}"));
    command.args(words.split_whitespace()).args(["--quiet", "--json", "--yes"]);
    command.args(["--seed", &run.to_string(), "--out"]).arg(&record);
    let mut process = lab.start(&format!("check-{run}"), command).unwrap();
    let status = process.wait(CHECKED).unwrap();
    assert!(matches!(status.code(), Some(0 | 4)), "run {run}: {status}: {}", process.stderr().unwrap());
    record
}

/// The comparison of two sides, as it is printed for programs.
pub(crate) fn compared(lab: &Lab, a: &[PathBuf], b: &[PathBuf]) -> Value {
    let folder = tempfile::tempdir_in(lab.scratch()).unwrap();
    for (name, side) in [("a", a), ("b", b)] {
        let side_folder = folder.path().join(name);
        std::fs::create_dir(&side_folder).unwrap();
        for record in side {
            symlink(record, side_folder.join(record.file_name().unwrap())).unwrap();
        }
    }
    let output = Command::new(narrows_bin().unwrap())
        .args(["compare", "a", "b", "--json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no JSON ({error}): {}", String::from_utf8_lossy(&output.stderr)))
}

/// What many comparisons came to. Pairs that have runs in common are no independent tries: their intervals are wider than
/// those that are printed.
#[derive(Debug, Default)]
#[allow(clippy::struct_field_names, reason = "counts end in count")]
pub(crate) struct Verdicts {
    pair_count: usize,
    /// Pairs with any load that is better or worse.
    decided_count: usize,
    /// Pairs whose verdict is better.
    better_count: usize,
    /// Pairs with a load that is the same within the margin.
    same_count: usize,
    load_count: u64,
    decided_load_count: u64,
}

impl Verdicts {
    /// Takes a comparison.
    pub(crate) fn add(&mut self, found: &Value) {
        let count = |name: &str| found["counts"][name].as_u64().unwrap();
        let decided = count("better_count") + count("worse_count");
        self.pair_count += 1;
        self.decided_count += usize::from(decided > 0);
        self.better_count += usize::from(found["verdict"] == "better");
        self.same_count += usize::from(count("within_margin_count") > 0);
        self.decided_load_count += decided;
        self.load_count += decided + count("within_margin_count") + count("undecided_count");
    }

    /// The share of pairs with any difference.
    pub(crate) fn false_ratio(&self) -> f64 {
        self.decided_count as f64 / self.pair_count.max(1) as f64
    }

    /// The probability of so many pairs with a difference, or more, where `ratio` of them have one.
    pub(crate) fn false_chance(&self, ratio: f64) -> f64 {
        let [hits, all] = self.counts(self.decided_count);
        binomial_tail(hits, all, ratio)
    }

    /// Wilson's 95 % interval of the share that `count` is of the pairs.
    fn interval(&self, count: usize) -> [f64; 2] {
        let [hits, all] = self.counts(count);
        wilson(hits, all)
    }

    fn counts(&self, count: usize) -> [u32; 2] {
        [count, self.pair_count].map(|count| u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The share of pairs whose verdict is better.
    pub(crate) fn better_ratio(&self) -> f64 {
        self.better_count as f64 / self.pair_count.max(1) as f64
    }
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interval = |count: usize| {
            let ends = self.interval(count).map(|end| format!("{:.1}", end * 100.0));
            format!("95 % interval from {} to {} %", ends[0], ends[1])
        };
        write!(
            f,
            "{} of {} pairs with a difference ({}; {} of {} loads), {} better ({}), {} with a load that is the same",
            self.decided_count,
            self.pair_count,
            interval(self.decided_count),
            self.decided_load_count,
            self.load_count,
            self.better_count,
            interval(self.better_count),
            self.same_count
        )
    }
}
