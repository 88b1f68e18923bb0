//! What a plan reads as, and the progress of its cells.

use crate::compare;
use crate::fixtures::builders;
use narrows_model::costs::PlanCosts;
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Plan, Topology};
use narrows_model::workload::Arrivals;
use narrows_model::{Bytes, BytesPerSec, Cell, Cut, Nanos, Op, Segment, Target, Workload};
use narrows_report::text::{self, Style, progress};

#[test]
fn a_plan_whose_preparation_may_pass_the_budget_says_so() {
    let mut plan = plan();
    let words =
        |plan: &Plan| text::plan(plan, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&plan).contains("2.50 s at most to prepare them"), "{}", words(&plan));
    assert!(!words(&plan).contains("may exceed the budget"));
    plan.load.prefill_ns_max = Nanos(80_000_000_000);
    assert!(
        words(&plan).contains("80.0 s at most to prepare") && words(&plan).contains("may exceed the budget")
    );
    plan.load.prefill_bytes = Bytes(0);
    assert!(!words(&plan).contains("prepare"));
}

#[test]
fn a_plan_of_open_repetition_states_its_least_and_its_most() {
    let mut open = plan();
    for cell in &mut open.cells {
        cell.trials = 30;
        cell.repeat =
            narrows_model::Repeat::UntilInterval { half_width_ratio: 0.05, level: 0.95, trials_min: 3 };
    }
    let rendered = text::plan(&open, &Style { detail: true, ..Style::default() });
    assert!(rendered.contains("at least 8.50 s of load"), "{rendered}");
    assert!(rendered.contains("5.10 s in 3 trials, at most 51.0 s in 30"), "{rendered}");
}

#[test]
fn a_plan_states_the_rate_of_its_open_loops_and_caps_on_operations() {
    let mut capped = plan();
    capped.load.max_bytes_per_s = None;
    assert!(text::plan(&capped, &Style::default()).contains("unlimited"));
    capped.cells[0].workload.arrivals = Arrivals::Poisson { ops_per_s: 5_000.0 };
    capped.cells.push(capped.cells[0].clone());
    capped.cells.last_mut().unwrap().workload.max_ops_per_s = Some(900.0);
    capped.cells.last_mut().unwrap().workload.arrivals = Arrivals::Closed;
    let rendered = text::plan(&capped, &Style::default());
    assert!(rendered.contains("at most 5.00 thousand op/s") && !rendered.contains("as fast"), "{rendered}");
}

#[test]
fn costs_are_phrases_that_name_what_is_not_known_beforehand() {
    let costs = PlanCosts {
        prepared_bytes: Bytes(1 << 20),
        load_bytes: Bytes(1 << 20),
        displacing_bytes: Bytes(3 << 20),
        duration_ns: Nanos(2_000_000_000),
        ..PlanCosts::default()
    };
    let dummies = "reads dummy files of 3.00 MiB in all to displace caches, at every serving machine";
    assert_eq!(text::costs(&costs), ["moves at most 2.00 MiB", "lasts at most 2.00 s", dummies]);
    let open = PlanCosts { has_open_bytes: true, open_ns: Nanos(7_200_000_000_000), ..costs };
    assert!(
        text::costs(&open)[0].contains("beside what the path transfers in windows that time alone limits")
    );
    assert!(text::costs(&open)[1].ends_with(
        "beside the time for the bytes of its tests: 120 min on a path of 50 MB and 1000 files a second"
    ));
    let unknown =
        PlanCosts { has_open_bytes: true, open_ns: Nanos(7_200_000_000_000), ..PlanCosts::default() };
    assert_eq!(text::costs(&unknown)[0], "moves as many bytes as the path transfers in the time");
    assert_eq!(
        text::costs(&unknown)[1],
        "lasts until its bytes are transferred: 120 min on a path of 50 MB and 1000 files a second"
    );
}

#[test]
fn a_plan_reads_as_kept() {
    let plan = plan();
    compare("plan", &text::plan(&plan, &Style::default()));
    compare("plan_detail", &text::plan(&plan, &Style { detail: true, ..Style::default() }));
}

#[test]
fn progress_reports_position_load_figures_and_time_left() {
    let place = progress::RunPosition { number: 7, count: 31, remaining_ns: Some(Nanos(33_400_000_000)) };
    let cell = plan().cells.remove(0);
    let figures = progress::CellFigures {
        ops_per_s: None,
        rate_bytes_per_s: Some(narrows_model::BytesPerSec(11.2 * builders::MIB_PER_S)),
        latency_p50_ns: Some(Nanos(360_000)),
        error_count: 0,
        trial: 0,
    };
    assert_eq!(
        progress::cell_done(place, &cell, &figures),
        "[ 7/31] path read 4KiB x1: 11.2 MiB/s  p50 360 us  (34 s left)"
    );
    let failed = progress::CellFigures {
        error_count: 3,
        trial: 0,
        latency_p50_ns: None,
        rate_bytes_per_s: None,
        ops_per_s: None,
    };
    assert_eq!(
        progress::cell_done(place, &cell, &failed),
        "[ 7/31] path read 4KiB x1: -  p50 -  3 FAILED  (34 s left)"
    );
    let repeated = Cell { trials: 3, ..cell.clone() };
    assert!(
        progress::cell_done(place, &repeated, &progress::CellFigures { trial: 1, ..figures })
            .starts_with("[ 7/31] path read 4KiB x1, trial 2 of 3: 11.2 MiB/s")
    );
    let rate =
        progress::LiveRate { bytes_per_s: BytesPerSec(11.7e6), ops_per_s: narrows_model::OpsPerSec(2870.0) };
    assert_eq!(
        progress::cell_runs(place, &cell, rate),
        "[ 7/31] path read 4KiB x1: 11.2 MiB/s, 2.87k op/s now  (34 s left)"
    );
    assert_eq!(progress::cell_failed(place, "path/read", "no space"), "[ 7/31] path/read FAILED: no space");
}

fn plan() -> Plan {
    let cell = |cut, op, queue_depth| {
        let workload = Workload { op, queue_depth, ..Workload::default() };
        Cell::new(
            cut,
            Target::File { path: "/srv/data".into() },
            workload,
            narrows_model::Stop {
                warm_up_ns: Nanos(200_000_000),
                measure_ns: Nanos(1_500_000_000),
                bytes_max: None,
                ops_max: None,
            },
        )
    };
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: 7,
        target: Target::File { path: "/srv/data".into() },
        topology: Topology::Local,
        segments: vec![Segment::Generator, Segment::DeviceBandwidth],
        cells: vec![
            cell(Cut::Path, Op::Read, 1),
            cell(Cut::Generator, Op::Read, 16),
            Cell { trials: 3, read_only: true, ..cell(Cut::LocalDevice, Op::Read, 16) },
        ],
        skipped: vec![builders::skipped(
            "local-device/write/4KiB/qd1/c1",
            "the file system refuses O_DIRECT, so the device cannot be measured without its page cache",
        )],
        load: LoadStatement {
            planned_ns: Nanos(8_500_000_000),
            prefill_bytes: Bytes(256 << 20),
            prefill_ns_max: Nanos(2_500_000_000),
            file_bytes_max: Bytes(256 << 20),
            write_bytes_max: None,
            touches: vec!["/srv/data/.narrows (made and removed by narrows)".to_owned()],
            in_flight_max: 16,
            max_bytes_per_s: Some(50 << 20),
        },
        budget_ns: Nanos(60_000_000_000),
        interval_ns: Nanos(100_000_000),
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    }
}
