//! What a plan costs, as far as it is known before it starts: bytes, time, and caches that it displaces.
//!
//! Not here: what is known only afterwards. A load that time alone ends moves as much as its path takes; it is counted
//! where a cap on its rate bounds it, else not at all. A trial of a suite lasts until its bytes are transferred; where no
//! cap on its rate bounds its time, the time is that on a slow path. Cells that a check adds are within its budget.

use crate::cell::{Cell, Cut, TRIAL_OVERHEAD_NS};
use crate::plan::Plan;
use crate::target::Target;
use crate::units::{Bytes, Nanos, round_to_u64};
use crate::workload::{CacheState, ObjectSet, Op, Order, Workload};

/// More bytes than so many times the memory of the machine need a confirmation.
pub const COST_MEMORY_MULTIPLE: u64 = 4;
/// A longer time needs a confirmation.
pub const COST_NS_MAX: Nanos = Nanos(15 * 60 * 1_000_000_000);
/// What is taken as the memory of a machine that does not report it: the least that servers of today have.
pub const COST_MEMORY_ASSUMED: Bytes = Bytes(1 << 30);

/// Bytes a second of the slow path whose time is stated where nothing bounds it: a link of 400 Mbit/s.
pub const SLOW_BYTES_PER_S: u64 = 50_000_000;
/// Operations on whole files a second of the slow path: few enough for a remote file system in the same building.
pub const SLOW_FILE_OPS_PER_S: u64 = 1000;

/// The costs of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlanCosts {
    /// Most bytes of files and objects that are written before cells visit them.
    pub prepared_bytes: Bytes,
    /// Most bytes that loads move, of those that have a bound.
    pub load_bytes: Bytes,
    /// Whether there are loads without a bound on their bytes.
    pub has_open_bytes: bool,
    /// Bytes of dummy files that are read to displace others from caches, at each serving machine.
    pub displacing_bytes: Bytes,
    /// Longest time of loads and preparation, of those that have a bound; at most the budget.
    pub duration_ns: Nanos,
    /// Time of the loads without a bound on it, on a slow path: [`SLOW_BYTES_PER_S`] and [`SLOW_FILE_OPS_PER_S`].
    pub open_ns: Nanos,
}

/// A cost beyond what a command does without a confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostExcess {
    /// More bytes than a multiple of the machine's memory.
    Bytes,
    /// A longer time than the limit.
    Duration,
    /// Caches are displaced.
    DisplacedCaches,
}

impl PlanCosts {
    /// The costs of `plan`, all repetitions at their maximum.
    #[must_use]
    pub fn from_plan(plan: &Plan) -> Self {
        let mut costs = Self { prepared_bytes: plan.load.prefill_bytes, ..Self::default() };
        if let Some(relay) = &plan.relay {
            let trials =
                relay.cells.iter().fold(0, |sum: u64, cell| sum.saturating_add(u64::from(cell.trials)));
            costs.load_bytes = times(relay.total, trials);
            costs.open_ns = slow_ns(costs.load_bytes, 0);
        }
        let mut duration_ns = plan.load.prefill_ns_max;
        for cell in &plan.cells {
            let trials = u64::from(cell.trials.max(1));
            match trial_bytes(plan, cell) {
                Some(bytes) => costs.load_bytes = costs.load_bytes.saturating_add(times(bytes, trials)),
                None => costs.has_open_bytes = true,
            }
            match longest_ns(plan, cell) {
                Some(longest) => duration_ns = duration_ns.saturating_add(longest),
                None => costs.open_ns = costs.open_ns.saturating_add(slow_trials_ns(cell)),
            }
            let scanned = times(displacing_bytes(cell), trials);
            costs.displacing_bytes = costs.displacing_bytes.saturating_add(scanned);
        }
        costs.duration_ns = duration_ns.min(plan.budget_ns);
        costs
    }

    /// Bytes that are known to be moved, without those that displace caches.
    #[must_use]
    pub fn moved_bytes(&self) -> Bytes {
        self.prepared_bytes.saturating_add(self.load_bytes)
    }

    /// The longest time of what has a bound, and the time of the rest on a slow path.
    #[must_use]
    pub fn expected_ns(&self) -> Nanos {
        self.duration_ns.saturating_add(self.open_ns)
    }

    /// The costs of this and of `other` after it.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            prepared_bytes: self.prepared_bytes.saturating_add(other.prepared_bytes),
            load_bytes: self.load_bytes.saturating_add(other.load_bytes),
            has_open_bytes: self.has_open_bytes || other.has_open_bytes,
            displacing_bytes: self.displacing_bytes.saturating_add(other.displacing_bytes),
            duration_ns: self.duration_ns.saturating_add(other.duration_ns),
            open_ns: self.open_ns.saturating_add(other.open_ns),
        }
    }

    /// What of it needs a confirmation on a machine with `memory_bytes`; nothing where no limit is exceeded.
    #[must_use]
    pub fn excesses(&self, memory_bytes: Option<Bytes>) -> Vec<CostExcess> {
        let bytes_max = Self::bytes_max(memory_bytes);
        let all = [
            (self.moved_bytes() > bytes_max, CostExcess::Bytes),
            (self.expected_ns() > COST_NS_MAX, CostExcess::Duration),
            (self.displacing_bytes > Bytes(0), CostExcess::DisplacedCaches),
        ];
        all.into_iter().filter(|(exceeds, _)| *exceeds).map(|(_, excess)| excess).collect()
    }

    /// Bytes that need no confirmation on a machine with `memory_bytes`.
    #[must_use]
    pub fn bytes_max(memory_bytes: Option<Bytes>) -> Bytes {
        times(memory_bytes.unwrap_or(COST_MEMORY_ASSUMED), COST_MEMORY_MULTIPLE)
    }
}

fn times(bytes: Bytes, count: u64) -> Bytes {
    Bytes(bytes.0.saturating_mul(count))
}

/// Whether its counts end a trial of `cell`: elsewhere time does, and a count only keeps it within a file.
fn is_counted(plan: &Plan, cell: &Cell) -> bool {
    let has_counts = plan.study.is_some() || (plan.suite.is_some() && cell.cut == Cut::Path);
    has_counts && cell.ends_by_count()
}

/// Most bytes that one trial moves; `None` without a bound. Targets that move none are no cost.
fn trial_bytes(plan: &Plan, cell: &Cell) -> Option<Bytes> {
    if matches!(cell.target, Target::Null { .. } | Target::Sim { .. }) {
        return Some(Bytes(0));
    }
    let counted = is_counted(plan, cell).then(|| counted_bytes(cell));
    let capped = rate_bytes_per_s(&cell.workload)
        .map(|rate| Bytes(round_to_u64(rate * cell.trial_ns().as_secs_f64())));
    counted.into_iter().chain(capped).min()
}

/// Longest time of all trials; `None` where neither a time nor a rate bounds it.
fn longest_ns(plan: &Plan, cell: &Cell) -> Option<Nanos> {
    let trials = u64::from(cell.trials.max(1));
    let all_trials =
        |trial_ns: Nanos| Nanos(trial_ns.0.saturating_add(TRIAL_OVERHEAD_NS).saturating_mul(trials));
    if plan.suite.is_none() || !is_counted(plan, cell) {
        return Some(all_trials(cell.trial_ns()));
    }
    let rate = rate_bytes_per_s(&cell.workload).filter(|rate| *rate > 0.0)?;
    let at_rate = Nanos::from_secs_f64(counted_bytes(cell).as_f64() / rate);
    Some(all_trials(at_rate.min(cell.trial_ns())))
}

/// Time of all trials of a cell that its counts end, on a slow path.
fn slow_trials_ns(cell: &Cell) -> Nanos {
    let of_trial = slow_ns(counted_bytes(cell), file_operations(&cell.workload));
    Nanos(of_trial.0.saturating_add(TRIAL_OVERHEAD_NS).saturating_mul(u64::from(cell.trials.max(1))))
}

/// Time of `bytes` and of `file_ops` operations on whole files on a slow path.
fn slow_ns(bytes: Bytes, file_ops: u64) -> Nanos {
    let seconds = u128::from(bytes.0 / SLOW_BYTES_PER_S) + u128::from(file_ops / SLOW_FILE_OPS_PER_S);
    Nanos(u64::try_from(seconds * 1_000_000_000).unwrap_or(u64::MAX))
}

/// Operations on whole files of one trial, at all clients.
fn file_operations(workload: &Workload) -> u64 {
    let Some(objects) = &workload.objects else { return 0 };
    let of_client = objects.transactions.map_or(objects.count, |transactions| transactions.count);
    // A load that renames gives each object another name and its own back.
    let of_object = if workload.op == Op::Rename { 2 } else { 1 };
    let clients = u64::from(workload.clients.max(1));
    // Each client lists the names of all in a folder that they share.
    let listed = if workload.order == Order::Listing && objects.shared_folder { clients } else { 1 };
    of_client.saturating_mul(of_object).saturating_mul(listed).saturating_mul(clients)
}

/// The cap on a load's rate, in bytes a second; `None` is unlimited.
fn rate_bytes_per_s(workload: &Workload) -> Option<f64> {
    let operations = workload.arrivals.offered_ops_per_s().or(workload.max_ops_per_s);
    let of_operations = operations.filter(|_| workload.objects.is_none());
    let of_operations = of_operations.map(|rate| rate * workload.block_bytes.as_f64());
    let of_bytes = workload.max_bytes_per_s.map(|rate| Bytes(rate).as_f64());
    of_bytes.into_iter().chain(of_operations).reduce(f64::min)
}

/// Bytes that the counts of one trial allow, with what is written back.
fn counted_bytes(cell: &Cell) -> Bytes {
    let workload = &cell.workload;
    if let Some(objects) = &workload.objects {
        return times(object_bytes(workload, objects), u64::from(workload.clients.max(1)));
    }
    if matches!(workload.op, Op::Stat | Op::Delete | Op::Rename | Op::Meta | Op::List | Op::Sync | Op::Ping) {
        return Bytes(0);
    }
    let of_operations = cell.stop.ops_max.map(|count| times(workload.block_bytes, count));
    let counted = cell.stop.bytes_max.into_iter().chain(of_operations).min().unwrap_or_default();
    let written_back = workload.write_back_every.map_or(0, |every| counted.0 / u64::from(every.max(1)));
    counted.saturating_add(Bytes(written_back))
}

/// Bytes of the operations of one client on its objects: as expected, in transactions at most.
fn object_bytes(workload: &Workload, objects: &ObjectSet) -> Bytes {
    if let Some(transactions) = objects.transactions {
        let halves = [transactions.read_bias, transactions.create_bias].into_iter().flatten().count();
        return times(objects.max_bytes, transactions.count.saturating_mul(halves as u64));
    }
    match workload.op {
        Op::Put => objects.expected_bytes(),
        Op::Get => objects.expected_get_bytes(),
        Op::Append => times(workload.block_bytes, objects.count),
        Op::Stat if objects.stat_reads => objects.expected_bytes(),
        _ => Bytes(0),
    }
}

/// Bytes of the dummy files of one trial: folders are read in one by one, servers on one machine share one.
fn displacing_bytes(cell: &Cell) -> Bytes {
    let CacheState::Displaced { scan_bytes } = cell.workload.cache else { return Bytes(0) };
    let folders = cell.target.members().iter().filter(|member| matches!(member, Target::File { .. })).count();
    times(scan_bytes, (folders as u64).max(1))
}

#[cfg(test)]
mod tests;
