//! The engine `psync`: one system call on a file for a request.

use super::{
    ClashText, DirectAccess, EngineClash, EngineDeclaration, EngineDescription, EngineId, EngineOption,
    OptionKind, OptionTable, Serves, StripeSupport,
};
use crate::capabilities::Completion;
use crate::workload::{Op, PsyncCalls, VECTORS_MAX, Workload};

/// The declaration.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Psync,
    description: EngineDescription {
        title: "pread and pwrite, or read, write and lseek, on a file, buffered or direct",
        targets: "PATH file:PATH blk:/dev/NAME",
        completion: "in the page cache (buffered), on the device (O_DIRECT), durable (O_DSYNC, fdatasync); trim: the \
                     file system has deallocated the range",
        advice: "none: the kernel decides readahead from the access pattern, as for any program that calls pread",
        source: "pread(2), pwrite(2), preadv(2), pwritev(2), read(2), write(2), lseek(2), open(2), fdatasync(2), \
                 fallocate(2)",
        example: "/srv/data",
    },
    serves: Serves::PathsAndDevices,
    in_stripes: StripeSupport::ByUnits,
    ops: &[Op::Read, Op::Write, Op::Sync, Op::Trim],
    queue_depth_max: 1,
    direct: DirectAccess::ByTarget,
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::InPageCache,
    options: Some(OptionTable {
        name: "psync",
        title: "How requests are handed to the kernel; for the engine `psync` alone.",
        options: &[
            EngineOption {
                name: "calls",
                kind: OptionKind::Choice(&["at_offset", "at_position"]),
                default: "\"at_offset\"",
                example: "\"at_position\"",
                meaning: "The calls that transfer a block: one pread or pwrite, or a read or write at the file \
                          position, preceded by an lseek if the block is elsewhere.",
            },
            EngineOption {
                name: "vectors",
                kind: OptionKind::Count { min: 1, max: VECTORS_MAX as u64 },
                default: "one buffer",
                example: "4",
                meaning: "Number of equal buffers that one preadv or pwritev transfers for a request.",
            },
        ],
    }),
    only_in: None,
    probe: None,
    clashes: &[EngineClash {
        code: "position_of_vectors",
        keys: &["psync.calls", "psync.vectors"],
        check: position_of_vectors,
    }],
};

fn position_of_vectors(load: &Workload) -> Option<ClashText> {
    let vectors = load.psync.vectors.filter(|_| load.psync.calls == PsyncCalls::AtPosition)?;
    Some(ClashText::new(
        format!("vectors = {vectors} with calls = \"at_position\""),
        "vectors at an offset: preadv and pwritev take the offset as an argument",
        "omit one of them",
    ))
}
