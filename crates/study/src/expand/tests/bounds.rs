//! Time, trials and bytes of a plan.

use super::*;

#[test]
fn what_is_past_the_time_is_dropped_from_the_end_of_the_order_and_listed() {
    let text = "target = \"null:\"\nseconds = 12\n[sweep]\ndepth = \"1..1024 x2\"\n";
    let plan = plan(text);
    let (run, late) =
        (paths(&plan).len(), plan.skipped.iter().filter(|skip| skip.reason.contains("--seconds")).count());
    assert!(run > 0 && run < 11 && late >= 11 - run, "{run} {late}");
    assert!(plan.load.planned_ns <= plan.budget_ns);
}

#[test]
fn a_time_below_the_first_cell_is_a_problem_at_its_key() {
    let text = "target = \"null:copy\"\nseconds = 1\n";
    let study = study(text);
    let problems = plan_study(&study, &facts(&study), SEED).unwrap_err();
    assert_eq!((problems.list[0].line, problems.list[0].key.as_str()), (2, "seconds"));
    assert!(problems.list[0].hint.contains("seconds = 3"), "{}", problems.list[0].hint);
}

#[test]
fn open_repetition_is_planned_with_its_fewest_trials() {
    let text = "target = \"null:\"\ncuts = []\n[stop]\nwarm_up = \"0s\"\nmeasure = \"1s\"\n[repeat]\nuntil = \"interval\"\n";
    let plan = plan(text);
    assert_eq!(plan.cells[0].trials, 20);
    // Five windows of a second with 0.15 s around each.
    assert_eq!(plan.load.planned_ns, Nanos(5_750_000_000));
}

#[test]
fn the_fewest_trials_are_five_or_what_there_may_be_at_most() {
    let fewest = |trials: &str| {
        let text = format!("target = \"null:\"\n[stop]\n{trials}\n[repeat]\nuntil = \"interval\"\n");
        let cell = paths(&plan(&text))[0].clone();
        cell.repeat.trials_min(cell.trials)
    };
    assert_eq!([fewest(""), fewest("trials = 4"), fewest("trials = 9")], [5, 4, 5]);
}

#[test]
fn the_load_is_stated_with_its_cap_its_places_and_what_is_written() {
    let text = "target = [\"/a\", \"/b\"]\ntogether = true\n[workload]\nop = \"write\"\nfile = \"1MiB\"\nmax_rate = \"1MiB/s\"\n[stop]\nwarm_up = \"0s\"\nmeasure = \"1s\"\n";
    let load = plan(text).load;
    assert_eq!(load.max_bytes_per_s, Some(1 << 20));
    assert_eq!(load.touches.len(), 2);
    assert_eq!(load.file_bytes_max, Bytes(2 << 20));
    assert_eq!(load.write_bytes_max, Some(Bytes(3 << 20)));
    assert_eq!(load.in_flight_max, 2);
}

#[test]
fn cells_that_a_count_ends_are_planned_though_their_windows_together_are_longer_than_the_budget() {
    let text = "target = \"null:\"\ncuts = []\nseconds = 60\n[stop]\nops = 1000\nmeasure = \"20s\"\n[sweep]\nblock = [\"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\"]\n";
    let counted = plan(text);
    assert_eq!((counted.cells.len(), counted.skipped.len()), (4, 0));
    assert_eq!(counted.load.planned_ns, Nanos(80_600_000_000), "at most");
    let timed = plan(&text.replace("ops = 1000\n", ""));
    assert_eq!((timed.cells.len(), timed.skipped.len()), (2, 2));
}

#[test]
fn a_count_without_a_window_is_bounded_by_the_budget_alone() {
    let text = "target = \"null:\"\ncuts = []\nseconds = 60\n[stop]\nops = 100000000\n";
    let windows = |text: &str| -> Vec<f64> {
        let found = plan(text);
        assert!(found.skipped.is_empty() && found.load.planned_ns <= found.budget_ns, "{:?}", found.load);
        found.cells.iter().map(|cell| cell.stop.measure_ns.as_secs_f64()).collect()
    };
    let one = windows(text);
    assert!(one.len() == 1 && one[0] > 50.0, "{one:?}");
    let four = windows(&format!("{text}[sweep]\nblock = [\"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\"]\n"));
    assert!(four.len() == 4 && four.iter().all(|window| (12.0..15.0).contains(window)), "{four:?}");
    assert_eq!(windows(&text.replace("ops =", "measure = \"2s\"\nops =")), [2.0]);
    assert_eq!(windows("target = \"null:\"\ncuts = []\n"), [1.5]);
}

#[test]
fn a_count_of_bytes_bounds_what_is_written_unless_a_warm_up_writes_before_it() {
    let written = |warm_up: &str| {
        let text = "target = \"/a\"\ncuts = []\n[workload]\nop = \"write\"\nfile = \"1MiB\"\n[stop]\nbytes = \"1MiB\"\n";
        plan(&format!("{text}{warm_up}")).load.write_bytes_max
    };
    assert_eq!(written(""), Some(Bytes(1 << 20)));
    assert_eq!(written("warm_up = \"1s\"\n"), None);
}

#[test]
fn what_a_command_line_asks_for_comes_before_the_file() {
    let mut study = study("target = \"null:\"\nseconds = 10\n[stop]\nmeasure = \"5s\"\ntrials = 3\n");
    study.set_seconds(100.0);
    study.set_cell_seconds(2.0);
    study.set_trials(7);
    let plan = plan_study(&study, &facts(&study), SEED).unwrap();
    assert_eq!(plan.budget_ns, Nanos(100_000_000_000));
    assert_eq!((paths(&plan)[0].trials, paths(&plan)[0].stop.measure_ns), (7, Nanos(2_000_000_000)));
}
