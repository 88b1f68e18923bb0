//! Cells that are repeated until they are steady, and trials that a count was to end.

use super::*;
use serde_json::Value;

const ROUND_S: u64 = 10;

fn a_cell_until_steady() -> Cell {
    Cell { trials: 25, repeat: Repeat::UntilSteady { window_trials: 5 }, ..a_cell() }
}

/// Rounds with these numbers of operations, each of a time of its own.
fn rounds(cell: &Cell, op_counts: &[u64]) -> Vec<TrialOutput> {
    let round = |(index, op_count): (u32, &u64)| {
        let latency_ns = 1_000_000 * u64::from(index + 1);
        let mut response = Histogram::new();
        response.record_n(latency_ns, *op_count);
        TrialOutput { response, response_sum_ns: op_count * latency_ns, ..trial(cell, index, *op_count) }
    };
    (0..).zip(op_counts).map(round).collect()
}

#[test]
fn the_figures_of_a_steady_window_are_scipys_of_its_rounds() {
    let answers: Vec<Value> =
        serde_json::from_str(include_str!("../../../../stats/tests/known_answers/steady_window.json"))
            .unwrap();
    assert!(answers.len() > 3);
    for answer in answers {
        let op_counts: Vec<u64> =
            answer["op_counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
        let cell = a_cell_until_steady();
        let found = summary_of(&cell, rounds(&cell, &op_counts), Vec::new());
        assert_eq!((found.repeat.reached, found.steady), (Some(true), Some(true)));
        let expected = |key: &str| answer[key].as_f64().unwrap();
        let close = |found: f64, key: &str| {
            assert!((found / expected(key) - 1.0).abs() < 1e-9, "{key}: {found}, not {}", expected(key));
        };
        close(found.rate_bytes_per_s.unwrap().0, "rate_bytes_per_s");
        let interval = found.interval.unwrap();
        close(interval.low, "low");
        close(interval.high, "high");
        assert_eq!(found.trials.len(), 5);
        assert_eq!(found.repeat.trial_count, op_counts.len() as u64);
        assert_eq!(found.repeat.trials_before.len(), op_counts.len() - 5);
    }
}

#[test]
fn every_figure_of_a_steady_cell_is_that_of_its_window_and_what_went_wrong_before_stays() {
    let cell = a_cell_until_steady();
    let mut trials = rounds(&cell, &[20_000, 40_000, 80_000, 100_000, 101_000, 99_000, 100_500, 100_000]);
    let client = |user_s: u64| narrows_model::trial::ClientTotals {
        client_index: 0,
        host: "host".to_owned(),
        op_count: 1,
        bytes: Bytes(BLOCK),
        elapsed_ns: Nanos(ROUND_S * SECOND),
        user_ns: Nanos(user_s * SECOND),
        system_ns: Nanos(0),
        waiting_ns: None,
    };
    for (trial, user_s) in trials.iter_mut().zip([9, 9, 9, 1, 1, 1, 1, 1]) {
        trial.clients = vec![client(user_s)];
    }
    trials[0].errors = vec![narrows_model::fault::ErrorCount {
        op: Op::Read,
        errno: "EIO".to_owned(),
        first_message: "a bad block".to_owned(),
        count: 3,
    }];
    let series = samples(&cell, vec![1_000; 100]);
    let found = summary_of(&cell, trials, series);
    let ops = [100_000, 101_000, 99_000, 100_500, 100_000].iter().sum::<u64>();
    assert!((found.ops_per_s.unwrap().0 - ops as f64 / 50.0).abs() < 1e-6);
    assert!((found.elapsed_s.last_done - 50.0).abs() < 1e-9);
    assert!(found.latency_ns.p50.unwrap() > 5_000_000 && found.latency_ns.max.unwrap() < 8_100_000);
    assert!((found.per_client[0].user_s - 5.0).abs() < 1e-9, "{:?}", found.per_client);
    assert_eq!(found.warm_up, None, "the only series is that of the first round");
    assert_eq!(found.errors.len(), 1);
    let before: Vec<f64> = found.repeat.trials_before.iter().map(|trial| trial.ops_per_s.0).collect();
    assert_eq!(before, [2_000.0, 4_000.0, 8_000.0]);
}

#[test]
fn rounds_that_reached_no_steady_state_all_count() {
    let cell = a_cell_until_steady();
    let op_counts = [100_000, 120_000, 140_000, 160_000, 180_000, 200_000];
    let found = summary_of(&cell, rounds(&cell, &op_counts), Vec::new());
    assert_eq!((found.repeat.reached, found.trials.len()), (Some(false), 6));
    assert!(flagged(&found, flags::STEADY_NOT_REACHED) && found.repeat.trials_before.is_empty());
    assert!((found.ops_per_s.unwrap().0 - 15_000.0).abs() < 1e-6);
}

#[test]
fn a_count_that_time_cut_short_is_reported_and_one_that_was_done_is_not() {
    let mut cell = a_cell();
    cell.stop.measure_ns = Nanos(ROUND_S * SECOND);
    cell.stop.ops_max = Some(1_000_000);
    let is_flagged = |cell: &Cell, op_count: u64| {
        flagged(&summary_of(cell, vec![trial(cell, 0, op_count)], Vec::new()), flags::COUNT_NOT_REACHED)
    };
    assert!(is_flagged(&cell, 999_999) && !is_flagged(&cell, 1_000_000));
    (cell.stop.ops_max, cell.stop.bytes_max) = (None, Some(Bytes(1_000 * BLOCK + 7)));
    assert!(
        is_flagged(&cell, 999) && !is_flagged(&cell, 1_000),
        "what is less than a block is not asked for"
    );
    cell.workload.max_bytes_per_s = Some(999 * BLOCK / ROUND_S);
    assert!(!is_flagged(&cell, 999), "a cap that was reached asked for no more");
    (cell.workload.max_bytes_per_s, cell.stop.bytes_max) = (None, None);
    assert!(!is_flagged(&cell, 1));
}
