//! The engine `sim`: completes requests when a declared machine would.

use super::{DirectAccess, EngineDeclaration, EngineDescription, EngineId, Serves, StripeSupport};
use crate::capabilities::Completion;
use crate::workload::Op;

/// The declaration. Its depth is that beyond which a simulated queue says nothing more.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Sim,
    description: EngineDescription {
        title: "completes requests when a declared machine would",
        targets: "sim:PROFILE (a built-in machine or a JSON file)",
        completion: "the time given by the declared machine has passed; nothing is stored",
        advice: "none: the declared machine has no readahead",
        source: "crate narrows-sim",
        example: "sim:gigabit-nfs",
    },
    serves: Serves::Simulated,
    in_stripes: StripeSupport::None,
    ops: &[Op::Read, Op::Write, Op::Sync, Op::Send, Op::Receive],
    queue_depth_max: 4096,
    direct: DirectAccess::Yes,
    no_durable_writes: None,
    stores_data: false,
    write_completion: Completion::Simulated,
    options: None,
    only_in: None,
    probe: None,
    clashes: &[],
};
