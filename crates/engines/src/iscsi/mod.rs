//! The engine `iscsi`: blocks of a logical unit over iSCSI, spoken in user space, many commands in flight (design 0022).
//!
//! Before and after the load a session has one command at a time (`session`, `unit`); during the load commands are found by
//! their tag (`core`, `connection`, `issuer`). A session that ends is made again, and what was in flight is sent again and
//! counted. What may be written is claimed first (`claim`). Deliberately absent: error recovery levels above 0, several
//! connections of one session, discovery, and a cache.

mod claim;
mod connection;
mod contents;
mod core;
mod counters;
mod issuer;
mod mark;
mod portal;
mod secrets;
mod send_queue;
mod session;
mod tasks;
mod unit;

#[cfg(test)]
mod claim_tests;
#[cfg(test)]
mod fake_target;
#[cfg(test)]
mod tests;

pub use claim::{UnitHolding, UnitRegion, UnitSurvey, survey};

use self::core::UnitLoad;
use crate::connections::StoragePeer;
use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::flights::RequestFlights;
use crate::region::object_bytes;
use crate::slots::{checked_depth, entropy_blocks};
use crate::socket::connection_facts;
use crate::stop::StopFlag;
use claim::{check_claim, check_same};
use connection::UnitConnection;
use counters::PduCounts;
use issuer::{IscsiEngine, SESSIONS_MAX};
use narrows_model::capabilities::{Capabilities, Completion};
use narrows_model::engine::iscsi::COMMAND_BYTES_MAX;
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::units::{saturate_u32, saturate_usize};
use narrows_model::workload::{Access, CacheState, SyncPolicy};
use narrows_model::{Bytes, Effective, EngineId, IscsiAddress, Op, Target};
use narrows_wire::iscsi::digest::Digests;
use narrows_wire::iscsi::negotiation::SessionOptions;
use narrows_wire::iscsi::scsi::cdb::WriteDurability;
use portal::IscsiPortal;
use session::{DEFAULT_OPTIONS, UnitSession};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use tasks::{TASKS_MAX, TaskTable};
use unit::UnitFacts;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::iscsi::DECLARATION;

/// Wait for each answer where no load says how long it waits.
const TIMEOUT_NS: u64 = 10_000_000_000;

/// Options of a study.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a key of its own in a study")]
struct IscsiOptions {
    sessions: u64,
    header_digest: bool,
    data_digest: bool,
    initial_r2t: bool,
    immediate_data: bool,
    first_burst: u64,
    max_burst: u64,
    receive: u64,
    transfer: u64,
}

impl Default for IscsiOptions {
    fn default() -> Self {
        Self {
            sessions: 1,
            header_digest: DEFAULT_OPTIONS.digests.header,
            data_digest: DEFAULT_OPTIONS.digests.data,
            initial_r2t: DEFAULT_OPTIONS.initial_r2t,
            immediate_data: DEFAULT_OPTIONS.immediate_data,
            first_burst: u64::from(DEFAULT_OPTIONS.first_burst_bytes),
            max_burst: u64::from(DEFAULT_OPTIONS.max_burst_bytes),
            receive: u64::from(DEFAULT_OPTIONS.receive_bytes_max),
            transfer: COMMAND_BYTES_MAX,
        }
    }
}

impl IscsiOptions {
    fn session(&self) -> SessionOptions {
        SessionOptions {
            digests: Digests { header: self.header_digest, data: self.data_digest },
            initial_r2t: self.initial_r2t,
            immediate_data: self.immediate_data,
            first_burst_bytes: saturate_u32(self.first_burst),
            max_burst_bytes: saturate_u32(self.max_burst),
            receive_bytes_max: saturate_u32(self.receive),
        }
    }
}

/// Makes `iscsi` engines.
#[derive(Debug, Clone, Copy, Default)]
pub struct IscsiFactory;

/// The address that `target` is.
fn address_of(target: &Target) -> Result<IscsiAddress, EngineError> {
    let refused = |detail: String| {
        Err(EngineError::new(ErrorKind::Unsupported, "open", target.to_string()).detail(detail))
    };
    match target {
        Target::Scheme { engine: EngineId::Iscsi, rest } => IscsiAddress::parse(rest).or_else(refused),
        _ => refused("the engine iscsi supports only iscsi:".to_owned()),
    }
}

/// A session outside of a load, and what its unit is.
fn open_unit(target: &Target, timeout_ns: u64) -> Result<(UnitSession, UnitFacts), EngineError> {
    let clock = Arc::new(crate::clock::MonotonicClock::new());
    let portal = IscsiPortal::new(address_of(target)?, clock, timeout_ns, StopFlag::default());
    let mut session = UnitSession::open(&portal, &DEFAULT_OPTIONS, None, portal.deadline())?;
    let facts = session.unit_facts()?;
    Ok((session, facts))
}

impl EngineFactory for IscsiFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        let (session, facts) = open_unit(target, TIMEOUT_NS)?;
        session.log_out();
        let mut capabilities = INFO.capabilities();
        if !facts.capacity.can_unmap {
            capabilities.ops.retain(|op| *op != Op::Trim);
        }
        capabilities.alignment_bytes = Bytes(facts.block_bytes());
        Ok(capabilities)
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let depth = checked_depth(spec, INFO.queue_depth_max)?;
        if spec.workload.access == Access::Direct {
            return Err(refused(spec, INFO.no_direct_reason(), "leave the access as it is by default"));
        }
        let options: IscsiOptions = spec.engine_options()?;
        let clock = Arc::clone(&worker.clock);
        let address = address_of(&spec.target)?;
        let portal = IscsiPortal::new(address, clock, spec.answer_timeout_ns, worker.stop.clone());
        let mut session = UnitSession::open(&portal, &options.session(), None, portal.deadline())?;
        let facts = session.unit_facts()?;
        let objects = objects(&mut session, &facts, spec)?;
        let block_bytes = spec.workload.block_bytes.0.max(1);
        let moves_data = spec.workload.ops().iter().any(|share| share.op != Op::Ping);
        if moves_data && !block_bytes.is_multiple_of(facts.block_bytes()) {
            let why = format!(
                "the unit has blocks of {} bytes, and requests are of {block_bytes}",
                facts.block_bytes()
            );
            return Err(refused(spec, why, "use a block size that is a multiple of the unit's"));
        }
        let most = options.transfer.min(facts.transfer_bytes_max().unwrap_or(COMMAND_BYTES_MAX));
        let transfer_bytes_max = (most - most % facts.block_bytes()).max(facts.block_bytes());
        let tasks_max = checked_tasks(spec, depth, transfer_bytes_max.min(facts.unmap_bytes_max()))?;
        let blocks = entropy_blocks(depth, block_bytes, worker.seed)?;
        let count = saturate_usize(options.sessions).clamp(1, SESSIONS_MAX);
        let unit = session.unit;
        let effective = effective(spec, &session, &facts)?;
        let (connections, counts) = open_sessions(session, &facts, &options.session(), count, tasks_max)?;
        let durability = match spec.workload.sync {
            SyncPolicy::Dsync => WriteDurability::Immediate,
            _ => WriteDurability::Deferred,
        };
        let now = portal.clock.now();
        let capacity = saturate_usize(tasks_max);
        let load = UnitLoad {
            portal,
            unit,
            blocks,
            flights: RequestFlights::new(depth),
            tasks: TaskTable::new(saturate_u32(tasks_max), durability),
            counts,
            first: VecDeque::with_capacity(capacity),
            ready: VecDeque::with_capacity(capacity),
            now,
            last_progress: now,
            failure: None,
        };
        Ok(Box::new(IscsiEngine {
            effective,
            load,
            connections,
            facts,
            options: options.session(),
            objects,
            next_session: 0,
            queued: VecDeque::with_capacity(capacity),
            queued_request_count: 0,
            transfer_bytes_max: saturate_u32(transfer_bytes_max),
            is_closing: false,
        }))
    }

    /// There is nothing of a unit in this machine's page cache.
    fn bring_cache_to(&self, _spec: &OpenSpec, _state: CacheState) -> Result<Option<f64>, EngineError> {
        Ok(None)
    }

    /// The blocks of the objects are unmapped, or zeroes are written.
    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        let (mut session, facts) = open_unit(&spec.target, spec.answer_timeout_ns)?;
        let create = spec.objects.iter().any(|object| !object.is_empty());
        let removed = OpenSpec { create, ..spec.clone() };
        let objects = objects(&mut session, &facts, &removed)?;
        for (object, bytes) in spec.objects.iter().zip(objects).filter(|(object, _)| !object.is_empty()) {
            let block_bytes = facts.block_bytes();
            let end_bytes = bytes.end.next_multiple_of(block_bytes).min(facts.length_bytes());
            debug_assert!(!object.is_empty(), "a unit that is only read stays");
            session.clear_blocks(&facts, bytes.start, end_bytes)?;
        }
        session.log_out();
        Ok(())
    }
}

fn refused(spec: &OpenSpec, detail: impl Into<String>, hint: &str) -> EngineError {
    EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string()).detail(detail).hint(hint)
}

/// Commands in flight of `depth` requests, each of one or several of at most `most_bytes`.
fn checked_tasks(spec: &OpenSpec, depth: u32, most_bytes: u64) -> Result<u64, EngineError> {
    let block = spec.workload.block_bytes;
    let tasks = block.0.max(1).div_ceil(most_bytes.max(1)).saturating_mul(u64::from(depth));
    if tasks <= TASKS_MAX {
        return Ok(tasks);
    }
    let why = format!("{depth} requests of {block} are {tasks} commands in flight");
    Err(refused(spec, why, "use a smaller depth or block, or a larger `transfer`"))
}

/// The bytes of the unit that the objects of `spec` are: all of it, which is only read, or parts of what was claimed.
fn objects(
    session: &mut UnitSession,
    facts: &UnitFacts,
    spec: &OpenSpec,
) -> Result<Vec<Range<u64>>, EngineError> {
    let changes = |op| !matches!(op, Op::Read | Op::Ping);
    let writes = spec.create || spec.workload.ops().iter().any(|share| changes(share.op));
    let claim = session.portal.address.claim;
    if writes && claim.is_none() {
        return Err(refused(
            spec,
            "nothing of the unit was claimed for writing",
            "run a study with `narrows run`, which claims what it needs",
        ));
    }
    let end_bytes = match claim {
        Some(claim) => check_claim(session, facts, claim)?,
        None => 0,
    };
    let length_bytes = facts.length_bytes();
    let bytes_of = |object: &String| match (object.as_str(), claim) {
        ("", _) if !writes => Ok(0..length_bytes),
        (name, Some(claim)) => {
            let bytes = object_bytes(claim, name, spec.object_bytes.0);
            bytes.filter(|bytes| bytes.end <= end_bytes.min(length_bytes)).ok_or_else(|| {
                refused(
                    spec,
                    format!("`{name}` of {} is not in what was claimed", spec.object_bytes),
                    "run again",
                )
            })
        }
        _ => Err(refused(spec, "a unit that was not claimed has no objects", "run again")),
    };
    spec.objects.iter().map(bytes_of).collect()
}

/// What was granted.
fn effective(spec: &OpenSpec, session: &UnitSession, facts: &UnitFacts) -> Result<Effective, EngineError> {
    let connection =
        connection_facts(&session.socket).map_err(|error| session.portal.io_error("open", error))?;
    Ok(Effective {
        engine: INFO.name().to_owned(),
        access: None,
        queue_depth: spec.workload.queue_depth,
        sync: spec.workload.sync,
        acknowledgement: None,
        write_completion: match spec.workload.sync {
            SyncPolicy::Dsync | SyncPolicy::Every(1) => Completion::Durable,
            _ => INFO.write_completion,
        },
        alignment_bytes: Bytes(facts.block_bytes()),
        connection: Some(connection),
        ring: None,
        has_own_file_table: false,
    })
}

/// `count` sessions, the first of which is `session`, and what all of them have counted.
fn open_sessions(
    session: UnitSession,
    facts: &UnitFacts,
    options: &SessionOptions,
    count: usize,
    tasks: u64,
) -> Result<(Vec<UnitConnection>, PduCounts), EngineError> {
    let portal = session.portal.clone();
    let mut counts = PduCounts::default();
    let mut connections = Vec::with_capacity(count);
    let mut next = Some(session);
    while connections.len() < count {
        let mut session = if let Some(first) = next.take() {
            first
        } else {
            let mut more = UnitSession::open(&portal, options, None, portal.deadline())?;
            check_same(&mut more, facts)?;
            more
        };
        counts.add(&std::mem::take(&mut session.counts));
        let index = connections.len();
        let connection = UnitConnection::new(index, session, saturate_usize(tasks));
        connections.push(connection.map_err(|error| portal.io_error("open", error))?);
    }
    Ok((connections, counts))
}
