//! The engine `nfs`: `NFSv3` spoken in user space, many calls in flight on one connection or several (design 0021).
//!
//! Before and after the load a connection has one call at a time (`session`); during the load replies are found by their
//! xid (`core`, `connection`, `issuer`). A connection that ends is made again, and what was in flight is sent again and
//! counted; unstable data is kept and written again after a restart of the server (`unstable`, `recovery`). Loads of whole
//! objects have one call at a time (`objects`). Deliberately absent: a cache of data or attributes, locks, and `NFSv4`.

mod calls;
mod connection;
mod core;
mod counters;
mod examine;
mod issuer;
mod mount;
mod objects;
mod own_folder;
mod recovery;
mod recovery_state;
mod removal;
mod server;
mod session;
mod tree;
mod unstable;
mod unstable_memory;

#[cfg(test)]
mod tests;

use self::core::LoadCore;
use crate::connections::StoragePeer;
use crate::contract::{Engine, EngineFactory, OpenSpec, OwnPlace, PlaceFound, PlaceRequest, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::flights::RequestFlights;
use crate::objects::set_name;
use crate::slots::{checked_depth, entropy_blocks};
use crate::socket::connection_facts;
use crate::stop::StopFlag;
use calls::{CALLS_MAX, RpcCallTable};
use connection::CallConnection;
use counters::CallCounts;
use examine::examine;
use issuer::{CONNECTIONS_MAX, NfsEngine};
use mount::{MountedFolder, mount};
use narrows_model::capabilities::{Capabilities, Completion};
use narrows_model::engine::nfs::{StatCall, TRANSFER_BYTES_MAX};
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{CacheState, SyncPolicy};
use narrows_model::{Bytes, Effective, EngineId, NfsAddress, Target};
use narrows_wire::nfs::attributes::FileHandle;
use narrows_wire::nfs::block::Stability;
use objects::ObjectOpening;
use own_folder::NfsFolder;
use recovery_state::{REWRITES_MAX, Recovery};
use removal::SET_DEPTH;
use server::NfsServer;
use session::{RpcSession, first_xid};
use std::collections::VecDeque;
use std::sync::Arc;
use unstable::UnstableStore;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::nfs::DECLARATION;

/// Bytes of unstable data that a worker keeps unless a study says otherwise.
const KEEP_BYTES: u64 = 64 << 20;

/// Options of a study.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(default)]
struct NfsOptions {
    connections: u64,
    rsize: u64,
    wsize: u64,
    keep: u64,
    stat: StatCall,
}

impl Default for NfsOptions {
    fn default() -> Self {
        Self {
            connections: 1,
            rsize: TRANSFER_BYTES_MAX,
            wsize: TRANSFER_BYTES_MAX,
            keep: KEEP_BYTES,
            stat: StatCall::Lookup,
        }
    }
}

/// Makes `nfs` engines.
#[derive(Debug, Clone, Copy, Default)]
pub struct NfsFactory;

/// The address that `target` is.
fn address_of(target: &Target) -> Result<NfsAddress, EngineError> {
    let refused = |detail: String| {
        Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(detail))
    };
    match target {
        Target::Scheme { engine: EngineId::Nfs, rest } => NfsAddress::parse(rest).or_else(refused),
        _ => refused("the engine nfs supports only nfs:".to_owned()),
    }
}

fn server_of(
    spec: &OpenSpec,
    clock: Arc<dyn crate::clock::Clock>,
    stop: StopFlag,
) -> Result<NfsServer, EngineError> {
    // Below a millisecond nobody answers.
    let timeout_ns = spec.answer_timeout_ns.max(1_000_000);
    Ok(NfsServer { address: address_of(&spec.target)?, clock, timeout_ns, stop })
}

impl EngineFactory for NfsFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        address_of(target)?;
        Ok(INFO.capabilities())
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        checked_depth(spec, INFO.queue_depth_max)?;
        if spec.workload.access == narrows_model::workload::Access::Direct {
            return Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
                .detail(INFO.no_direct_reason())
                .hint("leave the access as it is by default"));
        }
        let options: NfsOptions = spec.engine_options()?;
        let server = server_of(spec, Arc::clone(&worker.clock), worker.stop.clone())?;
        let stability = match spec.workload.sync {
            SyncPolicy::Dsync => Stability::FileSync,
            _ => Stability::Unstable,
        };
        if let Some(set) = &spec.workload.objects {
            let opening = ObjectOpening {
                server,
                connection_count: connection_count(&options),
                read_bytes_max: options.rsize,
                write_bytes_max: options.wsize,
                keep_bytes: options.keep,
                stat_call: options.stat,
                stability,
                effective: effective(spec),
            };
            return objects::open(spec, set, worker, opening);
        }
        open_blocks(spec, worker, server, (&options, stability))
    }

    /// There is nothing of a server's files in this machine's page cache.
    fn bring_cache_to(&self, _spec: &OpenSpec, _state: CacheState) -> Result<Option<f64>, EngineError> {
        Ok(None)
    }

    fn examine(
        &self,
        target: &Target,
        clock: Arc<dyn crate::clock::Clock>,
        timeout_ns: u64,
    ) -> Result<PlaceFound, EngineError> {
        examine(&address_of(target)?, clock, timeout_ns)
    }

    fn own_place(
        &self,
        target: &Target,
        request: &PlaceRequest<'_>,
    ) -> Result<Option<Box<dyn OwnPlace>>, EngineError> {
        Ok(Some(Box::new(NfsFolder::create(&address_of(target)?, request)?)))
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        let clock = Arc::new(crate::clock::MonotonicClock::new());
        let MountedFolder { mut session, folder } = mount(&server_of(spec, clock, StopFlag::default())?)?;
        if spec.workload.objects.is_some() {
            return session.remove_tree(&folder, set_name(spec)?, SET_DEPTH);
        }
        spec.objects
            .iter()
            .filter(|object| !object.is_empty())
            .try_for_each(|object| session.remove(&folder, object))
    }
}

/// An engine of blocks of files on `server`, with these options and writes of this stability.
fn open_blocks(
    spec: &OpenSpec,
    worker: &WorkerContext,
    server: NfsServer,
    (options, stability): (&NfsOptions, Stability),
) -> Result<Box<dyn Engine>, EngineError> {
    let (depth, count) = (spec.workload.queue_depth, connection_count(options));
    let MountedFolder { mut session, folder } = mount(&server)?;
    let sizes = session.sizes(&folder)?;
    let files = open_files(&mut session, &folder, spec)?;
    let block_bytes = spec.workload.block_bytes.0.max(1);
    // A server that takes less than is asked for takes at least one byte.
    let size = |asked: u64, granted: u32| saturate_u32(asked.min(u64::from(granted)).max(1));
    let (read_bytes_max, write_bytes_max) =
        (size(options.rsize, sizes.read_bytes_max), size(options.wsize, sizes.write_bytes_max));
    let calls_max = checked_calls(spec, depth, read_bytes_max.min(write_bytes_max))?;
    let table = calls_max + REWRITES_MAX as u64 + 2;
    let writes = spec.workload.ops().iter().any(|share| share.op.moves_towards_device()) || spec.create;
    let unstable = if writes && stability == Stability::Unstable {
        match u64::from(write_bytes_max) {
            part_bytes if part_bytes < block_bytes => {
                UnstableStore::new(options.keep, part_bytes, calls_max)?
            }
            _ => UnstableStore::of_blocks(options.keep, block_bytes, calls_max, worker.seed)?,
        }
    } else {
        UnstableStore::none()?
    };
    let blocks = entropy_blocks(depth, block_bytes, worker.seed)?;
    let port = session.port;
    let (connections, effective) =
        open_connections(&server, session, count, read_bytes_max, saturate_usize(table), spec)?;
    let now = server.clock.now();
    let first_xid = first_xid(now.0 ^ worker.seed);
    let capacity = saturate_usize(table);
    let core = LoadCore {
        calls: RpcCallTable::new(saturate_u32(table), &server.caller(), stability, first_xid),
        files,
        blocks,
        flights: RequestFlights::new(depth),
        unstable,
        counts: CallCounts::default(),
        first: VecDeque::with_capacity(capacity),
        ready: VecDeque::with_capacity(capacity),
        verifier: None,
        recovery: Recovery::default(),
        is_committing: false,
        now,
        last_progress: now,
        failure: None,
        server,
    };
    Ok(Box::new(NfsEngine {
        effective,
        core,
        connections,
        port,
        next_connection: 0,
        queued: VecDeque::with_capacity(capacity),
        queued_request_count: 0,
        read_bytes_max,
        write_bytes_max,
    }))
}

/// Connections of a worker.
fn connection_count(options: &NfsOptions) -> usize {
    saturate_usize(options.connections).clamp(1, CONNECTIONS_MAX)
}

/// Calls in flight of `depth` requests, each of one or several of at most `most_bytes`.
fn checked_calls(spec: &OpenSpec, depth: u32, most_bytes: u32) -> Result<u64, EngineError> {
    let block = spec.workload.block_bytes;
    let parts = block.0.max(1).div_ceil(u64::from(most_bytes));
    let calls = parts.saturating_mul(u64::from(depth));
    if calls.saturating_add(2 * REWRITES_MAX as u64) <= CALLS_MAX {
        return Ok(calls);
    }
    Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
        .detail(format!("{depth} requests of {block} are {calls} calls in flight"))
        .hint("use a smaller depth or block, or larger rsize and wsize"))
}

/// The objects of `spec` in `folder`, found or made.
fn open_files(
    session: &mut RpcSession,
    folder: &FileHandle,
    spec: &OpenSpec,
) -> Result<Vec<FileHandle>, EngineError> {
    let visited_bytes = spec.object_bytes.0 - spec.object_bytes.0 % spec.workload.block_bytes.0.max(1);
    let mut files = Vec::with_capacity(spec.objects.len());
    for object in &spec.objects {
        let file = match object.as_str() {
            "" => *folder,
            name if spec.create => session.create(folder, name, false)?,
            name => {
                let missing = narrows_wire::nfs::Status::NOT_FOUND;
                let found = session.find(folder, name)?;
                found.ok_or_else(|| session.server.failed("open", name, missing))?.handle
            }
        };
        if spec.laid_down {
            let length = session.attributes(&file, object)?.length_bytes;
            if length < visited_bytes {
                return Err(EngineError::new(ErrorKind::Io, "open", spec.target.to_string())
                    .detail(format!(
                        "{object} has {} and had {}: it was truncated meanwhile",
                        Bytes(length),
                        spec.object_bytes
                    ))
                    .hint("run again, and make sure that nothing else changes the files of a run"));
            }
        }
        files.push(file);
    }
    Ok(files)
}

/// `count` connections, the first of which is that of `session`, and what was granted.
fn open_connections(
    server: &NfsServer,
    session: RpcSession,
    count: usize,
    read_bytes: u32,
    calls: usize,
    spec: &OpenSpec,
) -> Result<(Vec<CallConnection>, Effective), EngineError> {
    let failed = |error| server.io_error("open", error);
    let port = session.port;
    let first = session.into_socket();
    let facts = connection_facts(&first).map_err(failed)?;
    let effective = Effective { connection: Some(facts), ..effective(spec) };
    let mut connections = vec![CallConnection::new(0, first, read_bytes, calls).map_err(failed)?];
    while connections.len() < count {
        let socket = server.dial("connect", port, server.deadline())?;
        let index = connections.len();
        connections.push(CallConnection::new(index, socket, read_bytes, calls).map_err(failed)?);
    }
    Ok((connections, effective))
}

/// What is granted, over connections that are still to be made.
fn effective(spec: &OpenSpec) -> Effective {
    Effective {
        engine: INFO.name().to_owned(),
        access: None,
        queue_depth: spec.workload.queue_depth,
        sync: spec.workload.sync,
        acknowledgement: None,
        write_completion: match spec.workload.sync {
            SyncPolicy::Dsync | SyncPolicy::Every(1) => Completion::Durable,
            _ => INFO.write_completion,
        },
        alignment_bytes: Bytes(1),
        connection: None,
        ring: None,
        has_own_file_table: false,
    }
}
