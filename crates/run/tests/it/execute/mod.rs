//! Whole plans on real files and on no target: what is reported, in which order, and what is left behind.

mod clients;
mod course;
mod files;
mod merging;
mod repetition;
mod verified;

use crate::support::{self, plan, site};
use narrows_engines::{Clock, Tick};
use narrows_model::event::{EndReason, Phase};
use narrows_model::sim_profile::{CacheLaw, SimProfile, StationLaw};
use narrows_model::workload::{Access, CacheState, OpShare, Order, Prefill, SyncPolicy};
use narrows_model::{Bytes, Cell, CellId, Cut, Event, Nanos, Op, Plan, Stop, TrialOutput, Workload};
use narrows_run::assignment::{Assignment, ClientOutput};
use narrows_run::coordinator::{LocalContext, TrialHooks};
use narrows_run::{
    CellSite, Coordinator, ProcessCoordinator, RunError, StopFlag, StopRequest, ThreadCoordinator, clean_up,
    execute,
};
use std::path::Path;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()
}

/// A cell that makes one pass over a file of 4 MiB in `target`, or runs for 30 ms over nothing.
fn cell(target: &str, workload: Workload, once: bool) -> Cell {
    let workload = Workload { file_bytes: Bytes(4 * MIB), ..workload };
    let (measure_ns, bytes_max) = if once {
        (Nanos::from_millis(10_000), Some(Bytes(4 * MIB)))
    } else {
        (Nanos::from_millis(30), None)
    };
    let stop = Stop { warm_up_ns: Nanos(0), measure_ns, bytes_max, ops_max: None };
    support::cell(Cell::name(Cut::Path, &workload), target, workload, stop)
}

fn trials(events: &[Event]) -> Vec<&TrialOutput> {
    events
        .iter()
        .filter_map(|event| if let Event::TrialFinished(trial) = event { Some(trial.as_ref()) } else { None })
        .collect()
}

fn writing(block_bytes: u64, workers: u32) -> Workload {
    let sync = SyncPolicy::AtEnd;
    Workload { op: Op::Write, block_bytes: Bytes(block_bytes), workers, sync, ..Workload::default() }
}
