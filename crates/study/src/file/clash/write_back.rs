//! What a load that writes blocks back to where it has read them can be.

use super::{Clash, Subject, text};
use crate::file::fields::marks;
use narrows_model::Op;
use narrows_model::workload::Arrivals;

pub(super) fn of_reads_alone(subject: &Subject<'_>) -> Option<Clash> {
    let load = &subject.load;
    let every = load.write_back_every?;
    let found = if load.op_mix.len() > 1 || load.op != Op::Read {
        let ops: Vec<&str> = load.ops().iter().map(|share| share.op.name()).collect();
        format!("write_back_every = {every} with the operation {}", ops.join(" and "))
    } else if load.block_mix.len() > 1 {
        format!("write_back_every = {every} with blocks of several sizes")
    } else {
        return None;
    };
    let hint = "write op = \"read\" and one block; the writes are added to it";
    let text = text(found, "reads of one block size, of which blocks are written back", hint);
    let keys = &marks!(subject.keys; workload.ops, workload.op, workload.blocks, workload.write_back_every);
    Some(subject.clash("write_back_of_reads_alone", keys, text))
}

pub(super) fn one_at_a_time(subject: &Subject<'_>) -> Option<Clash> {
    let (every, depth) = (subject.load.write_back_every?, subject.load.queue_depth);
    if depth <= 1 {
        return None;
    }
    let text = text(
        format!("write_back_every = {every} at a depth of {depth}"),
        "a depth of 1: a block is written back before the next one is read",
        format!("write workers = {depth} instead"),
    );
    Some(subject.clash(
        "write_back_one_at_a_time",
        &marks!(subject.keys; workload.depth, workload.write_back_every),
        text,
    ))
}

pub(super) fn unpaced(subject: &Subject<'_>) -> Option<Clash> {
    let load = &subject.load;
    let every = load.write_back_every?;
    let paced = load.think_ns.0 > 0
        || load.arrivals != Arrivals::Closed
        || load.max_bytes_per_s.is_some()
        || load.max_ops_per_s.is_some();
    if !paced {
        return None;
    }
    let text = text(
        format!("write_back_every = {every} in a load that waits between requests"),
        "a closed loop without think, max_rate and max_ops",
        "omit these, or write ops = { read = .., write = .. } instead",
    );
    let keys = &marks!(subject.keys; workload.think, workload.arrivals, workload.max_rate, workload.max_ops, workload.write_back_every);
    Some(subject.clash("write_back_unpaced", keys, text))
}

pub(super) fn not_verified(subject: &Subject<'_>) -> Option<Clash> {
    let every = subject.load.write_back_every.filter(|_| subject.load.verify)?;
    let text = text(
        format!("verify = true with write_back_every = {every}"),
        "data that is verified, or blocks that are written back",
        "omit verify, or write ops = { read = .., write = .. } instead",
    );
    Some(subject.clash(
        "write_back_not_verified",
        &marks!(subject.keys; workload.verify, workload.write_back_every),
        text,
    ))
}
