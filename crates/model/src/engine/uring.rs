//! The engine `uring`: requests of a file through `io_uring`, many in flight.

use super::{
    ClashText, DirectAccess, EngineClash, EngineDeclaration, EngineDescription, EngineId, EngineOption,
    OptionKind, OptionTable, Serves, StripeSupport,
};
use crate::capabilities::Completion;
use crate::workload::{Access, Op, Workload};

/// The values of [`crate::workload::FeatureRequest`] in a study.
const SETUP_FLAG_VALUES: OptionKind = OptionKind::Choice(&["if_granted", "required", "off"]);

/// The declaration.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Uring,
    description: EngineDescription {
        title: "reads and writes of a file through io_uring, many in flight",
        targets: "PATH file:PATH blk:/dev/NAME",
        completion: "as psync; with a sync after every N writes, when the fdatasync after the write in its slot has \
            completed",
        advice: "none: the kernel decides readahead from the access pattern, as for psync",
        source: "io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2)",
        example: "/srv/data",
    },
    serves: Serves::PathsAndDevices,
    in_stripes: StripeSupport::ByUnits,
    ops: &[Op::Read, Op::Write, Op::Sync, Op::Trim],
    queue_depth_max: 4096,
    direct: DirectAccess::ByTarget,
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::InPageCache,
    options: Some(OptionTable {
        name: "ring",
        title: "How an `io_uring` is set up; for the engine `uring` alone.",
        options: &[
            EngineOption {
                name: "registered_buffers",
                kind: SETUP_FLAG_VALUES,
                default: "\"if_granted\"",
                example: "\"required\"",
                meaning: "Buffers registered with the kernel.",
            },
            EngineOption {
                name: "registered_files",
                kind: SETUP_FLAG_VALUES,
                default: "\"if_granted\"",
                example: "\"off\"",
                meaning: "Files registered with the kernel.",
            },
            EngineOption {
                name: "completion_polling",
                kind: OptionKind::Flag,
                default: "false",
                example: "true",
                meaning: "Completions are polled for at the device (IOPOLL); direct access only.",
            },
            EngineOption {
                name: "submission_polling",
                kind: OptionKind::Flag,
                default: "false",
                example: "true",
                meaning: "A kernel thread polls for submissions (SQPOLL); it uses a dedicated CPU.",
            },
        ],
    }),
    only_in: None,
    probe: None,
    clashes: &[EngineClash {
        code: "polling_without_direct",
        keys: &["ring.completion_polling", "access"],
        check: polling_without_direct,
    }],
};

fn polling_without_direct(load: &Workload) -> Option<ClashText> {
    (load.ring.completion_polling && load.access != Access::Direct).then(|| {
        ClashText::new(
            "completion polling with buffered access",
            "completion_polling with access = \"direct\": the kernel polls only devices",
            "write access = \"direct\", or omit completion_polling",
        )
    })
}
