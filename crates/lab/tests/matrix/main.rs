//! The injection matrix of `cargo xtask lab diagnose`: real paths with one known fault each, checked as a user would, and what
//! the verdict names for each load beside what is true. Prints the confusion matrix; not part of `./test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

#[path = "../it/support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests of the lab use the rest")]
mod support;

mod cases;
mod score;

use cases::MatrixCase;
use narrows_testkit::statistics::verdicts::{RIGHT_MIN_RATIO, UNKNOWN_MAX_RATIO, VerdictScore};
use support::others::busy_loops;

/// Parts of the faults' names that are asked for; all without any.
#[allow(clippy::disallowed_methods, reason = "which cases run is the environment's to say")]
fn wanted() -> Vec<String> {
    let words = std::env::var("NARROWS_MATRIX_CASES").unwrap_or_default();
    words.split(';').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "the matrix is what the run is for")]
fn verdicts_on_paths_with_a_known_fault() {
    let mut score = VerdictScore::default();
    let wanted = wanted();
    let is_wanted =
        |case: &MatrixCase| wanted.is_empty() || wanted.iter().any(|word| case.fault.contains(word));
    for (index, case) in cases::all().enumerate().filter(|(_, case)| is_wanted(case)) {
        let Some(lab) = support::lab_with_disks() else { return };
        // Beside every second case a busy loop on one CPU of the machine, in turn.
        let has_neighbour = index % 2 == 1;
        let cpu = u32::try_from(index / 2 % 2).unwrap();
        let _neighbour = has_neighbour.then(|| busy_loops(&lab, &[cpu]));
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (case.check)(&lab)));
        match checked {
            Ok(checked) => {
                score.add_check_time(checked.wall_time);
                score::add(&mut score, case, has_neighbour, &checked.summary);
            }
            Err(_) => score.add_failed(case.fault),
        }
    }
    println!("{}\n\n{}", score.loads(), score.report("matrix"));
    assert!(score.right_ratio() >= RIGHT_MIN_RATIO, "too few verdicts are right");
    assert!(score.unknown_ratio() <= UNKNOWN_MAX_RATIO, "too many loads are unknown");
}
