//! The engine `endpoint`: requests to a `narrows serve` endpoint over TCP.

use super::{DirectAccess, EngineDeclaration, EngineDescription, EngineId, Serves, StripeSupport};
use crate::capabilities::Completion;
use crate::workload::Op;

/// The declaration. The layer of a target decides what is stored there and what a completed write means.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Endpoint,
    description: EngineDescription {
        title: "sends requests to a `narrows serve` endpoint over TCP, cut at its sink, source, memory or disk",
        targets: "tcp://HOST:PORT/sink|source|memory|disk, each with ?via=PROXYHOST:PORT through a `narrows proxy`",
        completion: "sink: the block is in the local socket buffer; source: the block has arrived; memory: the block \
                     is in the server's memory; disk: in server memory (early) or durable (late)",
        advice: "none: the server's store reads like psync",
        source: "narrows' own protocol, crate narrows-wire",
        example: "tcp://storage:7300/disk",
    },
    serves: Serves::Endpoints,
    in_stripes: StripeSupport::ByUnits,
    ops: &[Op::Read, Op::Write, Op::Sync, Op::Send, Op::Receive],
    queue_depth_max: 4096,
    direct: DirectAccess::ByTarget,
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::InServerMemory,
    options: None,
    only_in: None,
    probe: None,
    clashes: &[],
};
