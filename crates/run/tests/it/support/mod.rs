//! What tests of whole plans share: a site of this process, a cell that is nothing but its load, a plan of cells.

use narrows_engines::{EngineRegistry, MonotonicClock};
use narrows_model::plan::{LoadStatement, PLAN_SCHEMA, Topology};
use narrows_model::{Bytes, Cell, CellId, Cut, Nanos, Plan, Segment, Stop, Workload};
use narrows_run::{CellSite, NoCounters, Overruns, PeerLoss, PreparedObjects, StopFlag, ThreadCoordinator};
use std::sync::Arc;

/// A site whose clients are threads of this process.
pub(crate) fn site(stop: &StopFlag) -> CellSite {
    CellSite {
        registry: EngineRegistry::for_user(),
        clock: Arc::new(MonotonicClock::new()),
        stop: stop.clone(),
        peer_loss: PeerLoss::default(),
        coordinator: Box::new(ThreadCoordinator),
        counters: Box::new(NoCounters),
        server_metrics: None,
        hostname: "here".to_owned(),
        seed: 7,
        interval_ns: Nanos::from_millis(10),
        token: None,
        answer_timeout_ns: Nanos::from_millis(5000),
        prepared: PreparedObjects::default(),
        overruns: Overruns::default(),
    }
}

/// One trial of `workload` at `target`, from this machine.
pub(crate) fn cell(id: CellId, target: &str, workload: Workload, stop: Stop) -> Cell {
    Cell { id, ..Cell::new(Cut::Path, target.parse().unwrap(), workload, stop) }
}

/// The plan of `cells`, with time for all of them.
pub(crate) fn plan(cells: Vec<Cell>) -> Plan {
    Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed: 7,
        target: "null:".parse().unwrap(),
        topology: Topology::Local,
        segments: vec![Segment::Generator],
        cells,
        skipped: Vec::new(),
        load: LoadStatement {
            planned_ns: Nanos(0),
            prefill_bytes: Bytes(0),
            prefill_ns_max: Nanos(0),
            file_bytes_max: Bytes(0),
            write_bytes_max: None,
            touches: Vec::new(),
            in_flight_max: 1,
            max_bytes_per_s: None,
        },
        budget_ns: Nanos::from_millis(600_000),
        interval_ns: Nanos::from_millis(10),
        study: None,
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    }
}
