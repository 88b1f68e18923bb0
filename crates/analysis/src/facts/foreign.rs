//! Whether programs that are no part of the path took CPU time from a cell.
//!
//! Not here: whether that limits a load, which is the rule `foreign-load`'s.

use crate::thresholds::{DOMINANT_RATIO, FULL_RATIO, RAISED_RATIO};
use narrows_model::summary::{CellSummary, ForeignLoad, RoleCpu};

/// From this share of a machine's CPUs on, other programs are looked at: less is what the services of any system use.
pub(crate) const USED_MIN_RATIO: f64 = 0.10;
/// From this share of a machine's CPUs on others can limit a load: with less taken, the rest is at most a third more.
const LARGE_RATIO: f64 = 0.25;
/// From this share of its time on, a wait changes figures: steady cells repeat within as much.
const WAITED_MIN_RATIO: f64 = RAISED_RATIO - 1.0;

/// How the threads of a load's roles on one machine waited for a CPU, summed over roles: at one connection at most one of
/// them works on a byte at a time, so that the sum is up to the number of roles.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WaitShares {
    /// Share of the time in which they were runnable: on a CPU or waiting for one.
    pub runnable: f64,
    /// Share of the time in which they waited for a CPU.
    pub waiting: f64,
}

/// The waits on the machine of `load`; `None` where no role's are known, or a quota ran out in half of its periods: then
/// the quota is what the roles waited for.
pub(crate) fn wait_shares(cell: &CellSummary, load: &ForeignLoad) -> Option<WaitShares> {
    let roles = || load.roles.iter().filter_map(|role| cell.cpu.get(role));
    if roles().any(runs_out_of_quota) {
        return None;
    }
    roles().filter_map(|cpu| cpu.waiting).map(|one| (one.runnable_ratio, one.waiting_ratio)).fold(
        None,
        |sum: Option<WaitShares>, (runnable, waiting)| {
            let sum = sum.unwrap_or_default();
            Some(WaitShares { runnable: sum.runnable + runnable, waiting: sum.waiting + waiting })
        },
    )
}

fn runs_out_of_quota(cpu: &RoleCpu) -> bool {
    cpu.throttled_period_ratio.is_some_and(|share| share >= DOMINANT_RATIO)
}

/// Whether others used a large part of a machine whose CPUs were all busy.
pub(crate) fn takes_much(load: &ForeignLoad) -> bool {
    load.busy_cpus >= load.machine_cpus * FULL_RATIO && load.used_cpus >= load.machine_cpus * LARGE_RATIO
}

/// Whether other programs disturbed the cell: the load waited for a CPU while they used some, or they left none idle, when
/// threads of the kernel, whose waits are not counted, waited for one too; or a device or an interface of the path moved
/// much for them.
pub(crate) fn is_disturbed(cell: &CellSummary) -> bool {
    let waited = |load: &ForeignLoad| {
        load.used_cpus >= load.machine_cpus * USED_MIN_RATIO
            && wait_shares(cell, load).is_some_and(|shares| shares.waiting >= WAITED_MIN_RATIO)
    };
    cell.foreign_cpu.iter().any(|load| takes_much(load) || waited(load)) || !cell.foreign_transfers.is_empty()
}
