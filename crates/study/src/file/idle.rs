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
