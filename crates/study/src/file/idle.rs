//! Settings that mean nothing where they stand: each would leave its author believing in a load that is not there.
//!
//! Not here: settings that contradict each other, which are `clash`'s.

use super::point::View;
use narrows_model::workload::{Arrivals, Order, SyncPolicy};
use narrows_model::{EngineId, Op, Target, Workload};

/// What a key needs to mean anything.
pub(crate) struct Need {
    /// The key.
    pub(crate) path: &'static str,
    /// What it needs, in words.
    pub(crate) words: &'static str,
    /// The keys that say whether it has that; none of them may be in doubt.
    on: &'static [&'static str],
    met: fn(&Given<'_>) -> bool,
}

struct Given<'a> {
    view: View<'a>,
    load: Workload,
    target: &'a Target,
}

/// Every key that needs another one.
pub(crate) const NEEDS: &[Need] = &[
    Need {
        path: "workload.zipf_theta",
        words: "order = \"zipf\"",
        on: &["workload.order"],
        met: |given| matches!(given.load.order, Order::Zipf { .. }),
    },
    Need {
        path: "workload.stride",
        words: "order = \"stride\"",
        on: &["workload.order"],
        met: |given| matches!(given.load.order, Order::Stride { .. }),
    },
    Need {
        path: "workload.offered",
        words: "arrivals = \"constant\" or \"poisson\"",
        on: &["workload.arrivals"],
        met: |given| given.load.arrivals != Arrivals::Closed,
    },
    Need {
        path: "workload.ring.registered_buffers",
        words: "engine = \"uring\"",
        on: &["workload.engine", "target"],
        met: has_ring,
    },
    Need {
        path: "workload.ring.registered_files",
        words: "engine = \"uring\"",
        on: &["workload.engine", "target"],
        met: has_ring,
    },
    Need {
        path: "workload.ring.completion_polling",
        words: "engine = \"uring\"",
        on: &["workload.engine", "target"],
        met: has_ring,
    },
    Need {
        path: "workload.ring.submission_polling",
        words: "engine = \"uring\"",
        on: &["workload.engine", "target"],
        met: has_ring,
    },
    Need {
        path: "workload.psync.calls",
        words: "engine = \"psync\"",
        on: &["workload.engine", "target"],
        met: is_psync,
    },
    Need {
        path: "workload.psync.vectors",
        words: "engine = \"psync\"",
        on: &["workload.engine", "target"],
        met: is_psync,
    },
    Need {
        path: "stop.stone_wall",
        words: "bytes or ops, whose share a client may have done",
        on: &["stop.bytes", "stop.ops"],
        met: |given| given.view.entry("stop.bytes").or(given.view.entry("stop.ops")).is_some(),
    },
    Need {
        path: "workload.stdio.calls",
        words: "engine = \"stdio\"",
        on: &["workload.engine", "target"],
        met: has_streams,
    },
    Need {
        path: "workload.stdio.flush",
        words: "engine = \"stdio\"",
        on: &["workload.engine", "target"],
        met: has_streams,
    },
    Need {
        path: "workload.stdio.buffer",
        words: "engine = \"stdio\"",
        on: &["workload.engine", "target"],
        met: has_streams,
    },
    Need {
        path: "workload.sync",
        words: "an operation that writes",
        on: &["workload.op", "workload.ops"],
        met: |given| writes(&given.load) || given.load.sync == SyncPolicy::None,
    },
    Need {
        path: "workload.acknowledgement",
        words: "an endpoint (tcp://) or a simulated one",
        on: &["target"],
        met: |given| matches!(given.target.form(), Target::Tcp { .. } | Target::Sim { .. }),
    },
    blocks_alone("workload.blocks"),
    blocks_alone("workload.file"),
    blocks_alone("workload.access"),
    blocks_alone("workload.cache"),
    blocks_alone("workload.think"),
    blocks_alone("workload.arrivals"),
    blocks_alone("workload.max_rate"),
    blocks_alone("workload.max_ops"),
    blocks_alone("workload.write_back_every"),
    blocks_alone("workload.verify"),
    objects_alone("workload.objects.count"),
    objects_alone("workload.objects.min"),
    objects_alone("workload.objects.max"),
    objects_alone("workload.objects.folders"),
    objects_alone("workload.objects.spread"),
    objects_alone("workload.objects.names"),
    objects_alone("workload.objects.seed"),
    objects_alone("workload.objects.calls"),
    objects_alone("workload.objects.read_block"),
    objects_alone("workload.objects.sync"),
    objects_alone("workload.objects.stat_reads"),
    transactions_alone("workload.transactions.halves"),
    transactions_alone("workload.transactions.read_bias"),
    transactions_alone("workload.transactions.create_bias"),
    Need {
        path: "repeat.half_width",
        words: "until = \"interval\"",
        on: &["repeat.until"],
        met: |given| given.view.name("repeat.until") == Some("interval"),
    },
    Need {
        path: "repeat.level",
        words: "until = \"interval\"",
        on: &["repeat.until"],
        met: |given| given.view.name("repeat.until") == Some("interval"),
    },
    Need {
        path: "repeat.trials_min",
        words: "until = \"interval\"",
        on: &["repeat.until"],
        met: |given| given.view.name("repeat.until") == Some("interval"),
    },
    Need {
        path: "repeat.window",
        words: "until = \"steady\"",
        on: &["repeat.until"],
        met: |given| given.view.name("repeat.until") == Some("steady"),
    },
];

/// The keys that are given and mean nothing at a point.
pub(crate) fn idle<'n>(view: View<'_>, target: &Target) -> impl Iterator<Item = &'n Need> {
    let given = Given { view, load: view.workload(), target };
    let certain = |need: &Need| need.on.iter().all(|key| !view.is_in_doubt(key));
    let is_given = |need: &&Need| view.entry(need.path).is_some() && certain(need) && !(need.met)(&given);
    NEEDS.iter().filter(is_given).collect::<Vec<_>>().into_iter()
}

/// The keys that decide whether a load is about whole objects.
const OF_OBJECTS: &[&str] = &["workload.op", "workload.ops", "workload.transactions.count"];

/// A key that has a meaning for blocks of files alone.
const fn blocks_alone(path: &'static str) -> Need {
    Need {
        path,
        words: "an operation on blocks (read, write, send, receive)",
        on: OF_OBJECTS,
        met: |given| given.load.objects.is_none(),
    }
}

/// A key that has a meaning for whole objects alone.
const fn objects_alone(path: &'static str) -> Need {
    Need {
        path,
        words: "an operation on whole objects (put, get, append, stat, delete), or transactions",
        on: OF_OBJECTS,
        met: |given| given.load.objects.is_some(),
    }
}

/// A key that has a meaning for transactions alone.
const fn transactions_alone(path: &'static str) -> Need {
    Need {
        path,
        words: "a count in [workload.transactions]",
        on: &["workload.transactions.count"],
        met: |given| given.load.transactions().is_some(),
    }
}

fn has_streams(given: &Given<'_>) -> bool {
    given.load.engine == Some(EngineId::Stdio)
}

fn is_psync(given: &Given<'_>) -> bool {
    let default = given.target.engines().first().copied();
    given.load.engine.or(default) == Some(EngineId::Psync)
}

fn has_ring(given: &Given<'_>) -> bool {
    let default = given.target.engines().first().copied();
    given.load.engine.or(default) == Some(EngineId::Uring)
}

fn writes(load: &Workload) -> bool {
    load.ops().iter().any(|share| share.op == Op::Write)
}
