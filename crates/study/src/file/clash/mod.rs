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

use super::point::View;
use crate::located::Complaint;
use crate::located::Span;
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
type Rule = (fn(&Subject<'_>) -> Option<Clash>, &'static [&'static str]);

const RULES: &[Rule] = &[
    (extent::block_over_file, &[BLOCK, BLOCKS, FILE]),
    (extent::worker_without_block, &[BLOCK, BLOCKS, FILE, "workload.workers"]),
    (access::unaligned_direct, &[BLOCK, BLOCKS, ACCESS]),
    (access::direct_in_memory, &[ACCESS, ENGINE, "target"]),
    (concurrency::depth_of_synchronous, &[DEPTH, ENGINE, "target"]),
    (concurrency::batch_over_depth, &["workload.batch", DEPTH]),
    (concurrency::batch_of_synchronous, &["workload.batch", DEPTH, ENGINE, "target"]),
    (concurrency::in_flight, &[BLOCK, BLOCKS, DEPTH, "workload.workers", "workload.clients"]),
    (concurrency::clients_of_simulated, &["workload.clients", "target"]),
    (pace::think_in_open_loop, &["workload.think", ARRIVALS]),
    (pace::open_loop_without_offer, &["workload.offered", ARRIVALS]),
    (pace::cap_in_open_loop, &["workload.max_rate", "workload.max_ops", ARRIVALS]),
    (extent::mix_of_blocks_once_each, &[BLOCKS, ORDER]),
    (extent::stride_of_blocks, &[STRIDE, ORDER, BLOCK, BLOCKS]),
    (extent::stride_missing, &[STRIDE, ORDER]),
    (extent::stride_over_file, &[STRIDE, ORDER, FILE]),
    (extent::zipf_without_theta, &["workload.zipf_theta", ORDER]),
    (access::polling_without_direct, &["workload.ring.completion_polling", ENGINE, ACCESS, "target"]),
    (access::position_of_vectors, &["workload.psync.calls", "workload.psync.vectors"]),
    (access::engine_of_target, &[ENGINE, "target"]),
    (access::op_of_target, &["workload.op", "workload.ops", "target"]),
    (extent::bytes_below_block, &["stop.bytes", BLOCK, BLOCKS]),
    (objects::order_of_objects, &[ORDER, "workload.op", "workload.ops", TRANSACTIONS]),
    (objects::listing_of_workers, &[ORDER, "workload.workers", "workload.op", TRANSACTIONS]),
    (objects::worker_without_object, &["workload.objects.count", "workload.workers"]),
    (objects::sizes_of_objects, &["workload.objects.min", "workload.objects.max"]),
    (objects::synced_folders, &["workload.objects.folders", "workload.objects.sync"]),
    (objects::depth_of_objects, &[DEPTH, "workload.batch", ENGINE, "target"]),
    (objects::window_of_objects, &["stop.warm_up", "stop.bytes"]),
    (verify::verify_without_data, &[VERIFY, "target"]),
    (verify::verify_in_streams, &[VERIFY, ENGINE, "workload.workers", "target"]),
    (verify::verify_of_parts, &[VERIFY, BLOCK, BLOCKS]),
    (verify::verify_over_limit, &[VERIFY, FILE]),
    (write_back::of_reads_alone, &[WRITE_BACK, "workload.op", "workload.ops", BLOCKS]),
    (write_back::one_at_a_time, &[WRITE_BACK, DEPTH]),
    (write_back::unpaced, &[WRITE_BACK, ARRIVALS, "workload.think", "workload.max_rate", "workload.max_ops"]),
    (write_back::not_verified, &[WRITE_BACK, VERIFY]),
    (pace::cap_below_block, &["workload.max_rate", "stop.measure", BLOCK, BLOCKS]),
];

const ACCESS: &str = "workload.access";
const ARRIVALS: &str = "workload.arrivals";
const BLOCK: &str = "workload.block";
const BLOCKS: &str = "workload.blocks";
const DEPTH: &str = "workload.depth";
const ENGINE: &str = "workload.engine";
const FILE: &str = "workload.file";
const ORDER: &str = "workload.order";
const STRIDE: &str = "workload.stride";
const TRANSACTIONS: &str = "workload.transactions.count";
const VERIFY: &str = "workload.verify";
const WRITE_BACK: &str = "workload.write_back_every";

/// What the rules look at.
struct Subject<'a> {
    view: View<'a>,
    load: Workload,
    target: &'a Target,
}

/// Everything that does not go together at a point, as far as the keys that it rests on could be read.
pub(crate) fn clashes(view: View<'_>, target: &Target) -> Vec<Clash> {
    let subject = Subject { view, load: view.workload(), target };
    let certain = |keys: &[&str]| keys.iter().all(|key| !view.is_in_doubt(key));
    RULES.iter().filter(|(_, keys)| certain(keys)).filter_map(|(rule, _)| rule(&subject)).collect()
}

impl Subject<'_> {
    /// A clash at the first of `paths` that is given.
    fn clash(&self, code: &'static str, paths: &[&str], words: Words) -> Clash {
        let given = paths.iter().find(|path| self.view.entry(path).is_some());
        let key = given.or(paths.first()).map(|path| self.view.path(path)).unwrap_or_default();
        let complaint = Complaint::new(key, words.found, words.allowed, words.hint);
        Clash { code, at: self.view.at(paths), complaint }
    }

    fn engine(&self) -> EngineId {
        let default = self.target.engines().first().copied().unwrap_or(EngineId::Null);
        self.load.engine.unwrap_or(default)
    }

    fn is_open(&self) -> bool {
        matches!(self.view.name("workload.arrivals"), Some("constant" | "poisson"))
    }

    fn block_key(&self) -> &'static str {
        if self.load.block_mix.is_empty() { "workload.block" } else { "workload.blocks" }
    }
}

struct Words {
    found: String,
    allowed: String,
    hint: String,
}

fn words(found: impl Into<String>, allowed: impl Into<String>, hint: impl Into<String>) -> Words {
    Words { found: found.into(), allowed: allowed.into(), hint: hint.into() }
}
