//! Conditions on the figures of a simulated machine.

use super::condition::FailCondition;
use super::{fail_if_cells, fail_if_problems, outcomes};
use crate::testing::{Grid, gridded, plan};
use narrows_model::summary::{Interval, KindSummary, LatencySummary, ThresholdOutcome, ThresholdState};
use narrows_model::workload::OpShare;
use narrows_model::{BytesPerSec, Op, OpsPerSec, Plan, Summary};
use proptest::prelude::*;

fn one(summary: &Summary, text: &str) -> ThresholdOutcome {
    let found = outcomes(summary, &[text.to_owned()]);
    assert_eq!(found.len(), 1, "{text}: {found:?}");
    found.into_iter().next().unwrap()
}

fn a_plan() -> Plan {
    plan(&narrows_sim::builtin("local-ssd").unwrap(), Grid::default())
}

#[test]
fn a_condition_that_applies_for_the_whole_interval_fails_and_one_inside_it_is_undecided() {
    let mut summary = gridded("local-ssd");
    let cell = summary.cells.iter_mut().find(|cell| cell.id == "path/read/4KiB/qd16/c1").unwrap();
    let (rate, ops) = (cell.rate_bytes_per_s.unwrap().0, cell.ops_per_s.unwrap().0);
    cell.interval =
        Some(Interval { low: rate * 0.9, high: rate * 1.1, level: 0.95, method: "test".to_owned() });
    let state = |share: f64, sign: &str| {
        one(&summary, &format!("read 4KiB x16 iops {sign} {:.0}", ops * share)).state
    };
    assert_eq!(state(1.2, "<"), ThresholdState::Failed);
    assert_eq!(state(1.05, "<"), ThresholdState::Undecided);
    assert_eq!(state(0.95, "<"), ThresholdState::Undecided);
    assert_eq!(state(0.8, "<"), ThresholdState::Passed);
    assert_eq!(state(0.8, ">"), ThresholdState::Failed);
    assert_eq!(state(0.8, ">="), ThresholdState::Failed);
    assert_eq!(state(1.2, "<="), ThresholdState::Failed);
    let found = one(&summary, "read 4KiB x16 iops < 1");
    let interval = found.interval.unwrap();
    assert!((interval.low - ops * 0.9).abs() < 1.0 && (interval.high - ops * 1.1).abs() < 1.0);
    assert_eq!(found.unit, "ops/s");
}

#[test]
fn without_an_interval_the_figure_itself_is_compared() {
    let summary = gridded("local-ssd");
    let found = one(&summary, "read 4KiB x1 p99 > 1ns");
    assert_eq!((found.state, found.interval, found.limit), (ThresholdState::Failed, None, 1.0));
    assert_eq!(one(&summary, "read 4KiB x1 p99.9 > 1h").state, ThresholdState::Passed);
}

#[test]
fn a_kind_means_the_load_of_the_report_and_no_other_of_that_kind() {
    let summary = gridded("local-ssd");
    assert_eq!(one(&summary, "bulk read rate < 1MiB/s").cell.unwrap(), "path/read/1MiB/qd16/c1");
    assert_eq!(one(&summary, "one-at-a-time write p50 > 1h").cell.unwrap(), "path/write/4KiB/qd1/c1");
    assert_eq!(outcomes(&summary, &["bulk rate < 1MiB/s".to_owned()]).len(), 2, "one of each direction");
}

#[test]
fn what_was_not_measured_neither_passes_nor_fails() {
    let mut summary = gridded("local-ssd");
    assert_eq!(one(&summary, "read 4KiB x16 commit p99 > 1ms").state, ThresholdState::NotMeasured);
    summary.cells.clear();
    let found = one(&summary, "bulk read rate < 1MiB/s");
    assert_eq!((found.state, found.cell, found.value), (ThresholdState::NotMeasured, None, None));
}

#[test]
fn all_that_is_wrong_is_reported_at_once_with_what_is_allowed() {
    let texts = [
        "radnom read 4KiB iops < 20000",
        "bulk read speed < 5",
        "bulk read rate < 5",
        "read 4KiB p99 > 20",
        "write",
        "read write bulk random 4KiB 8KiB x1 x2 iops < 5",
        "read 3KiB iops < 5",
    ]
    .map(str::to_owned);
    let problems = fail_if_problems(&texts, &a_plan());
    for (text, expected) in [
        ("radnom read 4KiB iops < 20000", "found `radnom`; allowed of a load: bulk, random"),
        ("bulk read speed < 5", "allowed metrics: rate, iops, p50"),
        ("bulk read rate < 5", "100MiB/s"),
        ("read 4KiB p99 > 20", "20ms"),
        ("write", "LOAD METRIC < VALUE"),
        ("read write bulk", "a second operation"),
        ("read write bulk", "a second kind of load"),
        ("read write bulk", "a second block size"),
        ("read write bulk", "a second number in flight"),
        ("read 3KiB iops < 5", "its loads are: "),
    ] {
        let is_found = |problem: &String| problem.contains(text) && problem.contains(expected);
        assert!(problems.iter().any(is_found), "{text}: {problems:#?}");
    }
    assert_eq!(fail_if_problems(&["bulk read rate < 1MiB/s".to_owned()], &a_plan()), Vec::<String>::new());
}

#[test]
fn cells_that_a_condition_needs_are_measured_although_the_opening_has_none_of_them() {
    let mut plan = a_plan();
    plan.fail_if = vec!["read 64KiB x16 rate < 1MiB/s".to_owned(), "bulk read rate < 1MiB/s".to_owned()];
    let opening: Vec<_> = plan.cells.iter().filter(|cell| cell.id.0.contains("1MiB")).cloned().collect();
    let needed: Vec<String> = fail_if_cells(&plan, &opening).into_iter().map(|cell| cell.id.0).collect();
    assert_eq!(needed, ["path/read/64KiB/qd16/c1"]);
}

proptest! {
    #[test]
    fn no_text_is_too_strange_for_a_condition(text in "\\PC*") {
        let _ = FailCondition::parse(&text);
    }

    #[test]
    fn words_in_any_order_never_panic(
        words in proptest::collection::vec(
            prop_oneof![Just("bulk"), Just("read"), Just("4KiB"), Just("x"), Just("="), Just("commit"), Just("p99"), Just("<"), Just("1ms"), Just("99999999999T")],
            0..8,
        ),
    ) {
        let _ = FailCondition::parse(&words.join(" "));
    }
}

#[test]
fn a_condition_on_a_part_of_a_mix_is_about_the_requests_of_that_kind() {
    let mut summary = gridded("local-ssd");
    let id = "path/read/4KiB/qd16/c1";
    let cell = summary.cells.iter_mut().find(|cell| cell.id == id).unwrap();
    let kind = |op, ops: f64, p99: u64| KindSummary {
        op,
        block_bytes: cell.block_bytes,
        op_count: 100,
        rate_bytes_per_s: Some(BytesPerSec(ops * 4096.0)),
        ops_per_s: Some(OpsPerSec(ops)),
        latency_ns: LatencySummary { p99: Some(p99), ..cell.latency_ns },
    };
    let kinds = vec![kind(Op::Read, 7000.0, 1_000_000), kind(Op::Write, 3000.0, 9_000_000)];
    cell.requested.op_mix =
        [(Op::Read, 7.0), (Op::Write, 3.0)].map(|(op, weight)| OpShare { op, weight }).to_vec();
    (cell.kinds, cell.ops_per_s) = (kinds, Some(OpsPerSec(10_000.0)));
    cell.interval = None;
    summary.cells.retain(|cell| cell.id == id);
    let value = |text: &str| one(&summary, text).value;
    assert_eq!(value("read iops < 1"), Some(7000.0));
    assert_eq!(value("write 4KiB x16 iops < 1"), Some(3000.0));
    assert_eq!(value("write rate < 1MiB/s"), Some(3000.0 * 4096.0));
    assert_eq!(value("write p99 > 1ms"), Some(9e6));
    assert_eq!(value("x16 iops < 1"), Some(10_000.0));
    assert_eq!(value("mix iops < 1"), Some(10_000.0));
    assert!(value("mix 4KiB p99 > 1ms").is_some_and(|p99| p99 < 9e6), "all of the mix");
    let cell = summary.cells[0].clone();
    let interval = Interval { low: 0.9 * 4096e4, high: 1.1 * 4096e4, level: 0.95, method: "test".to_owned() };
    summary.cells[0].rate_bytes_per_s = Some(BytesPerSec(4096e4));
    summary.cells[0].interval = Some(interval);
    let found = one(&summary, "read iops < 7100");
    assert_eq!(found.state, ThresholdState::Undecided, "{found:?}");
    let said = super::selection::words(&cell.requested);
    assert!(said.ends_with("mix x16 (of it read or write, 4KiB)"), "{said}");
    assert!(FailCondition::parse(&format!("{} iops < 1", said.split(" (").next().unwrap())).is_ok());
    let mut plain = gridded("local-ssd");
    plain.cells.retain(|cell| cell.id == id);
    assert_eq!(one(&plain, "mix iops < 1").state, ThresholdState::NotMeasured);
}
