//! What the keys of one point of a sweep make: its load, when a trial stops, and how often it is repeated.
//!
//! Not here: whether the keys go together, which is `clash`'s.

use super::choices::RepeatRule;
use super::fields::StudyKeys;
use crate::cut::{MEASURE_NS, OPEN_MEASURE_NS};
use crate::schema::FileValue;
use narrows_model::cell::Stop;
use narrows_model::engine::EngineOptions;
use narrows_model::workload::{Arrivals, Edges, OpShare, Order};
use narrows_model::{EngineId, Nanos, Op, Repeat, Target, Workload};

impl StudyKeys {
    /// The engine that is asked for, or that whole objects need; `None` is the target's default.
    fn engine(&self) -> Option<EngineId> {
        let is_folder = || matches!(self.head.target.value, Some(Target::File { .. }));
        let of_objects = || (self.object_set().is_some() && is_folder()).then_some(EngineId::Objects);
        self.workload.engine.value.or_else(of_objects)
    }

    /// The load of the point.
    pub(crate) fn load(&self) -> Workload {
        let keys = &self.workload;
        let op_mix = keys.ops.value.clone().unwrap_or_default();
        let block_mix = keys.blocks.value.clone().unwrap_or_default();
        let objects = self.object_set();
        let usual = Workload::default();
        let op = match objects.and_then(|set| set.transactions) {
            Some(transactions) => main_op(&transactions.shares()),
            None => main_op(&op_mix).or(keys.op.value),
        };
        let largest = block_mix.iter().map(|share| share.block_bytes).max();
        let mut load = Workload {
            engine: self.engine(),
            op: op.unwrap_or(Op::Read),
            op_mix,
            block_bytes: largest.or(keys.block.value).unwrap_or(usual.block_bytes),
            block_mix,
            file_bytes: match &objects {
                Some(set) => set.expected_bytes(),
                None => keys.file.value.unwrap_or(usual.file_bytes),
            },
            order: self.order(),
            write_back_every: keys.write_back_every.value,
            access: keys.access.value.unwrap_or_default(),
            cache: keys.cache.value.unwrap_or_default(),
            sync: keys.sync.value.unwrap_or_default(),
            acknowledgement: keys.acknowledgement.value.unwrap_or_default(),
            queue_depth: keys.depth.value.unwrap_or(1),
            workers: keys.workers.value.unwrap_or(1),
            clients: keys.clients.value.unwrap_or(1),
            batch: keys.batch.value.unwrap_or(1),
            think_ns: keys.think.value.unwrap_or_default(),
            arrivals: self.arrivals(),
            max_bytes_per_s: keys.max_rate.value.map(|rate| rate.0),
            max_ops_per_s: keys.max_ops.value,
            edges: Edges { stone_wall: self.stop.stone_wall.value.unwrap_or_default(), ..Edges::default() },
            verify: keys.verify.value.unwrap_or_default(),
            objects,
            ..usual
        };
        self.set_engine_options(&mut load);
        load
    }

    fn order(&self) -> Order {
        let keys = &self.workload;
        match keys.order.value.unwrap_or(Order::Sequential) {
            Order::Zipf { .. } => Order::Zipf { theta: keys.zipf_theta.value.unwrap_or(1.0) },
            Order::Stride { .. } => {
                Order::Stride { stride_bytes: keys.stride.value.unwrap_or_default().0, ends_early: false }
            }
            order => order,
        }
    }

    fn arrivals(&self) -> Arrivals {
        match (self.workload.arrivals.value, self.workload.offered.value) {
            (Some(Arrivals::Constant { .. }), Some(ops_per_s)) => Arrivals::Constant { ops_per_s },
            (Some(Arrivals::Poisson { .. }), Some(ops_per_s)) => Arrivals::Poisson { ops_per_s },
            _ => Arrivals::Closed,
        }
    }

    /// Whether an open loop is asked for, be its rate given or not.
    pub(crate) fn is_open(&self) -> bool {
        self.workload.arrivals.value.is_some_and(|arrivals| arrivals != Arrivals::Closed)
    }

    /// The options that are given for the engine of the point, by the names that it declares. A default is left out even
    /// where it is written, so that equal loads are equal in records.
    fn set_engine_options(&self, load: &mut Workload) {
        let target = self.head.target.value.as_ref();
        let engine = load.engine.or_else(|| target?.default_engine());
        let Some(table) = engine.and_then(|engine| engine.declaration().options) else { return };
        let mut options = EngineOptions::default();
        for (name, field) in self.options_of(table.name) {
            let declared = table.options.iter().find(|option| option.name == name);
            let default =
                declared.and_then(|option| FileValue::from_toml(option.kind.into(), option.default));
            if field.value == default {
                continue;
            }
            match &field.value {
                Some(FileValue::Flag(flag)) => options.set(name, *flag),
                Some(FileValue::Name(choice)) => options.set(name, *choice),
                Some(FileValue::Count(count)) => options.set(name, *count),
                Some(FileValue::Size(bytes)) => options.set(name, bytes.0),
                Some(FileValue::Text(text)) => options.set(name, text.as_str()),
                Some(FileValue::Duration(duration)) => options.set(name, duration.0),
                _ => {}
            }
        }
        if !options.is_empty() {
            let taken = load.set_engine_options(table.name, options);
            debug_assert!(taken.is_ok(), "an engine takes what it declares: {taken:?}");
        }
    }

    /// When a trial stops.
    pub(crate) fn trial_stop(&self) -> Stop {
        let (bytes_max, ops_max) = (self.stop.bytes.value, self.stop.ops.value);
        let is_bounded = bytes_max.is_some() || ops_max.is_some();
        // A load that is counted is counted from its beginning.
        let is_counted = is_bounded || self.object_set().is_some();
        let warm_up_ns = if is_counted { Nanos(0) } else { Nanos(300_000_000) };
        let measure_ns = if is_bounded { OPEN_MEASURE_NS } else { MEASURE_NS };
        Stop {
            warm_up_ns: self.stop.warm_up.value.unwrap_or(warm_up_ns),
            measure_ns: self.stop.measure.value.unwrap_or(measure_ns),
            bytes_max,
            ops_max,
        }
    }

    /// When a cell has been repeated often enough.
    pub(crate) fn repetition(&self) -> Repeat {
        let keys = &self.repeat;
        match keys.until.value {
            Some(RepeatRule::Interval) => Repeat::UntilInterval {
                half_width_ratio: keys.half_width.value.unwrap_or(0.05),
                level: keys.level.value.unwrap_or(0.95),
                trials_min: keys.trials_min.value.unwrap_or_else(|| {
                    // Fewer look narrow by chance: how often their intervals contain the true value is in the methodology.
                    self.stop.trials.value.map_or(5, |most| most.clamp(3, 5))
                }),
            },
            Some(RepeatRule::Steady) => Repeat::UntilSteady { window_trials: keys.window.value.unwrap_or(5) },
            Some(RepeatRule::Fixed) | None => Repeat::Fixed,
        }
    }

    /// Repetitions; the most of them where their number is open.
    pub(crate) fn trials(&self) -> u32 {
        let usual = match self.repetition() {
            Repeat::Fixed => 1,
            Repeat::UntilInterval { .. } => 20,
            Repeat::UntilSteady { .. } => 25,
        };
        self.stop.trials.value.unwrap_or(usual)
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
