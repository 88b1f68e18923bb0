//! What engines and targets can be asked for.

use super::{Clash, Subject, words};
use crate::file::value::OBJECT_OPERATIONS;
use narrows_model::workload::{Access, PsyncCalls};
use narrows_model::{Bytes, EngineId, Layer, Op, Target};

/// Direct access works in sectors, and no device has smaller ones.
const SECTOR_BYTES: u64 = 512;

pub(super) fn unaligned_direct(subject: &Subject<'_>) -> Option<Clash> {
    let blocks = subject.load.blocks();
    let odd = blocks.iter().find(|share| !share.block_bytes.0.is_multiple_of(SECTOR_BYTES))?.block_bytes;
    if subject.load.access != Access::Direct {
        return None;
    }
    let near = Bytes(odd.0.div_ceil(SECTOR_BYTES) * SECTOR_BYTES);
    let words = words(
        format!("direct access with a block of {odd}"),
        format!("a multiple of {SECTOR_BYTES} bytes, or access = \"buffered\""),
        format!("the next multiple is {near}"),
    );
    Some(subject.clash("unaligned_direct", &[subject.block_key(), "workload.access"], words))
}

pub(super) fn direct_in_memory(subject: &Subject<'_>) -> Option<Clash> {
    let (engine, why) = match subject.engine() {
        EngineId::Mmap => ("mmap", "which maps the page cache itself"),
        EngineId::Stdio => ("stdio", "whose buffer is not aligned for it"),
        EngineId::Objects => ("objects", "which moves whole files through the page cache"),
        _ => return None,
    };
    if subject.load.access != Access::Direct {
        return None;
    }
    let words = words(
        format!("direct access with the engine {engine}, {why}"),
        format!("access = \"buffered\" with {engine}"),
        "leave access out, or use engine = \"psync\" or \"uring\"",
    );
    Some(subject.clash("direct_in_memory", &["workload.access", "workload.engine"], words))
}

pub(super) fn polling_without_direct(subject: &Subject<'_>) -> Option<Clash> {
    let polls = subject.load.ring.completion_polling && subject.engine() == EngineId::Uring;
    if !polls || subject.load.access == Access::Direct {
        return None;
    }
    let words = words(
        "completion polling with buffered access",
        "completion_polling with access = \"direct\": the kernel polls devices alone",
        "write access = \"direct\", or leave completion_polling out",
    );
    Some(subject.clash("polling_without_direct", &["workload.ring.completion_polling"], words))
}

pub(super) fn position_of_vectors(subject: &Subject<'_>) -> Option<Clash> {
    let wishes = subject.load.psync;
    let vectors = wishes.vectors.filter(|_| wishes.calls == PsyncCalls::AtPosition)?;
    let words = words(
        format!("vectors = {vectors} with calls = \"at_position\""),
        "vectors at an offset: preadv and pwritev are told where",
        "leave one of them out",
    );
    Some(subject.clash("position_of_vectors", &["workload.psync.calls", "workload.psync.vectors"], words))
}

pub(super) fn engine_of_target(subject: &Subject<'_>) -> Option<Clash> {
    let engine = subject.load.engine?;
    let serving = subject.target.engines();
    if serving.contains(&engine) {
        return None;
    }
    let names: Vec<String> = serving.iter().map(|engine| format!("\"{engine}\"")).collect();
    let words = words(
        format!("the engine {engine}, which does not serve {}", subject.target),
        format!("{} for this target", names.join(", ")),
        "leave engine out for the target's own",
    );
    Some(subject.clash("engine_of_target", &["workload.engine", "target"], words))
}

pub(super) fn op_of_target(subject: &Subject<'_>) -> Option<Clash> {
    let allowed: &[Op] = match subject.target.form() {
        Target::Tcp { layer: Layer::Sink, .. } => &[Op::Send],
        Target::Tcp { layer: Layer::Source, .. } => &[Op::Receive],
        Target::File { .. } if subject.load.objects.is_some() => &OBJECT_OPERATIONS,
        Target::Tcp { .. } | Target::File { .. } => &[Op::Read, Op::Write],
        Target::Null { .. } | Target::Sim { .. } | Target::Stripe(_) => return None,
    };
    let odd = subject.load.ops().into_iter().find(|share| !allowed.contains(&share.op))?.op;
    let names: Vec<String> = allowed.iter().map(|op| format!("\"{op}\"")).collect();
    let words = words(
        format!("the operation {odd} at {}", subject.target),
        format!("{} there", names.join(", ")),
        format!("write op = {}", names.first().cloned().unwrap_or_default()),
    );
    Some(subject.clash("op_of_target", &["workload.ops", "workload.op", "target"], words))
}
