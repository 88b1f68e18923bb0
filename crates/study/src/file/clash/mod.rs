//! Settings that do not go together at one point of a sweep.
//!
//! Not here: what the machine refuses, which is the planner's; settings without any effect, which are `idle`'s.

mod access;
mod concurrency;
mod extent;
mod pace;

use super::place::Span;
use super::point::View;
use super::problems::Complaint;
use narrows_model::{EngineId, Target, Workload};

/// Settings that do not go together.
#[derive(Debug, Clone)]
pub(crate) struct Clash {
    /// Which rule they break.
    pub(crate) code: &'static str,
    pub(crate) at: Span,
    pub(crate) complaint: Complaint,
}

/// A rule: what does not go together, if anything.
type Rule = fn(&Subject<'_>) -> Option<Clash>;

const RULES: &[Rule] = &[
    extent::block_over_file,
    extent::worker_without_block,
    access::unaligned_direct,
    access::direct_in_memory,
    concurrency::depth_of_synchronous,
    concurrency::batch_over_depth,
    concurrency::batch_of_synchronous,
    concurrency::in_flight,
    pace::think_in_open_loop,
    pace::open_loop_without_offer,
    pace::cap_in_open_loop,
    extent::mix_of_blocks_once_each,
    extent::stride_of_blocks,
    extent::stride_missing,
    extent::stride_over_file,
    extent::zipf_without_theta,
    access::polling_without_direct,
    access::engine_of_target,
    access::op_of_target,
    extent::bytes_below_block,
    pace::cap_below_block,
];

/// What the rules look at.
struct Subject<'a> {
    view: View<'a>,
    load: Workload,
    target: &'a Target,
}

/// Everything that does not go together at a point.
pub(crate) fn clashes(view: View<'_>, target: &Target) -> Vec<Clash> {
    let subject = Subject { view, load: view.workload(), target };
    RULES.iter().filter_map(|rule| rule(&subject)).collect()
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
