//! The contract of all engines.
//!
//! A worker opens an engine on its own thread, then repeats: `queue` requests, `commit` them, `reap` completions; loads
//! of whole objects perform requests one by one. Dispatch is dynamic per batch. An engine that cannot do what was asked
//! for refuses at `open`; it never does something else instead.

use crate::clock::{Clock, Tick};
use crate::error::{EngineError, ErrorKind};
use crate::request::{Completions, Errno, IoRequest, Slot};
use crate::stop::StopFlag;
use narrows_model::capabilities::Capabilities;
use narrows_model::counters::TcpCounters;
use narrows_model::workload::CacheState;
use narrows_model::{Bytes, Effective, Histogram, RpcCounters, Target, Workload};
use rustix::event::PollFlags;
use serde::de::DeserializeOwned;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// What an engine is opened for.
#[derive(Debug, Clone)]
pub struct OpenSpec {
    /// The target of the requests.
    pub target: Target,
    /// The load; the engine heeds block size, depth, access, sync policy and acknowledgement.
    pub workload: Workload,
    /// Names that requests refer to by index, relative to the target; an empty name is the target itself.
    pub objects: Vec<String>,
    /// Size to which objects grow; reads beyond it are an error of the caller.
    pub object_bytes: Bytes,
    /// Whether objects are made when missing. Without it a missing object is an error.
    pub create: bool,
    /// Whether all objects already contain their data: one that is shorter now has lost some, which is an error and
    /// nothing to make anew.
    pub laid_down: bool,
    /// A token for an endpoint that asks for one.
    pub token: Option<Vec<u8>>,
    /// The endpoint's session whose store contains the objects, or those of several endpoints as
    /// [`crate::endpoint::sessions`] writes them; `None` opens a separate store that ends with the engine. Has no
    /// meaning for targets that are no endpoint.
    pub session: Option<String>,
    /// Longest wait for a peer's answer before the operation counts as failed.
    pub answer_timeout_ns: u64,
}

impl OpenSpec {
    /// The options that the study gives for the engine, as the type in which the engine reads them.
    ///
    /// # Errors
    /// A value that the type does not take, as in a plan of another version.
    pub fn engine_options<T: DeserializeOwned>(&self) -> Result<T, EngineError> {
        self.workload.engine_options.typed().map_err(|error| {
            EngineError::new(ErrorKind::Unsupported, "read the engine's options for", self.target.to_string())
                .detail(error.to_string())
        })
    }
}

/// What a worker is, for the engine that it opens.
#[derive(Clone)]
pub struct WorkerContext {
    /// The client process, from 0; in a load of whole objects the client that has made the objects that this one visits.
    pub client_index: u32,
    /// The worker in its client, from 0.
    pub worker_index: u32,
    /// Seed for the content of buffers and for any choice the engine makes.
    pub seed: u64,
    /// The clock that the worker is timed by.
    pub clock: Arc<dyn Clock>,
    /// The wish to stop: an opening that waits for a peer gives up when all is to stop now.
    pub stop: StopFlag,
}

impl std::fmt::Debug for WorkerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerContext")
            .field("client_index", &self.client_index)
            .field("worker_index", &self.worker_index)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// Cumulative counts of what an engine's protocol did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProtocolCounters {
    /// Requests sent or system calls made for I/O.
    pub request_count: u64,
    /// Replies received.
    pub reply_count: u64,
    /// Remote procedure calls; `None` of an engine without any.
    pub rpc: Option<RpcCounters>,
    /// `TCP_INFO` of the engine's connections; `None` without any.
    pub tcp: Option<TcpCounters>,
    /// Times of the syncs that followed writes; `None` of an engine that makes none, or does not time them.
    pub syncs: Option<Histogram>,
}

/// What shows that an engine can go on without waiting.
#[derive(Debug, Clone, Copy)]
pub struct Readiness<'a> {
    /// What is polled.
    pub descriptor: BorrowedFd<'a>,
    /// The events of it that are waited for; an error or the end of it counts as one.
    pub events: PollFlags,
}

/// A place of our own at a target that is no path of this machine, with all that a run makes there; dropping it removes it.
pub trait OwnPlace: Send + std::fmt::Debug {
    /// The place, as a target.
    fn target(&self) -> &Target;

    /// What killed runs have left beside it: removed, or why not, in sentences.
    fn notes(&self) -> &[String];

    /// Writes a file `name` with `content` into it, by which an endpoint at the server shows that it serves the same storage;
    /// the file's path from the server's root. `None` where a place has no files.
    ///
    /// # Errors
    /// When the server does not take it.
    fn write_proof(&self, name: &str, content: &str) -> Result<Option<String>, EngineError> {
        let _ = (name, content);
        Ok(None)
    }
}

/// What is at a target that is no path of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceFound {
    /// Something to make files or objects in.
    Folder {
        /// Room for files of this user; `None` where the server does not report it.
        free_bytes: Option<Bytes>,
    },
    /// A file or an object with something in it.
    File {
        /// Its length.
        length: Bytes,
    },
}

/// What a place of our own is made with.
pub struct PlaceRequest<'a> {
    /// Makes its name unique.
    pub nonce: u64,
    /// The line of its marker, which states which run made it.
    pub owner: &'a str,
    /// Whether the run that a marker's line states has ended: its place is removed.
    pub is_gone: &'a dyn Fn(&str) -> bool,
    /// The clock of all waits.
    pub clock: Arc<dyn Clock>,
    /// Longest wait for each answer.
    pub timeout_ns: u64,
}

impl std::fmt::Debug for PlaceRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlaceRequest")
            .field("nonce", &self.nonce)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

/// Makes engines of one kind and prepares what they work on.
pub trait EngineFactory: Send + Sync {
    /// What the engine can do with `target`.
    ///
    /// # Errors
    /// When the target cannot be reached or examined.
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError>;

    /// An engine for one worker, opened on the worker's thread.
    ///
    /// # Errors
    /// When the target cannot be opened as asked for.
    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError>;

    /// Whether every file that an engine of this factory uses is opened, used and closed by its worker's thread alone, or
    /// was open before it is opened: it may then have a table of open files of its own.
    fn files_stay_with_worker(&self) -> bool {
        false
    }

    /// Brings caches on this machine to the requested state for the objects of `spec`, and returns what share of them
    /// is cached then; `None` where that cannot be seen.
    ///
    /// # Errors
    /// When the state could not be reached.
    fn bring_cache_to(&self, spec: &OpenSpec, state: CacheState) -> Result<Option<f64>, EngineError>;

    /// What is at `target`, without changing anything there.
    ///
    /// # Errors
    /// When it cannot be reached or is nothing to make or read files in; always of engines whose targets are paths of this
    /// machine, endpoints or units.
    fn examine(
        &self,
        target: &Target,
        _clock: Arc<dyn Clock>,
        _timeout_ns: u64,
    ) -> Result<PlaceFound, EngineError> {
        Err(EngineError::new(ErrorKind::Unsupported, "examine", target.to_string())
            .detail("it has no files or objects of its own"))
    }

    /// Makes a place of our own in `target`; `None` where targets of this engine need none, or are paths of this machine.
    ///
    /// # Errors
    /// When the target cannot be reached, or does not let this user make anything.
    fn own_place(
        &self,
        _target: &Target,
        _request: &PlaceRequest<'_>,
    ) -> Result<Option<Box<dyn OwnPlace>>, EngineError> {
        Ok(None)
    }

    /// Removes the objects of `spec`, which must have been made by an engine of this factory.
    ///
    /// # Errors
    /// When an object could not be removed.
    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError>;
}

/// Issues requests of one worker. Not `Send`: there is one issuer.
pub trait Engine {
    /// What was really granted.
    fn effective(&self) -> &Effective;

    /// One of the engine's buffers; there are as many as the queue depth, each of the block size. Once a write from it has
    /// completed it may be another one, with the content of an earlier write.
    ///
    /// # Panics
    /// When the slot is not below the queue depth.
    fn buffer(&mut self, slot: Slot) -> &mut [u8];

    /// Takes requests in order and returns how many were taken; fewer than offered when the queue is full.
    ///
    /// # Errors
    /// When the engine can take no requests any more.
    fn queue(&mut self, requests: &[IoRequest]) -> Result<usize, EngineError>;

    /// Whether it takes no more requests because another client of a load whose clients are in step has ended: this one then
    /// ends too. Asked for where [`Engine::queue`] has taken nothing and nothing is in flight.
    fn has_ended(&self) -> bool {
        false
    }

    /// Starts all requests queued so far.
    ///
    /// # Errors
    /// When the engine can start no requests any more. Failures of single requests come as completions.
    fn commit(&mut self) -> Result<(), EngineError>;

    /// Adds completions to `out`: returns when there are at least `min`, or at `until`.
    ///
    /// # Errors
    /// When the engine can complete nothing any more (the peer is gone).
    fn reap(&mut self, min: u32, until: Tick, out: &mut Completions) -> Result<(), EngineError>;

    /// Executes `request` to its end, with nothing else in flight: the same as queue, commit and reap, with less work
    /// around it. `None` if the engine does not support it; it has then taken nothing.
    fn perform(&mut self, _request: &IoRequest) -> Option<Result<u32, Errno>> {
        None
    }

    /// Why the request with this tag failed, beyond its errno, if the engine knows: what a peer answered. Asked for between
    /// the completion and the next use of the tag.
    fn failure_detail(&mut self, _tag: u32) -> Option<String> {
        None
    }

    /// What shows that [`Engine::reap`] would find something, for who waits for several engines at once; `None` where
    /// it need not wait at all, because all that was committed is done or done by looking.
    ///
    /// # Errors
    /// When the engine cannot be waited for.
    fn readiness(&mut self) -> Result<Option<Readiness<'_>>, EngineError> {
        Ok(None)
    }

    /// Cumulative counts of what the protocol did.
    fn counters(&mut self, out: &mut ProtocolCounters);

    /// Ends the engine's work in order.
    ///
    /// # Errors
    /// When something could not be ended in order; nothing is left open even then.
    fn close(self: Box<Self>) -> Result<(), EngineError>;
}
