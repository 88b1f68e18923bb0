//! The workers of one client process in one trial: opened together, started together, collected together.

use crate::assignment::{Assignment, ClientOutput, WindowTimes, WorkerOutput, worker_seed};
use crate::error::RunError;
use crate::recorder::{IntervalStream, Recorder, SampleLabel, clear, recorder};
use crate::stop::StopFlag;
use crate::verify::Table;
use crate::window::Window;
use crate::worker::Worker;
use gate::{Gate, Opening};
use narrows_engines::{Clock, Engine, EngineError, EngineFactory, ErrorKind, Tick, WorkerContext};
use narrows_model::Bytes;
use narrows_model::trial::IntervalSample;
use narrows_model::units::saturate_usize;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

mod gate;
#[cfg(test)]
mod tests;

/// Pause between two looks at the workers' samples.
const COLLECT_SLICE_NS: u64 = 20_000_000;
/// The same where the first client to be done ends the trial for all: so late do the others hear of it.
const STONE_WALL_SLICE_NS: u64 = 1_000_000;

/// What the owner of a group does while it runs.
pub(crate) trait GroupHooks {
    /// All engines are open; returns the window's times, or nothing to give up.
    fn ready(&mut self) -> Option<WindowTimes>;
    /// A worker's interval ended.
    fn interval(&mut self, sample: &IntervalSample);
    /// The queues of all workers have turned over once.
    fn turned(&mut self);
    /// Called often while load runs; true cancels the trial.
    fn poll(&mut self) -> bool;
    /// The window's times, when they have been put off since the last call.
    fn moved(&mut self) -> Option<WindowTimes>;
    /// Whether the process is there for this load alone.
    fn owns_process(&self) -> bool {
        false
    }
}

/// What a worker thread shares with the group.
struct Shared<'a> {
    assignment: &'a Assignment,
    factory: &'a dyn EngineFactory,
    clock: &'a Arc<dyn Clock>,
    window: &'a Window,
    gate: &'a Gate,
    stop: &'a StopFlag,
    table: Option<Arc<Table>>,
    /// Whether the worker is to have a table of open files of its own.
    own_file_table: bool,
}

/// Held by every worker for as long as it lives; nothing is ever sent.
type Alive = Sender<Infallible>;

/// Runs the workers of one client through one trial.
pub(crate) fn run_group(
    assignment: &Assignment,
    factory: &dyn EngineFactory,
    clock: &Arc<dyn Clock>,
    stop: &StopFlag,
    hooks: &mut dyn GroupHooks,
) -> Result<ClientOutput, RunError> {
    let window = Window::new(stop.clone());
    let gate = Gate::default();
    let workload = &assignment.cell.workload;
    let worker_count = workload.workers.max(1);
    let table = || Arc::new(Table::new(assignment.object_bytes, workload.block_bytes, worker_count));
    let table = workload.verify.then(table);
    // A process with one worker is as one of a single thread. In the command's own process a copied table would keep
    // other parts' pipes and connections open.
    let is_single = hooks.owns_process() && workload.own_process && worker_count == 1;
    let own_file_table = is_single && factory.files_stay_with_worker();
    let shared =
        Shared { assignment, factory, clock, window: &window, gate: &gate, stop, table, own_file_table };
    let (recorders, streams) = recorders(assignment, worker_count);
    std::thread::scope(|scope| {
        let (opened, openings) = channel();
        let _attended = gate.attended();
        let (alive, ends) = channel();
        let (handles, refused) = start_workers(scope, &shared, recorders, &opened, &alive);
        drop(alive);
        let started = match refused {
            None => start(&openings, worker_count, &window, &gate, hooks),
            Some(error) => {
                gate.set(false);
                Err(error.into())
            }
        };
        let mut told_turn = false;
        while handles.iter().any(|handle| !handle.is_finished()) {
            collect(&streams, hooks);
            if !told_turn && window.turned_count() >= worker_count {
                told_turn = true;
                hooks.turned();
            }
            if hooks.poll() {
                window.cancel();
            }
            if let Some(times) = hooks.moved() {
                window.open(times);
            }
            let slice_ns = if workload.edges.stone_wall { STONE_WALL_SLICE_NS } else { COLLECT_SLICE_NS };
            if wait(clock, &ends, if started.is_ok() { slice_ns } else { 0 }) {
                break;
            }
        }
        collect(&streams, hooks);
        let outputs = handles.into_iter().map(|handle| handle.join().unwrap_or(None)).collect();
        started?;
        client_output(assignment, outputs)
    })
}

fn client_output(
    assignment: &Assignment,
    outputs: Vec<Option<WorkerOutput>>,
) -> Result<ClientOutput, RunError> {
    let client_index = assignment.client_index;
    match outputs.into_iter().collect() {
        Some(workers) => Ok(ClientOutput { client_index, workers }),
        None => Err(RunError::Client {
            client_index,
            client_count: assignment.cell.workload.clients.max(1),
            problem: "failed: a worker ended without a result".to_owned(),
        }),
    }
}

/// Waits for `slice_ns` at most; whether all workers have ended by then, which the machine's clock need not be waited for.
fn wait(clock: &Arc<dyn Clock>, ends: &Receiver<Infallible>, slice_ns: u64) -> bool {
    if clock.machine().is_some() && slice_ns > 0 {
        return ends.recv_timeout(Duration::from_nanos(slice_ns)) == Err(RecvTimeoutError::Disconnected);
    }
    clock.wait_until(clock.now().after(slice_ns));
    false
}

/// Starts a thread for each recorder; the error is why the rest could not be started.
fn start_workers<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_>,
    recorders: Vec<Recorder>,
    opened: &Sender<Result<(), EngineError>>,
    alive: &Alive,
) -> (Vec<ScopedJoinHandle<'scope, Option<WorkerOutput>>>, Option<EngineError>) {
    let mut handles = Vec::with_capacity(recorders.len());
    for (worker_index, recorder) in (0..).zip(recorders) {
        let opening = Opening::new(opened.clone());
        let own = alive.clone();
        let life = move || {
            let output = work(shared, worker_index, recorder, opening);
            drop(own);
            output
        };
        match Builder::new().name("worker".to_owned()).spawn_scoped(scope, life) {
            Ok(handle) => handles.push(handle),
            Err(source) => {
                let error =
                    EngineError::new(ErrorKind::Io, "start", format!("the thread of worker {worker_index}"));
                return (handles, Some(error.detail(source.to_string()).hint("ask for fewer workers")));
            }
        }
    }
    (handles, None)
}

fn recorders(assignment: &Assignment, worker_count: u32) -> (Vec<Recorder>, Vec<IntervalStream>) {
    (0..worker_count)
        .map(|worker_index| {
            let label = SampleLabel {
                cell: assignment.cell.id.clone(),
                trial: assignment.trial,
                client_index: assignment.client_index,
                worker_index,
            };
            recorder(&label, assignment.interval_ns.0)
        })
        .unzip()
}

/// Waits until all engines are open, asks for the times, lets the workers go.
fn start(
    openings: &Receiver<Result<(), EngineError>>,
    worker_count: u32,
    window: &Window,
    gate: &Gate,
    hooks: &mut dyn GroupHooks,
) -> Result<(), RunError> {
    let mut first_error = None;
    for opening in openings.iter().take(worker_count as usize) {
        if let Err(error) = opening {
            first_error.get_or_insert(error);
        }
    }
    if let Some(error) = first_error {
        gate.set(false);
        return Err(error.into());
    }
    let Some(times) = hooks.ready() else {
        gate.set(false);
        return Err(RunError::Stopped);
    };
    window.open(times);
    gate.set(true);
    Ok(())
}

/// The life of one worker thread.
fn work(
    shared: &Shared<'_>,
    worker_index: u32,
    recorder: Recorder,
    opening: Opening,
) -> Option<WorkerOutput> {
    // Where the kernel refuses, the record says that the table is shared.
    let has_own_file_table = shared.own_file_table && narrows_sys::process::unshare_open_files().is_ok();
    let context = WorkerContext {
        client_index: shared.assignment.client_index,
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

fn run_worker<C: Clock + ?Sized>(
    shared: &Shared<'_>,
    index: u32,
    clock: &C,
    engine: Box<dyn Engine>,
    recorder: Recorder,
) -> WorkerOutput {
    let worker = Worker {
        assignment: shared.assignment,
        index,
        clock,
        window: shared.window,
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

/// Writes `bytes` of memory, in whose place the processor's caches then hold nothing else, as far as they are that large.
fn purge(bytes: Bytes) {
    let mut memory = vec![0_u8; saturate_usize(bytes.0)];
    // Zeros would be handed out by the kernel without being written.
    memory.fill(1);
    std::hint::black_box(&memory);
}

fn collect(streams: &[IntervalStream], hooks: &mut dyn GroupHooks) {
    for stream in streams {
        while let Ok(mut sample) = stream.full.try_recv() {
            hooks.interval(&sample);
            clear(&mut sample);
            // The worker may have ended; then the box is not needed any more.
            drop(stream.empty.try_send(sample));
        }
    }
}
