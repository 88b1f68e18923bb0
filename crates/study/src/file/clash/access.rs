//! What engines and targets can be asked for.

use super::{Clash, Subject, text};
use crate::file::fields::marks;
use narrows_model::engine::DirectAccess;
use narrows_model::workload::Access;
use narrows_model::{Bytes, Layer, Op, Target};

/// Direct access works in sectors, and no device has smaller ones.
const SECTOR_BYTES: u64 = 512;

pub(super) fn unaligned_direct(subject: &Subject<'_>) -> Option<Clash> {
    let blocks = subject.load.blocks();
    let odd = blocks.iter().find(|share| !share.block_bytes.0.is_multiple_of(SECTOR_BYTES))?.block_bytes;
    if subject.load.access != Access::Direct {
        return None;
    }
    let near = Bytes(odd.0.div_ceil(SECTOR_BYTES) * SECTOR_BYTES);
    let text = text(
        format!("direct access with a block of {odd}"),
        format!("a multiple of {SECTOR_BYTES} bytes, or access = \"buffered\""),
        format!("the next multiple is {near}"),
    );
    Some(subject.clash("unaligned_direct", &[subject.block_mark(), &subject.keys.workload.access.mark], text))
}

pub(super) fn direct_in_memory(subject: &Subject<'_>) -> Option<Clash> {
    let engine = subject.engine();
    let DirectAccess::Refused(reason) = engine.declaration().direct else { return None };
    if subject.load.access != Access::Direct {
        return None;
    }
    let text = text(
        format!("direct access with the engine {engine}: {reason}"),
        format!("access = \"buffered\" with {engine}"),
        "omit access, or use engine = \"psync\" or \"uring\"",
    );
    Some(subject.clash("direct_in_memory", &marks!(subject.keys; workload.access, workload.engine), text))
}

pub(super) fn engine_of_target(subject: &Subject<'_>) -> Option<Clash> {
    let engine = subject.load.engine?;
    let serving = subject.target.engines();
    if serving.contains(&engine) {
        return None;
    }
    let names: Vec<String> = serving.iter().map(|engine| format!("\"{engine}\"")).collect();
    let text = text(
        format!("the engine {engine}, which does not serve {}", subject.target),
        format!("{} for this target", names.join(", ")),
        "omit engine for the target's default",
    );
    Some(subject.clash("engine_of_target", &marks!(subject.keys; workload.engine, head.target), text))
}

pub(super) fn op_of_target(subject: &Subject<'_>) -> Option<Clash> {
    let allowed: &[Op] = match subject.target.form() {
        Target::Tcp { layer: Layer::Sink, .. } => &[Op::Send],
        Target::Tcp { layer: Layer::Source, .. } => &[Op::Receive],
        Target::File { .. } if subject.load.objects.is_some() => &Op::OF_OBJECTS,
        Target::Tcp { .. } | Target::File { .. } | Target::Block(_) => &[Op::Read, Op::Write],
        Target::Scheme { engine, .. } => engine.declaration().ops,
        Target::Null { .. } | Target::Sim { .. } | Target::Stripe(_) => return None,
    };
    let odd = subject.load.ops().into_iter().find(|share| !allowed.contains(&share.op))?.op;
    let names: Vec<String> = allowed.iter().map(|op| format!("\"{op}\"")).collect();
    let text = text(
        format!("the operation {odd} at {}", subject.target),
        format!("{} there", names.join(", ")),
        format!("write op = {}", names.first().cloned().unwrap_or_default()),
    );
    Some(subject.clash("op_of_target", &marks!(subject.keys; workload.ops, workload.op, head.target), text))
}
