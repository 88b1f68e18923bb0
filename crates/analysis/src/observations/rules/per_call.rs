//! The cost of calls: elapsed time grows with the number of system calls of a role.

use super::super::fit::{CPU_FULL, Sweep, SweepPoint, sweeps};
use super::super::table::{self, Table};
use super::ObservationRule;
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::counters::Role;
use narrows_model::diagnosis::Severity;
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};
use narrows_stats::quantile::median;

/// From this share of the time calls limit, as in the rules of summaries.
const DOMINANT_RATIO: f64 = 0.5;
/// A role this much busier than any other is the busiest: beyond what shares differ by from trial to trial.
const BUSIEST_RATIO: f64 = 1.25;
/// Roles whose busy shares add up to this are never busy together and never all idle: they take turns, as one chain does
/// of which each waits for the others. Shares are good to a tenth.
const TURNS_RATIO: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Reads that bring less than this of the buffer waited for their data.
const SHORT_READ_RATIO: f64 = 0.9;
/// Which of several roles with equal buffers pays is open.
const OPEN_CONFIDENCE: f64 = 0.7;
/// A line whose end is not explained is no proof for its beginning.
const BROKEN_CONFIDENCE: f64 = 0.6;
/// A role that is told by the reads behind it, not by its own CPU.
const INFERRED_CONFIDENCE: f64 = 0.75;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "per-call-bound",
    slug: "per_call",
    segment: Segment::ClientCpu,
    title: "the number of calls limits",
    definition: "Over a sweep of buffer sizes the elapsed time is a line over the number of calls of the roles whose \
                 buffers were varied: each call costs the same whatever it moves. Where calls make half of the time or \
                 more, the role that makes them limits. Of several roles with the same buffers it is the one whose CPU is \
                 full, the fullest where several are; else, where the busy shares of all roles add up to the time \
                 (they take turns), the one whose CPU makes half of the time or more and a quarter more than any \
                 other's; else the sender, where the next role's reads come back short (it waits for data), or the \
                 receiver, where the reads before it are full (data wait for it). Observations whose printed counts \
                 repeat another's are left out.",
    formula: "T = a + b x calls by least squares; limits where b x calls >= 0.5 x (a + b x calls); busiest: median of \
              (user + system) / T >= 0.5 and >= 1.25 x the next, and the sum of all roles' 0.9 to 1.1",
    source: "Client / proxy / server buffer experiment, Onion Routing archive (Naval Research Laboratory)",
    example: "48 MiB in writes of 4096 to 32 bytes: 1.59 s + 28.8 us a write",
    how_to_measure: "vary one role's buffer and keep the others; count its calls, and take its CPU time",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    let told = |sweep: &Sweep<'_>| {
        let blamed = blamed(sweep);
        let limits = sweep.points.iter().flat_map(|point| limits(sweep, point, &blamed)).collect::<Vec<_>>();
        let note = limits.is_empty().then(|| note(sweep)).flatten();
        limits.into_iter().chain(note).collect::<Vec<_>>()
    };
    sweeps(table).iter().flat_map(told).collect()
}

/// The roles that may pay for the calls, with the statement that leaves no other.
struct Blamed {
    roles: Vec<Role>,
    why: Option<String>,
    confidence_max: f64,
}

fn blamed(sweep: &Sweep<'_>) -> Blamed {
    let broken = sweep.is_below_nothing() || sweep.cost.breaks.iter().any(|found| found.cpu_ratio.is_none());
    let held = |confidence: f64| if broken { BROKEN_CONFIDENCE.min(confidence) } else { confidence };
    if let Some((role, why)) = full(sweep) {
        // The CPU that is full is proof of its own: only where no line holds at all is it open what fills it.
        let confidence_max = if sweep.is_below_nothing() { BROKEN_CONFIDENCE } else { 1.0 };
        return Blamed { roles: vec![role], why: Some(why), confidence_max };
    }
    if let Some((role, why)) = busiest(sweep) {
        return Blamed { roles: vec![role], why: Some(why), confidence_max: held(INFERRED_CONFIDENCE) };
    }
    let idle = |role: &Role| {
        dominated(sweep).any(|point| table::cpu(point.one, *role).is_some_and(|cpu| cpu.ratio < 0.9))
    };
    let able: Vec<Role> = sweep.roles.iter().copied().filter(|role| !idle(role)).collect();
    if let [only] = able.as_slice() {
        let confidence_max = held(INFERRED_CONFIDENCE);
        return Blamed { roles: vec![*only], why: waits(sweep, *only).map(|(_, why)| why), confidence_max };
    }
    if let Some((role, why)) =
        able.iter().find_map(|role| waits(sweep, *role)).filter(|(role, _)| able.contains(role))
    {
        return Blamed { roles: vec![role], why: Some(why), confidence_max: held(INFERRED_CONFIDENCE) };
    }
    let roles = if able.is_empty() { sweep.roles.clone() } else { able };
    Blamed { roles, why: None, confidence_max: held(OPEN_CONFIDENCE) }
}

/// Points at which calls make most of the time.
fn dominated<'s, 'a>(sweep: &'s Sweep<'a>) -> impl Iterator<Item = &'s SweepPoint<'a>> + 's {
    sweep.points.iter().filter(|point| sweep.call_share(point) >= DOMINANT_RATIO)
}

/// The roles whose buffers were varied with the median share of the time that their CPU makes where calls dominate, the
/// fullest first; without those of which it is not known.
fn shares(sweep: &Sweep<'_>) -> Vec<(Role, f64)> {
    let of_role = |role: &Role| {
        let shares: Vec<f64> =
            dominated(sweep).filter_map(|point| Some(table::cpu(point.one, *role)?.ratio)).collect();
        Some((*role, median(&shares)?))
    };
    let mut shares: Vec<(Role, f64)> = sweep.roles.iter().filter_map(of_role).collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// The role whose CPU is full at most observations in which calls dominate, the fullest of several.
fn full(sweep: &Sweep<'_>) -> Option<(Role, String)> {
    let (role, median) = shares(sweep).into_iter().next().filter(|(_, median)| *median >= CPU_FULL)?;
    let text = format!("the {}'s CPU is full there, {} in the median", name(role), text::percent(median));
    Some((role, text))
}

/// Of several roles that take turns the one whose CPU makes most of the time, clearly more than any other's; `None` where
/// the CPU of one of them is not known, and where they are busy together or idle together: then what they wait for is open.
fn busiest(sweep: &Sweep<'_>) -> Option<(Role, String)> {
    let shares = shares(sweep);
    let [(role, most), (next, less), ..] = *shares.as_slice() else { return None };
    let clear = shares.len() == sweep.roles.len() && most >= DOMINANT_RATIO && most >= less * BUSIEST_RATIO;
    let sum = sum_of_shares(sweep).filter(|sum| clear && TURNS_RATIO.contains(sum))?;
    Some({
        let text = format!(
            "the roles take turns, for their busy shares add up to {}, and the {}'s CPU makes most of the time there, {} in the median, the {}'s {}",
            text::percent(sum),
            name(role),
            text::percent(most),
            name(next),
            text::percent(less)
        );
        (role, text)
    })
}

/// The median of what the busy shares of all roles add up to where calls dominate, those whose buffers were not varied
/// included; `None` where nobody's is known.
fn sum_of_shares(sweep: &Sweep<'_>) -> Option<f64> {
    let roles = [Role::Client, Role::Proxy, Role::Server];
    let of_point = |point: &SweepPoint<'_>| -> f64 {
        roles.iter().filter_map(|role| Some(table::cpu(point.one, *role)?.ratio)).sum()
    };
    median(&dominated(sweep).map(of_point).collect::<Vec<f64>>())
}

/// What the reads behind a sender say: short ones waited for its data, full ones wait for the next role.
fn waits(sweep: &Sweep<'_>, role: Role) -> Option<(Role, String)> {
    let next = next(sweep, role)?;
    let fills: Vec<f64> = dominated(sweep).filter_map(|point| fill(point.one, next)).collect();
    let (least, most) = (table::extreme(&fills, f64::min)?, table::extreme(&fills, f64::max)?);
    let buffers_varied = sweep.roles.contains(&next);
    if most < SHORT_READ_RATIO && role == Role::Client {
        let share = if most - least < 0.005 {
            text::percent(most)
        } else {
            format!("{} to {}", text::percent(least), text::percent(most))
        };
        let why = format!("the {} reads {share} of its buffer at a time: it waits for data", name(next));
        return Some((role, why));
    }
    let receiver = sweep.roles.iter().copied().find(|other| *other > role);
    match receiver {
        Some(receiver) if least >= SHORT_READ_RATIO && !buffers_varied => {
            let why = format!("the {} reads full buffers: data wait for the {}", name(next), name(receiver));
            Some((receiver, why))
        }
        _ => None,
    }
}

/// The role that reads what `role` sends.
fn next(sweep: &Sweep<'_>, role: Role) -> Option<Role> {
    let has = |role: Role| sweep.points.iter().any(|point| table::counted_calls(point.one, role).is_some());
    match role {
        Role::Client if has(Role::Proxy) => Some(Role::Proxy),
        Role::Client | Role::Proxy if has(Role::Server) => Some(Role::Server),
        _ => None,
    }
}

/// How full the reads of a role are.
fn fill(one: &Observation, role: Role) -> Option<f64> {
    let bytes = ratio(table::total_bytes(one)?, table::counted_calls(one, role)?)?;
    ratio(bytes, table::buffer_bytes(one, role)?)
}

fn limits(sweep: &Sweep<'_>, point: &SweepPoint<'_>, blamed: &Blamed) -> Vec<Verdict> {
    let share = sweep.call_share(point);
    if share < DOMINANT_RATIO {
        return Vec::new();
    }
    let law = law(sweep);
    let idle = idle(sweep, &blamed.roles);
    let of_role = |role: &Role| {
        let own = format!(
            "{}: {:.0} calls take {} of {}",
            point.one.id,
            point.calls,
            text::percent(share),
            text::seconds(point.elapsed_s)
        );
        let verdict = Verdict::on(segment(*role), &point.one.id, Stance::Limits, Basis::TimeShare, share);
        // Without calls the time is at least the lower end of what the line leaves to a; where that is nothing, there is
        // no bound.
        let fixed_s = sweep.cost.fixed_s_interval.map_or(sweep.cost.fixed_s, |[low, _]| low);
        let gain = (fixed_s > 0.0).then(|| point.elapsed_s / fixed_s);
        let verdict = verdict.at_most(blamed.confidence_max).gains(gain).because(
            law.clone(),
            "elapsed time and calls",
            "",
        );
        let verdict = match &blamed.why {
            Some(why) => verdict.because(why.clone(), "calls and CPU of the other roles", ""),
            None => verdict,
        };
        let verdict = match &idle {
            Some(idle) => verdict.because(idle.clone(), "CPU time of the role", ""),
            None => verdict,
        };
        verdict.because(own, "elapsed time and calls", "")
    };
    blamed.roles.iter().map(of_role).collect()
}

/// A role that is not blamed, and idles the more the more calls there are.
fn idle(sweep: &Sweep<'_>, blamed: &[Role]) -> Option<String> {
    let others = [Role::Proxy, Role::Client, Role::Server].into_iter().filter(|role| !blamed.contains(role));
    others.into_iter().find_map(|role| {
        let shares: Vec<f64> =
            sweep.points.iter().filter_map(|point| Some(table::cpu(point.one, role)?.ratio)).collect();
        let (first, last) = (shares.first()?, shares.last()?);
        let most = table::extreme(&shares, f64::max)?;
        let falls = *last < CPU_FULL && last < first && shares.len() > 1;
        let text = format!(
            "the {}'s CPU is {} at most and falls to {} with the most calls",
            name(role),
            text::percent(most),
            text::percent(*last)
        );
        falls.then_some(text)
    })
}

/// The line itself, where calls dominate nowhere.
fn note(sweep: &Sweep<'_>) -> Option<Verdict> {
    let last = sweep.points.last()?;
    let segment = segment(*sweep.roles.first()?);
    let text = format!("{}; calls make less than half of any time", law(sweep));
    Some(Verdict::note(segment, &last.one.id, Severity::Info).because(text, "elapsed time and calls", ""))
}

/// The line in words.
fn law(sweep: &Sweep<'_>) -> String {
    let names: Vec<&str> = sweep.roles.iter().map(|role| name(*role)).collect();
    let cost = &sweep.cost;
    let interval = cost.call_s_interval.map_or_else(String::new, |[low, high]| {
        format!(" ({} to {} at 95 %)", text::seconds(low.max(0.0)), text::seconds(high))
    });
    let calls = match sweep.roles.as_slice() {
        [Role::Client] => "each write of the client".to_owned(),
        [Role::Proxy] => "each read and write of the proxy".to_owned(),
        [Role::Server] => "each read of the server".to_owned(),
        _ => format!("one call of each of {}", names.join(", ")),
    };
    let left_out = match cost.breaks.len() {
        0 => String::new(),
        count => format!(", without {count} that calls do not explain"),
    };
    let slope = text::seconds(cost.call_s);
    let count = cost.observations.len();
    if sweep.is_below_nothing() {
        return format!(
            "no line holds: that over {count} observations{left_out} has {slope}{interval} for {calls}, but {} without calls, \
             less than no time",
            fixed(cost.fixed_s),
        );
    }
    let open = if cost.fixed_s < 0.0 { "; what is below zero is within its error" } else { "" };
    format!(
        "T = {} + {slope}{interval} for {calls}, over {count} observations{left_out}{open}",
        fixed(cost.fixed_s)
    )
}

/// The time without calls that a line promises, which may be below zero.
pub(super) fn fixed(fixed_s: f64) -> String {
    let sign = if fixed_s < 0.0 { "-" } else { "" };
    format!("{sign}{}", text::seconds(fixed_s.abs()))
}

/// The segment of a role's calls.
pub(super) fn segment(role: Role) -> Segment {
    match role {
        Role::Client => Segment::ClientCpu,
        Role::Proxy => Segment::ProxyCpu,
        Role::Server => Segment::ServerCpu,
    }
}

/// A role in words.
pub(super) fn name(role: Role) -> &'static str {
    match role {
        Role::Client => "client",
        Role::Proxy => "proxy",
        Role::Server => "server",
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read, slugs};
    use super::*;
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

    /// A sweep of both buffers of two roles, whose CPUs make these shares of the time.
    fn turns(proxy: f64, server: f64) -> Vec<(Segment, Relation)> {
        let mut rows = String::new();
        for buffer in [4096_u32, 1024, 256, 128, 64] {
            let calls = 50_331_648.0 / f64::from(buffer);
            let elapsed_s = 0.1 + 2e-6 * calls;
            writeln!(
                rows,
                "[[observation]]\nid = \"b{buffer}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\ncalls = {{ proxy = {calls}, server = {calls} }}\nfactor = {{ proxy_buffer_bytes = {buffer}, server_buffer_bytes = {buffer} }}\ncpu_ratio = {{ proxy = {proxy}, server = {server} }}"
            )
            .unwrap();
        }
        let limiting = crate::diagnose_observations(&read(&rows)).limiting;
        limiting.iter().map(|entry| (entry.segment, entry.relation)).collect()
    }

    #[test]
    fn of_roles_that_take_turns_the_busiest_is_named_and_equal_ones_stay_open() {
        assert_eq!(turns(0.73, 0.25), [(Segment::ProxyCpu, Relation::Sole)]);
        assert_eq!(turns(0.25, 0.73), [(Segment::ServerCpu, Relation::Sole)]);
        let open = turns(0.5, 0.45);
        assert!(open.len() == 2 && open.iter().all(|entry| entry.1 == Relation::OneOf), "{open:?}");
        let idle = turns(0.4, 0.1);
        assert_eq!(idle.len(), 2, "none makes half of the time: {idle:?}");
    }

    #[test]
    fn roles_that_are_busy_together_or_idle_together_do_not_take_turns() {
        for (proxy, server) in [(0.85, 0.45), (0.6, 0.1)] {
            let open = turns(proxy, server);
            assert!(open.len() == 2 && open.iter().all(|entry| entry.1 == Relation::OneOf), "{open:?}");
        }
    }

    #[test]
    fn of_two_full_roles_the_fullest_is_named() {
        assert_eq!(turns(0.96, 1.0)[0].0, Segment::ServerCpu);
        assert_eq!(turns(1.0, 0.96)[0].0, Segment::ProxyCpu);
    }

    #[test]
    fn a_line_that_leaves_less_than_no_time_without_calls_is_told_as_none() {
        // A cost of a call that rises with their number: no point alone breaks the line.
        let mut rows = String::new();
        for calls in [1e4, 1.4e4, 2e4, 2.8e4, 4e4, 5.6e4, 8e4] {
            let elapsed_s = 1e-9 * f64::powf(calls, 1.5);
            writeln!(rows, "[[observation]]\nid = \"{calls}\"\nop = \"send\"\nelapsed_s = {elapsed_s}\ncalls = {{ client = {calls} }}").unwrap();
        }
        let all = read(&rows);
        let [_, high] = crate::per_call(&all)[0].fixed_s_interval.unwrap();
        let told = format!("{:?}", crate::diagnose_observations(&all));
        assert!(high < 0.0 && told.contains("no line holds") && !told.contains("T = "), "{high}: {told}");
        assert!(slugs(&all).contains(&"regime_break".to_owned()));
        let first = &crate::diagnose_observations(&all).limiting[0];
        assert!(first.confidence <= BROKEN_CONFIDENCE, "{first:?}");
    }

    #[test]
    fn calls_that_cost_next_to_nothing_limit_nothing() {
        assert_eq!(first(&sweep(100.0, 1e-6)), Segment::Unknown);
    }
}
