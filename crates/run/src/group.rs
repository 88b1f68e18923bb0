//! The workers of one client process in one trial: opened together, started together, collected together.

use crate::assignment::{Assignment, ClientOutput, WindowTimes, WorkerOutput};
use crate::error::RunError;
use crate::recorder::{IntervalStream, Recorder, SampleLabel, clear, recorder};
use crate::stop::StopFlag;
use crate::window::Window;
use crate::worker::Worker;
use narrows_engines::{Clock, EngineError, EngineFactory, Tick, WorkerContext};
use narrows_model::trial::IntervalSample;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Pause between two looks at the workers' samples.
const COLLECT_SLICE_NS: u64 = 20_000_000;

/// What the owner of a group does while it runs.
pub(crate) trait GroupHooks {
    /// All engines are open; returns the window's times, or nothing to give up.
    fn ready(&mut self) -> Option<WindowTimes>;
    /// A worker's interval ended.
    fn interval(&mut self, sample: &IntervalSample);
    /// Called often while load runs; true cancels the trial.
    fn poll(&mut self) -> bool;
}

/// The signal that lets opened workers go, or sends them home.
#[derive(Debug, Default)]
struct Gate {
    state: Mutex<Option<bool>>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, go: bool) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Some(go);
        self.changed.notify_all();
    }

    fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                Some(go) => return go,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// What a worker thread shares with the group.
struct Shared<'a> {
    assignment: &'a Assignment,
    factory: &'a dyn EngineFactory,
    clock: &'a Arc<dyn Clock>,
    window: &'a Window,
    gate: &'a Gate,
}

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
    let shared = Shared { assignment, factory, clock, window: &window, gate: &gate };
    let worker_count = assignment.cell.workload.workers.max(1);
    let (mut recorders, streams) = recorders(assignment, worker_count);
    std::thread::scope(|scope| {
        let (opened, openings) = channel();
        let handles: Vec<_> = (0..worker_count)
            .zip(recorders.drain(..))
            .map(|(worker_index, recorder)| {
                let (shared, opened) = (&shared, opened.clone());
                scope.spawn(move || work(shared, worker_index, recorder, &opened))
            })
            .collect();
        drop(opened);
        let started = start(&openings, worker_count, &window, &gate, hooks);
        while handles.iter().any(|handle| !handle.is_finished()) {
            collect(&streams, hooks);
            if hooks.poll() {
                window.cancel();
            }
            let now = clock.now();
            clock.wait_until(now.after(if started.is_ok() { COLLECT_SLICE_NS } else { 0 }));
        }
        collect(&streams, hooks);
        let outputs: Vec<Option<WorkerOutput>> =
            handles.into_iter().map(|handle| handle.join().unwrap_or(None)).collect();
        started?;
        outputs.into_iter().collect::<Option<Vec<_>>>().map_or_else(
            || {
                Err(RunError::Client {
                    client_index: assignment.client_index,
                    problem: "a worker ended without a result".to_owned(),
                })
            },
            |workers| Ok(ClientOutput { client_index: assignment.client_index, workers }),
        )
    })
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
    opened: &Sender<Result<(), EngineError>>,
) -> Option<WorkerOutput> {
    let context = WorkerContext {
        client_index: shared.assignment.client_index,
        worker_index,
        seed: shared.assignment.seed.wrapping_add(u64::from(worker_index)),
        clock: Arc::clone(shared.clock),
    };
    let engine = match shared.factory.open(&shared.assignment.open_spec(), &context) {
        Ok(engine) => engine,
        Err(error) => {
            // The group waits for one message of each worker, so the channel is open.
            drop(opened.send(Err(error)));
            return None;
        }
    };
    drop(opened.send(Ok(())));
    if !shared.gate.wait() {
        drop(engine.close());
        return None;
    }
    let clock: &dyn Clock = shared.clock.as_ref();
    let worker = Worker {
        assignment: shared.assignment,
        index: worker_index,
        clock,
        window: shared.window,
        engine,
        recorder,
    };
    clock.wait_until(Tick(shared.window.start_ns()));
    Some(worker.run())
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
