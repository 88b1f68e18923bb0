//! The application asks for too little at once, and nothing on the path is full.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::case::table::{self, ObservationTable};
use crate::method::curve::{self, CurveStep, StepShape};
use crate::method::gain::RateGain;
use crate::method::saturation::{self, LoadLine};
use crate::method::{self, think};
use crate::text;
use crate::thresholds::{BEYOND_RATIO, DOUBLED_GAIN_MAX, GAIN_RATIO, INFERRED_CONFIDENCE};
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "too-little-concurrency",
    slug: "concurrency",
    segment: Segment::WorkloadConcurrency,
    title: "the application has too few requests in flight",
    definition: "The requested number of requests is in flight, no segment is full, and the time of one request is \
                 spent on one stage after the other. The same path is faster with more requests in flight. Where the \
                 load was measured at increasing concurrency (depth, else workers, else clients), the knee of that \
                 series decides: concurrency limits below the knee, and where the last doubling still adds 3 %; from \
                 the knee on it is cleared. If the series does not decide, nothing is reported. A gain does not count \
                 if the errors of the two rates explain it: those of their intervals, and at least one queue's worth \
                 of requests (a cell of 27 operations with 16 in flight is off by up to 16 of 27). Nor does a gain \
                 above what concurrency can give: k times as many requests give at most k times the rate. Where nothing \
                 deeper was measured, nothing is reported. It is 80 % sure at most of several requests in flight (what \
                 they wait for may limit as well), and where more of them give less than twice the rate (a segment twice as \
                 strong may gain as much). For an observation only the number is known: one request at a \
                 time, if no known segment was full, with a confidence of 0.7 at most; it is cleared where another one that differs in \
                 nothing else has more in flight and less than 1.1 times the rate. Observations of several requests, threads \
                 or jobs are limited by their number where the rate follows it: by half of what is added or more, on a \
                 logarithmic scale.",
    formula: "in flight (rate x response time) = requested within a tenth; limits: fewer than at the knee and 1.1 x \
              the rate there, or a last doubling that adds 3 % or more; without a line of doublings: 1.1 x the rate \
              with more in flight; any such gain above two standard errors, of one rate at least in flight / (2 x operations); clears: at or above the knee; in a file \
              requests in flight <= 1",
    source: "Little, Operations Research 9 (1961); asymptotic bounds of Denning and Buzen (1978)",
    example: "4 KiB reads one at a time: 97 op/s; 16 at a time: 1 540 op/s; doubling the depth 16 -> 32 added 1.2 %, \
              saturated from depth 16 on",
    how_to_measure: Some(
        "sweep the depth (a synchronous engine's workers) by doublings, in a study or with \
                     `narrows check --deep`, until a doubling adds under 3 %",
    ),
    how_to_write: Some("give in_flight_configured, and repeat with more"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let mut verdicts = cases.evaluate_cells(evaluate);
    let series = cases.table().map(ObservationTable::in_flight_series).unwrap_or_default();
    verdicts.extend(cases.evaluate_loads(|case| {
        let one = case.observation().filter(|_| case.is_single)?;
        Some(observed(one, with_more(&series, one)))
    }));
    verdicts.extend(cases.table().map(along_curves).unwrap_or_default());
    verdicts
}

/// Observations whose rate follows what is asked for at once. One at a time is said already; each of more clients asks for
/// no more.
fn along_curves(table: &ObservationTable<'_>) -> Vec<SegmentVerdict> {
    let curves = table.load_curves();
    let own = curves.iter().filter(|series| !series.has_clients());
    let follows = own.flat_map(|series| curve::steps(table, series)).filter(|step| {
        let is_single = step.fewer.in_flight_configured.is_some_and(|asked| asked <= 1.0);
        step.shape == StepShape::Follows && !is_single
    });
    let limits = |step: CurveStep<'_, '_>| {
        let verdict = SegmentVerdict::new(RULE.segment, &step.fewer.id, Stance::Limits, Basis::State, 1.0);
        let verdict = verdict.with_tier(Tier::Fallback).with_confidence_max(INFERRED_CONFIDENCE);
        let verdict = verdict.with_relief_gain(Some(step.faster.high));
        verdict.with_evidence(step.text(), "rates with more and more in flight", "")
    };
    follows.map(limits).collect()
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let measured = cell.in_flight.measured?;
    let asked = cell.in_flight.configured;
    if think::dominates(cell) {
        return None; // How many are in flight is the users' doing.
    }
    if !method::reached_depth(cell)? {
        return None; // Not the load that was asked for: it neither blames nor clears what was asked.
    }
    let line = saturation::line(view, cell);
    let more = line.as_ref().map_or_else(|| deepest(view, cell), LoadLine::best);
    let more = more.filter(|more| more.in_flight.configured > asked);
    let gain = more.and_then(|more| RateGain::between(cell, more));
    if more.zip(gain).is_some_and(|(more, gain)| is_beyond(asked, more, gain)) {
        return None; // Something else limited one of the two.
    }
    let stance = stance(line.as_ref(), gain)?;
    let faster = more.zip(gain).map(|(more, gain)| {
        format!("; {} in flight give {:.2} times the rate", more.in_flight.configured, gain.ratio)
    });
    let knee = line.filter(|line| line.is_saturated().is_some()).map(|line| format!("; {}", line.text()));
    let text = format!(
        "{}: {measured:.2} requests in flight of {asked} requested, at {}{}{}",
        cell.id,
        text::op_rate(cell.ops_per_s?.0),
        faster.unwrap_or_default(),
        knee.unwrap_or_default(),
    );
    let verdict =
        SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::State, 1.0).with_tier(Tier::Fallback);
    // Then one stage takes most of a request's time, and would gain as much if it were twice as strong.
    let is_small = gain.is_some_and(|gain| gain.ratio < DOUBLED_GAIN_MAX);
    // What several requests wait for meanwhile may limit as well: its time is no part of this comparison.
    let verdict = verdict.unsure_if(is_small || asked > 1);
    Some(verdict.with_relief_gain(gain.map(|gain| gain.ratio).filter(|gain| *gain > 1.0)).with_evidence(
        text,
        "Little's law: rate x response time",
        "",
    ))
}

/// Whether too little is asked for, with `gain` from more in flight: by the knee of the line, and without a line of
/// doublings by the gain alone. `None` where that is left open, as it is by a gain that chance explains.
fn stance(line: Option<&LoadLine<'_>>, gain: Option<RateGain>) -> Option<Stance> {
    let helps = gain.is_some_and(RateGain::is_real);
    let limits = match line.map(LoadLine::is_saturated) {
        Some(Some(saturated)) => !saturated || helps,
        Some(None) | None if helps => true,
        None if gain.is_some_and(RateGain::is_none) => false,
        Some(None) | None => return None,
    };
    Some(if limits { Stance::Limits } else { Stance::Clears })
}

/// Whether more requests in flight gain more than their number explains: k times as many complete k times as fast at
/// most. Then another thing than their number differed.
fn is_beyond(asked: u64, more: &CellSummary, gain: RateGain) -> bool {
    let times = more.in_flight.configured as f64 / asked.max(1) as f64;
    gain.ratio > times * BEYOND_RATIO + gain.noise_ratio
}

/// The same load with the most in flight.
fn deepest<'v>(view: &SummaryView<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    let measured = saturation::same_load(view, cell).into_iter().filter(|other| other.ops_per_s.is_some());
    measured.max_by_key(|other| other.in_flight.configured)
}

/// The observation with the most in flight of those that differ from `one` in nothing else.
fn with_more<'a>(series: &[Vec<&'a Observation>], one: &Observation) -> Option<&'a Observation> {
    let own = series.iter().find(|series| series.iter().any(|other| other.id == one.id))?;
    own.last().copied().filter(|most| most.in_flight_configured > one.in_flight_configured)
}

/// What is said of one request at a time: without a repeat with `more` its number alone is known, and with one the gain decides.
fn observed(one: &Observation, more: Option<&Observation>) -> SegmentVerdict {
    let gain = more.and_then(|more| Some((more, table::speed_up(one, more)?)));
    let is_none = gain.is_some_and(|(more, gain)| gain.high < GAIN_RATIO + table::doubt_ratio(more));
    let stance = if is_none { Stance::Clears } else { Stance::Limits };
    let faster = gain.map(|(more, gain)| {
        let most = more.in_flight_configured.unwrap_or(1.0);
        format!("; {most} in flight give {} times the rate ({})", table::times(gain), more.id)
    });
    let text = format!("{}: one request in flight at a time{}", one.id, faster.unwrap_or_default());
    let verdict = SegmentVerdict::new(RULE.segment, &one.id, stance, Basis::State, 1.0);
    let verdict = verdict.with_tier(Tier::Fallback).with_confidence_max(INFERRED_CONFIDENCE);
    verdict.with_evidence(text, "requests in flight", "")
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::testing::{
            Grid, builtin, checked, cleared, found, machine, measured_by, named, plan, refined,
        };
        use narrows_model::cell::FactorValue;
        use narrows_model::diagnosis::Evidence;
        use narrows_model::{Cell, Cut, Op, Summary, Workload};

        /// A study of 4 KiB reads at each of `values` of a setting, on this machine.
        fn swept(name: &str, values: &[u32], setting: fn(&mut Workload, u32)) -> Summary {
            let profile = machine(name);
            let mut plan = plan(&profile, Grid::default());
            let single = "path/read/4KiB/qd1/c1";
            let template = plan.cells.iter().find(|cell| cell.id.0 == single).unwrap().clone();
            let at = |value: &u32| {
                let mut workload = Workload { op: Op::Read, ..template.workload.clone() };
                setting(&mut workload, *value);
                let factors = [("swept".to_owned(), FactorValue::Number(f64::from(*value)))].into();
                Cell { id: Cell::name(Cut::Path, &workload), workload, factors, ..template.clone() }
            };
            plan.cells = values.iter().map(at).collect();
            measured_by(&profile, &plan)
        }

        fn depth(load: &mut Workload, value: u32) {
            load.queue_depth = value;
        }

        #[test]
        fn a_gain_that_a_stage_twice_as_strong_gives_too_is_80_percent_sure_at_most() {
            let confidence_max = |gain: f64| {
                let mut summary = swept("gigabit-nfs", &[1, 16], depth);
                let rate = |summary: &Summary| summary.cells[0].ops_per_s.unwrap().0;
                assert_eq!(summary.cells[0].in_flight.configured, 1);
                let times = gain * rate(&summary) / summary.cells[1].ops_per_s.unwrap().0;
                summary.cells[1].ops_per_s.as_mut().unwrap().0 *= times;
                summary.cells[1].rate_bytes_per_s.as_mut().unwrap().0 *= times;
                let verdict = evaluate(&SummaryView::new(&summary), &summary.cells[0]).unwrap();
                assert_eq!(verdict.stance, Stance::Limits, "{gain}");
                verdict.confidence_max
            };
            assert!(confidence_max(1.9) <= 0.8 && confidence_max(2.5) > 0.8);
        }

        /// What is said of the number in flight, blamed or cleared.
        fn statements(summary: &Summary) -> Vec<&str> {
            let blamed = summary.diagnosis.limiting.iter().map(|entry| (entry.segment, &entry.evidence));
            let cleared = summary.diagnosis.exonerated.iter().map(|entry| (entry.segment, &entry.evidence));
            let of_segment = |(segment, evidence)| (segment == RULE.segment).then_some(evidence);
            let all = blamed.chain(cleared).filter_map(of_segment).flatten();
            all.map(|evidence: &Evidence| evidence.text.as_str()).collect()
        }

        #[test]
        fn one_request_at_a_time_on_an_idle_path_is_named() {
            let summary = builtin("ten-gigabit-nfs");
            assert_eq!(named(&summary, "single"), [Segment::WorkloadConcurrency]);
        }

        #[test]
        fn a_disk_that_gains_nothing_from_more_requests_clears_it() {
            let summary = builtin("slow-disk");
            assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::WorkloadConcurrency));
        }

        #[test]
        fn below_the_knee_of_a_sweep_too_little_is_asked_for_and_from_it_on_enough() {
            // The device serves four at once, and the client's part of a request keeps a fifth one useful.
            let summary = swept("local-ssd", &[1, 2, 4, 8, 16, 32], depth);
            let knee = summary.sweeps[0].saturation.as_ref().and_then(|law| law.knee_in_flight).unwrap();
            // What the time of one request is spent on, and that more at a time would overlap it.
            assert_eq!(named(&summary, "single"), [Segment::Device, Segment::WorkloadConcurrency]);
            let single = statements(&summary);
            let gives = format!("; {knee:.0} in flight give ");
            let saturated = format!("saturated from depth {knee:.0} on");
            assert!(
                single.iter().any(|text| text.contains(&gives) && text.contains(&saturated)),
                "{single:?}"
            );
            assert!(!named(&summary, "bulk").contains(&Segment::WorkloadConcurrency));
            let view = SummaryView::new(&summary);
            let deep = view.regimes().iter().find(|regime| regime.cell.queue_depth == 32).unwrap();
            let verdict = evaluate(&view, deep.cell).unwrap();
            assert_eq!(verdict.stance, Stance::Clears);
            let text = &verdict.evidence[0].text;
            assert!(text.contains("doubling the depth 16 -> 32 ") && text.ends_with(&saturated), "{text}");
        }

        #[test]
        fn a_last_doubling_that_still_adds_names_too_few_in_flight() {
            let summary = swept("many-threads", &[1, 2, 4, 8], depth);
            assert_eq!(named(&summary, "bulk"), [Segment::WorkloadConcurrency]);
            let texts = statements(&summary);
            assert!(
                texts.iter().any(|text| text.contains("doubling the depth 4 -> 8 still added ")),
                "{texts:?}"
            );
            assert!(!texts.iter().any(|text| text.contains("saturated from")), "{texts:?}");
        }

        #[test]
        fn workers_and_clients_have_knees_of_their_own() {
            let workers = swept("local-ssd", &[1, 2, 4, 8, 16], |load, value| load.workers = value);
            let clients = swept("local-ssd", &[1, 2, 4, 8, 16], |load, value| load.clients = value);
            for (summary, words) in [(&workers, " workers on"), (&clients, " clients on")] {
                assert!(
                    statements(summary).iter().any(|text| text.ends_with(words)),
                    "{:?}",
                    statements(summary)
                );
            }
        }

        #[test]
        fn a_gain_that_more_in_flight_cannot_give_says_nothing_of_their_number() {
            let mut summary = swept("many-threads", &[1, 2, 4, 8], depth);
            let said = |summary: &Summary| {
                let view = SummaryView::new(summary);
                let cell = view.summary.cells.iter().find(|cell| cell.queue_depth == 4).unwrap();
                evaluate(&view, cell).map(|verdict| verdict.stance)
            };
            assert_eq!(said(&summary), Some(Stance::Limits));
            // Something else limited this one as well: its rate is a tenth of what it was.
            let slowed = summary.cells.iter_mut().find(|cell| cell.queue_depth == 4).unwrap();
            slowed.rate_bytes_per_s.as_mut().unwrap().0 /= 10.0;
            slowed.ops_per_s.as_mut().unwrap().0 /= 10.0;
            slowed.interval = None;
            assert_eq!(said(&summary), None);
        }

        #[test]
        fn where_nothing_deeper_was_measured_nothing_is_said_of_many_requests() {
            let summary = swept("many-threads", &[8], depth);
            assert!(!found(&summary, RULE.code) && !cleared(&summary, Segment::WorkloadConcurrency));
            let open =
                summary.diagnosis.not_measured.iter().find(|entry| entry.segment == RULE.segment).unwrap();
            assert!(
                open.why.contains("more requests in flight")
                    && Some(open.how_to.as_str()) == RULE.how_to_measure
            );
        }

        #[test]
        fn the_depth_that_refines_a_check_reports_where_it_saturates() {
            let saturates = |summary: &Summary| {
                let texts = statements(summary);
                texts
                    .iter()
                    .any(|text| text.contains("depth 16 -> 32 ") && text.ends_with("from depth 16 on"))
            };
            assert!(!saturates(&checked(&machine("fast-disk"))));
            assert!(saturates(&refined(&machine("fast-disk"))));
        }
    }

    mod of_files {
        use super::super::*;
        use crate::testing::observed::{first, read};

        fn observations(rest: &str) -> narrows_model::Observations {
            read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nin_flight_configured = {rest}\n"))
        }

        #[test]
        fn one_at_a_time_is_said_when_nothing_else_limits() {
            assert_eq!(first(&observations("1")), Segment::WorkloadConcurrency);
            assert_eq!(first(&observations("1\ncpu_ratio = { client = 1.0 }")), Segment::ClientCpu);
            assert_eq!(first(&observations("16")), Segment::Unknown);
        }

        /// What is named first for one at a time where 16 in flight give so many times the rate of its 1000 a second.
        fn beside_sixteen(times: f64) -> Segment {
            let deeper = format!(
                "1\nops_per_s = 1000.0\n[[observation]]\nid = \"b\"\nop = \"read\"\nin_flight_configured = 16\n\
                 ops_per_s = {:?}",
                1000.0 * times
            );
            first(&observations(&deeper))
        }

        #[test]
        fn one_at_a_time_limits_only_where_more_in_flight_were_measured_to_help() {
            assert_eq!(beside_sixteen(3.0), Segment::WorkloadConcurrency);
            // What sixteen share is full then: what the client does for them, or the device.
            assert_eq!(beside_sixteen(1.0), Segment::Client);
        }

        #[test]
        fn it_limits_together_with_the_round_trips() {
            let all = observations("1\nelapsed_s = 100\nround_trips = 9000\nrtt_s = 0.01");
            let named: Vec<Segment> =
                crate::diagnose_observations(&all).limiting.iter().map(|entry| entry.segment).collect();
            assert_eq!(named, [Segment::NetworkLatency, Segment::WorkloadConcurrency]);
        }
    }
}
