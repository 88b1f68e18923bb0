//! Known costs of plans of checks, studies and suites.

use super::*;
use crate::cell::Stop;
use crate::plan::{LoadStatement, PLAN_SCHEMA, StudySource, SuiteSource, Topology};
use crate::repeat::Repeat;
use crate::workload::Transactions;

const MIB: u64 = 1 << 20;
const SECOND: u64 = 1_000_000_000;

/// A cell that is measured for 10 s, changed by `change`.
fn cell(change: impl Fn(&mut Cell)) -> Cell {
    let stop = Stop { warm_up_ns: Nanos(0), measure_ns: Nanos(10 * SECOND), bytes_max: None, ops_max: None };
    let mut cell = Cell::new(Cut::Path, Target::File { path: "/a".into() }, Workload::default(), stop);
    change(&mut cell);
    cell
}

/// A plan of a check within an hour.
fn check(cells: Vec<Cell>) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: 1,
        target: Target::File { path: "/a".into() },
        topology: Topology::Local,
        segments: Vec::new(),
        cells,
        skipped: Vec::new(),
        load: LoadStatement {
            planned_ns: Nanos(0),
            prefill_bytes: Bytes(64 * MIB),
            prefill_ns_max: Nanos(5 * SECOND),
            file_bytes_max: Bytes(0),
            write_bytes_max: None,
            touches: Vec::new(),
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos(3600 * SECOND),
        interval_ns: Nanos(SECOND),
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    }
}

fn study(cells: Vec<Cell>) -> Plan {
    let source = StudySource { name: "s".to_owned(), title: None, text: String::new(), factors: Vec::new() };
    Plan { study: Some(source), ..check(cells) }
}

fn suite(cells: Vec<Cell>) -> Plan {
    Plan { suite: Some(SuiteSource::new("s", false, serde_json::Value::Null)), ..check(cells) }
}

/// Mebibytes of the loads, and whether there are others without a bound.
fn load_of(plan: &Plan) -> (u64, bool) {
    let costs = PlanCosts::from_plan(plan);
    (costs.load_bytes.0 / MIB, costs.has_open_bytes)
}

#[test]
fn a_load_that_time_alone_ends_counts_as_its_preparation_and_its_time() {
    let costs = PlanCosts::from_plan(&check(vec![cell(|_| ())]));
    assert_eq!((costs.moved_bytes(), costs.has_open_bytes), (Bytes(64 * MIB), true));
    assert_eq!((costs.duration_ns, costs.open_ns), (Nanos(15 * SECOND + 150_000_000), Nanos(0)));
    assert_eq!(costs.excesses(None), []);
}

#[test]
fn a_cap_on_the_rate_bounds_the_bytes_of_a_window() {
    let capped = |cell: &mut Cell| cell.workload.max_bytes_per_s = Some(3 * MIB);
    assert_eq!(load_of(&check(vec![cell(capped)])), (30, false));
    let operations = |cell: &mut Cell| {
        cell.workload.max_ops_per_s = Some(2.0);
        cell.workload.block_bytes = Bytes(MIB);
    };
    assert_eq!(load_of(&check(vec![cell(operations)])), (20, false));
}

#[test]
fn counts_bound_studies_and_tests_of_suites_and_not_the_windows_of_checks() {
    let counted = |cell: &mut Cell| {
        cell.stop.bytes_max = Some(Bytes(100 * MIB));
        cell.trials = 3;
    };
    assert_eq!(load_of(&study(vec![cell(counted)])), (300, false));
    assert_eq!(load_of(&suite(vec![cell(counted)])), (300, false));
    assert_eq!(load_of(&check(vec![cell(counted)])), (0, true));
    let operations = |cell: &mut Cell| {
        cell.stop.ops_max = Some(7);
        cell.workload.block_bytes = Bytes(MIB);
    };
    assert_eq!(load_of(&study(vec![cell(operations)])), (7, false));
    let rewritten = |cell: &mut Cell| {
        counted(cell);
        cell.workload.write_back_every = Some(1);
    };
    assert_eq!(load_of(&study(vec![cell(rewritten)])), (600, false));
}

#[test]
fn objects_count_with_their_bytes_at_every_client() {
    let objects =
        ObjectSet { count: 10, min_bytes: Bytes(MIB), max_bytes: Bytes(3 * MIB), ..ObjectSet::default() };
    let with = |op, objects: ObjectSet| {
        move |cell: &mut Cell| {
            cell.workload.op = op;
            cell.workload.clients = 2;
            cell.workload.objects = Some(objects);
        }
    };
    assert_eq!(load_of(&suite(vec![cell(with(Op::Put, objects))])), (40, false));
    assert_eq!(load_of(&suite(vec![cell(with(Op::Delete, objects))])), (0, false));
    let transactions = Some(Transactions { count: 5, read_bias: Some(5), create_bias: Some(5) });
    let drawn = ObjectSet { transactions, ..objects };
    assert_eq!(load_of(&suite(vec![cell(with(Op::Put, drawn))])), (60, false));
}

#[test]
fn targets_that_move_no_bytes_cost_none() {
    let nowhere = |cell: &mut Cell| {
        cell.target = Target::Null { copy: false };
        cell.stop.bytes_max = Some(Bytes(u64::MAX));
    };
    assert_eq!(load_of(&study(vec![cell(nowhere)])), (0, false));
}

#[test]
fn repetitions_count_at_their_maximum_and_the_budget_bounds_their_time() {
    let open = |cell: &mut Cell| {
        cell.trials = 100;
        cell.repeat = Repeat::UntilSteady { window_trials: 5 };
    };
    let long = PlanCosts::from_plan(&study(vec![cell(open)]));
    assert_eq!(long.duration_ns, Nanos(1020 * SECOND));
    assert_eq!(long.excesses(None), [CostExcess::Duration]);
    let short = Plan { budget_ns: COST_NS_MAX, ..study(vec![cell(open)]) };
    assert_eq!(PlanCosts::from_plan(&short).excesses(None), []);
}

#[test]
fn the_time_of_a_test_of_a_suite_is_that_of_a_slow_path_unless_a_rate_bounds_it() {
    let counted = |cell: &mut Cell| {
        cell.stop.bytes_max = Some(Bytes(100 * SLOW_BYTES_PER_S));
        cell.stop.measure_ns = Nanos(36000 * SECOND);
        cell.trials = 2;
    };
    let costs = PlanCosts::from_plan(&suite(vec![cell(counted)]));
    assert_eq!(
        (costs.duration_ns, costs.open_ns),
        (Nanos(5 * SECOND), Nanos(2 * (100 * SECOND + TRIAL_OVERHEAD_NS)))
    );
    assert_eq!(costs.excesses(Some(Bytes(u64::MAX))), []);
    let capped = |cell: &mut Cell| {
        counted(cell);
        cell.workload.max_bytes_per_s = Some(2 * SLOW_BYTES_PER_S);
    };
    let costs = PlanCosts::from_plan(&suite(vec![cell(capped)]));
    assert_eq!((costs.duration_ns, costs.open_ns), (Nanos(105 * SECOND + 2 * TRIAL_OVERHEAD_NS), Nanos(0)));
}

#[test]
fn operations_on_files_take_time_on_a_slow_path_however_small_the_files_are() {
    let transactions = Some(Transactions { count: 500_000_000, read_bias: Some(5), create_bias: Some(5) });
    let objects = ObjectSet { count: 500, max_bytes: Bytes(1), transactions, ..ObjectSet::default() };
    let many = |cell: &mut Cell| cell.workload.objects = Some(objects);
    let costs = PlanCosts::from_plan(&suite(vec![cell(many)]));
    assert!(costs.open_ns >= Nanos(500_000 * SECOND), "{costs:?}");
    assert_eq!(costs.excesses(Some(Bytes(u64::MAX))), [CostExcess::Duration]);
}

#[test]
fn what_runs_one_after_another_costs_the_sum() {
    let counted = |cell: &mut Cell| cell.stop.bytes_max = Some(Bytes(500 * SLOW_BYTES_PER_S));
    let one = PlanCosts::from_plan(&suite(vec![cell(counted)]));
    assert_eq!(one.excesses(Some(Bytes(u64::MAX))), []);
    assert_eq!(one.and(&one).excesses(Some(Bytes(u64::MAX))), [CostExcess::Duration]);
    assert_eq!(one.and(&one).moved_bytes(), Bytes(2 * one.moved_bytes().0));
}

#[test]
fn any_displaced_cache_needs_a_confirmation() {
    let displaced = |cell: &mut Cell| {
        cell.workload.cache = CacheState::Displaced { scan_bytes: Bytes(MIB) };
        cell.trials = 5;
    };
    let costs = PlanCosts::from_plan(&check(vec![cell(displaced)]));
    assert_eq!(costs.displacing_bytes, Bytes(5 * MIB));
    assert_eq!(costs.excesses(Some(Bytes(u64::MAX))), [CostExcess::DisplacedCaches]);
}

#[test]
fn four_times_the_memory_needs_none_and_a_byte_more_does() {
    let moves = |bytes| PlanCosts { load_bytes: Bytes(bytes), ..PlanCosts::default() };
    assert_eq!(moves(4 * MIB).excesses(Some(Bytes(MIB))), []);
    assert_eq!(moves(4 * MIB + 1).excesses(Some(Bytes(MIB))), [CostExcess::Bytes]);
    assert_eq!(moves(4 << 30).excesses(None), []);
    assert_eq!(moves((4 << 30) + 1).excesses(None), [CostExcess::Bytes]);
}
