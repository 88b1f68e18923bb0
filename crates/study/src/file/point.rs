//! One point of a study's sweep: the settings that hold there, and the load that they make.
//!
//! Not here: whether the settings go together, which is `clash`'s.

use super::settings::Settings;
use super::value::{self, Entry, Value};
use crate::cut::{MEASURE_NS, OPEN_MEASURE_NS};
use crate::located::Span;
use narrows_model::cell::{FactorValue, Stop};
use narrows_model::units::saturate_u32;
use narrows_model::workload::{
    Access, Acknowledgement, Arrivals, BlockShare, CacheState, Edges, OpShare, Order, PsyncCalls,
    PsyncWishes, RingWishes, StdioCalls, StdioFlush, StdioWishes, SyncPolicy, Wish,
};
use narrows_model::{Bytes, EngineId, Nanos, Op, Repeat, Target, Workload};
use std::collections::BTreeMap;

/// The settings that hold at one point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    settings: &'a Settings,
    /// Index of the value of each factor.
    chosen: &'a [usize],
}

impl<'a> View<'a> {
    pub(crate) fn new(settings: &'a Settings, chosen: &'a [usize]) -> Self {
        Self { settings, chosen }
    }

    /// What holds for a key; `None` where it is not given.
    pub(crate) fn entry(&self, path: &str) -> Option<&'a Entry> {
        let swept = self.settings.factors.iter().zip(self.chosen).find(|(factor, _)| factor.key.path == path);
        match swept {
            Some((factor, index)) => factor.values.get(*index),
            None => self.settings.fixed.get(path),
        }
    }

    /// Whether a key was given, or meant, in a way that could not be read, so that what holds for it is not known.
    pub(crate) fn is_in_doubt(&self, path: &str) -> bool {
        self.settings.in_doubt.contains(path)
    }

    /// Where to point for a problem of `paths`: at the first of them that is given, else at the workload's head.
    pub(crate) fn at(&self, paths: &[&str]) -> Span {
        let given = paths.iter().find_map(|path| self.entry(path));
        let head = || self.settings.workload_at.clone().unwrap_or(0..0);
        given.map_or_else(head, |entry| entry.at.clone())
    }

    /// The key as it stands in the file: below `sweep` where it is a factor there.
    pub(crate) fn path(&self, path: &str) -> String {
        match self.settings.factors.iter().find(|factor| factor.key.path == path) {
            Some(factor) if path != "target" => format!("sweep.{}", factor.key.factor()),
            _ => path.to_owned(),
        }
    }

    pub(crate) fn name(&self, path: &str) -> Option<&'static str> {
        match self.entry(path)?.value {
            Value::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn size(&self, path: &str) -> Option<Bytes> {
        match self.entry(path)?.value {
            Value::Size(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn count(&self, path: &str) -> Option<u64> {
        match self.entry(path)?.value {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    pub(crate) fn number(&self, path: &str) -> Option<f64> {
        match self.entry(path)?.value {
            Value::Number(number) | Value::OpRate(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, path: &str) -> bool {
        matches!(self.entry(path), Some(Entry { value: Value::Flag(true), .. }))
    }

    pub(crate) fn duration(&self, path: &str) -> Option<Nanos> {
        match self.entry(path)?.value {
            Value::Duration(time) => Some(time),
            _ => None,
        }
    }

    pub(crate) fn target(&self) -> Option<&'a Target> {
        match &self.entry("target")?.value {
            Value::Target(target) => Some(target),
            _ => None,
        }
    }

    fn count_u32(&self, path: &str) -> u32 {
        saturate_u32(self.count(path).unwrap_or(1))
    }

    /// Where the point lies: its factors with their values here.
    pub(crate) fn factors(&self) -> BTreeMap<String, FactorValue> {
        let chosen = self.settings.factors.iter().zip(self.chosen);
        chosen
            .filter_map(|(factor, index)| {
                Some((factor.key.factor().to_owned(), factor.values.get(*index)?.value.factor()))
            })
            .collect()
    }

    /// The point in words: `factor=value` for each factor.
    pub(crate) fn words(&self) -> Vec<(&'static str, String)> {
        let chosen = self.settings.factors.iter().zip(self.chosen);
        chosen
            .filter_map(|(factor, index)| {
                Some((factor.key.factor(), factor.values.get(*index)?.value.words()))
            })
            .collect()
    }

    /// The engine that is asked for, or that whole objects need; `None` is the target's default.
    pub(crate) fn engine(&self) -> Option<EngineId> {
        let asked = self.name("workload.engine").and_then(EngineId::from_name);
        let is_folder = || matches!(self.target(), Some(Target::File { .. }));
        asked.or_else(|| (self.objects().is_some() && is_folder()).then_some(EngineId::Objects))
    }

    /// The load of the point.
    pub(crate) fn workload(&self) -> Workload {
        let ops = self.op_shares();
        let objects = self.objects();
        let blocks = self.block_shares();
        let usual = Workload::default();
        Workload {
            engine: self.engine(),
            op: match objects.and_then(|set| set.transactions) {
                Some(transactions) => main_op(&transactions.shares()),
                None => main_op(&ops).or_else(|| self.name("workload.op").and_then(value::op)),
            }
            .unwrap_or(Op::Read),
            op_mix: ops,
            block_bytes: blocks
                .iter()
                .map(|share| share.block_bytes)
                .max()
                .or_else(|| self.size("workload.block"))
                .unwrap_or(usual.block_bytes),
            block_mix: blocks,
            file_bytes: match &objects {
                Some(set) => set.expected_bytes(),
                None => self.size("workload.file").unwrap_or(usual.file_bytes),
            },
            order: self.order(),
            write_back_every: self.count("workload.write_back_every").map(saturate_u32),
            access: match self.name("workload.access") {
                Some("direct") => Access::Direct,
                _ => Access::Buffered,
            },
            cache: match self.name("workload.cache") {
                Some("cold") => CacheState::Cold,
                Some("warm") => CacheState::Warm,
                _ => CacheState::AsFound,
            },
            sync: self.sync(),
            acknowledgement: match self.name("workload.acknowledgement") {
                Some("late") => Acknowledgement::Late,
                _ => Acknowledgement::Early,
            },
            queue_depth: self.count_u32("workload.depth"),
            workers: self.count_u32("workload.workers"),
            clients: self.count_u32("workload.clients"),
            own_process: false,
            batch: self.count_u32("workload.batch"),
            think_ns: self.duration("workload.think").unwrap_or_default(),
            arrivals: self.arrivals(),
            max_bytes_per_s: match self.entry("workload.max_rate").map(|entry| &entry.value) {
                Some(Value::ByteRate(rate)) => Some(*rate),
                _ => None,
            },
            max_ops_per_s: self.number("workload.max_ops"),
            ring: self.ring(),
            stdio: self.stdio(),
            psync: self.psync(),
            edges: Edges { stone_wall: self.flag("stop.stone_wall"), ..Edges::default() },
            verify: self.flag("workload.verify"),
            prefill: usual.prefill,
            objects,
        }
    }

    fn op_shares(&self) -> Vec<OpShare> {
        match self.entry("workload.ops").map(|entry| &entry.value) {
            Some(Value::OpShares(shares)) => shares.clone(),
            _ => Vec::new(),
        }
    }

    fn block_shares(&self) -> Vec<BlockShare> {
        match self.entry("workload.blocks").map(|entry| &entry.value) {
            Some(Value::BlockShares(shares)) => shares.clone(),
            _ => Vec::new(),
        }
    }

    fn order(&self) -> Order {
        match self.name("workload.order") {
            Some("backward") => Order::Backward,
            Some("random") => Order::Random,
            Some("random_with_replacement") => Order::RandomWithReplacement,
            Some("zipf") => Order::Zipf { theta: self.number("workload.zipf_theta").unwrap_or(1.0) },
            Some("stride") => {
                Order::Stride { stride_bytes: self.size("workload.stride").unwrap_or_default().0 }
            }
            Some("one_block") => Order::OneBlock,
            Some("listing") => Order::Listing,
            _ => Order::Sequential,
        }
    }

    fn sync(&self) -> SyncPolicy {
        match self.entry("workload.sync").map(|entry| &entry.value) {
            Some(Value::Sync(policy)) => *policy,
            _ => SyncPolicy::None,
        }
    }

    fn arrivals(&self) -> Arrivals {
        match (self.name("workload.arrivals"), self.number("workload.offered")) {
            (Some("constant"), Some(ops_per_s)) => Arrivals::Constant { ops_per_s },
            (Some("poisson"), Some(ops_per_s)) => Arrivals::Poisson { ops_per_s },
            _ => Arrivals::Closed,
        }
    }

    fn ring(&self) -> RingWishes {
        let wish = |path| match self.name(path) {
            Some("required") => Wish::Required,
            Some("off") => Wish::Off,
            _ => Wish::IfGranted,
        };
        RingWishes {
            registered_buffers: wish("workload.ring.registered_buffers"),
            registered_files: wish("workload.ring.registered_files"),
            completion_polling: self.flag("workload.ring.completion_polling"),
            submission_polling: self.flag("workload.ring.submission_polling"),
        }
    }

    fn psync(&self) -> PsyncWishes {
        PsyncWishes {
            calls: match self.name("workload.psync.calls") {
                Some("at_position") => PsyncCalls::AtPosition,
                _ => PsyncCalls::AtOffset,
            },
            vectors: self.count("workload.psync.vectors").map(saturate_u32),
        }
    }

    fn stdio(&self) -> StdioWishes {
        StdioWishes {
            calls: match self.name("workload.stdio.calls") {
                Some("character") => StdioCalls::Character,
                _ => StdioCalls::Block,
            },
            flush: match self.name("workload.stdio.flush") {
                Some("fflush") => StdioFlush::Fflush,
                Some("fdatasync") => StdioFlush::Fdatasync,
                Some("fsync") => StdioFlush::Fsync,
                _ => StdioFlush::None,
            },
            buffer_bytes: self.size("workload.stdio.buffer"),
        }
    }

    /// When a trial stops.
    pub(crate) fn stop(&self) -> Stop {
        let (bytes_max, ops_max) = (self.size("stop.bytes"), self.count("stop.ops"));
        // Who counts wants the load from its beginning.
        let is_bounded = bytes_max.is_some() || ops_max.is_some() || self.objects().is_some();
        let warm_up_ns = if is_bounded { Nanos(0) } else { Nanos(300_000_000) };
        Stop {
            warm_up_ns: self.duration("stop.warm_up").unwrap_or(warm_up_ns),
            measure_ns: self.duration("stop.measure").unwrap_or(
                if bytes_max.is_some() || ops_max.is_some() { OPEN_MEASURE_NS } else { MEASURE_NS },
            ),
            bytes_max,
            ops_max,
        }
    }

    /// When a cell has been repeated often enough.
    pub(crate) fn repeat(&self) -> Repeat {
        match self.name("repeat.until") {
            Some("interval") => Repeat::UntilInterval {
                half_width_ratio: self.number("repeat.half_width").unwrap_or(0.05),
                level: self.number("repeat.level").unwrap_or(0.95),
                trials_min: saturate_u32(self.count("repeat.trials_min").unwrap_or_else(|| {
                    // Fewer look narrow by chance: what their intervals really hold is in the methodology.
                    self.count("stop.trials").map_or(5, |most| most.clamp(3, 5))
                })),
            },
            Some("steady") => {
                Repeat::UntilSteady { window_trials: saturate_u32(self.count("repeat.window").unwrap_or(5)) }
            }
            _ => Repeat::Fixed,
        }
    }

    /// Repetitions; the most of them where their number is open.
    pub(crate) fn trials(&self) -> u32 {
        let usual = match self.repeat() {
            Repeat::Fixed => 1,
            Repeat::UntilInterval { .. } => 20,
            Repeat::UntilSteady { .. } => 25,
        };
        self.count("stop.trials").map_or(usual, saturate_u32)
    }
}

/// The operation that most requests of a mix do.
fn main_op(shares: &[OpShare]) -> Option<Op> {
    let mut most: Option<&OpShare> = None;
    for share in shares {
        if most.is_none_or(|most| share.weight > most.weight) {
            most = Some(share);
        }
    }
    most.map(|share| share.op)
}
