//! The engine `null`: completes every request at once.

use super::{DirectAccess, EngineDeclaration, EngineDescription, EngineId, Serves, StripeSupport};
use crate::capabilities::Completion;
use crate::workload::Op;

/// The declaration. Its depth is that beyond which a queue says nothing more about the load generator.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Null,
    description: EngineDescription {
        title: "completes every request immediately: measures the load generator",
        targets: "null: null:copy",
        completion: "no work was done (null:), or the block was copied once between a buffer and memory (null:copy)",
        advice: "none: nothing is read",
        source: "modelled on fio's engine of the same name",
        example: "null:",
    },
    serves: Serves::Null,
    in_stripes: StripeSupport::ByUnits,
    ops: &[
        Op::Read,
        Op::Write,
        Op::Sync,
        Op::Send,
        Op::Receive,
        Op::Put,
        Op::Get,
        Op::Append,
        Op::Stat,
        Op::Delete,
        Op::Rename,
    ],
    queue_depth_max: 4096,
    direct: DirectAccess::Skipped("there is no page cache to bypass"),
    no_durable_writes: Some("nothing is stored"),
    stores_data: false,
    write_completion: Completion::Nothing,
    options: None,
    only_in: None,
    probe: None,
    clashes: &[],
};
