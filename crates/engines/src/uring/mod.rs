//! The engine `uring`: reads and writes of files through a submission and completion ring (`io_uring`), many in flight.
//!
//! "Complete" means what it means to `psync`. After every so many writes, an `fdatasync` of that file follows the write
//! in its slot, and both are complete with it; the other requests in flight continue meanwhile. Short transfers are
//! continued until all is moved or nothing more comes. What the machine does not grant is recorded, or refused where it
//! was required; on a machine that forbids rings no engine is opened, never a different one. `queue` writes entries,
//! `commit` enters the kernel once, `reap` takes what is there and enters only when that is too little. A commit is
//! never deferred until the reap: a request starts when the worker says so, and what is in the page cache completes
//! within the commit anyway. Not here: issuing, which is in `issuer`.

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::files::{self, Files, OpenObjectFiles};
use crate::request::{Completions, Errno, IoRequest, Slot};
use crate::slots::checked_depth;
use narrows_model::capabilities::Capabilities;
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::units::saturate_usize;
use narrows_model::workload::{Access, CacheState, FeatureRequest, RingFacts, RingOptions, SyncPolicy};
use narrows_model::{Bytes, Effective, Op, Target};
use narrows_sys::ring::{self, RING_DEPTH_MAX, Ring, RingError, RingGrants, RingSpec, RingTrialSpec};
use std::fs::File;

mod flights;
mod issuer;
mod polling;
#[cfg(test)]
mod tests;

use issuer::UringEngine;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::uring::DECLARATION;

const _: () = assert!(INFO.queue_depth_max == RING_DEPTH_MAX, "a ring has as many slots");

/// A file that cannot be polled.
const NOT_SUPPORTED: Errno = Errno(rustix::io::Errno::OPNOTSUPP.raw_os_error());

/// Makes `uring` engines.
#[derive(Debug, Clone, Default)]
pub struct UringFactory {
    files: Files,
}

impl UringFactory {
    /// Files anywhere the user may access.
    #[must_use]
    pub fn unconfined() -> Self {
        Self { files: Files::unconfined() }
    }

    /// Files beneath the open `folder` alone; paths of targets are relative to it.
    #[must_use]
    pub fn confined(folder: File) -> Self {
        Self { files: Files::confined(folder.into()) }
    }

    /// The same for files that are chosen already.
    pub(crate) fn with_files(files: Files) -> Self {
        Self { files }
    }
}

impl EngineFactory for UringFactory {
    /// Tries whether this machine lets the process have a ring at all; one that it forbids is an error that says so.
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        let mut capabilities = self.files.capabilities(target, INFO)?;
        let support = ring::support().map_err(|error| no_ring(target, &error))?;
        if capabilities.direct.is_yes() {
            let place = self.files.object_path(target, "")?;
            capabilities.completion_polling = polling::support(&place, capabilities.alignment_bytes.0)?;
        } else {
            capabilities.completion_polling = capabilities.direct.clone();
        }
        if !support.punch_hole {
            capabilities.ops.retain(|op| *op != Op::Trim);
        }
        Ok(capabilities)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        check_polling(spec)?;
        let OpenObjectFiles { files, parts, alignment_bytes } = self.files.open(spec)?;
        let ring = Ring::new(RingSpec {
            depth,
            block_bytes: saturate_usize(spec.workload.block_bytes.0),
            seed: worker.seed,
            files,
            setup: ring_setup(spec.workload.ring),
        })
        .map_err(|error| no_ring(&spec.target, &error))?;
        let effective = Effective {
            ring: Some(facts(ring.grants())),
            ..files::effective(INFO.name(), spec, depth, alignment_bytes)
        };
        let mut engine = UringEngine::new(effective, ring, parts, spec.workload.sync, &worker.clock);
        if spec.workload.ring.completion_polling {
            try_polling(&mut engine, spec, worker)?;
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

/// Why the engines of a load cannot be had all at once: `count` of them with `queue_depth` requests of `block_bytes` at most.
///
/// # Errors
/// What the machine refuses, and what to do about it.
///
/// # Cost
/// As many rings as the load has, within [`ring::try_rings`]'s bounds.
pub fn try_rings(
    queue_depth: u32,
    block_bytes: Bytes,
    count: u32,
    asked: RingOptions,
) -> Result<(), RingError> {
    ring::try_rings(RingTrialSpec {
        depth: queue_depth,
        block_bytes: saturate_usize(block_bytes.0),
        count,
        setup: ring_setup(asked),
    })
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
            "polling for completions needs direct access and buffered was requested",
        )
        .hint("use direct access, or do not use completion_polling"));
    }
    let syncs = matches!(workload.sync, SyncPolicy::Every(_) | SyncPolicy::AtEnd);
    if syncs || workload.ops().iter().any(|share| !matches!(share.op, Op::Read | Op::Write)) {
        return Err(refused(&spec.target, "polling for completions supports only reads and writes")
            .hint("make writes durable with dsync, or do not use completion_polling"));
    }
    Ok(())
}

fn ring_setup(asked: RingOptions) -> ring::RingSetup {
    let mode = |asked| match asked {
        FeatureRequest::IfGranted => ring::FeatureMode::IfGranted,
        FeatureRequest::Required => ring::FeatureMode::Required,
        FeatureRequest::Off => ring::FeatureMode::Off,
    };
    ring::RingSetup {
        registered_buffers: mode(asked.registered_buffers),
        registered_files: mode(asked.registered_files),
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

/// Reads one block, because only a request shows whether a file can be polled.
fn try_polling(engine: &mut UringEngine, spec: &OpenSpec, worker: &WorkerContext) -> Result<(), EngineError> {
    let read = IoRequest {
        tag: 0,
        op: Op::Read,
        object: 0,
        offset_bytes: 0,
        length_bytes: u32::try_from(spec.workload.block_bytes.0).unwrap_or(u32::MAX),
        slot: Slot(0),
    };
    engine.queue(&[read])?;
    engine.commit()?;
    let mut done = Completions::with_capacity(1);
    engine.reap(1, worker.clock.now().after(spec.answer_timeout_ns), &mut done)?;
    if done.as_slice().first().is_some_and(|done| done.result == Err(NOT_SUPPORTED)) {
        return Err(refused(&spec.target, polling::NOT_POLLED).hint("do not use completion_polling"));
    }
    if done.is_empty() {
        return Err(refused(&spec.target, "a polled read did not complete"));
    }
    // What was read is not what a worker's blocks start with.
    engine.start_anew(worker.seed);
    Ok(())
}
