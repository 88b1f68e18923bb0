//! Whether programs that are no part of the path, or a hypervisor, took CPU time, memory, or a device or link from a cell.
//!
//! Not here: whether that limits a load, which is the rule `foreign-load`'s.

use crate::thresholds::{DOMINANT_RATIO, FULL_RATIO, RAISED_RATIO};
use narrows_model::summary::{CellSummary, ForeignLoad, MemoryStall, RoleCpu};

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

/// Whether a role's quota ran out in half of its periods: then it is what the role's threads waited for.
pub(crate) fn runs_out_of_quota(cpu: &RoleCpu) -> bool {
    cpu.throttled_period_ratio.is_some_and(|share| share >= DOMINANT_RATIO)
}

/// Whether others used a large part of a machine whose CPUs were all busy.
pub(crate) fn takes_much(load: &ForeignLoad) -> bool {
    load.busy_cpus >= load.machine_cpus * FULL_RATIO && load.used_cpus >= load.machine_cpus * LARGE_RATIO
}

/// Whether a hypervisor took a large part of a machine that had no CPU idle beside that.
pub(crate) fn is_robbed(load: &ForeignLoad) -> bool {
    load.busy_cpus + load.stolen_cpus >= load.machine_cpus * FULL_RATIO
        && load.stolen_cpus >= load.machine_cpus * LARGE_RATIO
}

/// Whether tasks outside of the load's own control group waited for memory: where the waits are mostly the group's own, its
/// limit is what they wait for, and where they are not known, nothing says whose they are.
pub(crate) fn is_of_others(stall: &MemoryStall) -> bool {
    stall.own_ratio.is_some_and(|own| own < stall.some_ratio * DOMINANT_RATIO)
}

/// Whether several requests in flight absorbed the waits of a load's threads: these were blocked for most of the time, on a
/// network or a device that stayed busy meanwhile, and the rate was steady.
fn absorbs_waits(cell: &CellSummary, load: &ForeignLoad) -> bool {
    let is_steady = cell.steadiness.is_some_and(|seen| seen.range_ratio <= RAISED_RATIO - 1.0);
    let is_blocked = wait_shares(cell, load).is_some_and(|shares| shares.runnable < DOMINANT_RATIO);
    cell.in_flight.configured > 1 && is_steady && is_blocked
}

/// Whether other programs disturbed the cell: the load waited for a CPU while they used some, or they left none idle, when
/// threads of the kernel, whose waits are not counted, waited for one too; or a hypervisor took a tenth of the machine; or a
/// device or an interface of the path moved much for them; or they waited for memory. A load whose rate their CPU time did not move is not disturbed by it.
pub(crate) fn is_disturbed(cell: &CellSummary) -> bool {
    let waited = |load: &ForeignLoad| {
        load.used_cpus >= load.machine_cpus * USED_MIN_RATIO
            && wait_shares(cell, load).is_some_and(|shares| shares.waiting >= WAITED_MIN_RATIO)
    };
    let stolen = |load: &ForeignLoad| load.stolen_cpus >= load.machine_cpus * USED_MIN_RATIO;
    let disturbs =
        |load: &ForeignLoad| (takes_much(load) || waited(load) || stolen(load)) && !absorbs_waits(cell, load);
    cell.foreign_cpu.iter().any(disturbs)
        || !cell.foreign_transfers.is_empty()
        || cell.memory_stalls.iter().any(is_of_others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::Role;
    use narrows_model::summary::{CpuWaiting, Steadiness};

    /// A bulk cell beside programs that fill the machine, whose thread is runnable for this share of the time and waits for
    /// a CPU for a third of that.
    fn beside_others(runnable_ratio: f64, range_ratio: f64, in_flight: u64) -> bool {
        let summary = builtin("hundred-megabit");
        let mut cell = summary.cells.iter().find(|cell| cell.id == "path/read/1MiB/qd16/c1").unwrap().clone();
        cell.foreign_cpu = vec![ForeignLoad {
            roles: vec![Role::Client],
            machine_cpus: 2.0,
            busy_cpus: 2.0,
            used_cpus: 1.5,
            stolen_cpus: 0.0,
            programs: Vec::new(),
        }];
        let waiting = CpuWaiting { runnable_ratio, waiting_ratio: runnable_ratio / 3.0 };
        cell.cpu.get_mut(&Role::Client).unwrap().waiting = Some(waiting);
        cell.steadiness =
            Some(Steadiness { round_count: 5, of_trials: false, range_ratio, drift_ratio: 0.0 });
        cell.in_flight.configured = in_flight;
        is_disturbed(&cell)
    }

    #[test]
    fn a_steady_load_that_mostly_waits_for_a_network_is_not_disturbed_by_busy_cpus() {
        assert!(!beside_others(0.2, 0.004, 16));
    }

    #[test]
    fn a_load_that_varies_that_needs_its_cpu_or_that_has_one_request_in_flight_is() {
        for (runnable_ratio, range_ratio, in_flight) in [(0.2, 0.1, 16), (0.8, 0.004, 16), (0.2, 0.004, 1)] {
            assert!(beside_others(runnable_ratio, range_ratio, in_flight), "{runnable_ratio} {range_ratio}");
        }
    }
}
