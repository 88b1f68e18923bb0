//! What a summary keeps of the study that was run: not its text, which is the plan's.

use narrows_model::plan::StudySource;
use narrows_model::summary::StudySummary;

/// The summary of `source`.
pub(super) fn summary(source: &StudySource) -> StudySummary {
    StudySummary { name: source.name.clone(), title: source.title.clone(), factors: source.factors.clone() }
}
