//! Simulated machines with one known fault, measured and refined as `check` does it: which segment the verdict names for
//! each load, beside the one that limits it in truth.
//!
//! What limits is found without any rule: the load is simulated again with one segment relieved at a time.

mod faults;
mod sooner;
mod truth;

use super::{driven, machine, once, planned, refining_cells};
use crate::case::Cases;
use crate::view::{Regime, SummaryView};
use faults::{FAULTS, InjectedFault};
use narrows_model::sim_profile::SimProfile;
use narrows_model::{Bytes, Cell, CellId, Nanos, Plan, Segment, Summary};
use narrows_stats::resample::Resampler;
use narrows_testkit::statistics::verdicts::{
    RIGHT_MIN_RATIO, ScoredLoad, UNKNOWN_MAX_RATIO, VerdictOutcome, VerdictScore, binomial_tail,
};
use sooner::StoppedCheck;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use truth::limiting_segments;

/// Uniform and log-uniform draws.
pub(crate) struct RandomDraw(pub(crate) Resampler);

impl RandomDraw {
    pub(crate) fn unit(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Log-uniform between the two.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    pub(crate) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.0.index_below(values.len()).unwrap_or(0)]
    }
}

/// Operations of one cell, with which a rate settles within about 2 %.
const OPS_MAX: u64 = 2_000;

/// The plan that `check` makes for this machine, with `seed` and bounded cells.
fn bounded_plan(profile: &SimProfile, seed: u64) -> Plan {
    let mut plan = planned(profile);
    plan.seed = seed;
    for cell in &mut plan.cells {
        cell.stop.ops_max = Some(OPS_MAX);
    }
    plan
}

/// The plan with what the first verdicts ask for, and the analysis of all of it.
fn checked_and_refined(profile: &SimProfile, seed: u64) -> (Plan, Summary) {
    let mut plan = bounded_plan(profile, seed);
    let first = driven(profile, &plan);
    let more = refining_cells(&plan, &first);
    if more.is_empty() {
        return (plan, first);
    }
    plan.cells.extend(more);
    let summary = driven(profile, &plan);
    (plan, summary)
}

/// A machine of ordinary strength, 0.6 to 1.7 times that of the healthy file server in each part.
fn ordinary(draw: &mut RandomDraw, is_remote: bool) -> SimProfile {
    let mut profile = machine(if is_remote { "ten-gigabit-nfs" } else { "local-ssd" });
    for law in [&mut profile.client_cpu, &mut profile.server_cpu, &mut profile.device] {
        let factor = draw.between(0.6, 1.7);
        law.per_op_ns = Nanos(narrows_model::units::round_to_u64(law.per_op_ns.0 as f64 * factor));
        law.variation = draw.one_of(&[0.1, 0.3, 0.8]);
        if let Some(rate) = &mut law.bytes_per_s {
            rate.0 *= draw.between(0.6, 1.7);
        }
    }
    if let Some(network) = &mut profile.network {
        let factor = draw.between(0.5, 3.0);
        network.rtt_ns = Nanos(narrows_model::units::round_to_u64(network.rtt_ns.0 as f64 * factor));
    }
    profile.file_bytes = Bytes(1 << 30);
    profile
}

/// One machine of each fault, measured and refined, by the name of its fault.
pub(crate) fn machines() -> impl Iterator<Item = (&'static str, Summary)> {
    (0u64..).zip(FAULTS).map(|(seed, fault)| {
        let profile = faulty(fault, &mut RandomDraw(Resampler::new(seed)));
        (fault.name, once(format!("fault {seed}"), || checked_and_refined(&profile, seed).1))
    })
}

fn faulty(fault: &InjectedFault, draw: &mut RandomDraw) -> SimProfile {
    let mut profile = ordinary(draw, fault.is_remote);
    (fault.inject)(&mut profile, draw);
    profile
}

/// What came of a set of machines, each checked in two ways.
#[derive(Default)]
struct Scored {
    /// By the whole plan, and what refines its verdicts.
    whole: VerdictScore,
    /// Until every load was decided.
    sooner: VerdictScore,
    /// Loads that the whole plan names rightly and the check until decided does not, and the other way round.
    lost: u32,
    gained: u32,
    /// Of each machine, the share of its planned time that this took.
    used_ratios: Vec<f64>,
}

/// Of each load, by its kind and operation: whether the verdict is right; `None` where no segment alone limits it.
type RightByLoad = BTreeMap<String, Option<bool>>;

impl Scored {
    /// Counts the loads of one machine that one of both checks alone names rightly.
    fn compare(&mut self, whole: &RightByLoad, sooner: &RightByLoad) {
        for (load, right) in whole {
            match (right, sooner.get(load)) {
                (Some(true), None | Some(Some(false))) => self.lost += 1,
                (Some(false), Some(Some(true))) => self.gained += 1,
                _ => {}
            }
        }
    }
}

/// A machine with a fault, checked in two ways, and what limits its loads in truth.
struct CheckedMachine {
    fault: &'static InjectedFault,
    seed: u64,
    /// By the whole plan.
    whole: (Plan, Summary),
    /// Until every load was decided.
    stopped: StoppedCheck,
    truths: TrueLimits,
}

/// Of each cell that a verdict may be on, the segments that limit it.
type TrueLimits = BTreeMap<CellId, BTreeSet<Segment>>;

/// Measures the machines of these seeds, each with the next kind of fault, and scores the verdicts in the order of the seeds.
fn score(seeds: std::ops::Range<u64>) -> Scored {
    let (mut due, mut scored) = (seeds.start, Scored::default());
    let next_seed = AtomicU64::new(due);
    let (sender, checked) = std::sync::mpsc::channel();
    // By one thread alone it would go on for as long as all other tests of this crate take.
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for sender in std::iter::repeat_n(sender, threads) {
            let (next_seed, seeds) = (&next_seed, &seeds);
            scope.spawn(move || {
                let next =
                    || Some(next_seed.fetch_add(1, Ordering::Relaxed)).filter(|seed| seeds.contains(seed));
                for seed in std::iter::from_fn(next) {
                    sender.send(check_machine(seed)).expect("all machines are received");
                }
            });
        }
        let mut waiting = BTreeMap::new();
        for machine in checked {
            waiting.insert(machine.seed, machine);
            while let Some(machine) = waiting.remove(&due) {
                score_machine(&machine, &mut scored);
                due += 1;
            }
        }
    });
    assert_eq!(due, seeds.end, "every machine can be checked");
    scored
}

fn check_machine(seed: u64) -> CheckedMachine {
    let fault = &FAULTS[usize::try_from(seed).unwrap_or(0) % FAULTS.len()];
    let profile = faulty(fault, &mut RandomDraw(Resampler::new(seed)));
    let whole = checked_and_refined(&profile, seed);
    let stopped = sooner::checked_sooner(&profile, seed);
    let mut truths = TrueLimits::new();
    for (plan, summary) in [(&whole.0, &whole.1), (&stopped.plan, &stopped.summary)] {
        let run = Cases::of_run(summary);
        for regime in run.view().into_iter().flat_map(SummaryView::regimes) {
            if let Some(cell) = cell_of(plan, regime) {
                truths.entry(cell.id.clone()).or_insert_with(|| limiting_segments(&profile, plan, cell));
            }
        }
    }
    CheckedMachine { fault, seed, whole, stopped, truths }
}

fn cell_of<'a>(plan: &'a Plan, regime: &Regime<'_>) -> Option<&'a Cell> {
    plan.cells.iter().find(|cell| cell.id.0 == regime.cell.id)
}

fn score_machine(machine: &CheckedMachine, scored: &mut Scored) {
    let (plan, summary) = &machine.whole;
    let whole = score_check(machine, (plan, summary), &mut scored.whole);
    let StoppedCheck { plan, summary, used_ratio } = &machine.stopped;
    scored.used_ratios.push(*used_ratio);
    let sooner = score_check(machine, (plan, summary), &mut scored.sooner);
    scored.compare(&whole, &sooner);
}

fn score_check(
    machine: &CheckedMachine,
    (plan, summary): (&Plan, &Summary),
    score: &mut VerdictScore,
) -> RightByLoad {
    let (fault, seed) = (machine.fault, machine.seed);
    let run = Cases::of_run(summary);
    let mut loads = RightByLoad::new();
    let Some(view) = run.view() else {
        score.add_failed(fault.name);
        return loads;
    };
    for regime in view.regimes() {
        let load = format!("{:?} {}", regime.kind, regime.cell.op);
        let Some(cell) = cell_of(plan, regime) else { continue };
        let truth = &machine.truths[&cell.id];
        if truth.is_empty() {
            loads.insert(load, None);
            continue; // Several limit together, none of them for half of its rate.
        }
        let outcome = add_load(score, fault, seed, summary, (view, regime), truth);
        loads.insert(load, Some(outcome == VerdictOutcome::Right));
    }
    loads
}

/// Adds what `summary` says of one load beside what is true of it; returns the outcome.
fn add_load(
    score: &mut VerdictScore,
    fault: &InjectedFault,
    seed: u64,
    summary: &Summary,
    (view, regime): (&SummaryView<'_>, &Regime<'_>),
    truth: &BTreeSet<Segment>,
) -> VerdictOutcome {
    let name = regime.name();
    // Both directions have one entry where one segment limits both.
    let same_kind = view.regimes().iter().filter(|other| other.kind == regime.kind);
    let names: Vec<String> = same_kind.map(|other| regime.name_with(other)).chain([name.clone()]).collect();
    let named = summary.diagnosis.limiting.iter().find(|entry| names.contains(&entry.regime));
    let Some(entry) = named else {
        score.add_missing(fault.name, &name);
        return VerdictOutcome::Unknown;
    };
    let outcome = match entry.segment {
        Segment::Unknown => VerdictOutcome::Unknown,
        segment if is_true(segment, truth) => VerdictOutcome::Right,
        _ => VerdictOutcome::Wrong,
    };
    let truth: Vec<&str> = truth.iter().map(|segment| segment.id()).collect();
    score.add(&ScoredLoad {
        fault: fault.name,
        setting: format!(" (seed {seed})"),
        load: &name,
        named: entry.segment.to_string(),
        confidence: entry.confidence,
        truth: truth.join(" or "),
        outcome,
    });
    if outcome != VerdictOutcome::Right {
        let texts = entry.evidence.iter().map(|evidence| format!("    {}", evidence.text));
        score.add_line(texts.collect::<Vec<_>>().join("\n"));
    }
    outcome
}

/// Whether it is one of those, or the wider segment of one.
fn is_true(named: Segment, truth: &BTreeSet<Segment>) -> bool {
    truth.iter().any(|segment| *segment == named || segment.parent() == Some(named))
}

/// Among many machines a few are at the edge between two segments: up to this share of the loads may be wrong and sure.
const SURE_AND_WRONG_MAX_RATIO: f64 = 0.005;

fn assert_good_enough(score: &VerdictScore, title: &str) {
    let report = format!("{}\n\n{}", score.loads(), score.report(title));
    assert!(score.right_ratio() >= RIGHT_MIN_RATIO, "too few verdicts are right\n{report}");
    assert!(score.unknown_ratio() <= UNKNOWN_MAX_RATIO, "too many loads are unknown\n{report}");
    let sure_and_wrong = score.sure_and_wrong_ratio();
    assert!(sure_and_wrong <= SURE_AND_WRONG_MAX_RATIO, "too many verdicts are wrong and sure\n{report}");
    assert_eq!(score.failed(), 0, "machines that could not be measured\n{report}");
}

/// Below this probability more verdicts are lost than chance loses.
const SIGNIFICANT_MAX: f64 = 0.025;

/// Most of the planned time that a check until the verdict is decided uses in the median.
const USED_MAX_RATIO: f64 = 0.5;

/// Fails where verdicts are not good enough, or where ending sooner loses more of them than it gains, by more than chance: a
/// sign test at 2.5 %.
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn assert_both_good_enough(scored: &mut Scored, title: &str) {
    let Scored { whole, sooner, lost, gained, used_ratios } = scored;
    used_ratios.sort_by(f64::total_cmp);
    let median = used_ratios[used_ratios.len() / 2];
    println!("{}", whole.report(title));
    println!("{}", sooner.report(&format!("{title}, until decided")));
    println!(
        "right: {} loads until decided, {} by the whole plan (lost {lost}, gained {gained}); median share of the planned time: \
         {median:.2}",
        sooner.right(),
        whole.right()
    );
    assert_good_enough(whole, title);
    assert_good_enough(sooner, title);
    let loads = || format!("{}\n\n{}", whole.loads(), sooner.loads());
    let chance = binomial_tail(*lost, *lost + *gained, 0.5);
    assert!(
        chance >= SIGNIFICANT_MAX,
        "{lost} verdicts are lost by ending sooner, {gained} gained\n{}",
        loads()
    );
    assert!(median <= USED_MAX_RATIO, "{median:.2} of the planned time was used");
}

#[test]
fn a_load_is_lost_where_the_shorter_check_is_wrong_on_it_or_does_not_have_it() {
    let loads = |right: &[(&str, Option<bool>)]| -> RightByLoad {
        right.iter().map(|(load, right)| ((*load).to_owned(), *right)).collect()
    };
    let whole =
        loads(&[("a", Some(true)), ("b", Some(true)), ("c", Some(false)), ("d", Some(true)), ("e", None)]);
    let sooner = loads(&[("a", Some(false)), ("c", Some(true)), ("d", None), ("e", Some(false))]);
    let mut scored = Scored::default();
    scored.compare(&whole, &sooner);
    assert_eq!((scored.lost, scored.gained), (2, 1));
}

#[test]
fn verdicts_on_one_machine_of_each_fault_by_the_whole_plan_and_until_decided() {
    let mut scored = score(0..FAULTS.len() as u64);
    assert_both_good_enough(&mut scored, "simulated machines");
    assert_eq!(
        scored.lost,
        0,
        "lost by ending sooner on always the same machines\n{}",
        scored.sooner.loads()
    );
}

#[test]
#[ignore = "400 machines; `cargo xtask lab diagnose` runs it with fresh seeds"]
#[allow(clippy::disallowed_methods, reason = "the environment says from which seed")]
fn verdicts_on_simulated_machines_with_a_known_fault() {
    const MACHINES: u64 = 400;
    let seed = std::env::var("NARROWS_MATRIX_SEED").expect("NARROWS_MATRIX_SEED has the first seed");
    let seed: u64 = seed.parse().expect("NARROWS_MATRIX_SEED is a whole number");
    let title = format!("simulated machines from seed {seed}");
    assert_both_good_enough(&mut score(seed..seed + MACHINES), &title);
}
