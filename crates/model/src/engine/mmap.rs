//! The engine `mmap`: copies from and into a mapped file.

use super::{DirectAccess, EngineDeclaration, EngineDescription, EngineId, Serves, StripeSupport};
use crate::capabilities::Completion;
use crate::workload::Op;

/// The declaration.
pub const DECLARATION: EngineDeclaration = EngineDeclaration {
    id: EngineId::Mmap,
    description: EngineDescription {
        title: "copies from and into a mapped file",
        targets: "PATH file:PATH",
        completion: "read: the block was copied from the mapping; write: it is in the page cache, or durable (msync); \
                     trim: the file system has deallocated the range",
        advice: "MADV_SEQUENTIAL for `sequential`, MADV_RANDOM (no readahead) for `random`, `random_with_replacement` \
                 and `zipf`, none for `backward` and `stride`; psync gives no advice, so buffered reads of the two \
                 differ in this",
        source: "mmap(2), madvise(2), msync(2), fallocate(2)",
        example: "/srv/data",
    },
    serves: Serves::Paths,
    in_stripes: StripeSupport::ByUnits,
    ops: &[Op::Read, Op::Write, Op::Sync, Op::Trim],
    queue_depth_max: 1,
    direct: DirectAccess::Refused("a mapped file is accessed only through the page cache"),
    no_durable_writes: None,
    stores_data: true,
    write_completion: Completion::InPageCache,
    options: None,
    only_in: None,
    probe: None,
    clashes: &[],
};
