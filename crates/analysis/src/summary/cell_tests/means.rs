//! Rates are within their intervals: by known cases, simulated machines, and any series or trials.

use super::*;
use crate::testing::gridded;
use proptest::prelude::*;

/// How many operations the samples contain.
fn total(op_counts: &[u64]) -> u64 {
    op_counts.iter().sum()
}

fn holds_its_rate(cell: &CellSummary) -> bool {
    let Some(interval) = &cell.interval else { return true };
    let rate = cell.rate_bytes_per_s.unwrap().0;
    (interval.low..=interval.high).contains(&rate) && interval.low >= 0.0
}

#[test]
fn a_warm_up_in_the_window_widens_the_interval_around_the_rate_of_the_whole_window() {
    let cell = a_cell();
    let mut draw = Resampler::new(11);
    let counts: Vec<u64> =
        (0..240).map(|index| noisy(if index < 35 { 400.0 } else { 1_600.0 }, &mut draw)).collect();
    let found = summary_of(&cell, vec![trial(&cell, 0, total(&counts))], samples(&cell, counts));
    assert!(flagged(&found, flags::WARM_UP_IN_WINDOW), "{:?}", found.warm_up);
    assert!(found.warm_up.unwrap().rate_change_ratio > 0.1);
    let (interval, rate) = (found.interval.clone().unwrap(), found.rate_bytes_per_s.unwrap().0);
    assert!(holds_its_rate(&found), "{rate} in {interval:?}");
    assert!(
        interval.half_width_ratio(rate).unwrap() > 0.1,
        "the change is part of what varies: {interval:?}"
    );
}

#[test]
fn trials_of_different_lengths_weigh_in_the_interval_as_they_do_in_the_rate() {
    let cell = a_cell();
    let of_length = |index: u32, seconds: u64| TrialOutput {
        first_done_ns: Nanos(seconds * SECOND),
        last_done_ns: Nanos(seconds * SECOND),
        ..trial(&cell, index, 100_000)
    };
    let trials = vec![of_length(0, 1), of_length(1, 2), of_length(2, 40)];
    let found = summary_of(&cell, trials, Vec::new());
    let rate = found.rate_bytes_per_s.unwrap().0;
    assert!((rate / (300_000.0 * BLOCK as f64 / 43.0) - 1.0).abs() < 1e-12);
    assert!(holds_its_rate(&found), "{rate} in {:?}", found.interval);
}

#[test]
fn every_cell_of_every_simulated_machine_contains_its_rate_in_its_interval() {
    for machine in narrows_sim::BUILTIN {
        let name = machine.id;
        let summary = gridded(name);
        let wrong: Vec<_> = summary.cells.iter().filter(|cell| !holds_its_rate(cell)).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        assert!(summary.cells.iter().any(|cell| cell.interval.is_some()), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_series_of_a_window_has_its_rate_in_its_interval(
        counts in proptest::collection::vec(0_u64..100_000, 10..200),
        torn in 0_u64..1_000,
    ) {
        let cell = a_cell();
        // What the totals have beyond the samples is what a torn end of the window does.
        let whole = trial(&cell, 0, total(&counts) + torn);
        let found = summary_of(&cell, vec![whole], samples(&cell, counts));
        prop_assert!(holds_its_rate(&found), "{:?} in {:?}", found.rate_bytes_per_s, found.interval);
    }

    #[test]
    fn any_trials_have_their_rate_in_their_interval(
        trials in proptest::collection::vec((0_u64..1_000_000, 1_u64..100), 3..25),
    ) {
        let cell = a_cell();
        let made = trials.iter().zip(0..).map(|((op_count, seconds), index)| TrialOutput {
            first_done_ns: Nanos(seconds * SECOND),
            last_done_ns: Nanos(seconds * SECOND),
            ..trial(&cell, index, *op_count)
        });
        let found = summary_of(&cell, made.collect(), Vec::new());
        prop_assert!(holds_its_rate(&found), "{:?} in {:?}", found.rate_bytes_per_s, found.interval);
    }
}
