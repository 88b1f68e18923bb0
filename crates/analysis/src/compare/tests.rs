//! Comparisons of simulated machines: with themselves, with others, with less of them, and the other way round.

use super::*;
use crate::testing::{Grid, machine, plan};
use narrows_model::cell::FactorValue;
use narrows_model::comparison::{FigureId, Verdict, VerdictCounts};
use narrows_model::event::EndReason;
use narrows_model::sim_profile::SimProfile;
use narrows_model::{Bytes, BytesPerSec, Cut, Nanos};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// A grid of the path alone, with windows long enough for intervals of rates and times.
fn short_plan(profile: &SimProfile, seed: u64) -> Plan {
    let mut plan = plan(profile, Grid { seed, ..Grid::default() });
    let of_test = |cell: &narrows_model::Cell| {
        matches!(cell.cut, Cut::Path | Cut::NetworkStream) && cell.workload.block_bytes != Bytes(65_536)
    };
    plan.cells.retain(of_test);
    for cell in &mut plan.cells {
        // The simulator ends a window by its count.
        cell.stop.ops_max = Some(if cell.workload.block_bytes.0 > 65_536 { 1_000 } else { 10_100 });
    }
    plan.interval_ns = Nanos(10_000_000);
    plan
}

fn run_of(profile: &SimProfile, plan: &Plan) -> MeasuredRun {
    let inventory = narrows_sim::inventory(profile);
    let mut reader = RunReader::new(RunFacts::default(), plan, &inventory);
    for event in &narrows_sim::simulate(profile, plan).unwrap() {
        reader.event(event);
    }
    reader.finish()
}

fn run(name: &str, seed: u64) -> MeasuredRun {
    let profile = machine(name);
    run_of(&profile, &short_plan(&profile, seed))
}

fn compared_at(a: &MeasuredRun, b: &MeasuredRun, margin_ratio: f64) -> Comparison {
    compare(ComparisonSide { name: "a", run: a }, ComparisonSide { name: "b", run: b }, margin_ratio, "0")
}

fn compared(a: &MeasuredRun, b: &MeasuredRun) -> Comparison {
    compared_at(a, b, MARGIN_RATIO)
}

/// A machine whose device takes `factor` times as long for everything.
fn slowed(name: &str, factor: f64) -> SimProfile {
    let mut profile = machine(name);
    let law = &mut profile.device;
    law.per_op_ns = Nanos::from_secs_f64(law.per_op_ns.as_secs_f64() * factor);
    law.bytes_per_s = law.bytes_per_s.map(|rate| BytesPerSec(rate.0 / factor));
    profile
}

#[test]
fn a_machine_is_neither_better_nor_worse_than_itself() {
    for seed in 0..3 {
        let found = compared(&run("local-ssd", seed), &run("local-ssd", seed + 100));
        let decided = found.cells.iter().flat_map(|cell| &cell.figures);
        let alarms: Vec<_> = decided.filter(|figure| figure.verdict != Verdict::Undecided).collect();
        assert!(alarms.is_empty(), "seed {seed}: {alarms:#?}");
        assert_eq!((found.verdict, found.differences.len()), (Verdict::Undecided, 0));
        assert!(found.counts.within_margin_count > 0, "{:?}", found.counts);
    }
}

#[test]
fn a_device_that_takes_a_fifth_longer_makes_every_load_worse_and_its_times_longer() {
    let (fast, slow) = (machine("local-ssd"), slowed("local-ssd", 1.2));
    let (a, b) = (run_of(&fast, &short_plan(&fast, 1)), run_of(&slow, &short_plan(&slow, 2)));
    let found = compared(&a, &b);
    assert_eq!((found.verdict, found.counts.better_count), (Verdict::Worse, 0));
    assert!(found.counts.worse_count >= 6, "{:?}", found.counts);
    let first = &found.cells[0];
    assert_eq!(first.figures[0].id, FigureId::RateBytesPerS);
    assert!((1.0 / 1.25..1.0 / 1.1).contains(&first.figures[0].ratio), "{first:?}");
    let median = first.figures.iter().find(|figure| figure.id == FigureId::LatencyNsP50).unwrap();
    assert!(median.ratio > 1.1 && median.verdict == Verdict::Worse && !median.decides, "{median:?}");
}

#[test]
fn a_margin_beyond_the_difference_leaves_it_without_a_verdict_and_says_that_it_is_within() {
    let slow = slowed("local-ssd", 1.04);
    let (a, b) = (run("local-ssd", 1), run_of(&slow, &short_plan(&slow, 2)));
    let narrow = compared_at(&a, &b, 0.005);
    let wide = compared_at(&a, &b, 0.25);
    assert_eq!((narrow.verdict, wide.verdict), (Verdict::Worse, Verdict::Undecided));
    let all = VerdictCounts { within_margin_count: narrow.cells.len() as u64, ..VerdictCounts::default() };
    assert_eq!(wide.counts, all);
}

#[test]
fn what_the_load_sets_is_judged_by_its_response_times() {
    let capped = |profile: &SimProfile, seed: u64| {
        let mut plan = short_plan(profile, seed);
        plan.cells.retain(|cell| cell.workload.queue_depth == 1 && cell.workload.block_bytes == Bytes(4096));
        for cell in &mut plan.cells {
            cell.workload.max_bytes_per_s = Some(20_000_000);
            cell.stop.measure_ns = Nanos(4_000_000_000);
        }
        run_of(profile, &plan)
    };
    let (a, b) = (capped(&machine("local-ssd"), 1), capped(&slowed("local-ssd", 1.5), 2));
    let found = compared(&a, &b);
    let decides = found.cells.iter().flat_map(|cell| &cell.figures).filter(|figure| figure.decides);
    let ids: BTreeSet<FigureId> = decides.map(|figure| figure.id).collect();
    let expected = [FigureId::RateBytesPerS, FigureId::LatencyNsP50, FigureId::LatencyNsP99];
    assert_eq!(ids, BTreeSet::from(expected));
    assert_eq!(found.verdict, Verdict::Worse, "{:#?}", found.cells);
    let uncapped = compared(&a, &run("local-ssd", 3));
    let cell = uncapped.cells.iter().find(|cell| cell.cell_a == found.cells[0].cell_a).unwrap();
    assert!(cell.differences.iter().any(|found| found.what.starts_with("cap on bytes")), "{cell:?}");
    assert!(cell.figures.iter().all(|figure| figure.decides == (figure.id == FigureId::RateBytesPerS)));
}

#[test]
fn cells_without_a_counterpart_are_listed_with_what_differs() {
    let profile = machine("local-ssd");
    let (mut plan_a, mut plan_b) = (short_plan(&profile, 1), short_plan(&profile, 2));
    let dropped = plan_a.cells.remove(0);
    plan_b.cells[3].workload.workers = 2;
    let found = compared(&run_of(&profile, &plan_a), &run_of(&profile, &plan_b));
    assert_eq!(found.cells.len() + found.only_in_a.len(), plan_a.cells.len());
    assert_eq!(found.cells.len() + found.only_in_b.len(), plan_b.cells.len());
    assert_eq!((found.only_in_a.len(), found.only_in_b.len()), (1, 2));
    let changed = &plan_b.cells[3].id.0;
    let of_changed = found.only_in_a.iter().find(|cell| &cell.cell == changed).unwrap();
    assert!(of_changed.reason.contains("workers 1 here, 2 there"), "{of_changed:?}");
    assert!(found.only_in_b.iter().any(|cell| cell.cell == dropped.id.0), "{found:?}");
}

#[test]
fn cells_of_one_work_are_paired_by_name_or_factors_and_never_by_chance() {
    let profile = machine("local-ssd");
    let sized = |sizes: &[u64]| {
        let mut plan = short_plan(&profile, 1);
        let cell = plan.cells.remove(0);
        plan.cells = sizes
            .iter()
            .map(|size| {
                let mut cell = cell.clone();
                cell.id.0 = format!("file/{size}");
                cell.workload.file_bytes = Bytes(*size << 20);
                cell.factors.insert("file".to_owned(), FactorValue::Number(*size as f64));
                cell
            })
            .collect();
        run_of(&profile, &plan)
    };
    let found = compared(&sized(&[64, 128]), &sized(&[128, 256]));
    assert_eq!(found.cells.len(), 1);
    assert_eq!((found.cells[0].cell_a.as_str(), found.cells[0].cell_b.as_str()), ("file/128", "file/128"));
    assert!(found.only_in_a[0].reason.contains("it is not known which one"), "{found:?}");
    let single = compared(&sized(&[64]), &sized(&[256]));
    assert_eq!(single.cells.len(), 1, "one of a work in each run is the same work");
    assert!(single.cells[0].differences.iter().any(|found| found.what == "file"), "{:?}", single.cells);
}

#[test]
fn runs_with_nothing_in_common_have_no_verdict_and_list_everything() {
    let profile = machine("local-ssd");
    let of = |depth: u32| {
        let mut plan = short_plan(&profile, 1);
        plan.cells.retain(|cell| cell.workload.queue_depth == depth);
        run_of(&profile, &plan)
    };
    let found = compared(&of(1), &of(16));
    assert_eq!((found.cells.len(), found.verdict), (0, Verdict::Undecided));
    assert_eq!((found.only_in_a.len(), found.only_in_b.len()), (4, 4));
}

#[test]
fn what_is_not_alike_around_the_load_is_told_once_and_with_both_values() {
    let a = run("gigabit-nfs", 1);
    let mut b = run("gigabit-nfs", 2);
    assert_eq!(compared(&a, &b).differences, Vec::new());
    b.summary.narrows_version = "9.9.9".to_owned();
    let host = &mut b.summary.hosts[0].inventory.host;
    host.governor = Some("powersave".to_owned());
    host.kernel_release = Some("7.0".to_owned());
    host.memory_available_bytes = Some(Bytes(1));
    let found = compared(&a, &b).differences;
    let whats: Vec<&str> = found.iter().map(|difference| difference.what.as_str()).collect();
    assert_eq!(whats, ["narrows", "kernel of the client", "CPU governor of the client"]);
    assert_eq!((found[2].a.as_str(), found[2].b.as_str()), ("none", "powersave"));
    b.summary.hosts.retain(|host| host.server.is_none());
    let gone = compared(&a, &b).differences;
    assert!(gone.iter().any(|found| found.what == "a machine as server" && found.b == "none"), "{gone:?}");
}

#[test]
fn limits_that_moved_are_told_and_those_that_stayed_are_the_same() {
    let (a, b) = (run("local-ssd", 1), run("local-ssd", 2));
    assert!(compared(&a, &b).limits.same);
    let mut moved = b.clone();
    moved.summary.diagnosis.limiting[0].segment = narrows_model::Segment::ClientCpu;
    let limits = compared(&a, &moved).limits;
    assert!(!limits.same && limits.b[0].segments.contains(&narrows_model::Segment::ClientCpu), "{limits:?}");
}

#[test]
fn a_run_that_was_cut_off_is_compared_and_told() {
    let profile = machine("local-ssd");
    let plan = short_plan(&profile, 1);
    let inventory = narrows_sim::inventory(&profile);
    let mut reader = RunReader::new(RunFacts::default(), &plan, &inventory);
    let events = narrows_sim::simulate(&profile, &plan).unwrap();
    events.iter().take(events.len() / 2).for_each(|event| reader.event(event));
    reader.event(&Event::RunFinished { at_ns: Nanos(1), reason: EndReason::Interrupted });
    let found = compared(&run("local-ssd", 2), &reader.finish());
    assert!(found.a.complete && !found.b.complete && !found.b.doubts.is_empty());
    assert!(!found.cells.is_empty() && !found.only_in_a.is_empty());
}

#[test]
fn the_remarks_say_what_the_intervals_are_made_of_and_what_has_none() {
    let profile = machine("local-ssd");
    let repeated = |trials: u32, ops: u64| {
        let mut plan = short_plan(&profile, 1);
        for cell in &mut plan.cells {
            (cell.trials, cell.stop.ops_max) = (trials, Some(ops));
        }
        run_of(&profile, &plan)
    };
    let remarks = |a: &MeasuredRun, b: &MeasuredRun| compared(a, b).remarks.join(" ");
    let (one, three) = (repeated(1, 2_000), repeated(3, 500));
    assert!(remarks(&three, &three.clone()).contains("repetitions inside each run vary. "));
    assert!(remarks(&one, &three).contains("one window of each cell varies. "));
    let short = repeated(1, 20);
    let remarks = remarks(&one, &short);
    assert!(
        remarks.contains("8 of 8 loads cannot be decided") && remarks.contains("(in B: too short"),
        "{remarks}"
    );
}

/// The comparison the other way round, as it must come out.
fn assert_reversed(there: &Comparison, back: &Comparison) {
    assert_eq!(back.verdict, there.verdict.reversed());
    let counts = there.counts;
    let (better_count, worse_count) = (counts.worse_count, counts.better_count);
    assert_eq!(back.counts, VerdictCounts { better_count, worse_count, ..counts });
    let names = |cells: &[narrows_model::comparison::UnpairedCell]| {
        cells.iter().map(|cell| cell.cell.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&back.only_in_a), names(&there.only_in_b));
    assert_eq!(names(&back.only_in_b), names(&there.only_in_a));
    assert_eq!(back.cells.len(), there.cells.len());
    for cell in &there.cells {
        let other = back.cells.iter().find(|other| other.cell_a == cell.cell_b).unwrap();
        assert_eq!((other.verdict, other.within_margin), (cell.verdict.reversed(), cell.within_margin));
        for (one, other) in cell.figures.iter().zip(&other.figures) {
            assert_eq!((one.id, one.verdict.reversed()), (other.id, other.verdict));
            assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
            assert_eq!(one.interval.is_some(), other.interval.is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn swapping_a_and_b_swaps_the_verdict(
        slow in 0.7..1.4_f64, seed in 0..1000_u64, margin in 0.0..0.2_f64, left_out in 0..8_usize,
    ) {
        let (profile, other) = (machine("local-ssd"), slowed("local-ssd", slow));
        let (mut plan_a, plan_b) = (short_plan(&profile, seed), short_plan(&other, seed + 1));
        plan_a.cells.remove(left_out);
        let (a, b) = (run_of(&profile, &plan_a), run_of(&other, &plan_b));
        assert_reversed(&compared_at(&a, &b, margin), &compared_at(&b, &a, margin));
    }
}
