//! What the planner of studies has to know of the machine: handed in, never asked for.

use narrows_model::capabilities::Capabilities;
use narrows_model::inventory::PathKind;
use narrows_model::{Bytes, EngineId, Target};

/// What the planner has to know of the machine. What is not known is planned for as if there were no obstacle.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StudyFacts {
    /// What is known of each target of [`crate::Study::wanted`].
    pub targets: Vec<TargetFacts>,
    /// Memory of this machine that a page cache can use.
    pub memory_bytes: Option<Bytes>,
}

/// What is known of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetFacts {
    /// The target.
    pub target: Target,
    /// The engines that are asked for there.
    pub engines: Vec<EngineAnswer>,
    /// Free space where test files go: the path's, or the endpoint's store.
    pub free_bytes: Option<Bytes>,
    /// Length of the target where it is a file that exists: it is only ever read.
    pub existing_file: Option<Bytes>,
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
        Self { target, engines: Vec::new(), free_bytes: None, existing_file: None, path_kind: None }
    }
}

impl StudyFacts {
    /// What is known of `target`; `None` when nothing is.
    #[must_use]
    pub fn of(&self, target: &Target) -> Option<&TargetFacts> {
        self.targets.iter().find(|facts| facts.target == *target)
    }

    /// What `engine` can do with `target`, or why it cannot be used; `None` when nothing is known.
    #[must_use]
    pub fn answer(&self, target: &Target, engine: Option<EngineId>) -> Option<&Result<Capabilities, String>> {
        let answers = &self.of(target)?.engines;
        answers.iter().find(|answer| answer.engine == engine).map(|answer| &answer.capabilities)
    }
}
