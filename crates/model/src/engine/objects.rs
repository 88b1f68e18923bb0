//! The engine `objects`: whole files by name.

use super::{DirectAccess, EngineDeclaration, EngineDescription, EngineId, Serves, StripeSupport};
use crate::capabilities::Completion;
use crate::workload::Op;

/// The declaration. Over a stripe it distributes whole objects, and ignores the stripe's unit.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Objects,
    description: EngineDescription {
        title: "whole files by name: created, read, appended to, stat, renamed, deleted; folders: created, stat, renamed, \
                deleted",
        targets: "PATH file:PATH, a folder; stripe:PATH,PATH, several",
        completion: "all calls of the operation have returned; data is in the page cache, or durable where it is \
                     synced (fsync, or syncfs at the end)",
        advice: "none: each file is opened and closed by every operation",
        source: "openat(2), write(2), read(2), close(2), fstatat(2), renameat(2), unlinkat(2), mkdirat(2), getdents64(2), fsync(2), \
                 syncfs(2), fdopen(3)",
        example: "/srv/data",
    },
    serves: Serves::Paths,
    in_stripes: StripeSupport::ByObjects,
    ops: &[Op::Put, Op::Get, Op::Append, Op::Stat, Op::Delete, Op::Rename, Op::Sync],
    queue_depth_max: 1,
    direct: DirectAccess::Refused("whole files are read and written through the page cache"),
    no_durable_writes: Some("objects are synced as a whole (objects.sync)"),
    stores_data: true,
    write_completion: Completion::InPageCache,
    options: None,
    only_in: None,
    probe: None,
    clashes: &[],
};
