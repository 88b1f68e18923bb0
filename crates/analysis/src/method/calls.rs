//! The cost of a call: elapsed time as a line over calls, one line for each set of roles whose buffers were varied.
//!
//! Not here: which observations are left out of a line (`breaks`), and which role is blamed for it.

mod breaks;
mod law;
mod payers;

pub(crate) use law::{fixed, law, segment};
pub(crate) use payers::{Payers, payers, waiting};

use crate::case::table::{self, ObservationTable, ROLES, buffer_bytes};
use crate::thresholds::DOMINANT_RATIO;
use breaks::breaks;
use narrows_model::counters::Role;
use narrows_model::observation::{PerCall, PerCallBreak};
use narrows_model::{Observation, Observations};
use narrows_stats::interval::{ConfidenceInterval, Level};
use narrows_stats::regression::{DataPoint, FittedLine, fit_line_of_unequal_errors};
use std::collections::BTreeMap;

/// Fewer points than this make no line that could be wrong.
pub(crate) const POINTS_MIN: usize = 4;
/// The calls vary by this much at least: below, other things than calls decide.
const SPREAD_MIN: f64 = 4.0;
/// Printed counts below this may well be equal by chance.
const REPEATED_MIN: f64 = 1_000.0;
/// So may counts this near to what full buffers make: the buffer all but decides them.
const DECIDED_RATIO: f64 = 0.05;
/// One set of roles whose buffers were varied together, with the observations by rising calls.
#[derive(Debug, Clone)]
pub(crate) struct BufferSweep<'a> {
    /// From the client to the server.
    pub roles: Vec<Role>,
    /// By rising calls; without those excluded.
    pub points: Vec<BufferSweepPoint<'a>>,
    /// Observations whose printed counts repeat another's.
    pub excluded: Vec<&'a Observation>,
    /// The line, and what it does not explain.
    pub cost: PerCall,
}

/// One observation of a sweep.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferSweepPoint<'a> {
    pub one: &'a Observation,
    pub calls: f64,
    pub elapsed_s: f64,
}

impl BufferSweepPoint<'_> {
    pub(super) fn point(&self) -> DataPoint {
        DataPoint { x: self.calls, y: self.elapsed_s }
    }
}

/// How much a time counts: noise is a share of it, so its variance grows with its square.
pub(super) fn weight(point: &DataPoint) -> f64 {
    1.0 / (point.y * point.y)
}

impl BufferSweep<'_> {
    /// The share of an observation's time that its calls take.
    pub(crate) fn call_share(&self, point: &BufferSweepPoint<'_>) -> f64 {
        let promised = self.cost.fixed_s + self.cost.call_s * point.calls;
        if self.is_broken(point.one) || promised <= 0.0 {
            return 0.0;
        }
        (self.cost.call_s * point.calls / promised).clamp(0.0, 1.0)
    }

    /// Whether the line leaves less than no time for work without calls, beyond its error: then no one cost of a call
    /// explains the times, whatever points are taken for it.
    pub(crate) fn is_below_nothing(&self) -> bool {
        self.cost.fixed_s_interval.is_some_and(|[_, high]| high < 0.0)
    }

    /// Whether calls do not explain an observation.
    pub(crate) fn is_broken(&self, one: &Observation) -> bool {
        self.cost.breaks.iter().any(|found| found.observation == one.id)
    }
}

/// The costs of calls in `observations`; empty where no sweep of buffers is among them.
#[must_use]
pub fn per_call(observations: &Observations) -> Vec<PerCall> {
    sweeps(&ObservationTable::new(observations)).into_iter().map(|sweep| sweep.cost).collect()
}

/// Every sweep of buffers.
pub(crate) fn sweeps<'a>(table: &ObservationTable<'a>) -> Vec<BufferSweep<'a>> {
    groups(table)
        .into_iter()
        .flat_map(|group| split_by_roles(&group))
        .filter_map(|group| sweep(&group))
        .collect()
}

/// `group` by the roles whose buffers are below their largest: sweeps of other roles are other laws, and one line through
/// all of them none. Observations with all buffers at their largest are the first point of each sweep on their path.
fn split_by_roles<'a>(group: &[&'a Observation]) -> Vec<Vec<&'a Observation>> {
    let largest = ROLES.map(|role| {
        let sizes: Vec<f64> = group.iter().filter_map(|one| buffer_bytes(one, role)).collect();
        table::extreme(&sizes, f64::max)
    });
    // A path with a proxy is another than one without.
    let path = |one: &Observation| ROLES.map(|role| buffer_bytes(one, role).is_some());
    let shrunk = |one: &Observation| -> Vec<Role> {
        let of_role = ROLES.into_iter().zip(largest);
        let below = of_role.filter(|(role, most)| {
            buffer_bytes(one, *role).zip(*most).is_some_and(|(size, most)| size < most)
        });
        below.map(|(role, _)| role).collect()
    };
    let mut sweeps: BTreeMap<([bool; 3], Vec<Role>), Vec<&'a Observation>> = BTreeMap::new();
    for one in group.iter().copied().filter(|one| !shrunk(one).is_empty()) {
        sweeps.entry((path(one), shrunk(one))).or_default();
    }
    if sweeps.len() < 2 {
        return vec![group.to_vec()];
    }
    for ((on_path, roles), of_sweep) in &mut sweeps {
        let belongs = |one: &&&Observation| {
            let own = shrunk(one);
            path(one) == *on_path && (own.is_empty() || own == *roles)
        };
        of_sweep.extend(group.iter().filter(belongs).copied());
    }
    sweeps.into_values().collect()
}

/// Observations that differ in buffers alone.
fn groups<'a>(table: &ObservationTable<'a>) -> Vec<Vec<&'a Observation>> {
    let is_buffer = |name: &str| name.ends_with("_buffer_bytes");
    // A block that is the buffer of a role says the same once more; any other is a setting of its own.
    let is_buffer_size = |block: narrows_model::Bytes, one: &Observation| {
        ROLES
            .into_iter()
            .filter_map(|role| buffer_bytes(one, role))
            .any(|buffer| (buffer - block.as_f64()).abs() < 0.5)
    };
    table.groups(|one| {
        let block_bytes = one.block_bytes.filter(|block| !is_buffer_size(*block, one));
        let kept = Observation { block_bytes, ..one.clone() };
        one.elapsed_s.map(|_| table::setting_under(&kept, one.op, &is_buffer))
    })
}

fn sweep<'a>(group: &[&'a Observation]) -> Option<BufferSweep<'a>> {
    let roles = varied(group);
    if roles.is_empty() {
        return None;
    }
    let excluded = repeated(group, &roles);
    let mut points: Vec<BufferSweepPoint<'a>> = group
        .iter()
        .filter(|one| !excluded.iter().any(|other| other.id == one.id))
        .filter_map(|one| {
            // The roles' buffers are equal, so each of them makes as many calls, or fewer where it waits for data.
            let of_roles = roles.iter().filter_map(|role| table::calls(one, *role));
            let calls = of_roles.reduce(f64::max)?;
            Some(BufferSweepPoint { one, calls, elapsed_s: one.elapsed_s? })
        })
        .collect();
    points.sort_by(|a, b| a.calls.total_cmp(&b.calls));
    let (least, most) = (points.first()?.calls, points.last()?.calls);
    if points.len() < POINTS_MIN || most < least * SPREAD_MIN {
        return None;
    }
    let broken = breaks(&points, &roles);
    let explained: Vec<DataPoint> = points
        .iter()
        .filter(|point| !broken.iter().any(|found| found.observation == point.one.id))
        .map(BufferSweepPoint::point)
        .collect();
    let line = fit_line_of_unequal_errors(&explained, weight).ok().filter(|line| line.slope > 0.0)?;
    let cost = cost(&line, &roles, &points, &excluded, broken);
    Some(BufferSweep { roles, points, excluded, cost })
}

fn cost(
    line: &FittedLine,
    roles: &[Role],
    points: &[BufferSweepPoint<'_>],
    excluded: &[&Observation],
    breaks: Vec<PerCallBreak>,
) -> PerCall {
    let bounds =
        |interval: Option<ConfidenceInterval>| interval.map(|interval| [interval.low, interval.high]);
    let is_broken = |one: &Observation| breaks.iter().any(|found| found.observation == one.id);
    let rests_on =
        points.iter().filter(|point| !is_broken(point.one)).map(|point| point.one.id.clone()).collect();
    PerCall {
        roles: roles.to_vec(),
        fixed_s: line.intercept,
        fixed_s_interval: bounds(line.intercept_interval(Level::P95)),
        call_s: line.slope,
        call_s_interval: bounds(line.slope_interval(Level::P95)),
        observations: rests_on,
        excluded: excluded.iter().map(|one| one.id.clone()).collect(),
        breaks,
    }
}

/// The roles whose buffers were varied, or without buffers, whose calls were.
fn varied(group: &[&Observation]) -> Vec<Role> {
    let spread = |of: &dyn Fn(&Observation) -> Option<f64>| {
        let values: Vec<f64> = group.iter().filter_map(|one| of(one)).collect();
        let (least, most) = (table::extreme(&values, f64::min)?, table::extreme(&values, f64::max)?);
        narrows_model::units::ratio(most, least)
    };
    let has_buffers = group.iter().any(|one| ROLES.iter().any(|role| buffer_bytes(one, *role).is_some()));
    if has_buffers {
        let is_varied =
            |role: &Role| spread(&|one| buffer_bytes(one, *role)).is_some_and(|spread| spread > 1.0);
        return ROLES.into_iter().filter(is_varied).collect();
    }
    let of_calls = |role: Role| spread(&|one| table::counted_calls(one, role)).unwrap_or(1.0);
    let widest = ROLES.into_iter().map(of_calls).fold(1.0, f64::max);
    let is_widest = |role: &Role| widest >= SPREAD_MIN && of_calls(*role) >= widest * 0.9;
    ROLES.into_iter().filter(is_widest).collect()
}

/// Observations with different buffers and times whose printed counts are the same in every role that follows those that
/// were varied: at most one of the rows can be right.
fn repeated<'a>(group: &[&'a Observation], roles: &[Role]) -> Vec<&'a Observation> {
    let counts = |one: &Observation| {
        let others = ROLES.into_iter().filter(|role| !roles.contains(role));
        let counts: Vec<(Role, f64)> =
            others.filter_map(|role| Some((role, table::counted_calls(one, role)?))).collect();
        // A count that the buffer alone decides is the same in each row, and nearly so where few reads came short.
        let by_chance = counts.iter().all(|(role, count)| {
            let full =
                buffer_bytes(one, *role).zip(table::total_bytes(one)).map(|(buffer, bytes)| bytes / buffer);
            *count < REPEATED_MIN
                || full.is_none_or(|full| (full - count).abs() < (full * DECIDED_RATIO).max(1.0))
        });
        (!counts.is_empty() && !by_chance).then_some(counts)
    };
    let counted: Vec<Option<Vec<(Role, f64)>>> = group.iter().map(|one| counts(one)).collect();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for known in counted.iter().flatten() {
        *times.entry(format!("{known:?}")).or_default() += 1;
    }
    let is_repeated =
        |known: &Vec<(Role, f64)>| times.get(&format!("{known:?}")).is_some_and(|count| *count > 1);
    let of_group = group.iter().copied().zip(counted);
    of_group.filter(|(_, known)| known.as_ref().is_some_and(is_repeated)).map(|(one, _)| one).collect()
}

/// For each observation of a sweep of buffers: the one of the same sweep at which the role's CPU is fullest, with its share.
pub(crate) fn fullest_of_sweeps<'a>(
    table: &ObservationTable<'a>,
    role: Role,
) -> BTreeMap<&'a str, (&'a str, f64)> {
    let mut all = BTreeMap::new();
    for sweep in sweeps(table) {
        let shares = sweep
            .points
            .iter()
            .filter_map(|point| Some((point.one.id.as_str(), table::cpu(point.one, role)?.ratio)));
        let Some(fullest) = shares.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        all.extend(sweep.points.iter().map(|point| (point.one.id.as_str(), fullest)));
    }
    all
}

/// The lines over the calls in words, for each observation at which calls take most of the time.
pub(crate) fn laws<'a>(table: &ObservationTable<'a>) -> BTreeMap<&'a str, Vec<String>> {
    let mut all: BTreeMap<&'a str, Vec<String>> = BTreeMap::new();
    for sweep in sweeps(table) {
        let dominated = sweep.points.iter().filter(|point| sweep.call_share(point) >= DOMINANT_RATIO);
        for point in dominated {
            all.entry(point.one.id.as_str()).or_default().push(law(&sweep));
        }
    }
    all
}
