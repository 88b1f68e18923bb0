//! The connections of a worker, each with a thread that executes one request after the other.
//!
//! A block moves with its request to the thread and back, so that no memory is shared.

use super::failure::S3Failure;
use super::perform::S3Performer;
use super::wire::Wire;
use narrows_engines::IoRequest;
use narrows_sys::buffer::AlignedBuffer;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A request with its block.
pub(super) struct SlotJob {
    pub(super) request: IoRequest,
    pub(super) block: AlignedBuffer,
}

/// A request that is over.
pub(super) struct SlotDone {
    pub(super) job: SlotJob,
    pub(super) result: Result<u32, S3Failure>,
}

#[derive(Default)]
struct JobQueue {
    state: Mutex<JobState>,
    ready: Condvar,
}

#[derive(Default)]
struct JobState {
    jobs: VecDeque<SlotJob>,
    is_closed: bool,
}

impl JobQueue {
    fn state(&self) -> MutexGuard<'_, JobState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<SlotJob> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Threads that execute requests.
pub(super) struct SlotPool {
    queue: Arc<JobQueue>,
    done: Receiver<SlotDone>,
    threads: Vec<JoinHandle<()>>,
    wires: Vec<Arc<Wire>>,
}

impl SlotPool {
    /// A thread for each of `performers`, all of which are connected when it returns.
    pub(super) fn start(performers: Vec<S3Performer>) -> Result<Self, S3Failure> {
        let (queue, (sender, done)) = (Arc::new(JobQueue::default()), channel());
        let (connected, connections) = channel();
        let wires = performers.iter().map(|performer| Arc::clone(&performer.client.wire)).collect();
        let mut pool = Self { queue: Arc::clone(&queue), done, threads: Vec::new(), wires };
        let count = performers.len();
        for performer in performers {
            let (queue, sender, connected) = (Arc::clone(&queue), sender.clone(), connected.clone());
            let thread = std::thread::Builder::new().name("s3".to_owned());
            let started = thread.spawn(move || work(performer, &queue, &sender, &connected));
            let started =
                started.map_err(|error| S3Failure::unsupported(format!("a thread was refused: {error}")))?;
            pool.threads.push(started);
        }
        drop(connected);
        for _ in 0..count {
            match connections.recv() {
                Ok(outcome) => outcome?,
                Err(_) => return Err(S3Failure::unsupported("a thread ended before it was connected")),
            }
        }
        Ok(pool)
    }

    /// Gives a request to a thread.
    pub(super) fn push(&self, job: SlotJob) {
        self.queue.state().jobs.push_back(job);
        self.queue.ready.notify_one();
    }

    /// A request that is over, waited for at most `within`.
    pub(super) fn next_done(&self, within: Duration) -> Option<SlotDone> {
        self.done
            .try_recv()
            .ok()
            .or_else(|| if within.is_zero() { None } else { self.done.recv_timeout(within).ok() })
    }
}

impl Drop for SlotPool {
    fn drop(&mut self) {
        self.queue.state().is_closed = true;
        self.queue.ready.notify_all();
        for wire in &self.wires {
            wire.close();
        }
        for thread in self.threads.drain(..) {
            // One that panicked has ended too.
            drop(thread.join());
        }
    }
}

fn work(
    mut performer: S3Performer,
    queue: &JobQueue,
    done: &Sender<SlotDone>,
    connected: &Sender<Result<(), S3Failure>>,
) {
    let outcome = performer.connect();
    let is_connected = outcome.is_ok();
    if connected.send(outcome).is_err() || !is_connected {
        return;
    }
    while let Some(mut job) = queue.next() {
        let length = job.block.len();
        let result = performer.perform(&job.request, &mut job.block[..length]);
        if done.send(SlotDone { job, result }).is_err() {
            return;
        }
    }
}
