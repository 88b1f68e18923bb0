//! The plan of a suite on a folder, made from the plan of a check of the same folder: the check's cuts, then the suite's
//! cells.
//!
//! A check measures what is below a suite's tests: its cuts are planned by its own code, and its cells of the path are
//! replaced by the tests. Not here: what a suite's cells do, which each suite defines.

use narrows_model::cell::FactorValue;
use narrows_model::plan::{LoadStatement, SUITE_PHASE, SUITE_TEST, SkippedCell, SuiteSource};
use narrows_model::{Bytes, Cell, CellId, Cut, EngineId, Nanos, Plan, Stop, Target, Workload};
use std::collections::BTreeMap;

/// Longest time of a cell that ends with its count: what is not done by then is cut short, and reported as that.
pub(crate) const CELL_NS_MAX: Nanos = Nanos(24 * 3_600_000_000_000);

/// What a suite runs, and what that puts on the folder.
pub(crate) struct SuiteLoad {
    /// The suite's cells, in their order.
    pub(crate) cells: Vec<Cell>,
    /// Bytes in the folder at once.
    pub(crate) file_bytes_max: Bytes,
    /// Bytes that the cells write, at most.
    pub(crate) write_bytes_max: Bytes,
    /// Folders that are touched beside that of the check.
    pub(crate) touches: Vec<String>,
    /// What was asked for.
    pub(crate) source: SuiteSource,
}

/// The plan of `own` behind the cuts of `check`, which are left out where the suite's source has none.
///
/// # Shape
/// The check's cuts, then the suite's cells.
pub(crate) fn behind_cuts(check: Plan, own: SuiteLoad) -> Plan {
    let is_measured = own.source.has_cuts();
    let mut cells: Vec<Cell> =
        check.cells.into_iter().filter(|cell| is_measured && cell.cut != Cut::Path).collect();
    let cuts_ns = whole_ns(&cells);
    let path = format!("{}/", Cut::Path.name());
    let is_kept = |skip: &SkippedCell| is_measured && !skip.cell.0.starts_with(&path);
    cells.extend(own.cells);
    let bytes = |bytes: Bytes| if is_measured { bytes } else { Bytes(0) };
    let load = LoadStatement {
        planned_ns: cuts_ns,
        prefill_bytes: bytes(check.load.prefill_bytes),
        prefill_ns_max: if is_measured { check.load.prefill_ns_max } else { Nanos(0) },
        file_bytes_max: bytes(check.load.file_bytes_max).max(own.file_bytes_max),
        // What the cuts write depends on how fast they are.
        write_bytes_max: (!is_measured).then_some(own.write_bytes_max),
        touches: check.load.touches.into_iter().chain(own.touches).collect(),
        in_flight_max: cells.iter().map(|cell| cell.workload.in_flight_configured()).max().unwrap_or(0),
        max_bytes_per_s: None,
    };
    Plan {
        load,
        skipped: check.skipped.into_iter().filter(is_kept).collect(),
        // The suite's cells end with their counts, and the run with them.
        budget_ns: whole_ns(&cells).saturating_add(CELL_NS_MAX),
        cells,
        suite: Some(own.source),
        ..check
    }
}

fn whole_ns(cells: &[Cell]) -> Nanos {
    cells.iter().fold(Nanos(0), |sum, cell| sum.saturating_add(cell.planned_ns()))
}

/// The engine of whole files at `target`: that of the server which has them, else of folders.
pub(crate) fn object_engine(target: &Target) -> EngineId {
    match target {
        Target::Scheme { engine, .. } => *engine,
        _ => EngineId::Objects,
    }
}

/// The test of a suite that a cell measures a phase of.
pub(crate) struct TestPhase<'a> {
    /// The test, such as a row of a table.
    pub(crate) test: &'a str,
    /// The phase of it, such as a column.
    pub(crate) phase: &'a str,
}

/// A cell of a suite: of the path, at this machine, run once until its own count ends it.
pub(crate) fn suite_cell(id: String, of: &TestPhase<'_>, target: &Target, workload: Workload) -> Cell {
    let named = |name: &str| FactorValue::Text(name.to_owned());
    Cell {
        id: CellId(id),
        factors: BTreeMap::from([
            (SUITE_TEST.to_owned(), named(of.test)),
            (SUITE_PHASE.to_owned(), named(of.phase)),
        ]),
        ..Cell::new(
            Cut::Path,
            target.clone(),
            workload,
            Stop { warm_up_ns: Nanos(0), measure_ns: CELL_NS_MAX, bytes_max: None, ops_max: None },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_study::{CheckRequest, plan_check};

    fn planned(has_cuts: bool) -> Plan {
        let target: Target = "/data".parse().unwrap();
        let of = TestPhase { test: "run", phase: "write" };
        let workload = Workload { clients: 300, ..Workload::default() };
        let own = SuiteLoad {
            cells: vec![suite_cell("run/write".to_owned(), &of, &target, workload)],
            file_bytes_max: Bytes(1 << 50),
            write_bytes_max: Bytes(7),
            touches: vec!["/more".to_owned()],
            source: SuiteSource::new("own", has_cuts, serde_json::Value::Null),
        };
        behind_cuts(plan_check(&CheckRequest::new(target)).unwrap(), own)
    }

    #[test]
    fn cells_of_the_path_give_way_to_those_of_the_suite() {
        let plan = planned(true);
        let paths: Vec<&Cell> = plan.cells.iter().filter(|cell| cell.cut == Cut::Path).collect();
        assert_eq!((paths.len(), paths[0].id.0.as_str()), (1, "run/write"));
        assert!(plan.cells.len() > 1 && plan.cells.last().is_some_and(|cell| cell.cut == Cut::Path));
        assert!(plan.load.planned_ns > Nanos(0) && plan.load.write_bytes_max.is_none());
        assert!(plan.skipped.iter().all(|skip| !skip.cell.0.starts_with("path/")));
        assert!(plan.budget_ns > CELL_NS_MAX);
    }

    #[test]
    fn without_cuts_the_load_is_the_suites_alone() {
        let plan = planned(false);
        assert_eq!((plan.cells.len(), plan.skipped.len(), plan.load.planned_ns), (1, 0, Nanos(0)));
        assert_eq!((plan.load.write_bytes_max, plan.load.in_flight_max), (Some(Bytes(7)), 300));
        assert_eq!(plan.load.file_bytes_max, Bytes(1 << 50));
        assert_eq!(plan.load.touches.last().map(String::as_str), Some("/more"));
    }
}
