//! Settings that mean nothing where they are given: each would leave its author believing in a load that is not there.
//!
//! Not here: settings that contradict each other, which are `clash`'s.

use super::choices::RepeatRule;
use super::clash::Subject;
use super::fields::{StudyKeys, marks};
use crate::schema::{AnyField, KeyMark};
use narrows_model::engine::OptionTable;
use narrows_model::workload::{Arrivals, Order, SyncPolicy};
use narrows_model::{EngineId, Op, Target, Workload};
use std::borrow::Cow;

/// A key that is given and means nothing at a point.
pub(crate) struct Idle<'k> {
    pub(crate) mark: &'k KeyMark,
    /// What it needs, in words.
    pub(crate) needs: Cow<'static, str>,
}

/// What some keys need to mean anything.
struct KeyDependency {
    fields: fn(&StudyKeys) -> Vec<&dyn AnyField>,
    /// In words.
    needs: &'static str,
    /// The keys that say whether they have that; none of them may be in doubt.
    on: fn(&StudyKeys) -> Vec<&KeyMark>,
    is_met: fn(&Subject<'_>) -> bool,
}

/// The fields of some keys.
macro_rules! fields {
    ($keys:expr; $($table:ident.$key:ident),* $(,)?) => { vec![$(&$keys.$table.$key as &dyn AnyField),*] };
}

const DEPENDENCIES: &[KeyDependency] = &[
    KeyDependency {
        fields: |keys| fields!(keys; workload.zipf_theta),
        needs: "order = \"zipf\"",
        on: |keys| marks!(keys; workload.order).to_vec(),
        is_met: |subject| matches!(subject.load.order, Order::Zipf { .. }),
    },
    KeyDependency {
        fields: |keys| fields!(keys; workload.stride),
        needs: "order = \"stride\"",
        on: |keys| marks!(keys; workload.order).to_vec(),
        is_met: |subject| matches!(subject.load.order, Order::Stride { .. }),
    },
    KeyDependency {
        fields: |keys| fields!(keys; workload.offered),
        needs: "arrivals = \"constant\" or \"poisson\"",
        on: |keys| marks!(keys; workload.arrivals).to_vec(),
        is_met: |subject| subject.load.arrivals != Arrivals::Closed,
    },
    KeyDependency {
        fields: |keys| fields!(keys; stop.stone_wall),
        needs: "bytes or ops, of which each client does a share",
        on: |keys| marks!(keys; stop.bytes, stop.ops).to_vec(),
        is_met: |subject| subject.keys.stop.bytes.is_set() || subject.keys.stop.ops.is_set(),
    },
    KeyDependency {
        fields: |keys| fields!(keys; workload.sync),
        needs: "an operation that writes",
        on: |keys| marks!(keys; workload.op, workload.ops).to_vec(),
        is_met: |subject| {
            writes(&subject.load)
                || subject.load.sync == SyncPolicy::None
                || has_durable_object_writes(subject)
        },
    },
    KeyDependency {
        fields: |keys| fields!(keys; workload.acknowledgement),
        needs: "an endpoint (tcp://) or a simulated one",
        on: |keys| marks!(keys; head.target).to_vec(),
        is_met: |subject| matches!(subject.target.form(), Target::Tcp { .. } | Target::Sim { .. }),
    },
    KeyDependency {
        fields: |keys| {
            fields!(
                keys; workload.blocks, workload.file, workload.access, workload.cache, workload.think,
                workload.arrivals, workload.max_rate, workload.max_ops, workload.write_back_every, workload.verify,
            )
        },
        needs: "an operation on blocks (read, write, send, receive)",
        on: decides_on_objects,
        is_met: |subject| subject.load.objects.is_none(),
    },
    KeyDependency {
        fields: |keys| {
            fields!(
                keys; objects.count, objects.min, objects.max, objects.folders, objects.spread, objects.names,
                objects.seed, objects.calls, objects.read_block, objects.sync, objects.stat_reads,
            )
        },
        needs: "an operation on whole objects (put, get, append, stat, rename, delete), or transactions",
        on: decides_on_objects,
        is_met: |subject| subject.load.objects.is_some(),
    },
    KeyDependency {
        fields: |keys| fields!(keys; transactions.halves, transactions.read_bias, transactions.create_bias),
        needs: "a count in [workload.transactions]",
        on: |keys| marks!(keys; transactions.count).to_vec(),
        is_met: |subject| subject.load.transactions().is_some(),
    },
    KeyDependency {
        fields: |keys| fields!(keys; repeat.half_width, repeat.level, repeat.trials_min),
        needs: "until = \"interval\"",
        on: |keys| marks!(keys; repeat.until).to_vec(),
        is_met: |subject| subject.keys.repeat.until.value == Some(RepeatRule::Interval),
    },
    KeyDependency {
        fields: |keys| fields!(keys; repeat.window),
        needs: "until = \"steady\"",
        on: |keys| marks!(keys; repeat.until).to_vec(),
        is_met: |subject| subject.keys.repeat.until.value == Some(RepeatRule::Steady),
    },
];

/// The keys that are given and mean nothing at a point.
pub(crate) fn idle<'k>(subject: &Subject<'k>) -> Vec<Idle<'k>> {
    let keys: &'k StudyKeys = subject.keys;
    let mut idle = options_of_other_engines(subject);
    for dependency in DEPENDENCIES {
        if (dependency.on)(keys).iter().any(|mark| mark.in_doubt) || (dependency.is_met)(subject) {
            continue;
        }
        let given = (dependency.fields)(keys).into_iter().filter(|field| field.is_set());
        idle.extend(given.map(|field| Idle { mark: field.mark(), needs: dependency.needs.into() }));
    }
    idle
}

/// Options of an engine need that engine.
fn options_of_other_engines<'k>(subject: &Subject<'k>) -> Vec<Idle<'k>> {
    let keys: &'k StudyKeys = subject.keys;
    if marks!(keys; workload.engine, head.target).iter().any(|mark| mark.in_doubt) {
        return Vec::new();
    }
    let used = subject.load.engine.or(subject.target.default_engine());
    let others = EngineId::ALL.iter().filter(|engine| used != Some(**engine));
    let tables = others.filter_map(|engine| Some((engine, engine.declaration().options.as_ref()?)));
    let options = tables.flat_map(|(engine, table): (&EngineId, &OptionTable)| {
        let given = keys.options_of(table.name).filter(|(_, field)| field.is_set());
        let needs = format!("engine = \"{engine}\"");
        given.map(move |(_, field)| Idle { mark: &field.mark, needs: needs.clone().into() })
    });
    options.collect()
}

/// The keys that decide whether a load is about whole objects.
fn decides_on_objects(keys: &StudyKeys) -> Vec<&KeyMark> {
    marks!(keys; workload.op, workload.ops, transactions.count).to_vec()
}

/// Whether objects are written with each write durable by itself.
fn has_durable_object_writes(subject: &Subject<'_>) -> bool {
    let stores = subject.load.ops().iter().any(|share| matches!(share.op, Op::Put | Op::Append));
    stores
        && subject.load.sync == SyncPolicy::Dsync
        && subject.engine().declaration().has_durable_object_writes()
}

fn writes(load: &Workload) -> bool {
    load.ops().iter().any(|share| share.op == Op::Write)
}
