//! What a study's results read as.

use crate::fixtures::{cases, scaling, studies};
use crate::{Case, compare};
use narrows_model::cell::FactorValue;
use narrows_model::counters::Role;
use narrows_model::{Cut, Segment, Summary, Target};
use narrows_report::text::{self, Style};

pub(crate) const STUDIES: &[Case] = &[
    ("study_depth_and_block", studies::depth_and_block),
    ("study_stuck", studies::stuck),
    ("study_open_loop", studies::open_loop),
    ("study_mix", studies::mix),
    ("study_interrupted", studies::interrupted),
    ("study_wrong_data", studies::wrong_data),
    ("study_scaling", scaling::saturated),
];

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
fn rounds_before_a_steady_state_are_reported_beside_those_of_its_window() {
    let mut summary = studies::depth_and_block();
    assert!(!text::study(&summary, &Style::default()).contains("rounds"));
    let round = narrows_model::summary::TrialSummary {
        elapsed_s: 1.0,
        rate_bytes_per_s: narrows_model::BytesPerSec(1e6),
        ops_per_s: narrows_model::OpsPerSec(1e3),
        ended_s: None,
    };
    for (cell, reached) in summary.cells.iter_mut().zip([true, false]) {
        cell.repeat.rule = narrows_model::Repeat::UntilSteady { window_trials: 5 };
        cell.repeat.reached = Some(reached);
        cell.repeat.trials_before = vec![round.clone(); if reached { 14 } else { 0 }];
        cell.trials = vec![round.clone(); if reached { 5 } else { 25 }];
    }
    let rendered = text::study(&summary, &Style::default());
    assert!(rendered.contains("14 + 5") && rendered.contains("  25  "), "{rendered}");
    assert!(rendered.contains("rounds: before the steady state + in its window"), "{rendered}");
}

#[test]
fn a_knee_is_reported_in_the_factors_own_values_whatever_other_factors_put_in_flight() {
    let mut summary = studies::depth_and_block();
    let shown = |summary: &Summary| {
        let rendered = text::study(summary, &Style::default());
        let words = rendered.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("Saturated from 4 to 16 on"), "{rendered}");
    };
    shown(&summary);
    for cell in &mut summary.cells {
        cell.requested.workers = 32;
        cell.in_flight.configured *= 32;
    }
    for found in summary.sweeps.iter_mut().filter_map(|sweep| sweep.saturation.as_mut()) {
        found.knee_in_flight = found.knee_in_flight.map(|knee| knee * 32.0);
    }
    shown(&summary);
}

#[test]
fn a_study_whose_limit_is_not_known_says_so_and_why() {
    let mut summary = studies::depth_and_block();
    let words = |summary: &Summary| {
        text::study(summary, &Style::default()).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let named_nothing = words(&summary);
    assert!(named_nothing.contains("VERDICT Not found: no cut of the path was measured"), "{named_nothing}");
    let mut unknown = cases::latency().diagnosis.limiting.swap_remove(0);
    unknown.segment = Segment::Unknown;
    unknown.evidence.clear();
    summary.diagnosis.limiting = vec![unknown];
    let shown = words(&summary);
    assert!(
        shown.contains("VERDICT ") && shown.contains("Not found: nothing that was measured was full."),
        "{shown}"
    );
    assert!(shown.contains("No cut of the path was measured"), "{shown}");
    for cell in &mut summary.cells {
        cell.rate_bytes_per_s = None;
        cell.cut = Cut::Generator;
    }
    summary.diagnosis.limiting.clear();
    let nothing = words(&summary);
    assert!(nothing.contains("VERDICT No verdict: no part of the path was measured."), "{nothing}");
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
    let shown = words(&summary);
    assert!(shown.contains("everything planned (2 cells failed)."), "{shown}");
    summary.cells[0].id = "path/other".to_owned();
    let shown = words(&summary);
    assert!(shown.contains("everything planned (2 cells failed, 1 cell cut short)."), "{shown}");
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
    assert!(rendered.contains("None: cells that differ in engine are not the same path"), "{rendered}");
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
    assert!(rendered.contains("None: null: is not storage"), "{rendered}");
    assert!(!rendered.contains("PATH"), "{rendered}");
}

#[test]
fn a_cell_that_was_too_short_for_the_cpu_of_a_role_has_a_dash_for_it() {
    let mut summary = cases::server_cpu();
    let cell = summary.cells.iter_mut().find(|cell| cell.cut == Cut::Path).unwrap();
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
fn rates_of_more_clients_read_as_kept() {
    compare("extrapolation", &text::extrapolation(&scaling::extrapolation(), &Style::default()));
}

#[test]
fn points_to_plot_have_a_field_for_each_name() {
    let text = narrows_report::csv::scaling(&scaling::saturated());
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.len() == 6 && rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    assert_eq!((rows[1][3], rows[1][9], rows[5][3], rows[5][13]), ("1", "", "16", "min"));
}
