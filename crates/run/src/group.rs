//! The workers of one client process in one trial: opened together, started together, collected together.

use crate::assignment::{Assignment, ClientOutput, WindowTimes, WorkerOutput};
use crate::error::RunError;
use crate::recorder::{IntervalStream, Recorder, SampleLabel, clear, recorder};
use crate::stop::StopFlag;
use crate::verify::GenerationTable;
use crate::window::Window;
use narrows_engines::{Clock, EngineError, EngineFactory, ErrorKind};
use narrows_model::trial::IntervalSample;
use start_barrier::{OpenReport, StartBarrier};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;
use worker_thread::work;

mod start_barrier;
#[cfg(test)]
mod tests;
mod worker_thread;

/// Pause between two looks at the workers' samples.
const COLLECT_SLICE: Duration = Duration::from_millis(20);
/// The same where the first client to finish ends the trial for all: the others are notified this much later.
const STONE_WALL_SLICE: Duration = Duration::from_millis(1);

/// What the owner of a group does while it runs.
pub(crate) trait GroupHooks {
    /// All engines are open; returns the window's times, or nothing to give up.
    fn ready(&mut self) -> Option<WindowTimes>;
    /// A worker's interval ended.
    fn interval(&mut self, sample: &IntervalSample);
    /// The queues of all workers have turned over once.
    fn turned(&mut self);
    /// The loads of all workers have ended, the last at this time; they do more before their outputs are there.
    fn load_ended(&mut self, at_ns: u64);
    /// Called often while load runs; true cancels the trial.
    fn poll(&mut self) -> bool;
    /// The window's times, when they have been put off since the last call.
    fn moved(&mut self) -> Option<WindowTimes>;
}

/// What a worker thread shares with the group.
struct GroupContext<'a> {
    assignment: &'a Assignment,
    factory: &'a dyn EngineFactory,
    clock: &'a Arc<dyn Clock>,
    window: Window,
    gate: StartBarrier,
    stop: &'a StopFlag,
    table: Option<Arc<GenerationTable>>,
    /// Whether the worker is to have a table of open files of its own.
    own_file_table: bool,
}

impl<'a> GroupContext<'a> {
    fn new(
        assignment: &'a Assignment,
        factory: &'a dyn EngineFactory,
        clock: &'a Arc<dyn Clock>,
        stop: &'a StopFlag,
        own_file_table: bool,
    ) -> Self {
        let workload = &assignment.cell.workload;
        let table = || {
            Arc::new(GenerationTable::new(
                assignment.object_bytes,
                workload.block_bytes,
                workload.workers.max(1),
            ))
        };
        Self {
            assignment,
            factory,
            clock,
            window: Window::new(stop.clone()),
            gate: StartBarrier::default(),
            stop,
            table: workload.verify.then(table),
            own_file_table,
        }
    }

    fn worker_count(&self) -> u32 {
        self.assignment.cell.workload.workers.max(1)
    }
}

/// Every worker keeps one until it ends; nothing is ever sent.
type AliveToken = Sender<Infallible>;

/// Runs the workers of one client through one trial, each in a thread of its own.
pub(crate) fn run_group(
    assignment: &Assignment,
    factory: &dyn EngineFactory,
    clock: &Arc<dyn Clock>,
    stop: &StopFlag,
    hooks: &mut dyn GroupHooks,
) -> Result<ClientOutput, RunError> {
    let shared = GroupContext::new(assignment, factory, clock, stop, false);
    let (recorders, streams) = recorders(assignment, shared.worker_count());
    std::thread::scope(|scope| {
        let (opened, openings) = channel();
        let _abort_guard = shared.gate.abort_guard();
        let (alive, ends) = channel();
        let (handles, refused) = start_workers(scope, &shared, recorders, &opened, &alive);
        drop(alive);
        let outcome = match refused {
            None => supervise(&shared, &WorkerChannels { openings, streams, ends }, hooks),
            Some(error) => {
                shared.gate.set(false);
                Err(error.into())
            }
        };
        let outputs = handles.into_iter().map(|handle| handle.join().unwrap_or(None)).collect();
        outcome?;
        client_output(assignment, outputs)
    })
}

/// As [`run_group`], in a process that is there for this load alone: where that is one worker's, the process is as one of a
/// single thread. The worker is its first thread and, where its engine has files, shares their table with nobody.
pub(crate) fn run_process(
    assignment: &Assignment,
    factory: &dyn EngineFactory,
    clock: &Arc<dyn Clock>,
    stop: &StopFlag,
    hooks: &mut (dyn GroupHooks + Send),
) -> Result<ClientOutput, RunError> {
    let workload = &assignment.cell.workload;
    if !workload.own_process || workload.workers > 1 {
        return run_group(assignment, factory, clock, stop, hooks);
    }
    let shared = GroupContext::new(assignment, factory, clock, stop, factory.files_stay_with_worker());
    let (mut recorders, streams) = recorders(assignment, 1);
    std::thread::scope(|scope| {
        let (opened, openings) = channel();
        let (alive, ends) = channel::<Infallible>();
        let channels = WorkerChannels { openings, streams, ends };
        let group = &shared;
        let attendant = Builder::new().name("attendant".to_owned()).spawn_scoped(scope, move || {
            let _abort_guard = group.gate.abort_guard();
            supervise(group, &channels, hooks)
        });
        let attendant = attendant.map_err(|source| no_thread("the worker's helper thread", &source))?;
        let life = || work(&shared, 0, recorders.remove(0), OpenReport::new(opened));
        let output = catch_unwind(AssertUnwindSafe(life)).unwrap_or(None);
        drop(alive);
        attendant.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        client_output(assignment, vec![output])
    })
}

/// What is received from a group's workers.
struct WorkerChannels {
    openings: Receiver<Result<(), EngineError>>,
    streams: Vec<IntervalStream>,
    ends: Receiver<Infallible>,
}

/// Starts the workers together and serves their owner until all have ended.
fn supervise(
    shared: &GroupContext<'_>,
    channels: &WorkerChannels,
    hooks: &mut dyn GroupHooks,
) -> Result<(), RunError> {
    let worker_count = shared.worker_count();
    let started = start(&channels.openings, worker_count, &shared.window, &shared.gate, hooks);
    let (mut turn_reported, mut end_reported) = (false, false);
    let stone_wall = shared.assignment.cell.workload.edges.stone_wall;
    let slice = if stone_wall { STONE_WALL_SLICE } else { COLLECT_SLICE };
    loop {
        collect(&channels.streams, hooks);
        if !turn_reported && shared.window.turned_count() >= worker_count {
            turn_reported = true;
            hooks.turned();
        }
        if let Some(at_ns) = shared.window.load_ended_ns(worker_count).filter(|_| !end_reported) {
            end_reported = true;
            hooks.load_ended(at_ns);
        }
        if hooks.poll() {
            shared.window.cancel();
        }
        if let Some(times) = hooks.moved() {
            shared.window.open(times);
        }
        let pause = shared.window.times().wait_until_end(shared.clock.now().0, slice);
        if wait(shared.clock, &channels.ends, pause) {
            break;
        }
    }
    collect(&channels.streams, hooks);
    started
}

fn client_output(
    assignment: &Assignment,
    outputs: Vec<Option<WorkerOutput>>,
) -> Result<ClientOutput, RunError> {
    let client_index = assignment.client_index;
    match outputs.into_iter().collect() {
        Some(workers) => Ok(ClientOutput { client_index, host: None, workers }),
        None => Err(RunError::Client {
            client_index,
            client_count: assignment.cell.workload.clients.max(1),
            host: None,
            problem: "failed: a worker ended without a result".to_owned(),
        }),
    }
}

/// Waits for `pause` at most; whether all workers have ended by then, which the machine's clock need not be waited for.
fn wait(clock: &Arc<dyn Clock>, ends: &Receiver<Infallible>, pause: Duration) -> bool {
    if clock.machine().is_some() {
        return ends.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected);
    }
    clock.wait_until(clock.now().after(u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX)));
    ends.try_recv() == Err(TryRecvError::Disconnected)
}

/// Starts a thread for each recorder; the error is why the rest could not be started.
fn start_workers<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope GroupContext<'_>,
    recorders: Vec<Recorder>,
    opened: &Sender<Result<(), EngineError>>,
    alive: &AliveToken,
) -> (Vec<ScopedJoinHandle<'scope, Option<WorkerOutput>>>, Option<EngineError>) {
    let mut handles = Vec::with_capacity(recorders.len());
    for (worker_index, recorder) in (0..).zip(recorders) {
        let opening = OpenReport::new(opened.clone());
        let own = alive.clone();
        let life = move || {
            let output = work(shared, worker_index, recorder, opening);
            drop(own);
            output
        };
        match Builder::new().name("worker".to_owned()).spawn_scoped(scope, life) {
            Ok(handle) => handles.push(handle),
            Err(source) => {
                let error = no_thread(&format!("the thread of worker {worker_index}"), &source);
                return (handles, Some(error.hint("use fewer workers")));
            }
        }
    }
    (handles, None)
}

fn no_thread(which: &str, source: &std::io::Error) -> EngineError {
    EngineError::new(ErrorKind::Io, "start", which.to_owned()).detail(source.to_string())
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

/// Waits until all engines are open, asks for the times, starts the workers.
fn start(
    openings: &Receiver<Result<(), EngineError>>,
    worker_count: u32,
    window: &Window,
    gate: &StartBarrier,
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
