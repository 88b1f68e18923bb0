//! The cost of calls: elapsed time grows with the number of system calls of a role.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::case::table;
use crate::method::calls::{BufferSweep, BufferSweepPoint, Payers, law, payers, segment, sweeps, waiting};
use crate::method::cpu::full_station;
use crate::text;
use crate::thresholds::{CPU_FULL_RATIO, DOMINANT_RATIO};
use narrows_model::Segment;
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "per-call-bound",
    slug: "per_call",
    segment: Segment::ClientCpu,
    title: "the number of calls limits",
    definition: "Over a sweep of buffer sizes the elapsed time is linear in the number of calls of the roles whose \
                 buffers were varied: each call costs the same for any number of bytes. Where calls take half of the \
                 time or more, the role that makes them limits. Of several roles with the same buffers it is the one \
                 whose CPU is full, the fullest if several are; otherwise, where the busy shares of all roles add up \
                 to the time (they take turns), the one whose CPU takes half of the time or more and a quarter more \
                 than any other; otherwise the sender, where the reads of the next role are short (it waits for \
                 data), or the receiver, where the reads before it are full (data waits for it). Where the CPU of \
                 that role is known and not full, the evidence says so and the confidence is at most 60 %; where it \
                 takes less than half of the time, the calls wait, and no CPU is named. Observations whose printed \
                 counts repeat those of another are left out.",
    formula: "T = a + b x calls by least squares; limits where b x calls >= 0.5 x (a + b x calls); busiest: median of \
              (user + system) / T >= 0.5 and >= 1.25 x the next, and the sum of all roles' 0.9 to 1.1",
    source: "Client / proxy / server buffer experiment, Onion Routing archive (Naval Research Laboratory)",
    example: "48 MiB in writes of 4096 to 32 bytes: 1.59 s + 28.8 us a write",
    how_to_measure: None,
    how_to_write: Some("vary one role's buffer and keep the others; count its calls, and take its CPU time"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    // What CPUs that are shared and full explain is said by the rule on these.
    let is_shared = |id: &str| cases.find(id).is_some_and(|case| full_station(case).is_some());
    let of_sweep = |sweep: &BufferSweep<'_>| {
        let payers = payers(sweep);
        let limits = sweep.points.iter().flat_map(|point| limits(sweep, point, &payers)).collect::<Vec<_>>();
        let note = limits.is_empty().then(|| note(sweep)).flatten();
        let apart = limits.into_iter().filter(|verdict| !is_shared(&verdict.cell));
        apart.chain(note).collect::<Vec<_>>()
    };
    sweeps(table).iter().flat_map(of_sweep).collect()
}

fn limits(sweep: &BufferSweep<'_>, point: &BufferSweepPoint<'_>, payers: &Payers) -> Vec<SegmentVerdict> {
    let share = sweep.call_share(point);
    if share < DOMINANT_RATIO {
        return Vec::new();
    }
    let own = format!(
        "{}: {:.0} calls take {} of {}",
        point.one.id,
        point.calls,
        text::percent(share),
        text::seconds(point.elapsed_s)
    );
    let on = |segment| SegmentVerdict::new(segment, &point.one.id, Stance::Limits, Basis::TimeShare, share);
    if payers.roles.is_empty() {
        let verdict = on(Segment::Unknown).with_tier(Tier::Fallback).with_confidence_max(0.0);
        let verdict = verdict.with_evidence(law(sweep), "elapsed time and calls", "");
        let verdict = payers.busy.iter().fold(verdict, |verdict, (_, busy)| with_cpu_evidence(verdict, busy));
        return vec![verdict.with_evidence(waiting(sweep), "calls and CPU of the roles", "").with_evidence(
            own,
            "elapsed time and calls",
            "",
        )];
    }
    // Without calls the time is at least the lower end of what the line leaves to a; where that is nothing, there is no
    // bound.
    let fixed_s = sweep.cost.fixed_s_interval.map_or(sweep.cost.fixed_s, |[low, _]| low);
    let gain = (fixed_s > 0.0).then(|| point.elapsed_s / fixed_s);
    let idle = idle(sweep, &payers.roles);
    let of_role = |role: &Role| {
        let verdict = on(segment(*role)).with_confidence_max(payers.confidence_max).with_relief_gain(gain);
        let verdict = verdict.with_evidence(law(sweep), "elapsed time and calls", "");
        let verdict = match &payers.why {
            Some(why) => verdict.with_evidence(why.clone(), "calls and CPU of the other roles", ""),
            None => verdict,
        };
        let busy = payers.busy.iter().filter(|(known, _)| known == role).map(|(_, busy)| busy);
        let verdict =
            busy.chain(&idle).fold(verdict, |verdict, statement| with_cpu_evidence(verdict, statement));
        verdict.with_evidence(own.clone(), "elapsed time and calls", "")
    };
    payers.roles.iter().map(of_role).collect()
}

fn with_cpu_evidence(verdict: SegmentVerdict, statement: &str) -> SegmentVerdict {
    verdict.with_evidence(statement.to_owned(), "CPU time of the role", "")
}

/// A role that is not blamed, and idles the more the more calls there are.
fn idle(sweep: &BufferSweep<'_>, blamed: &[Role]) -> Option<String> {
    let others = [Role::Proxy, Role::Client, Role::Server].into_iter().filter(|role| !blamed.contains(role));
    others.into_iter().find_map(|role| {
        let shares: Vec<f64> =
            sweep.points.iter().filter_map(|point| Some(table::cpu(point.one, role)?.ratio)).collect();
        let (first, last) = (shares.first()?, shares.last()?);
        let most = table::extreme(&shares, f64::max)?;
        let falls = *last < CPU_FULL_RATIO && last < first && shares.len() > 1;
        let text = format!(
            "the {}'s CPU is {} at most and falls to {} with the most calls",
            role.name(),
            text::percent(most),
            text::percent(*last)
        );
        falls.then_some(text)
    })
}

/// The line itself, where calls dominate nowhere.
fn note(sweep: &BufferSweep<'_>) -> Option<SegmentVerdict> {
    let last = sweep.points.last()?;
    let segment = segment(*sweep.roles.first()?);
    let text = format!("{}; calls make less than half of any time", law(sweep));
    Some(SegmentVerdict::note(segment, &last.one.id, Severity::Info).with_evidence(
        text,
        "elapsed time and calls",
        "",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, first, read, slugs};
    use narrows_model::Relation;
    use std::fmt::Write as _;

    /// A sweep of the client's buffer: `fixed_s` + `call_s` for each write.
    fn sweep(fixed_s: f64, call_s: f64) -> narrows_model::Observations {
        let mut rows = String::new();
        for buffer in [4096_u32, 1024, 256, 128, 64] {
            let calls = 50_331_648.0 / f64::from(buffer);
            let elapsed_s = fixed_s + call_s * calls;
            writeln!(
                rows,
                "[[observation]]\nid = \"b{buffer}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\ncalls = {{ client = {calls} }}\nfactor = {{ client_buffer_bytes = {buffer} }}\ncpu_ratio = {{ server = 0.1 }}"
            )
            .unwrap();
        }
        read(&rows)
    }

    #[test]
    fn time_that_grows_with_writes_is_the_clients_and_its_cost_is_found() {
        let all = sweep(1.6, 28.8e-6);
        assert_eq!(first(&all), Segment::ClientCpu);
        assert!(slugs(&all).contains(&"per_call".to_owned()) && cleared(&all, Segment::ServerCpu));
        let cost = &crate::per_call(&all)[0];
        assert!((cost.call_s - 28.8e-6).abs() < 1e-9 && (cost.fixed_s - 1.6).abs() < 1e-6, "{cost:?}");
    }

    /// A sweep of both buffers of two roles, with `rest` in each observation.
    fn both_swept(rest: &str) -> String {
        let row = |buffer: u32| {
            let calls = 50_331_648.0 / f64::from(buffer);
            let elapsed_s = 0.1 + 2e-6 * calls;
            format!(
                "[[observation]]\nid = \"b{buffer}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\ncalls = {{ proxy = {calls}, server = {calls} }}\nfactor = {{ proxy_buffer_bytes = {buffer}, server_buffer_bytes = {buffer} }}\n{rest}\n"
            )
        };
        [4096_u32, 1024, 256, 128, 64].map(row).concat()
    }

    /// The entries of those buffers whose calls take most of the time; the others are unknown, for what is beside the calls.
    fn of_many_calls(rows: &str) -> Vec<narrows_model::Limiting> {
        let mut limiting = crate::diagnose_observations(&read(rows)).limiting;
        let is_beside = |entry: &narrows_model::Limiting| {
            entry.evidence[0].text.contains("of its time is spent beside the calls")
        };
        limiting.retain(|entry| entry.segment != Segment::Unknown || !is_beside(entry));
        limiting
    }

    /// What is named where the roles' CPUs make these shares of the time.
    fn turns(proxy: f64, server: f64) -> Vec<(Segment, Relation)> {
        let rows = both_swept(&format!("cpu_ratio = {{ proxy = {proxy}, server = {server} }}"));
        of_many_calls(&rows).iter().map(|entry| (entry.segment, entry.relation)).collect()
    }

    #[test]
    fn of_roles_that_take_turns_the_busiest_is_named_and_equal_ones_stay_open() {
        assert_eq!(turns(0.73, 0.25), [(Segment::ProxyCpu, Relation::Sole)]);
        assert_eq!(turns(0.25, 0.73), [(Segment::ServerCpu, Relation::Sole)]);
        let open = turns(0.5, 0.45);
        assert!(open.len() == 2 && open.iter().all(|entry| entry.1 == Relation::OneOf), "{open:?}");
    }

    #[test]
    fn of_roles_that_do_not_take_turns_one_that_is_busy_for_half_of_the_time_is_named_and_doubted() {
        for (proxy, server) in [(0.85, 0.45), (0.6, 0.1)] {
            let rows = both_swept(&format!("cpu_ratio = {{ proxy = {proxy}, server = {server} }}"));
            let limiting = of_many_calls(&rows);
            let [only] = limiting.as_slice() else { panic!("{limiting:?}") };
            assert_eq!(only.segment, Segment::ProxyCpu);
            assert!(only.confidence <= 0.6, "{only:?}");
            let busy = format!("the proxy's CPU is busy {} of that time", text::percent(proxy));
            assert!(only.evidence.iter().any(|one| one.text.contains(&busy)), "{only:?}");
        }
    }

    #[test]
    fn a_cpu_that_idles_is_no_limit_and_the_calls_are_said_to_wait() {
        for cpu in [
            "cpu_ratio = { proxy = 0.05, server = 0.05 }",
            "cpu_ratio = { proxy = 0.4, server = 0.1 }",
            "cpu_ratio = { proxy = 0.3, server = 0.3, client = 0.4 }",
            "cpu_cores = { proxy = 0.49, server = 0.2 }",
        ] {
            let limiting = of_many_calls(&both_swept(cpu));
            let [only] = limiting.as_slice() else { panic!("{limiting:?}") };
            assert_eq!((only.segment, only.confidence), (Segment::Unknown, 0.0), "{cpu}");
            let statement: String = only.evidence.iter().map(|one| one.text.clone() + "\n").collect();
            assert!(statement.contains("T = ") && statement.contains("the calls wait"), "{statement}");
        }
    }

    #[test]
    fn one_full_thread_of_a_role_with_several_cpus_may_pay() {
        let rows =
            both_swept("cpu_ratio = { proxy = 0.25, server = 0.05 }\ncpus = { proxy = 4, server = 4 }");
        assert_eq!(first(&read(&rows)), Segment::ProxyCpu);
    }

    #[test]
    fn the_varied_role_alone_is_not_named_where_its_cpu_idles() {
        let mut all = sweep(1.6, 28.8e-6);
        for one in &mut all.observations {
            one.cpu_ratio.insert(Role::Client, 0.05);
        }
        assert_eq!(first(&all), Segment::Unknown);
        assert!(cleared(&all, Segment::ClientCpu));
        for one in &mut all.observations {
            one.cpu_ratio.insert(Role::Client, 0.7);
        }
        let only = &crate::diagnose_observations(&all).limiting[0];
        assert!(only.segment == Segment::ClientCpu && only.confidence <= 0.6, "{only:?}");
    }

    #[test]
    fn of_two_full_roles_the_fullest_is_named() {
        assert_eq!(turns(0.96, 1.0)[0].0, Segment::ServerCpu);
        assert_eq!(turns(1.0, 0.96)[0].0, Segment::ProxyCpu);
    }

    #[test]
    fn a_line_that_leaves_less_than_no_time_without_calls_is_reported_as_none() {
        // A cost of a call that rises with their number: no point alone breaks the line.
        let mut rows = String::new();
        for calls in [1e4, 1.4e4, 2e4, 2.8e4, 4e4, 5.6e4, 8e4] {
            let elapsed_s = 1e-9 * f64::powf(calls, 1.5);
            writeln!(rows, "[[observation]]\nid = \"{calls}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\ncalls = {{ client = {calls} }}").unwrap();
        }
        let all = read(&rows);
        let [_, high] = crate::per_call(&all)[0].fixed_s_interval.unwrap();
        let statement = format!("{:?}", crate::diagnose_observations(&all));
        assert!(
            high < 0.0 && statement.contains("no line fits") && !statement.contains("T = "),
            "{high}: {statement}"
        );
        assert!(slugs(&all).contains(&"regime_break".to_owned()));
        let first = &crate::diagnose_observations(&all).limiting[0];
        assert!(first.confidence <= 0.6, "{first:?}");
    }

    #[test]
    fn calls_that_cost_next_to_nothing_limit_nothing() {
        assert_eq!(first(&sweep(100.0, 1e-6)), Segment::Unknown);
    }
}
