//! What a server runs for a client and what it refuses, decided before anything is made for it.
//!
//! Not here: whether the numbers of a workload make sense at all, which `run` checks for every cell.

use crate::channel::refused;
use narrows_model::{Cell, EngineId, Op, Target, Workload};
use narrows_wire::open::{BLOCK_BYTES_MAX, DEPTH_MAX};
use narrows_wire::{Error, Refusal};

/// Most workers that a client may start on the server.
const WORKERS_MAX: u32 = 256;

/// Most memory that a cell may take.
const MEMORY_BYTES_MAX: u64 = 1 << 30;

/// Memory that a worker takes besides its blocks: histograms of the intervals in flight, and its stack.
const WORKER_BYTES: u64 = 512 << 10;

/// Most repetitions of a cell.
const TRIALS_MAX: u32 = 1000;

/// Longest time of a cell with its repetitions: a day.
const CELL_NS_MAX: u64 = 86_400_000_000_000;

/// Most kinds of requests in a mix: each has counts and a histogram of its own in every worker.
const KINDS_MAX: usize = 64;

/// Memory that a worker's counts of one kind take.
const KIND_BYTES: u64 = 64 << 10;

/// Memory that a cell takes: the blocks in flight, what each worker counts with, what a check of its data knows.
pub(crate) fn memory_bytes(workload: &Workload) -> u64 {
    let blocks = workload.block_bytes.0.saturating_mul(u64::from(workload.queue_depth));
    let kinds = (workload.ops().len() * workload.blocks().len()) as u64;
    let counts = WORKER_BYTES.saturating_add(kinds.saturating_mul(KIND_BYTES));
    let all = blocks.saturating_add(counts).saturating_mul(u64::from(workload.workers));
    // The generations of the units of 512 bytes, four bytes each.
    let generations = if workload.verify { workload.file_bytes.0 / 128 } else { 0 };
    all.saturating_add(generations)
}

/// Refuses what a server does not run, before anything is made for it.
pub(crate) fn check(cell: &Cell) -> Result<(), Error> {
    let refuse = |message: String| Err(refused(Refusal::Unsupported, message));
    let workload = &cell.workload;
    match &cell.target {
        Target::File { path } if path.as_os_str() == "." && !cell.read_only => {}
        Target::Null { .. } => {}
        other => {
            return refuse(format!("a server runs cells in its own store, `.`, or on null:, not on {other}"));
        }
    }
    let one_client = workload.clients == 1;
    let blocks = (1..=BLOCK_BYTES_MAX).contains(&workload.block_bytes.0)
        && workload.block_bytes <= workload.file_bytes
        && (1..=DEPTH_MAX).contains(&workload.queue_depth)
        && (1..=WORKERS_MAX).contains(&workload.workers)
        && memory_bytes(workload) <= MEMORY_BYTES_MAX;
    if !one_client || !blocks {
        return refuse(format!(
            "a server runs one client of up to {WORKERS_MAX} workers with {MEMORY_BYTES_MAX} bytes of memory together \
             and blocks no larger than their file; {} clients of {} workers of depth {} with blocks of {} bytes in {} \
             were requested",
            workload.clients,
            workload.workers,
            workload.queue_depth,
            workload.block_bytes.0,
            workload.file_bytes.0
        ));
    }
    let window_ns = cell.stop.warm_up_ns.0.checked_add(cell.stop.measure_ns.0);
    let all_ns = window_ns.and_then(|window| window.checked_mul(u64::from(cell.trials)));
    if !(1..=TRIALS_MAX).contains(&cell.trials) || all_ns.is_none_or(|all| all > CELL_NS_MAX) {
        return refuse(format!(
            "a server repeats a cell up to {TRIALS_MAX} times within a day; {} times {} ns were requested",
            cell.trials,
            window_ns.unwrap_or(u64::MAX)
        ));
    }
    match unsupported_feature(cell) {
        Some(message) => refuse(message),
        None => Ok(()),
    }
}

/// What the cell has that a server's own cells have not; `None` without any such thing.
fn unsupported_feature(cell: &Cell) -> Option<String> {
    let workload = &cell.workload;
    if let Some(share) = workload.ops().iter().find(|share| !matches!(share.op, Op::Read | Op::Write)) {
        return Some(format!("a server reads and writes its store; it does not {}", share.op));
    }
    if !matches!(workload.op, Op::Read | Op::Write) {
        return Some(format!("a server reads and writes its store; it does not {}", workload.op));
    }
    let sizes = 1..=workload.block_bytes.0;
    if let Some(share) = workload.blocks().iter().find(|share| !sizes.contains(&share.block_bytes.0)) {
        let block = share.block_bytes.0;
        return Some(format!(
            "a mix has blocks of 1 byte to the largest block; {block} bytes were requested"
        ));
    }
    if !cell.more_targets.is_empty() {
        return Some(format!("a server loads one target; {} were requested", cell.more_targets.len() + 1));
    }
    if matches!(cell.target, Target::File { .. })
        && workload.engine.is_some_and(|engine| engine != EngineId::Psync)
    {
        return Some("a server's own cells read and write only with psync".to_owned());
    }
    (workload.ops().len() * workload.blocks().len() > KINDS_MAX)
        .then(|| format!("a server mixes up to {KINDS_MAX} kinds of requests"))
}
