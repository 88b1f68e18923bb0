//! Which roles pay for the calls of a sweep: whose CPU makes the time that grows with the calls.
//!
//! Not here: the line over the calls, which is `fit`'s, and what is said of it, which is the rule's.

use super::{BufferSweep, BufferSweepPoint};
use crate::case::table::{self, ROLES};
use crate::text;
use crate::thresholds::{
    CPU_FREE_RATIO, CPU_FULL_RATIO, DOMINANT_RATIO, ELIMINATED_CONFIDENCE, INFERRED_CONFIDENCE,
    STRONG_GAIN_RATIO,
};
use narrows_model::Observation;
use narrows_model::counters::Role;
use narrows_model::units::ratio;
use narrows_stats::quantile::median;

/// Roles whose busy shares add up to this are never busy together and never all idle: they take turns, as one chain does
/// of which each waits for the others. Shares are good to a tenth.
const TURNS_RATIO: std::ops::RangeInclusive<f64> = 0.9..=1.1;
/// Reads that bring less than this of the buffer waited for their data.
const SHORT_READ_RATIO: f64 = 0.9;
/// A role that is identified by the reads behind it, not by its own CPU.
const BY_READS_CONFIDENCE: f64 = 0.75;

/// The roles that may pay for the calls.
pub(crate) struct Payers {
    /// From the client to the server; empty where no CPU of those that made the calls makes half of the time.
    pub roles: Vec<Role>,
    /// The statement that leaves no other.
    pub why: Option<String>,
    /// How busy the CPUs are that are known not to be full, in words.
    pub busy: Vec<(Role, String)>,
    /// How sure it is at most.
    pub confidence_max: f64,
}

/// The roles that may pay for the calls of `sweep`.
pub(crate) fn payers(sweep: &BufferSweep<'_>) -> Payers {
    let broken = sweep.is_below_nothing() || sweep.cost.breaks.iter().any(|found| found.cpu_ratio.is_none());
    let capped = |confidence: f64| if broken { ELIMINATED_CONFIDENCE.min(confidence) } else { confidence };
    let entry =
        |role, why, confidence_max| Payers { roles: vec![role], why, busy: Vec::new(), confidence_max };
    if let Some((role, why)) = full(sweep) {
        // A full CPU is proof in itself: only where no line fits at all is it open what fills it.
        return entry(role, Some(why), if sweep.is_below_nothing() { ELIMINATED_CONFIDENCE } else { 1.0 });
    }
    if let Some((role, why)) = busiest(sweep) {
        return entry(role, Some(why), capped(BY_READS_CONFIDENCE));
    }
    let idle = |role: &Role| {
        dominated(sweep)
            .any(|point| table::cpu(point.one, *role).is_some_and(|cpu| cpu.ratio < CPU_FREE_RATIO))
    };
    let able: Vec<Role> = sweep.roles.iter().copied().filter(|role| !idle(role)).collect();
    if let [only] = able.as_slice() {
        let why = waits(sweep, *only).map(|(_, why)| why);
        return of_own_share(sweep, entry(*only, why, capped(BY_READS_CONFIDENCE)));
    }
    if let Some((role, why)) =
        able.iter().find_map(|role| waits(sweep, *role)).filter(|(role, _)| able.contains(role))
    {
        return of_own_share(sweep, entry(role, Some(why), capped(BY_READS_CONFIDENCE)));
    }
    let roles = if able.is_empty() { sweep.roles.clone() } else { able };
    let open = Payers { roles, why: None, busy: Vec::new(), confidence_max: capped(INFERRED_CONFIDENCE) };
    of_own_share(sweep, open)
}

/// `payers` without those whose own CPU is known to make less than half of the time, and less than the busiest of them
/// beyond doubt; less sure where one that remains is not full.
fn of_own_share(sweep: &BufferSweep<'_>, mut payers: Payers) -> Payers {
    let shares: Vec<(Role, Option<f64>)> =
        payers.roles.iter().map(|role| (*role, own_share(sweep, *role))).collect();
    let most = shares.iter().filter_map(|(_, share)| *share).fold(0.0, f64::max);
    let least =
        if most >= DOMINANT_RATIO { DOMINANT_RATIO.min(most / STRONG_GAIN_RATIO) } else { DOMINANT_RATIO };
    let pays = |share: &Option<f64>| share.is_none_or(|share| share >= least);
    let entry = |(role, share): &(Role, Option<f64>)| {
        let share = share.filter(|share| *share < CPU_FREE_RATIO)?;
        let text =
            format!("the {}'s CPU is busy {} of that time, in the median", role.name(), text::percent(share));
        Some((*role, text))
    };
    payers.busy = shares.iter().filter_map(entry).collect();
    payers.roles = shares.iter().filter(|(_, share)| pays(share)).map(|(role, _)| *role).collect();
    if payers.busy.iter().any(|(role, _)| payers.roles.contains(role)) {
        payers.confidence_max = payers.confidence_max.min(ELIMINATED_CONFIDENCE);
    }
    payers
}

/// What is known of calls for which no CPU pays.
pub(crate) fn waiting(sweep: &BufferSweep<'_>) -> String {
    let turns = sum_of_shares(sweep).filter(|sum| TURNS_RATIO.contains(sum)).map_or_else(
        || {
            "the figures do not show for what: the other roles, the connection between them, or wake-ups"
                .to_owned()
        },
        |sum| format!("the busy shares of all roles add up to {}, so they take turns", text::percent(sum)),
    );
    format!("the calls wait, because no CPU that makes them is busy for half of the time: {turns}")
}

/// The share of the time that a role's CPU makes where calls dominate, in the median; `None` where nobody knows.
///
/// One thread makes the calls, so that a role with several CPUs is as busy as that thread can have been at most.
fn own_share(sweep: &BufferSweep<'_>, role: Role) -> Option<f64> {
    let of_point = |point: &BufferSweepPoint<'_>| {
        let share = table::cpu(point.one, role)?.ratio;
        let cpus = point.one.cpus.get(&role).copied().unwrap_or(1.0).max(1.0);
        let of_ratio = point.one.cpu_ratio.get(&role).map(|ratio| ratio * cpus);
        let cores = of_ratio.or_else(|| table::cores(point.one, role));
        Some(share.max(cores.unwrap_or_default().min(1.0)))
    };
    median(&dominated(sweep).filter_map(of_point).collect::<Vec<f64>>())
}

/// Points at which calls make most of the time.
fn dominated<'s, 'a>(sweep: &'s BufferSweep<'a>) -> impl Iterator<Item = &'s BufferSweepPoint<'a>> + 's {
    sweep.points.iter().filter(|point| sweep.call_share(point) >= DOMINANT_RATIO)
}

/// The roles whose buffers were varied with the median share of the time that their CPU makes where calls dominate, the
/// fullest first; without those of which it is not known.
fn shares(sweep: &BufferSweep<'_>) -> Vec<(Role, f64)> {
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
fn full(sweep: &BufferSweep<'_>) -> Option<(Role, String)> {
    let (role, median) = shares(sweep).into_iter().next().filter(|(_, median)| *median >= CPU_FULL_RATIO)?;
    let text = format!("the {}'s CPU is full there, {} in the median", role.name(), text::percent(median));
    Some((role, text))
}

/// Of several roles that take turns the one whose CPU makes most of the time, clearly more than any other's; `None` where
/// the CPU of one of them is not known, and where they are busy together or idle together: then what they wait for is open.
fn busiest(sweep: &BufferSweep<'_>) -> Option<(Role, String)> {
    let shares = shares(sweep);
    let [(role, most), (next, less), ..] = *shares.as_slice() else { return None };
    let clear =
        shares.len() == sweep.roles.len() && most >= DOMINANT_RATIO && most >= less * STRONG_GAIN_RATIO;
    let sum = sum_of_shares(sweep).filter(|sum| clear && TURNS_RATIO.contains(sum))?;
    Some({
        let text = format!(
            "the roles take turns, because their busy shares add up to {}, and the {}'s CPU takes most of the time \
            there, {} in the median, the {}'s {}",
            text::percent(sum),
            role.name(),
            text::percent(most),
            next.name(),
            text::percent(less)
        );
        (role, text)
    })
}

/// The median of what the busy shares of all roles add up to where calls dominate, those whose buffers were not varied
/// included; `None` where nobody's is known.
fn sum_of_shares(sweep: &BufferSweep<'_>) -> Option<f64> {
    let of_point = |point: &BufferSweepPoint<'_>| -> f64 {
        ROLES.iter().filter_map(|role| Some(table::cpu(point.one, *role)?.ratio)).sum()
    };
    median(&dominated(sweep).map(of_point).collect::<Vec<f64>>())
}

/// What the reads behind a sender say: short ones waited for its data, full ones wait for the next role.
fn waits(sweep: &BufferSweep<'_>, role: Role) -> Option<(Role, String)> {
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
        let why = format!("the {} reads {share} of its buffer at a time: it waits for data", next.name());
        return Some((role, why));
    }
    let receiver = sweep.roles.iter().copied().find(|other| *other > role);
    match receiver {
        Some(receiver) if least >= SHORT_READ_RATIO && !buffers_varied => {
            let why =
                format!("the {} reads full buffers: data waits for the {}", next.name(), receiver.name());
            Some((receiver, why))
        }
        _ => None,
    }
}

/// The role that reads what `role` sends.
fn next(sweep: &BufferSweep<'_>, role: Role) -> Option<Role> {
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
