//! The engine `iscsi`: blocks of a logical unit over iSCSI, spoken in user space.

use super::{
    DirectAccess, EngineDeclaration, EngineDescription, EngineId, EngineOption, OptionKind, OptionTable,
    ProtocolProbe, Scheme, Serves, StripeSupport,
};
use crate::capabilities::Completion;
use crate::target::iscsi::{FORM, IscsiAddress};
use crate::workload::Op;

/// Most bytes of one READ or WRITE command.
pub const COMMAND_BYTES_MAX: u64 = 8 << 20;
/// Bytes of a burst and of a PDU's data: what the standard lets be negotiated.
const LENGTH: OptionKind = OptionKind::Size { min: 512, max: (1 << 24) - 512 };

/// The declaration. Stripes are not served: their members would wait for each other's targets.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Iscsi,
    description: EngineDescription {
        title: "speaks iSCSI over TCP in user space, without a block device, a cache or root",
        targets: FORM,
        completion: "read: the block has arrived; write: the unit has it, in its cache where it has one, or durable \
                     (`sync = \"dsync\"`: FUA; every other sync: SYNCHRONIZE CACHE); trim: UNMAP",
        advice: "none: every request is a READ or WRITE command, or several above the unit's largest",
        source: "RFC 7143 (iSCSI), RFC 1994 (CHAP), SPC-4 and SBC-3 (commands)",
        example: "iscsi://storage/iqn.2026-01.com.example:disk/1",
    },
    serves: Serves::Scheme(Scheme {
        name: "iscsi",
        form: FORM,
        check: |rest| IscsiAddress::parse(rest).map(drop),
    }),
    in_stripes: StripeSupport::None,
    ops: &[Op::Read, Op::Write, Op::Sync, Op::Trim, Op::Ping],
    queue_depth_max: 1024,
    direct: DirectAccess::Refused("no request passes a page cache of this machine"),
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::InServerMemory,
    options: Some(OptionTable {
        name: "iscsi",
        title: "How iSCSI is spoken; for the engine `iscsi` alone.",
        options: &[
            EngineOption {
                name: "sessions",
                kind: OptionKind::Count { min: 1, max: 16 },
                default: "1",
                example: "4",
                meaning: "Sessions of a worker, each of one TCP connection; its commands are distributed over them in \
                          turn.",
            },
            EngineOption {
                name: "header_digest",
                kind: OptionKind::Flag,
                default: "false",
                example: "true",
                meaning: "Whether headers have a CRC32C (HeaderDigest); a target without one is refused.",
            },
            EngineOption {
                name: "data_digest",
                kind: OptionKind::Flag,
                default: "false",
                example: "true",
                meaning: "Whether data has a CRC32C (DataDigest); a target without one is refused.",
            },
            EngineOption {
                name: "initial_r2t",
                kind: OptionKind::Flag,
                default: "false",
                example: "true",
                meaning: "Whether the target has to ask for data that is not sent with its command (InitialR2T).",
            },
            EngineOption {
                name: "immediate_data",
                kind: OptionKind::Flag,
                default: "true",
                example: "false",
                meaning: "Whether data is sent with its command, up to `first_burst` (ImmediateData).",
            },
            EngineOption {
                name: "first_burst",
                kind: LENGTH,
                default: "\"256KiB\"",
                example: "\"64KiB\"",
                meaning: "Most bytes of a write that are sent unasked (FirstBurstLength); the target may want fewer.",
            },
            EngineOption {
                name: "max_burst",
                kind: LENGTH,
                default: "\"1MiB\"",
                example: "\"256KiB\"",
                meaning: "Most bytes that are asked for or sent in one sequence (MaxBurstLength).",
            },
            EngineOption {
                name: "receive",
                kind: LENGTH,
                default: "\"256KiB\"",
                example: "\"8KiB\"",
                meaning: "Most bytes of data in a PDU of the target (MaxRecvDataSegmentLength).",
            },
            EngineOption {
                name: "transfer",
                kind: OptionKind::Size { min: 512, max: COMMAND_BYTES_MAX },
                default: "the unit's largest, at most 8 MiB",
                example: "\"512KiB\"",
                meaning: "Most bytes of a READ or WRITE command; a larger request becomes several.",
            },
        ],
    }),
    only_in: None,
    probe: Some(ProtocolProbe {
        round_trip: "NOP-Out",
        commit: "SYNCHRONIZE CACHE",
        durable: "FUA",
        early: "without FUA",
        server_command: "iostat -x 1 (on the target)",
        connection_per_request: false,
    }),
    clashes: &[],
};
