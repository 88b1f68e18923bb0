//! Blocks, files and the distances between them.

use super::{Clash, Subject, text};
use crate::file::fields::marks;
use crate::schema::AnyField;
use narrows_model::Bytes;
use narrows_model::workload::Order;

pub(super) fn block_over_file(subject: &Subject<'_>) -> Option<Clash> {
    let (block, file) = (subject.load.block_bytes, subject.load.file_bytes);
    // A file that exists has its own length, which the planner compares; an object may be smaller than a call's block.
    if block <= file || subject.load.objects.is_some() {
        return None;
    }
    let hint = format!("write file = \"{block}\" or more, or a smaller block");
    let text = text(
        format!("a block of {block}, larger than the file of {file}"),
        format!("a block of {file} or less"),
        hint,
    );
    Some(subject.clash("block_over_file", &[subject.block_mark(), &subject.keys.workload.file.mark], text))
}

pub(super) fn worker_without_block(subject: &Subject<'_>) -> Option<Clash> {
    let load = &subject.load;
    let least = load.block_bytes.0.saturating_mul(u64::from(load.workers));
    if least <= load.file_bytes.0 || load.block_bytes > load.file_bytes || load.objects.is_some() {
        return None;
    }
    let text = text(
        format!(
            "{} workers with blocks of {} in a file of {}",
            load.workers, load.block_bytes, load.file_bytes
        ),
        "a block or more of the file for each worker",
        format!("write file = \"{}\" or more, or fewer workers", Bytes(least)),
    );
    Some(subject.clash("worker_without_block", &marks!(subject.keys; workload.workers, workload.file), text))
}

pub(super) fn mix_of_blocks_once_each(subject: &Subject<'_>) -> Option<Clash> {
    if subject.load.block_mix.len() < 2 || subject.load.order != Order::Random {
        return None;
    }
    let text = text(
        "several block sizes in order = \"random\", which visits each block once",
        "one block size with \"random\"",
        "write order = \"random_with_replacement\"",
    );
    Some(subject.clash(
        "mix_of_blocks_once_each",
        &marks!(subject.keys; workload.blocks, workload.order),
        text,
    ))
}

pub(super) fn stride_of_blocks(subject: &Subject<'_>) -> Option<Clash> {
    let Order::Stride { stride_bytes, .. } = subject.load.order else { return None };
    let block =
        subject.load.blocks().into_iter().find(|share| !stride_bytes.is_multiple_of(share.block_bytes.0))?;
    let block = block.block_bytes;
    let near = Bytes(stride_bytes.div_ceil(block.0).max(1).saturating_mul(block.0));
    let text = text(
        format!("a stride of {}, no multiple of the block of {block}", Bytes(stride_bytes)),
        "a stride that is a multiple of the block",
        format!("the next multiple is {near}"),
    );
    Some(subject.clash("stride_of_blocks", &marks!(subject.keys; workload.stride), text))
}

pub(super) fn stride_missing(subject: &Subject<'_>) -> Option<Clash> {
    let asked = matches!(subject.load.order, Order::Stride { .. });
    if !asked || subject.keys.workload.stride.is_set() {
        return None;
    }
    let near = Bytes(subject.load.block_bytes.0.saturating_mul(4));
    let text =
        text("order = \"stride\" without a stride", "stride with it", format!("write stride = \"{near}\""));
    Some(subject.clash("stride_missing", &marks!(subject.keys; workload.order), text))
}

pub(super) fn stride_over_file(subject: &Subject<'_>) -> Option<Clash> {
    let Order::Stride { stride_bytes, .. } = subject.load.order else { return None };
    let file = subject.load.file_bytes;
    if stride_bytes < file.0 || stride_bytes == 0 {
        return None;
    }
    let text = text(
        format!("a stride of {} in a file of {file}", Bytes(stride_bytes)),
        "a stride below the file's size",
        "write a larger file or a smaller stride",
    );
    Some(subject.clash("stride_over_file", &marks!(subject.keys; workload.stride), text))
}

pub(super) fn bytes_below_block(subject: &Subject<'_>) -> Option<Clash> {
    let bytes = subject.keys.stop.bytes.value?;
    let block = subject.load.block_bytes;
    if bytes >= block {
        return None;
    }
    let text = text(
        format!("a stop after {bytes}, less than one block of {block}"),
        format!("{block} or more"),
        "raise stop.bytes, or omit it",
    );
    Some(subject.clash("bytes_below_block", &marks!(subject.keys; stop.bytes), text))
}

pub(super) fn zipf_without_theta(subject: &Subject<'_>) -> Option<Clash> {
    let asked = matches!(subject.load.order, Order::Zipf { .. });
    if !asked || subject.keys.workload.zipf_theta.is_set() {
        return None;
    }
    let text = text(
        "order = \"zipf\" without its exponent",
        "zipf_theta above 0 with it",
        "write zipf_theta = 0.99, which is usual for caches",
    );
    Some(subject.clash("zipf_without_theta", &marks!(subject.keys; workload.order), text))
}
