//! The worker threads of one disk connection, and the buffers that pass between its reader and them.
//!
//! There are as many buffers as may be in flight and one a worker; whoever needs another waits, so that memory is
//! bounded and a client that is faster than the disk is throttled by its own connection. A write that was acknowledged
//! early is remembered until it is in the file (`unwritten`): requests that overlap it wait, on any connection of the
//! session, so that nobody reads around an acknowledged write. Only the reader waits: workers never wait for one
//! another.

use crate::grant::index;
use crate::sending::send_both;
use crate::transfer::{read_all, status_of, write_all};
use crate::unwritten::ConnectionWrites;
use crate::workers::Workers;
use narrows_engines::Clock;
use narrows_sys::buffer::AlignedBuffer;
use narrows_sys::file::fdatasync;
use narrows_wire::open::Credits;
use narrows_wire::reply::ReplyHeader;
use narrows_wire::request::{RequestHeader, RequestKind};
use std::collections::VecDeque;
use std::fs::File;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// One request for a worker.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) header: RequestHeader,
    /// The block that is written or filled; `None` for what moves no bytes.
    pub(crate) buffer: Option<AlignedBuffer>,
    /// Whether the client has its reply already.
    pub(crate) acknowledged: bool,
    /// When it was queued; set as it is.
    pub(crate) queued_at_ns: u64,
}

/// What the reader and the workers of one connection share.
#[derive(Debug)]
pub(crate) struct JobPool<'a> {
    files: &'a [File],
    context: PoolContext<'a>,
    /// What this connection has acknowledged and has still to write, among that of the session.
    unwritten: ConnectionWrites<'a>,
    block_bytes: usize,
    buffer_count_max: usize,
    state: Mutex<PoolState>,
    /// For the workers: a job is queued.
    queued: Condvar,
    /// For the reader: a buffer is done with.
    freed: Condvar,
    sender: Mutex<TcpStream>,
    answered_requests: AtomicU32,
    answered_bytes: AtomicU64,
}

/// Who works in a pool.
#[derive(Clone, Copy)]
pub(crate) struct PoolContext<'a> {
    /// The workers of the whole server.
    pub(crate) workers: &'a Workers,
    /// The clock that their time is measured by.
    pub(crate) clock: &'a dyn Clock,
}

impl std::fmt::Debug for PoolContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolContext").field("workers", self.workers).finish_non_exhaustive()
    }
}

/// Closes a pool when dropped, so that its workers never wait for what cannot come.
#[derive(Debug)]
pub(crate) struct CloseGuard<'a> {
    pool: &'a JobPool<'a>,
}

impl Drop for CloseGuard<'_> {
    fn drop(&mut self) {
        self.pool.close();
    }
}

#[derive(Debug, Default)]
struct PoolState {
    jobs: VecDeque<Job>,
    free: Vec<AlignedBuffer>,
    made_count: usize,
    /// The first failure of an acknowledged write that no reply has reported yet.
    early_status: u32,
    closing: bool,
}

impl<'a> JobPool<'a> {
    pub(crate) fn new(
        files: &'a [File],
        context: PoolContext<'a>,
        unwritten: ConnectionWrites<'a>,
        sender: TcpStream,
        block_bytes: usize,
        buffer_count_max: usize,
    ) -> Self {
        Self {
            files,
            context,
            unwritten,
            block_bytes,
            buffer_count_max,
            state: Mutex::default(),
            queued: Condvar::new(),
            freed: Condvar::new(),
            sender: Mutex::new(sender),
            answered_requests: AtomicU32::new(0),
            answered_bytes: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer if one is free or may be made; `None` when all are in use.
    pub(crate) fn try_buffer(&self) -> Result<Option<AlignedBuffer>, narrows_sys::Error> {
        let mut state = self.state();
        if let Some(buffer) = state.free.pop() {
            return Ok(Some(buffer));
        }
        if state.made_count == self.buffer_count_max {
            return Ok(None);
        }
        let buffer = AlignedBuffer::new(self.block_bytes)?;
        state.made_count += 1;
        Ok(Some(buffer))
    }

    /// Waits for a buffer that is in use now.
    pub(crate) fn wait_for_buffer(&self) {
        let state = self.state();
        let wait = self.freed.wait_while(state, |state| state.free.is_empty() && !state.closing);
        drop(wait);
    }

    /// Gives a buffer back.
    pub(crate) fn give_back(&self, buffer: AlignedBuffer) {
        self.state().free.push(buffer);
        self.freed.notify_one();
    }

    /// Whether a request must wait for an acknowledged write of the session.
    pub(crate) fn must_wait(&self, header: &RequestHeader) -> bool {
        self.unwritten.must_wait(header)
    }

    /// Waits until no acknowledged write of the session has to be done before `header`.
    pub(crate) fn wait_for_early(&self, header: &RequestHeader) {
        self.unwritten.wait_for(header);
    }

    /// The failure of an acknowledged write that was not reported yet; it counts as reported now. 0 when there is none.
    pub(crate) fn take_early_status(&self) -> u32 {
        std::mem::take(&mut self.state().early_status)
    }

    /// Queues a request for the workers, since now.
    pub(crate) fn push(&self, mut job: Job) {
        job.queued_at_ns = self.context.clock.now().0;
        if job.acknowledged {
            self.unwritten.add(&job.header);
        }
        self.state().jobs.push_back(job);
        self.queued.notify_one();
    }

    /// Notifies the workers that no more comes; they finish what is queued.
    pub(crate) fn close(&self) {
        self.state().closing = true;
        self.queued.notify_all();
        self.freed.notify_all();
    }

    /// As [`JobPool::close`], but what is queued is dropped: nobody will ask for it.
    pub(crate) fn abandon(&self) {
        let dropped = std::mem::take(&mut self.state().jobs);
        for job in dropped.iter().filter(|job| job.acknowledged) {
            self.unwritten.done(&job.header);
        }
        self.close();
    }

    /// Closes the pool when the returned value is dropped, for whatever reason.
    pub(crate) fn close_guard(&self) -> CloseGuard<'_> {
        CloseGuard { pool: self }
    }

    /// What was answered since the last call.
    pub(crate) fn take_answered(&self) -> Credits {
        Credits {
            requests: self.answered_requests.swap(0, Ordering::AcqRel),
            bytes: self.answered_bytes.swap(0, Ordering::AcqRel),
        }
    }

    /// Sends replies that the reader made; whether the client took them.
    pub(crate) fn send(&self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = send_both(&sender, bytes, &[]).is_ok();
        if !sent {
            // Part of a reply may have left: no other may follow it.
            let _ = sender.shutdown(Shutdown::Both);
        }
        sent
    }

    /// Notes that `header` is being answered; to be called before its reply leaves.
    pub(crate) fn count_answer(&self, header: &RequestHeader) {
        self.answered_bytes.fetch_add(u64::from(header.length_bytes), Ordering::AcqRel);
        self.answered_requests.fetch_add(1, Ordering::AcqRel);
    }

    /// The life of one worker.
    pub(crate) fn work(&self) {
        let _guard = self.context.workers.register_thread();
        while let Some(job) = self.next_job() {
            self.serve(job);
        }
    }

    fn next_job(&self) -> Option<Job> {
        let idle = |state: &mut PoolState| state.jobs.is_empty() && !state.closing;
        let mut state = self.queued.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        state.jobs.pop_front()
    }

    fn serve(&self, mut job: Job) {
        // Only the disk counts as work: a reply stalled by a slow network is no lack of threads.
        let PoolContext { workers, clock, .. } = self.context;
        let outcome = workers.serve(clock, job.queued_at_ns, || self.perform(&mut job));
        if job.acknowledged {
            self.finish_early(&job.header, outcome.err());
        } else {
            self.reply(&job, outcome);
        }
        if let Some(buffer) = job.buffer {
            self.give_back(buffer);
        }
    }

    fn perform(&self, job: &mut Job) -> Result<usize, u32> {
        let file = &self.files[index(job.header.object)];
        let length = index(job.header.length_bytes);
        let offset_bytes = job.header.offset_bytes;
        match (job.header.kind, &mut job.buffer) {
            (RequestKind::Read, Some(buffer)) => read_all(file, &mut buffer[..length], offset_bytes),
            (RequestKind::Write, Some(buffer)) => write_all(file, &buffer[..length], offset_bytes),
            (RequestKind::Sync, _) => fdatasync(file).map(|()| 0).map_err(status_of),
            _ => Ok(0),
        }
    }

    fn finish_early(&self, header: &RequestHeader, failure: Option<u32>) {
        if let Some(status) = failure {
            let mut state = self.state();
            if state.early_status == 0 {
                state.early_status = status;
            }
        }
        // Last: who has waited for the write finds its failure.
        self.unwritten.done(header);
    }

    fn reply(&self, job: &Job, outcome: Result<usize, u32>) {
        let RequestHeader { kind, tag, .. } = job.header;
        let (status, done) = match outcome {
            Ok(done) => (0, done),
            Err(status) => (status, 0),
        };
        let header =
            ReplyHeader { kind, tag, status, length_bytes: u32::try_from(done).unwrap_or(0) }.encode();
        let payload = match (&job.buffer, kind) {
            (Some(buffer), RequestKind::Read) => &buffer[..done],
            _ => &[],
        };
        self.count_answer(&job.header);
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        if send_both(&sender, &header, payload).is_err() {
            // The reader finds the end too, and the connection is over.
            let _ = sender.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
