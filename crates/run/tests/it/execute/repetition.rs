//! Trials: how many there are of each cell, and in which turn.

use super::*;

#[test]
fn a_cell_is_repeated_until_its_interval_is_narrow_or_the_time_ends() {
    let stop = StopFlag::default();
    let repeat = |half_width_ratio| narrows_model::Repeat::UntilInterval {
        half_width_ratio,
        level: 0.95,
        trials_min: 3,
    };
    for (half_width_ratio, budget_ms, fewest, most) in
        [(1e9, 60_000, 3, 3), (1e-9, 60_000, 5, 5), (1e-9, 95, 3, 3)]
    {
        let mut repeated = cell("null:", Workload::default(), false);
        (repeated.trials, repeated.repeat) = (5, repeat(half_width_ratio));
        let mut plan = plan(vec![repeated]);
        plan.budget_ns = Nanos::from_millis(budget_ms);
        let mut events = Vec::new();
        execute(&plan, Nanos(0), &mut site(&stop), None, &mut events).unwrap();
        let made = trials(&events).len();
        assert!((fewest..=most).contains(&made), "{made} trials");
        assert_eq!(trials(&events).last().unwrap().trial as usize, made - 1);
    }
}

/// A cell of 30 ms a trial with its own name that is repeated until its interval is so narrow.
fn repeated(name: &str, half_width_ratio: f64, trials: u32) -> Cell {
    let mut repeated = cell("null:", Workload::default(), false);
    repeated.id = CellId(name.to_owned());
    repeated.trials = trials;
    repeated.repeat = narrows_model::Repeat::UntilInterval { half_width_ratio, level: 0.95, trials_min: 3 };
    repeated
}

/// Names of the cells whose trials ended, in order.
fn order(events: &[Event]) -> Vec<&str> {
    trials(events).into_iter().map(|trial| trial.cell.0.as_str()).collect()
}

#[test]
fn a_noisy_cell_at_the_front_leaves_the_others_their_trials() {
    let stop = StopFlag::default();
    let cells = vec![repeated("a", 1e-9, 1000), repeated("b", 1e-9, 1000), repeated("c", 1e-9, 1000)];
    let mut plan = plan(cells);
    plan.budget_ns = Nanos::from_millis(3000);
    let mut events = Vec::new();
    let output = execute(&plan, Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::Finished, 3));
    let order = order(&events);
    for name in ["a", "b", "c"] {
        let made = order.iter().filter(|cell| **cell == name).count();
        assert!(made >= 3 && made * 2 < order.len(), "{made} of {order:?}");
    }
}

#[test]
fn time_that_is_left_in_the_end_goes_to_open_cells_a_trial_of_each_in_turn() {
    let stop = StopFlag::default();
    let cells = vec![repeated("a", 1e-9, 12), repeated("b", 1e-9, 12), repeated("c", 1e9, 12)];
    let mut plan = plan(cells);
    // What is planned and little more: a share at first has time for just three trials of each.
    plan.budget_ns = Nanos::from_millis(1550);
    let mut events = Vec::new();
    let output = execute(&plan, Nanos(0), &mut site(&stop), None, &mut events).unwrap();
    assert_eq!((output.reason, output.done_count), (EndReason::Finished, 3));
    let order = order(&events);
    let last_of_c = order.iter().rposition(|cell| *cell == "c").unwrap();
    assert_eq!(order.iter().filter(|cell| **cell == "c").count(), 3, "it is narrow enough");
    let after = &order[last_of_c + 1..];
    let turns: Vec<(&str, &str)> = after.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    assert!(turns.iter().take(2).all(|turn| *turn == ("a", "b")), "{order:?}");
    for name in ["a", "b", "c"] {
        let numbers =
            trials(&events).into_iter().filter(|trial| trial.cell.0 == name).map(|trial| trial.trial);
        assert!(numbers.eq(0..u32::try_from(order.iter().filter(|cell| **cell == name).count()).unwrap()));
    }
    assert!(order.iter().filter(|cell| **cell == "a").count() <= 12);
}
