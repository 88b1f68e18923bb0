//! The engine `uring`: reads and writes of files through a submission and completion ring (`io_uring`), many in flight.
//!
//! "Complete" means what it means to `psync`. After every so many writes, an `fdatasync` of that file follows the write
//! in its slot, and both are complete with it; the other requests in flight go on meanwhile. Short transfers are
//! continued until all is moved or nothing more comes. What the machine does not grant is recorded, or refused where it
//! was required; a machine that forbids rings gives no engine, never another one.
//! Hot path: no allocation, no lock. `queue` writes entries, `commit` enters the kernel once, `reap` takes what is there
//! and enters only when that is too little.

use crate::clock::Tick;
use crate::contract::{Engine, EngineFactory, OpenSpec, ProtocolCounters, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::files::{self, Files, Opened};
use crate::registry::EngineFacts;
use crate::request::{Completion, Completions, Errno, Request, Slot};
use crate::slots::checked_depth;
use narrows_model::capabilities::Capabilities;
use narrows_model::workload::{Access, CacheState, RingFacts, RingWishes, SyncPolicy, Wish};
use narrows_model::{Effective, Op, Target};
use narrows_sys::ring::{self, RING_DEPTH_MAX, Ring, RingError, RingGrants, RingOp, RingRequest, RingSpec};
use std::fs::File;

mod flights;
#[cfg(test)]
mod tests;

use flights::Flights;

/// What the engine is.
pub const INFO: EngineFacts = EngineFacts {
    id: "uring",
    title: "reads and writes of a file through io_uring, many in flight",
    targets: "PATH file:PATH",
    completion: "as psync; after every so many writes, with the fdatasync that follows the write in its slot",
    source: "io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2)",
    example: "/srv/data",
};

/// A request that the engine was not opened for.
const INVALID: Errno = Errno(rustix::io::Errno::INVAL.raw_os_error());
/// A slot whose last request is in flight.
const BUSY: i32 = rustix::io::Errno::BUSY.raw_os_error();
/// A file that cannot be polled.
const NOT_SUPPORTED: Errno = Errno(rustix::io::Errno::OPNOTSUPP.raw_os_error());

/// Makes `uring` engines.
#[derive(Debug, Clone, Default)]
pub struct UringFactory {
    files: Files,
}

impl UringFactory {
    /// Files anywhere the user may go.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { files: Files::unconfined() }
    }

    /// Files beneath the open `folder` alone; paths of targets are relative to it.
    #[must_use]
    pub fn confined(folder: File) -> Self {
        Self { files: Files::confined(folder) }
    }

    /// The same for files that are chosen already.
    pub(crate) fn of(files: Files) -> Self {
        Self { files }
    }
}

impl EngineFactory for UringFactory {
    /// Tries whether this machine lets the process have a ring at all; one that it forbids is an error that says so.
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        let mut capabilities = self.files.capabilities(target, INFO.id, RING_DEPTH_MAX)?;
        let support = ring::support().map_err(|error| no_ring(target, &error))?;
        if !support.punch_hole {
            capabilities.ops.retain(|op| *op != Op::Trim);
        }
        Ok(capabilities)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, RING_DEPTH_MAX)?;
        check_polling(spec)?;
        let Opened { files, alignment_bytes } = self.files.open(spec)?;
        let ring = Ring::new(RingSpec {
            depth,
            block_bytes: narrows_model::units::saturate_usize(spec.workload.block_bytes.0),
            seed: worker.seed,
            files,
            wishes: wishes(spec.workload.ring),
        })
        .map_err(|error| no_ring(&spec.target, &error))?;
        let effective = Effective {
            ring: Some(facts(ring.grants())),
            ..files::effective(INFO.id, spec, depth, alignment_bytes)
        };
        let sync_every = match spec.workload.sync {
            SyncPolicy::Every(count) => Some(count.max(1)),
            _ => None,
        };
        let mut engine = UringEngine {
            effective,
            ring,
            flights: Flights::new(depth, sync_every),
            refused: Vec::with_capacity(depth as usize),
            counters: ProtocolCounters::default(),
        };
        if spec.workload.ring.completion_polling {
            engine.try_polling(spec, worker)?;
        }
        Ok(Box::new(engine))
    }

    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError> {
        self.files.bring_cache_to(spec, state)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        self.files.remove(spec)
    }
}

fn refused(target: &Target, detail: impl Into<String>) -> EngineError {
    EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(detail)
}

/// Why there is no ring, in the ring's own words, which say what to do.
fn no_ring(target: &Target, error: &RingError) -> EngineError {
    match error {
        RingError::Failed(cause) => EngineError {
            kind: EngineError::from_io("open", "", cause.errno().into()).kind,
            ..refused(target, error.to_string())
        },
        _ => refused(target, error.to_string()),
    }
}

/// Refuses polling for completions where the kernel would refuse every request.
fn check_polling(spec: &OpenSpec) -> Result<(), EngineError> {
    let workload = &spec.workload;
    if !workload.ring.completion_polling {
        return Ok(());
    }
    if workload.access != Access::Direct {
        return Err(refused(
            &spec.target,
            "polling for completions needs direct access and buffered was asked for",
        )
        .hint("ask for direct access, or leave completion_polling off"));
    }
    let syncs = matches!(workload.sync, SyncPolicy::Every(_) | SyncPolicy::AtEnd);
    if syncs || workload.ops().iter().any(|share| !matches!(share.op, Op::Read | Op::Write)) {
        return Err(refused(&spec.target, "polling for completions serves reads and writes alone")
            .hint("make writes durable with dsync, or leave completion_polling off"));
    }
    Ok(())
}

fn wishes(asked: RingWishes) -> ring::RingWishes {
    let wish = |asked| match asked {
        Wish::IfGranted => ring::Wish::IfGranted,
        Wish::Required => ring::Wish::Required,
        Wish::Off => ring::Wish::Off,
    };
    ring::RingWishes {
        registered_buffers: wish(asked.registered_buffers),
        registered_files: wish(asked.registered_files),
        completion_polling: asked.completion_polling,
        submission_polling: asked.submission_polling,
    }
}

fn facts(grants: RingGrants) -> RingFacts {
    RingFacts {
        registered_buffers: grants.registered_buffers,
        registered_files: grants.registered_files,
        single_issuer: grants.single_issuer,
        deferred_task_run: grants.deferred_task_run,
        completion_polling: grants.completion_polling,
        submission_polling: grants.submission_polling,
    }
}

#[derive(Debug)]
struct UringEngine {
    effective: Effective,
    ring: Ring,
    flights: Flights,
    /// Completions of requests that the kernel never saw.
    refused: Vec<Completion>,
    counters: ProtocolCounters,
}

impl UringEngine {
    /// Reads one block, because only a request tells whether a file can be polled.
    fn try_polling(&mut self, spec: &OpenSpec, worker: &WorkerContext) -> Result<(), EngineError> {
        let read = Request {
            tag: 0,
            op: Op::Read,
            object: 0,
            offset_bytes: 0,
            length_bytes: u32::try_from(spec.workload.block_bytes.0).unwrap_or(u32::MAX),
            slot: Slot(0),
        };
        self.queue(&[read])?;
        self.commit()?;
        let mut done = Completions::with_capacity(1);
        self.reap(1, worker.clock.now().after(spec.answer_timeout_ns), &mut done)?;
        if done.as_slice().first().is_some_and(|done| done.result == Err(NOT_SUPPORTED)) {
            return Err(refused(
                &spec.target,
                "its file system or device does not let completions be polled for",
            )
            .hint("leave completion_polling off"));
        }
        if done.is_empty() {
            return Err(refused(&spec.target, "a read that was polled for did not complete"));
        }
        // What was read is not what a worker's blocks start with.
        narrows_sys::entropy::fill_entropy(self.ring.block(0), worker.seed);
        self.counters = ProtocolCounters::default();
        Ok(())
    }

    /// Takes what has completed; how many of the kernel's answers that were.
    fn collect(&mut self, out: &mut Completions) -> u32 {
        let Self { ring, flights, .. } = self;
        let mut answers = 0;
        ring.drain(|done| {
            answers += 1;
            if let Some(completion) = flights.answered(done) {
                out.push(completion);
            }
        });
        self.counters.reply_count += u64::from(answers);
        answers
    }

    /// Issues what continues requests: the rest of short transfers, and syncs that are due.
    fn go_on(&mut self) -> Result<(), EngineError> {
        while let Some(next) = self.flights.next_step() {
            self.counters.request_count += 1;
            self.ring.queue(&next).map_err(|errno| ended("continue", errno))?;
        }
        self.ring.submit().map_err(|errno| ended("submit", errno))
    }
}

fn ended(operation: &'static str, errno: narrows_sys::Errno) -> EngineError {
    EngineError::from_io(operation, "the io_uring", errno.into())
}

/// The form in which the ring takes `request`; `None` for what it has no form for.
fn ring_request(request: &Request) -> Option<RingRequest> {
    let op = match request.op {
        Op::Read => RingOp::Read,
        Op::Write => RingOp::Write,
        Op::Sync => RingOp::Fdatasync,
        Op::Trim => RingOp::PunchHole,
        _ => return None,
    };
    Some(RingRequest {
        op,
        slot: request.slot.0,
        file: request.object,
        offset_bytes: request.offset_bytes,
        length_bytes: request.length_bytes,
        block_offset_bytes: 0,
    })
}

impl Engine for UringEngine {
    fn effective(&self) -> &Effective {
        &self.effective
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.ring.block(slot.0)
    }

    /// A request whose slot is still in flight is not taken; one that the engine cannot issue completes with `EINVAL`.
    fn queue(&mut self, requests: &[Request]) -> Result<usize, EngineError> {
        let depth = self.effective.queue_depth as usize;
        for (index, request) in requests.iter().enumerate() {
            if self.ring.in_flight_count() as usize + self.refused.len() >= depth {
                return Ok(index);
            }
            let first = ring_request(request);
            match first.map(|first| (first, self.ring.queue(&first))) {
                Some((first, Ok(()))) => {
                    self.counters.request_count += 1;
                    self.flights.started(request.tag, first);
                }
                Some((_, Err(errno))) if errno.raw() == BUSY => return Ok(index),
                _ => self.refused.push(Completion { tag: request.tag, result: Err(INVALID) }),
            }
        }
        Ok(requests.len())
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        self.ring.submit().map_err(|errno| ended("submit", errno))
    }

    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError> {
        let enough = out.len() + min as usize;
        for completion in self.refused.drain(..) {
            out.push(completion);
        }
        loop {
            // Not above `min`, so it fits.
            let missing = u32::try_from(enough.saturating_sub(out.len())).unwrap_or(min);
            let awaited = missing.min(self.ring.in_flight_count());
            self.ring.wait(awaited, until.0).map_err(|errno| ended("wait for", errno))?;
            let answers = self.collect(out);
            if self.flights.has_next_step() {
                self.go_on()?;
            }
            let deadline_passed = answers < awaited;
            if deadline_passed || out.len() >= enough || self.ring.in_flight_count() == 0 {
                return Ok(());
            }
        }
    }

    fn counters(&mut self, out: &mut ProtocolCounters) {
        out.request_count = self.counters.request_count;
        out.reply_count = self.counters.reply_count;
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}
