//! The engine `s3`: objects of a bucket over HTTP.

use super::{
    DirectAccess, EngineDeclaration, EngineDescription, EngineId, EngineOption, OptionKind, OptionTable,
    ProtocolProbe, Scheme, Serves, StripeSupport,
};
use crate::capabilities::Completion;
use crate::target::s3::{FORM, S3Address};
use crate::workload::Op;

/// Most requests in flight of a worker: each is on a connection of its own.
pub const QUEUE_DEPTH_MAX: u32 = 256;
/// Bytes of a part unless a study says otherwise: what the clients of S3 that are used most take.
pub const PART_BYTES: u64 = 8 << 20;
/// Least bytes of a part but the last, which the protocol demands.
pub const PART_BYTES_MIN: u64 = 5 << 20;

/// The declaration. There is no write to a range of an object, and no append: S3 has none.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::S3,
    description: EngineDescription {
        title: "objects of a bucket (S3), over HTTP or HTTPS, with no request ever sent again by itself",
        targets: FORM,
        completion: "read, get: the whole body has arrived; put: the server has answered that it is stored, above the \
                     size of a part after the last of its parts; stat, delete: the answer has arrived",
        advice: "none: a read is a GET with a range",
        source: "Amazon S3 API Reference (2006-03-01); AWS Signature Version 4; RFC 9110, RFC 9112 (HTTP/1.1); RFC 8446",
        example: "s3://bucket/prefix?endpoint=http://storage:7070",
    },
    serves: Serves::Scheme(Scheme { name: "s3", form: FORM, check: |rest| S3Address::parse(rest).map(drop) }),
    in_stripes: StripeSupport::None,
    ops: &[Op::Read, Op::Put, Op::Get, Op::Stat, Op::Delete, Op::Ping],
    queue_depth_max: QUEUE_DEPTH_MAX,
    direct: DirectAccess::Refused("no request passes a page cache of this machine"),
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::Durable,
    options: Some(OptionTable {
        name: "s3",
        title: "How requests are sent to a bucket; for the engine `s3` alone.",
        options: &[
            EngineOption {
                name: "connections",
                kind: OptionKind::Count { min: 1, max: QUEUE_DEPTH_MAX as u64 },
                default: "as many as requests in flight",
                example: "4",
                meaning: "Connections of a worker; a request waits until one of them is free.",
            },
            EngineOption {
                name: "part",
                kind: OptionKind::Size { min: PART_BYTES_MIN, max: 5 << 30 },
                default: "\"8MiB\"",
                example: "\"16MiB\"",
                meaning: "An object of more bytes is put in parts of so many (multipart), one after the other.",
            },
        ],
    }),
    only_in: None,
    probe: Some(ProtocolProbe {
        round_trip: "HEAD",
        commit: "",
        durable: "PUT",
        early: "PUT",
        server_command: "the server's own metrics",
        connection_per_request: true,
    }),
    clashes: &[],
};
