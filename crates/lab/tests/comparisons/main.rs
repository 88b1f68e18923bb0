//! The campaign of `cargo xtask lab compare`: runs of paths on which nothing is changed, compared with each other, and runs of
//! a link that is 5 % faster. Prints how often `narrows compare` reports a difference; not part of `./test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

#[path = "../it/support/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "the other tests of the lab use the rest")]
mod support;

mod paths;
mod sides;

use narrows_lab::Lab;
use paths::{MEASURED_PATHS, MeasuredPath};
use sides::{Side, Verdicts};
use std::path::PathBuf;

/// Up to this share of comparisons of equal runs may report a difference: of single runs as counted, of windows of runs, which
/// are few, as far as chance allows.
const FALSE_MAX_RATIO: f64 = 0.05;
/// Below this probability there are more than chance makes.
const SIGNIFICANT_MAX: f64 = 0.025;
/// From this share of comparisons on a true difference must be found.
const FOUND_MIN_RATIO: f64 = 0.80;
/// Most comparisons for one line.
const PAIRS_MAX: usize = 200;
/// Runs of each path unless said otherwise: 435 pairs, and 21 windows of two sides of five.
const RUNS: usize = 30;

#[allow(clippy::disallowed_methods, reason = "what is measured is the environment's to say")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn run_count() -> usize {
    setting("NARROWS_COMPARE_RUNS").map_or(RUNS, |text| text.parse().unwrap())
}

fn is_wanted(name: &str) -> bool {
    setting("NARROWS_COMPARE_PATHS").is_none_or(|words| words.split(';').any(|word| name.contains(word)))
}

#[allow(clippy::print_stdout, reason = "the figures are what the run is for")]
fn print(line: &str) {
    println!("{line}");
}

#[test]
fn equal_runs_are_seldom_called_different() {
    let mut failed = Vec::new();
    for path in MEASURED_PATHS.iter().filter(|path| is_wanted(path.name)) {
        let Some(lab) = support::lab() else { return };
        let records = records(&lab, path);
        for run_count in [1, 3, 5] {
            let pairs = if run_count == 1 { all_pairs(&records) } else { windows(&records, run_count) };
            let mut verdicts = Verdicts::default();
            pairs.iter().take(PAIRS_MAX).for_each(|(a, b)| verdicts.add(&sides::compared(&lab, a, b)));
            print(&format!("{}, {run_count} a side: {verdicts}", path.name));
            let is_beyond = if run_count == 1 {
                verdicts.false_ratio() > FALSE_MAX_RATIO
            } else {
                // Windows that follow each other have most runs in common: those that have none are judged.
                let mut apart = Verdicts::default();
                let few = pairs.iter().step_by(2 * run_count);
                few.for_each(|(a, b)| apart.add(&sides::compared(&lab, a, b)));
                print(&format!("  of them without a run in common: {apart}"));
                apart.false_chance(FALSE_MAX_RATIO) < SIGNIFICANT_MAX
            };
            if is_beyond {
                failed.push(format!("{} with {run_count} a side", path.name));
            }
        }
    }
    assert!(failed.is_empty(), "equal runs are called different too often: {failed:?}");
}

fn records(lab: &Lab, path: &MeasuredPath) -> Vec<PathBuf> {
    let commands = (path.prepare)(lab);
    (0..run_count()).map(|run| sides::measured(lab, run, (commands.check)(lab), path.words)).collect()
}

/// Every pair of single runs, shuffled by a fixed step. They overlap: the share of false findings is that of independent
/// pairs, its uncertainty is that of as many runs.
fn all_pairs(records: &[PathBuf]) -> Vec<(Side, Side)> {
    let count = records.len();
    let pairs: Vec<(usize, usize)> = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect();
    // 97 has no divisor in common with the numbers of pairs of up to 97 runs but its multiples.
    let order = (0..pairs.len()).map(|index| pairs[index * 97 % pairs.len()]);
    order.map(|(a, b)| (vec![records[a].clone()], vec![records[b].clone()])).collect()
}

/// Two sides of `run_count` consecutive runs, taken in turn (A, B, B, A), from each start. They overlap too.
fn windows(records: &[PathBuf], run_count: usize) -> Vec<(Side, Side)> {
    let side = |window: &[PathBuf], is_b: bool| -> Side {
        let of_side = |index: &usize| matches!(index % 4, 1 | 2) == is_b;
        (0..window.len()).filter(of_side).map(|index| window[index].clone()).collect()
    };
    records.windows(2 * run_count).map(|window| (side(window, false), side(window, true))).collect()
}

#[test]
fn a_link_that_is_five_percent_faster_is_found_with_five_runs() {
    if !is_wanted("faster") {
        return;
    }
    let Some(lab) = support::lab() else { return };
    let link = paths::link(&lab);
    let words = "--seconds 8 --block 64KiB --depth 16";
    let rates = ["100mbit", "105mbit"];
    let mut records = [Vec::new(), Vec::new()];
    for round in 0..run_count() {
        // In turn: A, B, B, A.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for side in order {
            link.set_rate(rates[side]);
            let run = 2 * round + side;
            records[side].push(sides::measured(&lab, run, link.check(&lab), words));
        }
    }
    let mut verdicts = Verdicts::default();
    let (a, b) = (records[0].windows(5), records[1].windows(5));
    a.zip(b).for_each(|(a, b)| verdicts.add(&sides::compared(&lab, a, b)));
    print(&format!("100 against 105 Mbit/s, 5 a side: {verdicts}"));
    assert!(verdicts.better_ratio() >= FOUND_MIN_RATIO, "a difference of 5 % is found too seldom");
}

#[test]
fn two_runs_of_half_a_minute_on_a_steady_link_are_the_same() {
    if !is_wanted("same") {
        return;
    }
    let Some(lab) = support::lab() else { return };
    let link = paths::link(&lab);
    link.set_rate("100mbit");
    let record = |run| sides::measured(&lab, run, link.check(&lab), "--seconds 30");
    let (a, b) = (record(0), record(1));
    let found = sides::compared(&lab, &[a], &[b]);
    print(&format!("100 Mbit/s, two runs of 30 s: {}", found["counts"]));
    assert_eq!(found["counts"]["worse_count"], 0);
    assert_eq!(found["counts"]["better_count"], 0);
    assert!(
        found["counts"]["within_margin_count"].as_u64().unwrap() > 0,
        "the same within 3 % is not reached"
    );
}
