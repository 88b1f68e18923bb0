//! Whole texts, kept in `tests/golden`: read one before accepting a change of it.
#![allow(clippy::unwrap_used, reason = "fixtures are test code outside of test functions")]

mod fixtures;

use fixtures::{builders, cases, comparisons, studies, suites};
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Plan, Topology};
use narrows_model::workload::Arrivals;
use narrows_model::{Bytes, Cell, Cut, Inventory, Nanos, Op, Segment, Summary, Target, Workload};
use narrows_report::text::{self, Style, progress};

fn compare(name: &str, rendered: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, rendered));
}

type Case = (&'static str, fn() -> Summary);

const CASES: &[Case] = &[
    ("network", cases::network),
    ("latency", cases::latency),
    ("server_cpu", cases::server_cpu),
    ("device", cases::device),
    ("cached", cases::cached),
    ("shared_machine", cases::shared_machine),
    ("incomplete", cases::incomplete),
    ("generator_limited", cases::generator_limited),
    ("nothing_measured", cases::nothing_measured),
    ("suite_files", suites::files),
    ("suite_records", suites::records),
];

const STUDIES: &[Case] = &[
    ("study_depth_and_block", studies::depth_and_block),
    ("study_stuck", studies::stuck),
    ("study_open_loop", studies::open_loop),
    ("study_mix", studies::mix),
    ("study_interrupted", studies::interrupted),
    ("study_wrong_data", studies::wrong_data),
];

#[test]
fn comparisons_read_as_kept() {
    let cases = [
        ("compare_worse", comparisons::worse()),
        ("compare_same", comparisons::same()),
        ("compare_mixed", comparisons::mixed()),
        ("compare_undecided", comparisons::undecided()),
    ];
    for (name, (found, a, b)) in cases {
        compare(name, &text::comparison(&found, &a, &b, &Style::default()));
    }
    let (found, a, b) = comparisons::worse();
    let detail = Style { detail: true, ..Style::default() };
    compare("compare_worse_detail", &text::comparison(&found, &a, &b, &detail));
}

#[test]
fn studies_read_as_kept() {
    for (name, case) in STUDIES {
        compare(name, &text::results(&case(), &Style::default()));
    }
}

#[test]
fn a_request_that_was_left_in_flight_bounds_the_largest_time_in_every_table() {
    let detail = Style { detail: true, ..Style::default() };
    let rendered = text::study(&studies::stuck(), &detail);
    assert!(rendered.contains(" max ") && rendered.contains(">= 2.30 s"), "{rendered}");
    let mut summary = cases::network();
    let left = studies::stuck().cells[1].clone();
    let cell = summary.cells.iter_mut().find(|cell| cell.cut == Cut::Path).unwrap();
    (cell.flags, cell.in_flight.at_end) = (left.flags, left.in_flight.at_end);
    let rendered = text::verdict(&summary, &Style::default());
    let rendered = rendered.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(rendered.contains("max >= 2.30 s (") && rendered.contains("(stuck_requests)"), "{rendered}");
}

#[test]
fn the_rows_of_a_study_stand_in_the_order_of_the_sweep_whatever_ran_first() {
    let mut summary = studies::depth_and_block();
    let one = text::study(&summary, &Style::default());
    summary.cells.sort_by_key(|cell| cell.queue_depth);
    assert_eq!(text::study(&summary, &Style::default()), one);
}

#[test]
fn rounds_before_a_steady_state_are_told_beside_those_of_its_window() {
    let mut summary = studies::depth_and_block();
    assert!(!text::study(&summary, &Style::default()).contains("rounds"));
    let round = narrows_model::summary::TrialSummary {
        elapsed_s: 1.0,
        rate_bytes_per_s: narrows_model::BytesPerSec(1e6),
        ops_per_s: narrows_model::OpsPerSec(1e3),
    };
    for (cell, reached) in summary.cells.iter_mut().zip([true, false]) {
        cell.repeat.rule = narrows_model::Repeat::UntilSteady { window_trials: 5 };
        cell.repeat.reached = Some(reached);
        cell.repeat.trials_before = vec![round.clone(); if reached { 14 } else { 0 }];
        cell.trials = vec![round.clone(); if reached { 5 } else { 25 }];
    }
    let rendered = text::study(&summary, &Style::default());
    assert!(rendered.contains("14 + 5") && rendered.contains("  25  "), "{rendered}");
    assert!(rendered.contains("rounds: those before the steady state + those of its window"), "{rendered}");
}

#[test]
fn a_knee_is_told_in_the_factors_own_values_whatever_other_factors_put_in_flight() {
    let mut summary = studies::depth_and_block();
    let told = |summary: &Summary| {
        let rendered = text::study(summary, &Style::default());
        let words = rendered.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("Saturated from 4 to 16 on"), "{rendered}");
    };
    told(&summary);
    for cell in &mut summary.cells {
        cell.requested.workers = 32;
        cell.in_flight.configured *= 32;
    }
    for found in summary.sweeps.iter_mut().filter_map(|sweep| sweep.saturation.as_mut()) {
        found.knee_in_flight = found.knee_in_flight.map(|knee| knee * 32.0);
    }
    told(&summary);
}

#[test]
fn a_study_whose_limit_is_not_known_says_so_and_why() {
    let mut summary = studies::depth_and_block();
    let words = |summary: &Summary| {
        text::study(summary, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let named_nothing = words(&summary);
    assert!(named_nothing.contains("VERDICT What limits it is not known:"), "{named_nothing}");
    let mut unknown = cases::latency().diagnosis.limiting.swap_remove(0);
    unknown.segment = Segment::Unknown;
    unknown.evidence.clear();
    summary.diagnosis.limiting = vec![unknown];
    let told = words(&summary);
    assert!(told.contains("VERDICT ") && told.contains("not known: the evidence names no segment"), "{told}");
    assert!(told.contains("No cut of the path was measured beside it"), "{told}");
    for cell in &mut summary.cells {
        cell.rate_bytes_per_s = None;
        cell.cut = Cut::Generator;
    }
    summary.diagnosis.limiting.clear();
    let nothing = words(&summary);
    assert!(nothing.contains("VERDICT No verdict: nothing of the path was measured."), "{nothing}");
}

#[test]
fn a_run_whose_cells_failed_is_incomplete_by_these_and_did_not_end_early() {
    let mut summary = studies::interrupted();
    let words = |summary: &Summary| {
        text::verdict(summary, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    summary.failed = std::mem::take(&mut summary.skipped);
    summary.cells[0].flags = vec!["incomplete".to_owned()];
    summary.cells[0].id = summary.failed[0].cell.0.clone();
    let told = words(&summary);
    assert!(told.contains("all that was planned (2 cells failed)."), "{told}");
    summary.cells[0].id = "path/other".to_owned();
    let told = words(&summary);
    assert!(told.contains("all that was planned (2 cells failed, 1 cell cut short)."), "{told}");
}

#[test]
fn a_study_of_several_engines_has_no_verdict_that_mixes_them() {
    let mut summary = studies::interrupted();
    let mut uring = summary.cells[0].clone();
    uring.id = "path/engine=uring".to_owned();
    uring.factors.insert("engine".to_owned(), FactorValue::Text("uring".to_owned()));
    summary.cells.push(uring);
    summary.diagnosis.limiting = cases::latency().diagnosis.limiting;
    let rendered = text::study(&summary, &Style::default());
    assert!(rendered.contains("None: cells that differ in engine are not one path"), "{rendered}");
    assert!(!rendered.contains("Limited by") && !rendered.contains("LIMITING"), "{rendered}");
}

#[test]
fn a_study_of_null_says_why_it_has_no_verdict() {
    let mut summary = studies::interrupted();
    for cell in &mut summary.cells {
        cell.target = Target::Null { copy: false };
    }
    summary.diagnosis.limiting.clear();
    let rendered = text::study(&summary, &Style::default());
    assert!(rendered.contains("None: null: is no storage"), "{rendered}");
    assert!(!rendered.contains("PATH"), "{rendered}");
}

#[test]
fn a_plan_whose_preparation_may_pass_the_budget_says_so() {
    let mut plan = plan();
    let words =
        |plan: &Plan| text::plan(plan, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&plan).contains("prepares 256 MiB first, for at most 2.50 s"), "{}", words(&plan));
    assert!(!words(&plan).contains("may pass the budget"));
    plan.load.prefill_ns_max = Nanos(80_000_000_000);
    assert!(words(&plan).contains("for at most 80.0 s") && words(&plan).contains("may pass the budget"));
    plan.load.prefill_bytes = Bytes(0);
    assert!(!words(&plan).contains("prepares"));
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
    assert!(text::plan(&capped, &Style::default()).contains("as fast as it goes"));
    capped.cells[0].workload.arrivals = Arrivals::Poisson { ops_per_s: 5_000.0 };
    capped.cells.push(capped.cells[0].clone());
    capped.cells.last_mut().unwrap().workload.max_ops_per_s = Some(900.0);
    capped.cells.last_mut().unwrap().workload.arrivals = Arrivals::Closed;
    let rendered = text::plan(&capped, &Style::default());
    assert!(rendered.contains("at most 5.00 thousand op/s") && !rendered.contains("as fast"), "{rendered}");
}

#[test]
fn a_cell_that_was_too_short_for_the_cpu_of_a_role_has_a_dash_for_it() {
    let mut summary = cases::server_cpu();
    let cell = summary.cells.iter_mut().find(|cell| cell.cut == narrows_model::Cut::Path).unwrap();
    assert!(cell.cpu.remove(&Role::Server).is_some() && cell.cpu.contains_key(&Role::Client));
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains("12/- "), "{rendered}");
}

#[test]
fn cpu_time_below_the_machines_clock_tick_is_no_figure() {
    let mut summary = studies::depth_and_block();
    let clients = summary.cells.iter_mut().filter_map(|cell| cell.cpu.get_mut(&Role::Client));
    clients.for_each(|cpu| cpu.service_demand_s_per_op = Some(0.0));
    let rendered = text::study(&summary, &Style::default());
    assert!(rendered.contains("CPU/op") && !rendered.contains(" 0 ns"), "{rendered}");
}

#[test]
fn the_time_of_polling_threads_stands_beside_that_of_the_load_in_the_detail() {
    let mut summary = studies::mix();
    let detail = Style { detail: true, ..Style::default() };
    assert!(!text::study(&summary, &detail).contains("polling/op"));
    let cell = &mut summary.cells[0];
    cell.cpu.values_mut().for_each(|cpu| cpu.polling_s = Some(1.0));
    (cell.ops_per_s, cell.elapsed_s.last_done) = (Some(narrows_model::OpsPerSec(25_000.0)), 1.0);
    let rendered = text::study(&summary, &detail);
    assert!(rendered.contains("polling/op") && rendered.contains("40.0 us"), "{rendered}");
    assert!(!text::study(&summary, &Style::default()).contains("polling/op"));
}

#[test]
fn a_finding_about_cells_with_long_names_keeps_to_the_width() {
    let mut summary = studies::depth_and_block();
    let mut found = cases::cached().diagnosis.findings;
    for finding in &mut found {
        finding.cells = vec![format!("path/{}", "ring.registered_buffers=off/".repeat(2)); 2];
        finding.cells.push("path/other".to_owned());
    }
    assert!(!found.is_empty());
    summary.diagnosis.findings = found;
    let style = Style::default();
    let rendered = text::study(&summary, &style);
    let findings = rendered.split("FINDINGS").nth(1).unwrap();
    assert!(
        findings.contains("path/ring") && findings.lines().all(|line| line.chars().count() <= style.width),
        "{findings}"
    );
}

#[test]
fn a_run_without_a_study_shows_its_verdict() {
    let summary = cases::network();
    assert_eq!(text::results(&summary, &Style::default()), text::verdict(&summary, &Style::default()));
}

#[test]
fn verdicts_read_as_kept() {
    for (name, case) in CASES {
        compare(name, &text::verdict(&case(), &Style::default()));
    }
}

#[test]
fn a_verdict_with_detail_reads_as_kept() {
    let style = Style { detail: true, unicode: true, ..Style::default() };
    compare("network_detail", &text::verdict(&cases::network(), &style));
}

#[test]
fn with_detail_a_suite_tells_every_latency_of_every_test() {
    let style = Style { detail: true, ..Style::default() };
    let told = text::verdict(&suites::files(), &style);
    let section = told.split("\nLATENCY").nth(1).unwrap().split("\n\n").next().unwrap();
    let line = |word: &str| section.lines().find(|line| line.contains(word)).unwrap();
    let heads: Vec<&str> = line("p99.9").split_whitespace().collect();
    assert_eq!(heads, ["test", "block", "p50", "p90", "p99", "p99.9", "max"]);
    assert!(line("putc").ends_with("795 ns   894 ns   993 ns  1.19 us  1.59 us"), "{section}");
    assert!(["put_block", "rewrite", "seq_create", "ran_create"].iter().all(|test| section.contains(test)));
    assert!(!text::verdict(&suites::files(), &Style::default()).contains("LATENCY"));
}

#[test]
fn a_plan_reads_as_kept() {
    let plan = plan();
    compare("plan", &text::plan(&plan, &Style::default()));
    compare("plan_detail", &text::plan(&plan, &Style { detail: true, ..Style::default() }));
}

#[test]
fn inventories_read_as_kept() {
    let on = |nfs| Inventory {
        host: builders::host("alpha"),
        path: Some(builders::path_facts(nfs)),
        more_paths: Vec::new(),
        unknown: vec!["/sys/block/sda/queue/wbt_lat_usec: no permission".to_owned()],
    };
    compare("inventory_local", &text::inventory(&on(false), &Style::default()));
    compare("inventory_nfs", &text::inventory(&on(true), &Style { detail: true, ..Style::default() }));
}

#[test]
fn an_explanation_has_a_title_and_named_paragraphs() {
    let page = narrows_analysis::explain("network.bandwidth").unwrap();
    let rendered = text::explanation(&page, &Style::default());
    assert!(
        rendered.starts_with("network.bandwidth: the network's bandwidth\n\nPart of\n  network"),
        "{rendered}"
    );
    assert!(rendered.contains("\nHow to measure\n  "), "{rendered}");
}

#[test]
fn progress_tells_position_load_figures_and_time_left() {
    let place = progress::Place { number: 7, count: 31, remaining_ns: Some(Nanos(33_400_000_000)) };
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
    assert_eq!(progress::cell_begun(place, &cell), "[ 7/31] path read 4KiB x1 ...  (34 s left)");
    assert_eq!(progress::cell_failed(place, "path/read", "no space"), "[ 7/31] path/read FAILED: no space");
}

#[test]
fn lines_stay_within_the_width_unless_a_command_is_longer() {
    for (name, case) in CASES.iter().chain(STUDIES) {
        let rendered = text::results(&case(), &Style::default());
        for line in rendered.lines().filter(|line| !line.contains('`') && !line.contains("narrows ")) {
            assert!(line.chars().count() <= 92, "{name}: {line}");
        }
    }
}

#[test]
fn colour_only_adds_to_the_text() {
    for (name, case) in CASES.iter().chain(STUDIES) {
        let coloured = text::results(&case(), &Style { colour: true, ..Style::default() });
        assert!(coloured.contains('\u{1b}'), "{name}");
        let plain = coloured.split('\u{1b}').map(|part| match part.strip_prefix('[') {
            Some(rest) => rest.split_once('m').map_or("", |(_, text)| text),
            None => part,
        });
        assert_eq!(plain.collect::<String>(), text::results(&case(), &Style::default()), "{name}");
    }
}

#[test]
fn figures_from_a_cache_are_said_not_to_be_storage_before_any_table() {
    let rendered = text::verdict(&cases::cached(), &Style::default());
    let headline = rendered.split("\nPATH").next().unwrap();
    assert!(headline.contains("Served by the client's cache, storage not measured."), "{headline}");
}

#[test]
fn no_segment_is_fuller_than_full_and_a_raised_ceiling_is_said() {
    let mut summary = cases::device();
    let exceeded =
        summary.segments.iter_mut().find(|segment| segment.id == Segment::DeviceBandwidth).unwrap();
    exceeded.utilisation_ratio = Some(1.31);
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains("100 % raised") && !rendered.contains("131 %"), "{rendered}");
    assert!(rendered.contains("raised: the path carried more"), "{rendered}");
    assert!(!text::verdict(&cases::network(), &Style::default()).contains("raised"));
}

#[test]
fn requests_of_one_queue_and_of_two_workers_are_told_apart() {
    let mut summary = cases::network();
    let mut two = summary.cells.last().unwrap().clone();
    two.id = "path/write/1MiB/qd16/w2/c1".to_owned();
    (two.requested.workers, two.queue_depth, two.in_flight.configured) = (2, 32, 32);
    let mut one = two.clone();
    one.id = "path/write/1MiB/qd32/c1".to_owned();
    (one.requested.workers, one.requested.queue_depth) = (1, 32);
    summary.cells.extend([two, one]);
    let rendered = text::verdict(&summary, &Style::default());
    assert!(rendered.contains(" w2 x16 ") && rendered.contains("    x32 "), "{rendered}");
    assert!(rendered.contains("w2: each of two workers"), "{rendered}");
}

#[test]
fn lost_data_is_the_first_line() {
    let rendered = text::verdict(&cases::incomplete(), &Style::default());
    assert!(rendered.starts_with("DATA LOST: 33 requests failed in 3 cells"), "{rendered}");
}

#[test]
fn json_reads_back_as_the_same_summary() {
    let summary = cases::incomplete();
    let rendered = narrows_report::json::summary(&summary);
    assert!(rendered.ends_with("}\n"));
    let back: Summary = serde_json::from_str(&rendered).unwrap();
    assert_eq!(back, summary);
    assert!(rendered.starts_with("{\n  \"schema\": \"narrows.summary/1\",\n  \"narrows_version\""));
}

/// What the report of nothing measured says to do next, where it is of a suite with these cuts.
fn next_of_suite(cuts: &str, command: &str) -> String {
    let mut summary = cases::nothing_measured();
    (summary.complete, summary.study) = (true, None);
    summary.diagnosis.limiting.clear();
    summary.command = command.split(' ').map(str::to_owned).collect();
    let cuts = FactorValue::Text(cuts.to_owned());
    let options = std::collections::BTreeMap::from([("cuts".to_owned(), cuts)]);
    summary.suite = Some(narrows_model::plan::SuiteSource { name: "ioperf".to_owned(), options });
    let rendered = text::results(&summary, &Style::default());
    rendered.split_once("NEXT").map(|(_, next)| next.to_owned()).unwrap()
}

#[test]
fn what_to_do_next_after_a_suite_is_a_command_that_the_suite_takes() {
    let next = next_of_suite("measured", "narrows suite ioperf /data --cell-seconds 3 --out r");
    assert!(next.contains("narrows suite ioperf /data --cell-seconds 6"), "{next}");
    let next = next_of_suite("measured", "narrows suite iozone -a /data");
    assert!(next.contains("narrows suite iozone -a /data --cell-seconds 2"), "{next}");
    let next = next_of_suite("none", "narrows suite ioperf /data --no-verdict");
    assert!(next.contains("narrows suite ioperf /data\n") && !next.contains("--no-verdict"), "{next}");
    assert!(!next.contains(" --seconds"), "{next}");
}

#[test]
fn transactions_are_called_so_and_not_by_one_of_their_operations() {
    let mut summary = cases::network();
    let cell = summary.cells.iter_mut().find(|cell| cell.cut == Cut::Path).unwrap();
    let transactions =
        narrows_model::workload::Transactions { count: 9, read_bias: Some(5), create_bias: Some(5) };
    let set = narrows_model::workload::ObjectSet { transactions: Some(transactions), ..Default::default() };
    cell.requested.objects = Some(set);
    let rendered = text::results(&summary, &Style::default());
    assert!(rendered.contains("\n  transactions  "), "{rendered}");
}

fn plan() -> Plan {
    let cell = |cut, op, queue_depth| {
        let workload = Workload { op, queue_depth, ..Workload::default() };
        Cell {
            id: Cell::name(cut, &workload),
            cut,
            site: narrows_model::Site::Client,
            target: Target::File { path: "/srv/data".into() },
            workload,
            stop: narrows_model::Stop {
                warm_up_ns: Nanos(200_000_000),
                measure_ns: Nanos(1_500_000_000),
                bytes_max: None,
                ops_max: None,
            },
            trials: 1,
            repeat: narrows_model::Repeat::Fixed,
            more_targets: Vec::new(),
            factors: std::collections::BTreeMap::new(),
            read_only: false,
        }
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
    }
}
