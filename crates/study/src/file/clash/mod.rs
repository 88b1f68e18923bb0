//! Settings that do not go together at one point of a sweep.
//!
//! Not here: what the machine refuses, which is the planner's; settings without any effect, which are `idle`'s.

mod access;
mod concurrency;
mod extent;
mod objects;
mod pace;
mod verify;
mod write_back;

use super::fields::{StudyKeys, marks};
use crate::schema::{Complaint, KeyMark, Span};
use narrows_model::{EngineId, Target, Workload};

/// Settings that do not go together.
#[derive(Debug, Clone)]
pub(crate) struct Clash {
    /// Which rule they break.
    pub(crate) code: &'static str,
    pub(crate) at: Span,
    pub(crate) complaint: Complaint,
}

/// A rule: what does not go together, if anything; and the keys that it looks at, of which none may be in doubt.
type ClashRule = (fn(&Subject<'_>) -> Option<Clash>, fn(&StudyKeys) -> Vec<&KeyMark>);

/// Lists rules, each with the keys that it looks at.
macro_rules! rules {
    ($($rule:path: $($table:ident.$key:ident),*;)*) => {
        const RULES: &[ClashRule] = &[$(($rule, |keys| marks!(keys; $($table.$key),*).to_vec())),*];
    };
}

rules! {
    extent::block_over_file: workload.block, workload.blocks, workload.file;
    extent::worker_without_block: workload.block, workload.blocks, workload.file, workload.workers;
    access::unaligned_direct: workload.block, workload.blocks, workload.access;
    access::direct_in_memory: workload.access, workload.engine, head.target;
    concurrency::depth_of_synchronous: workload.depth, workload.engine, head.target;
    concurrency::batch_over_depth: workload.batch, workload.depth;
    concurrency::batch_of_synchronous: workload.batch, workload.depth, workload.engine, head.target;
    concurrency::in_flight: workload.block, workload.blocks, workload.depth, workload.workers, workload.clients;
    concurrency::clients_of_simulated: workload.clients, head.target;
    pace::think_in_open_loop: workload.think, workload.arrivals;
    pace::open_loop_without_offer: workload.offered, workload.arrivals;
    pace::cap_in_open_loop: workload.max_rate, workload.max_ops, workload.arrivals;
    extent::mix_of_blocks_once_each: workload.blocks, workload.order;
    extent::stride_of_blocks: workload.stride, workload.order, workload.block, workload.blocks;
    extent::stride_missing: workload.stride, workload.order;
    extent::stride_over_file: workload.stride, workload.order, workload.file;
    extent::zipf_without_theta: workload.zipf_theta, workload.order;
    access::engine_of_target: workload.engine, head.target;
    access::op_of_target: workload.op, workload.ops, head.target;
    extent::bytes_below_block: stop.bytes, workload.block, workload.blocks;
    objects::order_of_objects: workload.order, workload.op, workload.ops, transactions.count;
    objects::listing_of_workers: workload.order, workload.workers, workload.op, transactions.count;
    objects::worker_without_object: objects.count, workload.workers;
    objects::sizes_of_objects: objects.min, objects.max;
    objects::synced_folders: objects.folders, objects.sync;
    objects::depth_of_objects: workload.depth, workload.batch, workload.engine, head.target;
    objects::window_of_objects: stop.warm_up, stop.bytes;
    verify::verify_without_data: workload.verify, head.target;
    verify::verify_of_parts: workload.verify, workload.block, workload.blocks;
    verify::verify_over_limit: workload.verify, workload.file;
    write_back::of_reads_alone: workload.write_back_every, workload.op, workload.ops, workload.blocks;
    write_back::one_at_a_time: workload.write_back_every, workload.depth;
    write_back::unpaced: workload.write_back_every, workload.arrivals, workload.think, workload.max_rate, workload.max_ops;
    write_back::not_verified: workload.write_back_every, workload.verify;
    pace::think_over_window: workload.think, workload.arrivals, stop.measure;
    pace::cap_below_block: workload.max_rate, stop.measure, workload.block, workload.blocks;
}

/// What the rules look at: the keys of a point, and what they make.
pub(crate) struct Subject<'k> {
    pub(crate) keys: &'k StudyKeys,
    pub(crate) load: Workload,
    pub(crate) target: &'k Target,
}

/// Everything that does not go together at a point, as far as the keys that it rests on could be read.
pub(crate) fn clashes(subject: &Subject<'_>) -> Vec<Clash> {
    let keys = subject.keys;
    let are_certain = |marks: &[&KeyMark]| marks.iter().all(|mark| !mark.in_doubt);
    let certain = RULES.iter().filter(|(_, looks_at)| are_certain(&looks_at(keys)));
    let mut clashes: Vec<Clash> = certain.filter_map(|(rule, _)| rule(subject)).collect();
    if are_certain(&marks!(keys; workload.engine, head.target)) {
        clashes.extend(subject.engine().declaration().clashes.iter().filter_map(|clash| {
            let marks = keys.workload_marks(clash.keys);
            let found = (clash.check)(&subject.load).filter(|_| are_certain(&marks))?;
            Some(subject.clash(clash.code, &marks, text(found.found, found.allowed, found.hint)))
        }));
    }
    clashes
}

impl<'k> Subject<'k> {
    /// The load of a point; `None` where its target could not be read.
    pub(crate) fn new(keys: &'k StudyKeys) -> Option<Self> {
        Some(Self { keys, load: keys.load(), target: keys.head.target.value.as_ref()? })
    }

    /// A clash at the first of `marks` that is given.
    fn clash(&self, code: &'static str, marks: &[&KeyMark], text: ClashMessage) -> Clash {
        let given = marks.iter().find(|mark| mark.at.is_some()).or(marks.first());
        let key = given.map(|mark| mark.path_as_given()).unwrap_or_default();
        let complaint = Complaint::new(key, text.found, text.allowed, text.hint);
        Clash { code, at: self.keys.position(marks), complaint }
    }

    pub(super) fn engine(&self) -> EngineId {
        self.load.engine.or(self.target.default_engine()).unwrap_or(EngineId::Null)
    }

    fn block_mark(&self) -> &KeyMark {
        let keys = &self.keys.workload;
        if self.load.block_mix.is_empty() { &keys.block.mark } else { &keys.blocks.mark }
    }
}

struct ClashMessage {
    found: String,
    allowed: String,
    hint: String,
}

fn text(found: impl Into<String>, allowed: impl Into<String>, hint: impl Into<String>) -> ClashMessage {
    ClashMessage { found: found.into(), allowed: allowed.into(), hint: hint.into() }
}
