//! Loads of whole objects on an NFS server: files by name in folders of a set, one request in flight per worker.
//!
//! Names, draws and what exists are those of the engine `objects`; only the calls differ. Handles of folders are kept, those of
//! files are not (unless a stat is to be a GETATTR), and no attributes are: each operation looks its object up. Deliberately
//! absent: caches, and several calls in flight, which other workers make.

mod call_end;
mod calls;
mod folders;
mod handles;
mod link;
mod listing;
mod perform;
mod recovery;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unsaved;
mod writes;

use super::mount::{MountedFolder, mount};
use super::server::NfsServer;
use super::session::{RpcSession, first_xid};
use crate::connections::StoragePeer;
use crate::contract::{Engine, OpenSpec, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::files::{SingleEngine, SingleFlight};
use crate::objects::check_set;
use crate::objects::names::ObjectNames;
use crate::objects::second_names::SecondNames;
use crate::slots::SlotBuffers;
use crate::socket::connection_facts;
use calls::{SerialCalls, SerialConnections};
use folders::SetFolders;
use handles::KeptHandles;
use link::SerialLink;
use listing::{PART_BYTES, ServerListing};
use narrows_model::capabilities::Completion;
use narrows_model::engine::nfs::StatCall;
use narrows_model::units::saturate_usize;
use narrows_model::workload::{ObjectCalls, ObjectSet, ObjectSync, Order};
use narrows_model::{Effective, Op};
use narrows_wire::nfs::block::Stability;
use perform::NfsObjects;
use unsaved::UnsavedData;

/// How an engine of objects is opened beyond its spec.
#[derive(Debug)]
pub(super) struct ObjectOpening {
    pub(super) server: NfsServer,
    pub(super) connection_count: usize,
    pub(super) read_bytes_max: u64,
    pub(super) write_bytes_max: u64,
    pub(super) keep_bytes: u64,
    pub(super) stat_call: StatCall,
    pub(super) stability: Stability,
    pub(super) effective: Effective,
}

/// An engine of the objects of `set`.
pub(super) fn open(
    spec: &OpenSpec,
    set: &ObjectSet,
    worker: &WorkerContext,
    opening: ObjectOpening,
) -> Result<Box<dyn Engine>, EngineError> {
    check_asked(spec, set)?;
    let (server, stability) = (&opening.server, opening.stability);
    let MountedFolder { mut session, folder } = mount(server)?;
    let sizes = session.sizes(&folder)?;
    // A server that takes less than is asked for takes at least one byte.
    let most = |asked: u64, granted: u32| saturate_usize(asked.min(u64::from(granted)).max(1));
    let read_bytes_max = most(opening.read_bytes_max, sizes.read_bytes_max);
    let write_bytes_max = most(opening.write_bytes_max, sizes.write_bytes_max);
    let folders = SetFolders::open(&mut session, &folder, spec, set.folders)?;
    let mut names = ObjectNames::new(set);
    let handles = match opening.stat_call {
        StatCall::Getattr if stats_by_number(spec) => {
            KeptHandles::look_up(&mut session, &folders, &mut names, set.count)?
        }
        _ => KeptHandles::none(),
    };
    let write_block = spec.workload.block_bytes.0.max(1);
    let read_block = set.read_block_bytes.map_or(write_block, |bytes| bytes.0.max(1));
    let unsaved = match stability {
        Stability::Unstable => UnsavedData::new(opening.keep_bytes, write_block.min(write_bytes_max as u64))?,
        _ => UnsavedData::new(0, 1)?,
    };
    let payload_bytes = read_bytes_max.max(PART_BYTES as usize);
    let facts = connection_facts(session.socket()).map_err(|error| server.io_error("open", error))?;
    let port = session.port;
    let links = links(server, session, opening.connection_count, payload_bytes)?;
    let first_xid = first_xid(server.clock.now().0 ^ worker.seed);
    let connections = SerialConnections { port, links, first_xid };
    let is_synced = set.sync != ObjectSync::None || stability != Stability::Unstable;
    let effective = Effective {
        queue_depth: 1,
        connection: Some(facts),
        write_completion: if is_synced { Completion::Durable } else { Completion::InServerMemory },
        ..opening.effective
    };
    let caller = server.caller();
    let calls = SerialCalls::new(opening.server, &caller, connections, (stability, write_bytes_max), unsaved);
    Ok(Box::new(SingleEngine {
        effective,
        slots: SlotBuffers::new(1, write_block.max(read_block), worker.seed)?,
        performer: NfsObjects {
            set: *set,
            names,
            second_names: SecondNames::none(),
            folders,
            handles,
            stat_call: opening.stat_call,
            calls,
            listing: ServerListing::new(),
            write_block: saturate_usize(write_block),
            read_block: saturate_usize(read_block),
            read_bytes_max,
            failed: None,
        },
        flight: SingleFlight::default(),
    }))
}

/// Whether the load of `spec` asks for the attributes of objects by their numbers, not as a listing names them.
fn stats_by_number(spec: &OpenSpec) -> bool {
    spec.workload.order != Order::Listing && spec.workload.ops().iter().any(|share| share.op == Op::Stat)
}

/// Refuses what loads of objects on a server do not do.
fn check_asked(spec: &OpenSpec, set: &ObjectSet) -> Result<(), EngineError> {
    let refused =
        |why: String| EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string()).detail(why);
    let depth = spec.workload.queue_depth;
    if depth != 1 {
        return Err(refused(format!(
            "a depth of {depth} was requested, and a worker handles one object at a time"
        ))
        .hint("use a depth of 1 and more workers"));
    }
    if set.calls == ObjectCalls::Streams {
        return Err(refused("objects of a server are not moved by the C library's streams".to_owned())
            .hint("use calls = \"system\""));
    }
    check_set(spec, set)
}

/// `count` connections, the first of which is that of `session`.
fn links(
    server: &NfsServer,
    session: RpcSession,
    count: usize,
    payload_bytes: usize,
) -> Result<Vec<SerialLink>, EngineError> {
    let failed = |error| server.io_error("open", error);
    let port = session.port;
    let mut links = vec![SerialLink::new(session.into_socket(), payload_bytes).map_err(failed)?];
    while links.len() < count {
        let socket = server.dial("connect", port, server.deadline())?;
        links.push(SerialLink::new(socket, payload_bytes).map_err(failed)?);
    }
    Ok(links)
}
