//! The engine `stdio`: the C library's buffered streams.

use super::{
    ClashText, DirectAccess, EngineClash, EngineDeclaration, EngineDescription, EngineId, EngineOption,
    OptionKind, OptionTable, Serves, StripeSupport,
};
use crate::capabilities::Completion;
use crate::workload::{Op, Workload};

/// The declaration.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Stdio,
    description: EngineDescription {
        title: "the C library's buffered streams: fwrite, fread, putc, getc",
        targets: "PATH file:PATH",
        completion: "read: the bytes were copied from the stream; write: they are in the stream's buffer, or with \
                     `flush` in the page cache (fflush) or durable (fdatasync, fsync)",
        advice: "none: the stream fills its buffer with read(2), and the kernel decides readahead from the access \
            pattern",
        source: "fwrite(3), fread(3), putc(3), getc(3), fseeko(3), fflush(3), setvbuf(3)",
        example: "/srv/data",
    },
    serves: Serves::Paths,
    in_stripes: StripeSupport::ByUnits,
    ops: &[Op::Read, Op::Write, Op::Sync],
    queue_depth_max: 1,
    direct: DirectAccess::Refused(
        "a stream's buffer does not have the alignment that direct access requires",
    ),
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::InStreamBuffer,
    options: Some(OptionTable {
        name: "stdio",
        title: "How the C library's streams are used; for the engine `stdio` alone.",
        options: &[
            EngineOption {
                name: "calls",
                kind: OptionKind::Choice(&["block", "character"]),
                default: "\"block\"",
                example: "\"character\"",
                meaning: "The calls that transfer a request: one fwrite or fread, or a putc or getc for every byte.",
            },
            EngineOption {
                name: "flush",
                kind: OptionKind::Choice(&["none", "fflush", "fdatasync", "fsync"]),
                default: "\"none\"",
                example: "\"fflush\"",
                meaning: "The call after each request that writes, by block or by character; fdatasync and fsync \
                          follow an fflush.",
            },
            EngineOption {
                name: "buffer",
                kind: OptionKind::Size { min: 0, max: 64 << 20 },
                default: "the C library's",
                example: "\"64KiB\"",
                meaning: "Bytes of a stream's buffer; 0 for unbuffered.",
            },
        ],
    }),
    only_in: None,
    probe: None,
    clashes: &[EngineClash {
        code: "verify_in_streams",
        keys: &["workers", "verify"],
        check: verify_in_streams,
    }],
};

fn verify_in_streams(load: &Workload) -> Option<ClashText> {
    (load.verify && load.workers > 1).then(|| {
        ClashText::new(
            format!("verify = true with {} workers of the engine stdio", load.workers),
            "one worker: a stream reads stale data from its own buffer after another worker has overwritten it",
            "omit workers, or write clients instead, each of which has its own file",
        )
    })
}
