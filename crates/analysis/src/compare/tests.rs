//! Comparisons of simulated machines: with themselves, with others, with less of them, and the other way round.

use super::*;
use crate::testing::{Grid, machine, plan};
use narrows_model::cell::FactorValue;
use narrows_model::comparison::{FigureId, SpreadSource, Verdict, VerdictCounts};
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

/// Three runs of a plan that `plan` makes of a seed.
fn runs_of(profile: &SimProfile, seed: u64, plan: impl Fn(u64) -> Plan) -> Vec<MeasuredRun> {
    (0..3).map(|run| run_of(profile, &plan(seed + run))).collect()
}

fn runs(profile: &SimProfile, seed: u64) -> Vec<MeasuredRun> {
    runs_of(profile, seed, |seed| short_plan(profile, seed))
}

fn named(runs: &[MeasuredRun]) -> Vec<NamedRun> {
    let name = |(number, run): (usize, &MeasuredRun)| NamedRun { name: number.to_string(), run: run.clone() };
    runs.iter().enumerate().map(name).collect()
}

fn compared_by(a: &[MeasuredRun], b: &[MeasuredRun], noise: &[MeasuredRun], margin_ratio: f64) -> Comparison {
    let [a, b, noise] = [a, b, noise].map(named);
    let side = |name, runs| ComparisonSide { name, runs };
    let noise = (!noise.is_empty()).then(|| side("noise", &noise));
    compare(side("a", &a), side("b", &b), ComparisonBasis { margin_ratio, noise }, "0")
}

fn compared_at(a: &[MeasuredRun], b: &[MeasuredRun], margin_ratio: f64) -> Comparison {
    compared_by(a, b, &[], margin_ratio)
}

fn sides_compared(a: &[MeasuredRun], b: &[MeasuredRun]) -> Comparison {
    compared_at(a, b, MARGIN_RATIO)
}

/// Single runs.
fn compared(a: &MeasuredRun, b: &MeasuredRun) -> Comparison {
    sides_compared(std::slice::from_ref(a), std::slice::from_ref(b))
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
        let profile = machine("local-ssd");
        let found = sides_compared(&runs(&profile, 10 * seed), &runs(&profile, 10 * seed + 100));
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
    let found = sides_compared(&runs(&fast, 1), &runs(&slow, 11));
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
    let (a, b) = (runs(&machine("local-ssd"), 1), runs(&slow, 11));
    let narrow = compared_at(&a, &b, 0.005);
    let wide = compared_at(&a, &b, 0.25);
    assert_eq!((narrow.verdict, wide.verdict), (Verdict::Worse, Verdict::Undecided));
    let all = VerdictCounts { within_margin_count: narrow.cells.len() as u64, ..VerdictCounts::default() };
    assert_eq!(wide.counts, all);
}

#[test]
fn what_the_load_sets_is_evaluated_by_its_response_times() {
    let capped_plan = |profile: &SimProfile, seed: u64| {
        let mut plan = short_plan(profile, seed);
        plan.cells.retain(|cell| cell.workload.queue_depth == 1 && cell.workload.block_bytes == Bytes(4096));
        for cell in &mut plan.cells {
            cell.workload.max_bytes_per_s = Some(20_000_000);
            cell.stop.measure_ns = Nanos(4_000_000_000);
        }
        plan
    };
    let capped = |profile: &SimProfile, seed: u64| runs_of(profile, seed, |seed| capped_plan(profile, seed));
    let (a, b) = (capped(&machine("local-ssd"), 1), capped(&slowed("local-ssd", 1.5), 11));
    let found = sides_compared(&a, &b);
    let decides = found.cells.iter().flat_map(|cell| &cell.figures).filter(|figure| figure.decides);
    let ids: BTreeSet<FigureId> = decides.map(|figure| figure.id).collect();
    let expected = [FigureId::RateBytesPerS, FigureId::LatencyNsP50, FigureId::LatencyNsP99];
    assert_eq!(ids, BTreeSet::from(expected));
    assert_eq!(found.verdict, Verdict::Worse, "{:#?}", found.cells);
    let uncapped = sides_compared(&a, &runs(&machine("local-ssd"), 21));
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
fn what_differs_around_the_load_is_reported_once_with_both_values() {
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
fn limits_that_moved_are_reported_and_those_that_stayed_are_the_same() {
    let (a, b) = (run("local-ssd", 1), run("local-ssd", 2));
    assert!(compared(&a, &b).limits.same);
    let mut shorter = b.clone();
    let first = shorter.summary.diagnosis.limiting[0].regime.clone();
    shorter.summary.diagnosis.limiting.retain(|entry| entry.regime != first);
    assert!(compared(&a, &shorter).limits.same, "a load that one run lacks is no limit that moved");
    shorter.summary.diagnosis.limiting.clear();
    assert!(!compared(&a, &shorter).limits.same, "nothing is in both");
    let mut moved = b.clone();
    moved.summary.diagnosis.limiting[0].segment = narrows_model::Segment::ClientCpu;
    let limits = compared(&a, &moved).limits;
    assert!(!limits.same && limits.b[0].segments.contains(&narrows_model::Segment::ClientCpu), "{limits:?}");
}

#[test]
fn a_run_that_was_cut_off_is_compared_and_reported() {
    let profile = machine("local-ssd");
    let plan = short_plan(&profile, 1);
    let inventory = narrows_sim::inventory(&profile);
    let mut reader = RunReader::new(RunFacts::default(), &plan, &inventory);
    let events = narrows_sim::simulate(&profile, &plan).unwrap();
    events.iter().take(events.len() / 2).for_each(|event| reader.event(event));
    reader.event(&Event::RunFinished { at_ns: Nanos(1), reason: EndReason::Interrupted, detail: None });
    let found = compared(&run("local-ssd", 2), &reader.finish());
    assert!(found.a.runs[0].complete && !found.b.runs[0].complete && !found.b.runs[0].doubts.is_empty());
    assert!(!found.cells.is_empty() && !found.only_in_a.is_empty());
}

#[test]
fn the_remarks_say_where_the_variation_is_from() {
    let profile = machine("local-ssd");
    let (a, b, noise) = (runs(&profile, 1), runs(&profile, 11), runs(&profile, 21));
    let remarks = |found: Comparison| found.remarks.join(" ");
    let own = remarks(sides_compared(&a, &b));
    assert!(own.contains("computed from how much 3 runs of A and 3 runs of B differ."), "{own}");
    let pooled = remarks(compared_by(&a[..1], &b[..1], &noise, MARGIN_RATIO));
    assert!(
        pooled.contains("1 run of A and 1 run of B and 3 runs of noise differ, taken together"),
        "{pooled}"
    );
    let assumed = remarks(compared(&a[0], &b[0]));
    assert!(assumed.contains("A deviation of 45 % from run to run is assumed"), "{assumed}");
    let few = remarks(compared_by(&a[..1], &b[..1], &noise[..2], MARGIN_RATIO));
    assert!(
        few.contains("and 2 runs of noise do not show") && few.contains("three or more runs (`narrows noise"),
        "{few}"
    );
    let one_more = compared_by(&a, &b[..1], &[], MARGIN_RATIO);
    let source = one_more.cells[0].figures[0].spread.unwrap().source;
    assert_eq!(source, SpreadSource::Pooled, "three runs of one side show the variation of the single one");
}

#[test]
fn disturbed_runs_are_left_out_where_three_others_remain_and_decide_nothing_else() {
    let profile = machine("local-ssd");
    let disturb = |run: &mut MeasuredRun| {
        run.summary.cells[0].flags.push(crate::facts::flags::FOREIGN_LOAD.to_owned());
        // As if others took half of its time.
        let rate = run.summary.cells[0].rate_bytes_per_s.as_mut().unwrap();
        rate.0 /= 2.0;
    };
    let (a, mut b) = (runs(&profile, 1), runs(&profile, 11));
    b.push(run("local-ssd", 14));
    disturb(&mut b[1]);
    let found = sides_compared(&a, &b);
    let cell = &found.cells[0];
    assert_eq!((cell.runs_b.used_count, cell.runs_b.left_out_count, cell.runs_b.disturbed_count), (3, 1, 0));
    assert!((cell.figures[0].ratio - 1.0).abs() < 0.05, "{cell:?}");
    assert!(found.remarks.iter().any(|remark| remark.contains("are left out")), "{:?}", found.remarks);
    let few = sides_compared(&a, &b[..3]);
    let cell = &few.cells[0];
    assert_eq!((cell.runs_b.used_count, cell.runs_b.disturbed_count), (3, 1));
    assert_eq!((cell.verdict, cell.within_margin), (Verdict::Undecided, false));
    assert!(
        cell.figures.iter().all(|figure| figure.interval.is_none() && figure.no_interval_because.is_some())
    );
    assert!(few.remarks.iter().any(|remark| remark.contains("cannot be decided: they disturbed")), "{few:?}");
    assert!(few.cells[1].figures[0].interval.is_some(), "other loads are not affected");
    let mut busy = a.clone();
    disturb(&mut busy[0]);
    let both = sides_compared(&busy, &b[..3]);
    assert!(both.cells[0].figures[0].interval.is_some(), "of a busy machine it is part of what varies");
    assert!(both.remarks.iter().any(|remark| remark.contains("runs of both sides")), "{:?}", both.remarks);
}

#[test]
fn the_noise_of_runs_is_their_deviation_and_what_it_can_show() {
    let mut five = runs(&machine("local-ssd"), 1);
    five.extend(runs(&machine("local-ssd"), 11).into_iter().take(2));
    for (run, rate) in five.iter_mut().zip([100.0, 101.0, 99.0, 102.0, 98.0]) {
        run.summary.cells[0].rate_bytes_per_s = Some(BytesPerSec(rate * 1e6));
    }
    let named = named(&five);
    let found = noise(ComparisonSide { name: "runs", runs: &named }, "0");
    let load = &found.loads[0];
    // numpy.std(numpy.log([100, 101, 99, 102, 98]), ddof=1) by hand: 0.0158135.
    assert!((load.deviation_ratio.unwrap() - 0.015_814).abs() < 1e-5, "{load:?}");
    assert!((load.least - 98e6).abs() < 1.0 && (load.most - 102e6).abs() < 1.0, "{load:?}");
    let five_runs = load.smallest.iter().find(|smallest| smallest.run_count == 5).unwrap();
    // 2.024 deviations: `smallest_difference(5)` of crates/stats/tests/known_answers/power.py.
    assert!((five_runs.difference_ratio.ln_1p() / 0.015_814 - 2.024).abs() < 0.02, "{five_runs:?}");
    let needed: Vec<u32> = load.needed.iter().filter_map(|needed| needed.run_count).collect();
    assert_eq!(needed.len(), 3);
    assert!(needed[0] > needed[1] && needed[1] > needed[2], "{needed:?}");
    assert!(found.loads.len() >= 4 && found.remarks.is_empty(), "{:?}", found.remarks);
}

/// The run, and two whose rates are 1 % less and more: sides that take no more simulation.
fn varied(run: &MeasuredRun) -> Vec<MeasuredRun> {
    let scaled = |factor: f64| {
        let mut run = run.clone();
        let rates = run.summary.cells.iter_mut().filter_map(|cell| cell.rate_bytes_per_s.as_mut());
        rates.for_each(|rate| rate.0 *= factor);
        run
    };
    [1.0, 0.99, 1.01].map(scaled).to_vec()
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
        let (a, b) = (varied(&run_of(&profile, &plan_a)), varied(&run_of(&other, &plan_b)));
        assert_reversed(&compared_at(&a, &b, margin), &compared_at(&b, &a, margin));
    }
}
