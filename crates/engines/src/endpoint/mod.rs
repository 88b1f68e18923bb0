//! The engine `endpoint`: requests served by `narrows serve` over TCP, cut at one of its layers.
//!
//! Sink and source are raw streams after the hello (`stream`); memory and disk take pipelined requests (`framed`).
//! [`ControlClient`] asks the same server for its facts, clock and counters. Deliberately absent: reconnection, since
//! a connection that broke inside a measurement is a result, not something to hide.

mod blocks;
mod connect;
mod control;
mod facts;
mod framed;
mod peer;
mod probe;
mod remove;
mod role;
mod send_queue;
mod session;
mod silence;
mod stream;
mod total;

#[cfg(test)]
mod tests;

use crate::contract::{Engine, EngineFactory, OpenSpec, WorkerContext};
use crate::error::{EngineError, ErrorKind};
use crate::slots::checked_depth;
use connect::Conversation;
use narrows_model::capabilities::{Capabilities, Completion, Support};
use narrows_model::engine::{self, EngineDeclaration};
use narrows_model::workload::CacheState;
use narrows_model::{Bytes, Layer, Op, Target};
use narrows_wire::open::{DEPTH_MAX, Grant, OpenRequest};
use peer::Peer;

pub use crate::socket::{ConnectionLocality, tcp_counters};
pub use connect::watch_peer;
pub use control::{ControlClient, RemoteCellParams};
pub use narrows_wire::control::STORE_PROOF;
pub use probe::PeerProbe;
pub use role::RoleClient;
pub use session::sessions;

/// What the engine declares.
pub const INFO: &EngineDeclaration = &engine::endpoint::DECLARATION;

const _: () = assert!(INFO.queue_depth_max == DEPTH_MAX, "the protocol grants as many requests");

/// The name of the target itself in a server's store.
const TARGET_OBJECT: &str = "object";

/// Makes `endpoint` engines.
#[derive(Debug, Clone, Copy, Default)]
pub struct EndpointFactory;

impl EngineFactory for EndpointFactory {
    fn capabilities(&self, target: &Target) -> Result<Capabilities, EngineError> {
        let (_, _, layer) = parts(target)?;
        let no = |reason: &str| Support::No { reason: reason.to_owned() };
        let (ops, direct, durable_writes) = match layer {
            Layer::Sink => (vec![Op::Send], no("a sink stores nothing"), no("a sink stores nothing")),
            Layer::Source => {
                (vec![Op::Receive], no("a source stores nothing"), no("a source stores nothing"))
            }
            Layer::Memory => (
                vec![Op::Read, Op::Write, Op::Sync],
                no("a store in memory has no page cache to bypass"),
                no("data in the server's memory is lost when it ends"),
            ),
            Layer::Disk => (vec![Op::Read, Op::Write, Op::Sync], Support::Yes, Support::Yes),
        };
        Ok(Capabilities {
            ops,
            direct,
            durable_writes,
            stores_data: matches!(layer, Layer::Memory | Layer::Disk),
            alignment_bytes: Bytes(if layer == Layer::Disk { 4096 } else { 1 }),
            write_completion: match layer {
                Layer::Sink => Completion::InSocketBuffer,
                Layer::Source => Completion::Nothing,
                Layer::Memory | Layer::Disk => Completion::InServerMemory,
            },
            ..INFO.capabilities()
        })
    }

    fn open(&self, spec: &OpenSpec, worker: &WorkerContext) -> Result<Box<dyn Engine>, EngineError> {
        let (host, port, layer) = parts(&spec.target)?;
        checked_depth(spec, INFO.queue_depth_max)?;
        let mut peer = Peer::new(host, port, std::sync::Arc::clone(&worker.clock), spec.answer_timeout_ns)
            .through(spec.target.via());
        peer.set_stop_flag(worker.stop.clone());
        let mut conversation = Conversation::open_data(peer, spec.token.as_deref())?;
        let granted = ask(&mut conversation, &open_request(spec, layer)?)?;
        if granted.credits.requests < spec.workload.queue_depth {
            return Err(EngineError::new(ErrorKind::Unsupported, "open", spec.target.to_string())
                .detail(format!(
                    "queue depth {} was requested and the server grants {}",
                    spec.workload.queue_depth, granted.credits.requests
                ))
                .hint("use a smaller block or depth, or more workers"));
        }
        match layer {
            Layer::Sink | Layer::Source => stream::open(conversation, spec, worker, layer, &granted),
            Layer::Memory | Layer::Disk => framed::open(conversation, spec, worker, &granted),
        }
    }

    /// There is nothing of an endpoint's objects in this machine's page cache.
    fn bring_cache_to(&self, _spec: &OpenSpec, _state: CacheState) -> Result<Option<f64>, EngineError> {
        Ok(None)
    }

    fn remove(&self, spec: &OpenSpec) -> Result<(), EngineError> {
        let (host, port, layer) = parts(&spec.target)?;
        if spec.session.is_none() || matches!(layer, Layer::Sink | Layer::Source) {
            // A store without a session ended with its engine; a stream stores nothing.
            return Ok(());
        }
        let clock = std::sync::Arc::new(crate::clock::MonotonicClock::new());
        for object in &spec.objects {
            let peer =
                Peer::new(host, port, clock.clone(), spec.answer_timeout_ns).through(spec.target.via());
            let one = OpenSpec { objects: vec![object.clone()], ..spec.clone() };
            remove::remove_one(peer, &one, &remove::opening(open_request(&one, layer)?))?;
        }
        Ok(())
    }
}

fn parts(target: &Target) -> Result<(&str, u16, Layer), EngineError> {
    match target {
        Target::Tcp { host, port, layer, .. } => Ok((host, *port, *layer)),
        other => Err(EngineError::new(ErrorKind::Unsupported, "open", other.to_string())
            .detail("the engine endpoint supports only tcp:")),
    }
}

fn open_request(spec: &OpenSpec, layer: Layer) -> Result<OpenRequest, EngineError> {
    let workload = &spec.workload;
    let (host, port, _) = parts(&spec.target)?;
    let session = spec.session.as_deref().map(|all| session::session_at(all, host, port)).transpose()?;
    let named = |name: &String| if name.is_empty() { TARGET_OBJECT.to_owned() } else { name.clone() };
    Ok(OpenRequest {
        layer,
        objects: spec.objects.iter().map(named).collect(),
        object_bytes: spec.object_bytes.0,
        create: spec.create,
        access: workload.access,
        acknowledgement: workload.acknowledgement,
        sync: workload.sync,
        block_bytes: workload.block_bytes.0,
        depth: workload.queue_depth,
        session,
    })
}

fn ask(conversation: &mut Conversation, open: &OpenRequest) -> Result<Grant, EngineError> {
    let request = open.encode().map_err(|error| conversation.peer().wire_error("open", &error))?;
    conversation.send("open", &request)?;
    let frame = conversation.receive("open")?;
    Grant::decode(frame).map_err(|error| conversation.peer().wire_error("open", &error))
}
