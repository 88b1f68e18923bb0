//! What a role used of its CPU.

use super::table;
use crate::thresholds::{CPU_FULL_RATIO, DOMINANT_RATIO, THROTTLED_RATIO};
use narrows_model::Observation;
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, RoleCpu};
use narrows_model::units::ratio;
use std::collections::BTreeMap;

/// On what a share of a CPU rests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CpuSource<'a> {
    /// Counters that were read around the window.
    Counters(&'a RoleCpu),
    /// A figure that was given, and of what it is a share.
    Given(&'static str),
}

/// What a role used of its CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuUse<'a> {
    /// The busy share of what it may use, or of its busiest core where that is fuller.
    pub busy_ratio: f64,
    /// Whether it is full, by its use or by the quota that throttled it.
    pub is_full: bool,
    /// Cores that were busy; `None` where only a share is known.
    pub used_cpus: Option<f64>,
    /// Seconds of CPU an operation, including time throttled by a quota; `None` where not counted.
    pub s_per_op: Option<f64>,
    /// On what the share rests.
    pub source: CpuSource<'a>,
}

/// What the roles used in a cell.
pub(super) fn of_cell<'a>(cell: &'a CellSummary) -> BTreeMap<Role, CpuUse<'a>> {
    let ops = cell.ops_per_s.map(|rate| rate.0 * cell.elapsed_s.last_done);
    let of_role = |cpu: &'a RoleCpu| CpuUse {
        busy_ratio: cpu.busy_ratio,
        is_full: is_full(cpu, cell),
        used_cpus: Some(cpu.busy_ratio * cpu.capacity_cpus),
        s_per_op: ops.and_then(|ops| ratio(cpu_and_throttled_s(cpu), ops)),
        source: CpuSource::Counters(cpu),
    };
    cell.cpu.iter().map(|(role, cpu)| (*role, of_role(cpu))).collect()
}

/// What an observation reports about its roles.
pub(super) fn of_observation(one: &Observation) -> BTreeMap<Role, CpuUse<'static>> {
    let of_role = |role: Role| {
        let share = table::cpu(one, role)?;
        let cpu = CpuUse {
            busy_ratio: share.ratio,
            is_full: share.ratio >= CPU_FULL_RATIO,
            used_cpus: table::cores(one, role),
            s_per_op: None,
            source: CpuSource::Given(share.of),
        };
        Some((role, cpu))
    };
    table::ROLES.into_iter().filter_map(of_role).collect()
}

/// CPU seconds of a role, including time throttled by a quota.
pub(crate) fn cpu_and_throttled_s(cpu: &RoleCpu) -> f64 {
    cpu.user_s + cpu.system_s + cpu.throttled_s.unwrap_or(0.0)
}

/// Whether a role's CPU is full in a cell, by what it uses or by its quota.
pub(crate) fn is_full(cpu: &RoleCpu, cell: &CellSummary) -> bool {
    cpu.busy_ratio >= CPU_FULL_RATIO || is_throttled_full(cpu, cell)
}

/// Whether a quota throttled the role for a tenth of the time while it used most of it, or ran out in half of its
/// periods: use beyond the quota before the window is charged within it, which leaves little use and none to spare, and
/// the time for which the role is still throttled at the window's end is not counted yet.
fn is_throttled_full(cpu: &RoleCpu, cell: &CellSummary) -> bool {
    // What is left where a quota takes a tenth of the time, less the error of both readings.
    const MOSTLY_USED_RATIO: f64 = 0.80;
    let most_s = cell.elapsed_s.last_done * THROTTLED_RATIO;
    let is_throttled = cpu.throttled_s.is_some_and(|throttled_s| throttled_s >= most_s);
    let ran_out = cpu.throttled_period_ratio.is_some_and(|share| share >= DOMINANT_RATIO);
    ran_out || (is_throttled && cpu.busy_ratio >= MOSTLY_USED_RATIO)
}
