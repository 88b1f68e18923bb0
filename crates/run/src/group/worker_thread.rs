//! The life of one worker: opens its engine, waits with the others for the start, loads, reports.

use super::GroupContext;
use super::start_barrier::OpenReport;
use crate::assignment::{WorkerOutput, worker_seed};
use crate::recorder::Recorder;
use crate::worker::{Worker, first_offset_bytes};
use narrows_engines::{Clock, Completions, Engine, EngineError, IoRequest, Slot, Tick, WorkerContext};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::{Bytes, Op};
use std::sync::Arc;

/// Longest wait for a request before the load without a look at a stop.
const PRIME_SLICE_NS: u64 = 50_000_000;

/// Whether this thread has its own table of open files now; where the kernel refuses, the record says that it is shared.
#[allow(unsafe_code, reason = "which descriptors threads exchange is known here, and nowhere in `sys`")]
fn own_file_table() -> bool {
    // SAFETY: the worker is alone in its process but for the thread that reads the parent's frames and the one that sends
    // answers. Both use the process's standard streams only, which stay open until it ends, and open nothing. Engines open,
    // use and close their files in the worker's thread (an engine is not `Send`), and a worker returns figures only.
    unsafe { narrows_sys::process::unshare_open_files() }.is_ok()
}

/// The life of one worker, in its thread.
pub(super) fn work(
    shared: &GroupContext<'_>,
    worker_index: u32,
    recorder: Recorder,
    opening: OpenReport,
) -> Option<WorkerOutput> {
    let has_own_file_table = shared.own_file_table && own_file_table();
    let context = WorkerContext {
        client_index: shared.assignment.object_owner(),
        worker_index,
        seed: worker_seed(shared.assignment.seed, worker_index),
        clock: Arc::clone(shared.clock),
        stop: shared.stop.clone(),
    };
    let engine = match shared.factory.open(&shared.assignment.open_spec(), &context) {
        Ok(engine) => engine,
        Err(error) => {
            opening.ended(Err(error));
            return None;
        }
    };
    if let Some(bytes) = shared.assignment.cell.workload.edges.purge_bytes {
        purge(bytes);
    }
    let mut engine = engine;
    if shared.assignment.cell.workload.edges.primes
        && let Err(error) = prime(shared, worker_index, engine.as_mut())
    {
        opening.ended(Err(error));
        return None;
    }
    opening.ended(Ok(()));
    if !shared.gate.wait() {
        drop(engine.close());
        return None;
    }
    // On the machine's own clock the loop is compiled for it; any other is called through its table.
    let mut output = match shared.clock.machine() {
        Some(clock) => run_worker(shared, worker_index, &clock, engine, recorder),
        None => run_worker(shared, worker_index, shared.clock.as_ref(), engine, recorder),
    };
    if let Some(effective) = &mut output.effective {
        effective.has_own_file_table = has_own_file_table;
    }
    Some(output)
}

/// Reads the first block of the worker's part once: what comes later finds the way prepared.
fn prime(shared: &GroupContext<'_>, worker_index: u32, engine: &mut dyn Engine) -> Result<(), EngineError> {
    let (workload, object) = (&shared.assignment.cell.workload, shared.assignment.object_index());
    let length_bytes = saturate_u32(workload.block_bytes.0);
    let offset_bytes = first_offset_bytes(shared.assignment, worker_index);
    let first = IoRequest { tag: 0, op: Op::Read, object, offset_bytes, length_bytes, slot: Slot(0) };
    let mut done = Completions::with_capacity(1);
    engine.queue(&[first])?;
    engine.commit()?;
    // Bounded: a stop ends it.
    while done.is_empty() && !shared.stop.is_now() {
        engine.reap(1, shared.clock.now().after(PRIME_SLICE_NS), &mut done)?;
    }
    let Some(Err(errno)) = done.as_slice().first().map(|done| done.result) else { return Ok(()) };
    let source = std::io::Error::from_raw_os_error(errno.0);
    let target = shared.assignment.target().to_string();
    Err(EngineError::from_io("read the first block of", target, source))
}

fn run_worker<C: Clock + ?Sized>(
    shared: &GroupContext<'_>,
    index: u32,
    clock: &C,
    engine: Box<dyn Engine>,
    recorder: Recorder,
) -> WorkerOutput {
    let worker = Worker {
        assignment: shared.assignment,
        index,
        clock,
        window: &shared.window,
        engine,
        recorder,
        table: shared.table.clone(),
    };
    wait_for_start(clock, shared.window.start_ns());
    worker.run()
}

/// Waits on time: who wakes late has less of the window than is reckoned with, which is much of a short one.
fn wait_for_start<C: Clock + ?Sized>(clock: &C, start_ns: u64) {
    let spin_ns = clock.spin_ns();
    clock.wait_until(Tick(start_ns.saturating_sub(spin_ns)));
    // Bounded: the clock runs, and what is left is at most what it spins.
    while spin_ns > 0 && clock.now().0 < start_ns {
        std::hint::spin_loop();
    }
}

/// Writes `bytes` of memory, which displaces everything else from the processor's caches, up to that size.
fn purge(bytes: Bytes) {
    let mut memory = vec![0_u8; saturate_usize(bytes.0)];
    // Zeros would be handed out by the kernel without being written.
    memory.fill(1);
    std::hint::black_box(&memory);
}
