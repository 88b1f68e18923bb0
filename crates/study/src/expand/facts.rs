//! What the planner of studies has to know of the machine: handed in, never asked for.

use crate::rings::RingDemand;
use narrows_model::capabilities::Capabilities;
use narrows_model::inventory::PathKind;
use narrows_model::target::Stripe;
use narrows_model::{Bytes, EngineId, Target, Workload};

/// What the planner has to know of the machine. What is not known is planned for as if there were no obstacle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StudyFacts {
    /// What is known of each target of [`crate::Study::wanted`].
    pub targets: Vec<TargetFacts>,
    /// Memory of this machine that a page cache can use.
    pub memory_bytes: Option<Bytes>,
    /// Which rings of [`crate::Study::rings`] cannot be had, and why, in a phrase for people.
    pub refused_rings: Vec<(RingDemand, String)>,
}

/// What is known of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetFacts {
    /// The target.
    pub target: Target,
    /// The engines that are asked for there.
    pub engines: Vec<EngineAnswer>,
    /// Free space for test files: the path's, or the endpoint's store.
    pub free_bytes: Option<Bytes>,
    /// Length of the target where it is a file that exists: it is only ever read.
    pub existing_file: Option<Bytes>,
    /// Why a target that is no file is only read as it is; `None` for files, and for what may be written.
    pub read_only_reason: Option<String>,
    /// What kind of path leads to a path target; for a simulated one `OtherNetwork` where its machine has a network.
    pub path_kind: Option<PathKind>,
}

/// What one engine can do with a target.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineAnswer {
    /// The engine; `None` is the target's default one.
    pub engine: Option<EngineId>,
    /// What it can do, or why it cannot be used here, in a phrase for people.
    pub capabilities: Result<Capabilities, String>,
}

impl TargetFacts {
    /// A target of which nothing is known.
    #[must_use]
    pub fn unknown(target: Target) -> Self {
        Self {
            target,
            engines: Vec::new(),
            free_bytes: None,
            existing_file: None,
            read_only_reason: None,
            path_kind: None,
        }
    }

    /// Adds what is known of a stripe from its members, in their order: each takes the same share, so that the smallest
    /// one bounds them all.
    pub fn add_members(&mut self, stripe: &Stripe, members: &[TargetFacts]) {
        let count = members.len() as u64;
        let unit = stripe.unit_bytes().0;
        let least = |known: fn(&TargetFacts) -> Option<Bytes>| {
            let all: Option<Vec<Bytes>> = members.iter().map(known).collect();
            all.and_then(|all| all.into_iter().min())
        };
        self.free_bytes = least(|member| member.free_bytes).map(|free| Bytes(free.0.saturating_mul(count)));
        // Of files that exist whole units are read.
        let rows = least(|member| member.existing_file).map(|length| length.0 / unit * unit);
        self.existing_file = rows.map(|bytes| Bytes(bytes.saturating_mul(count)));
        self.path_kind = members.first().and_then(|member| member.path_kind);
    }
}

impl StudyFacts {
    /// What is known of `target`; `None` when nothing is.
    #[must_use]
    pub fn target_facts(&self, target: &Target) -> Option<&TargetFacts> {
        self.targets.iter().find(|facts| facts.target == *target)
    }

    /// Why the rings of `workload` cannot be had; `None` where they can, or nothing is known.
    #[must_use]
    pub fn refused_rings(&self, workload: &Workload, target: &Target) -> Option<&str> {
        let wanted = RingDemand::new(workload, target)?;
        self.refused_rings.iter().find(|(known, _)| *known == wanted).map(|(_, reason)| reason.as_str())
    }

    /// What `engine` can do with `target`, or why it cannot be used; `None` when nothing is known.
    #[must_use]
    pub fn answer(&self, target: &Target, engine: Option<EngineId>) -> Option<&Result<Capabilities, String>> {
        let answers = &self.target_facts(target)?.engines;
        answers.iter().find(|answer| answer.engine == engine).map(|answer| &answer.capabilities)
    }
}
