//! From a request and the plan of a check of the same folder to the plan of the suite: the check's cuts, then the phases.

use super::options;
use super::request::Request;
use narrows_model::cell::FactorValue;
use narrows_model::plan::{LoadStatement, SUITE_PHASE, SUITE_TEST};
use narrows_model::workload::{Order, Prefill};
use narrows_model::{
    Bytes, Cell, CellId, Cut, EngineId, Nanos, Op, Plan, Repeat, Site, Stop, Target, Workload,
};
use narrows_study::Problem;
use std::collections::BTreeMap;

/// Longest time of a phase: what has not come to its end by then is cut short, and told as that.
pub(super) const PHASE_NS_MAX: Nanos = Nanos(24 * 3_600_000_000_000);

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Create,
    Transactions,
    Delete,
}

impl Phase {
    /// The phases in their order.
    pub(super) const ALL: [Self; 3] = [Self::Create, Self::Transactions, Self::Delete];

    /// The name in records.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Transactions => "transactions",
            Self::Delete => "delete",
        }
    }

    fn op(self) -> Op {
        match self {
            Self::Create => Op::Put,
            // What transactions do is theirs to say.
            Self::Transactions => Op::Get,
            Self::Delete => Op::Delete,
        }
    }
}

/// The plan of `request`, for files in `target`, beside the cuts of `check`.
///
/// # Shape
/// The check's cuts, then creation, transactions and deletion, which go on with the same files.
///
/// # Errors
/// All that is wrong with the request.
pub fn plan(request: &Request, target: &Target, check: Plan) -> Result<Plan, Vec<Problem>> {
    let problems = request.problems();
    if !problems.is_empty() {
        return Err(problems);
    }
    let cuts = check.cells.into_iter().filter(|cell| request.has_cuts && cell.cut != Cut::Path);
    let mut cells: Vec<Cell> = cuts.collect();
    let cuts_ns = cells.iter().fold(Nanos(0), |sum, cell| sum.saturating_add(cell.planned_ns()));
    let cuts_in_flight = cells.iter().map(|cell| cell.workload.in_flight_configured()).max().unwrap_or(0);
    cells.extend(Phase::ALL.map(|phase| cell(request, phase, target)));
    let whole_ns = cells.iter().fold(Nanos(0), |sum, cell| sum.saturating_add(cell.planned_ns()));
    let skipped = check
        .skipped
        .into_iter()
        .filter(|skip| request.has_cuts && !skip.cell.0.starts_with(&format!("{}/", Cut::Path.name())));
    Ok(Plan {
        load: load(request, &check.load, cuts_ns, cuts_in_flight),
        cells,
        skipped: skipped.collect(),
        // The phases end with their last file, and the run with them.
        budget_ns: whole_ns.saturating_add(PHASE_NS_MAX),
        suite: Some(options::source(request)),
        ..check
    })
}

fn load(request: &Request, check: &LoadStatement, cuts_ns: Nanos, cuts_in_flight: u64) -> LoadStatement {
    let cuts = |bytes: Bytes| if request.has_cuts { bytes } else { Bytes(0) };
    LoadStatement {
        planned_ns: cuts_ns,
        prefill_bytes: cuts(check.prefill_bytes),
        prefill_ns_max: if request.has_cuts { check.prefill_ns_max } else { Nanos(0) },
        file_bytes_max: cuts(check.file_bytes_max).max(request.file_bytes_max()),
        write_bytes_max: if request.has_cuts { None } else { Some(request.write_bytes_max()) },
        touches: check.touches.clone(),
        in_flight_max: cuts_in_flight.max(1),
        max_bytes_per_s: None,
    }
}

fn cell(request: &Request, phase: Phase, target: &Target) -> Cell {
    let settings = &request.settings;
    let set = settings.objects(phase == Phase::Transactions);
    let workload = Workload {
        engine: Some(EngineId::Objects),
        op: phase.op(),
        block_bytes: Bytes(settings.write_bytes),
        file_bytes: Bytes(set.expected_bytes().0.max(1)),
        order: Order::Sequential,
        prefill: Prefill::Nothing,
        objects: Some(set),
        ..Workload::default()
    };
    let named = |name: &str| FactorValue::Text(name.to_owned());
    Cell {
        id: CellId(phase.name().to_owned()),
        cut: Cut::Path,
        site: Site::Client,
        target: target.clone(),
        workload,
        stop: Stop { warm_up_ns: Nanos(0), measure_ns: PHASE_NS_MAX, bytes_max: None, ops_max: None },
        trials: 1,
        repeat: Repeat::Fixed,
        more_targets: Vec::new(),
        factors: BTreeMap::from([
            (SUITE_TEST.to_owned(), named(super::NAME)),
            (SUITE_PHASE.to_owned(), named(phase.name())),
        ]),
        read_only: false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{planned, request};
    use super::*;

    #[test]
    fn the_phases_go_on_with_the_same_files() {
        let plan = planned(&request());
        let phases: Vec<&Cell> = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect();
        let ops: Vec<_> = phases.iter().map(|cell| (cell.id.0.as_str(), cell.workload.op)).collect();
        assert_eq!(ops, [("create", Op::Put), ("transactions", Op::Get), ("delete", Op::Delete)]);
        let sets: Vec<_> = phases.iter().filter_map(|cell| cell.workload.objects).collect();
        assert!(sets.iter().all(|set| set.identity() == sets[0].identity()));
        assert_eq!(
            sets.iter().map(|set| set.transactions.is_some()).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert!(phases.iter().all(|cell| cell.ends_by_count()));
    }

    #[test]
    fn the_cuts_of_a_check_stand_before_the_phases_or_are_left_out() {
        let plan = planned(&request());
        let first = plan.cells.iter().position(|cell| cell.cut == Cut::Path).unwrap();
        assert!(first > 0 && plan.cells[first..].len() == 3);
        let bare = planned(&Request { has_cuts: false, ..request() });
        assert_eq!((bare.cells.len(), bare.load.planned_ns), (3, Nanos(0)));
        assert_eq!(bare.load.write_bytes_max, Some(Bytes(15_000_000)));
        assert_eq!(bare.load.file_bytes_max, Bytes(10_000_000));
    }
}
