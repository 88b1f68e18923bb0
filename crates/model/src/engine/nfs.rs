//! The engine `nfs`: `NFSv3` spoken in user space.

use super::{
    ClashText, DirectAccess, EngineClash, EngineDeclaration, EngineDescription, EngineId, EngineOption,
    OptionKind, OptionTable, ProtocolProbe, Scheme, Serves, StripeSupport,
};
use crate::capabilities::Completion;
use crate::target::nfs::{FORM, NfsAddress};
use crate::workload::{Op, Workload};
use serde::Deserialize;

/// Most bytes of a READ or WRITE that are asked for.
pub const TRANSFER_BYTES_MAX: u64 = 1 << 20;

/// The declaration. Stripes are not served: their members would wait for each other's servers.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Nfs,
    description: EngineDescription {
        title: "speaks NFSv3 over TCP in user space, without a mount, a cache or root: blocks of files, and whole files \
                by name",
        targets: FORM,
        completion: "read: the block has arrived; write: it is in the server's memory (UNSTABLE), or durable \
                     (`sync = \"dsync\"`: FILE_SYNC; every other sync: COMMIT); put, append: so are all writes, with a \
                     COMMIT where `objects.sync` asks for durable data; get: all bytes have arrived; stat, delete, \
                     rename: the server has answered",
        advice: "none: every request is a READ or WRITE, or several above the server's largest",
        source: "RFC 1813 (NFSv3, MOUNT), RFC 5531 (RPC), RFC 1833 (port mapper)",
        example: "nfs://storage/export/folder",
    },
    serves: Serves::Scheme(Scheme {
        name: "nfs",
        form: FORM,
        check: |rest| NfsAddress::parse(rest).map(drop),
    }),
    in_stripes: StripeSupport::None,
    ops: &[
        Op::Read,
        Op::Write,
        Op::Sync,
        Op::Ping,
        Op::Put,
        Op::Get,
        Op::Append,
        Op::Stat,
        Op::Delete,
        Op::Rename,
    ],
    queue_depth_max: 1024,
    direct: DirectAccess::Refused("no request passes a page cache of this machine"),
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::InServerMemory,
    options: Some(OptionTable {
        name: "nfs",
        title: "How NFS is spoken; for the engine `nfs` alone.",
        options: &[
            EngineOption {
                name: "connections",
                kind: OptionKind::Count { min: 1, max: 16 },
                default: "1",
                example: "4",
                meaning: "TCP connections of a worker; its calls are distributed over them in turn.",
            },
            EngineOption {
                name: "rsize",
                kind: OptionKind::Size { min: 1024, max: TRANSFER_BYTES_MAX },
                default: "the server's largest, at most 1 MiB",
                example: "\"64KiB\"",
                meaning: "Most bytes of a READ; a larger request becomes several.",
            },
            EngineOption {
                name: "wsize",
                kind: OptionKind::Size { min: 1024, max: TRANSFER_BYTES_MAX },
                default: "the server's largest, at most 1 MiB",
                example: "\"64KiB\"",
                meaning: "Most bytes of a WRITE; a larger request becomes several.",
            },
            EngineOption {
                name: "keep",
                kind: OptionKind::Size { min: 1 << 20, max: 16 << 30 },
                default: "\"64MiB\"",
                example: "\"256MiB\"",
                meaning: "Unstable data that a worker keeps until a COMMIT, to write it again if the server restarts; \
                          when it is full, a COMMIT is sent.",
            },
            EngineOption {
                name: "stat",
                kind: OptionKind::Choice(&["lookup", "getattr"]),
                default: "\"lookup\"",
                example: "\"getattr\"",
                meaning: "The call of a stat of a whole file: LOOKUP of its name, as of a file that was not seen yet, or GETATTR \
                          of its handle, which is known from CREATE, READDIRPLUS or a LOOKUP before the load; of up to 65536 objects, \
                          more are looked up.",
            },
        ],
    }),
    only_in: None,
    probe: Some(ProtocolProbe {
        round_trip: "NULL",
        commit: "COMMIT",
        durable: "FILE_SYNC",
        early: "UNSTABLE",
        server_command: "nfsstat -s (on the server)",
        connection_per_request: false,
    }),
    clashes: &[EngineClash { code: "stat_of_blocks", keys: &["nfs.stat"], check: stat_of_blocks }],
};

/// The call of a stat of a whole file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatCall {
    /// LOOKUP of its name.
    #[default]
    Lookup,
    /// GETATTR of its handle.
    Getattr,
}

/// The option `stat` alone.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct StatOption {
    stat: StatCall,
}

fn stat_of_blocks(load: &Workload) -> Option<ClashText> {
    let option: StatOption = load.engine_options.typed().unwrap_or_default();
    (load.objects.is_none() && option.stat != StatCall::Lookup).then(|| {
        ClashText::new(
            "stat = \"getattr\" in a load of blocks",
            "stat where whole files are loaded: a load of blocks makes no stat",
            "omit nfs.stat, or add [workload.objects]",
        )
    })
}
