//! What the verdicts of a case come to.

use super::cases::MatrixCase;
use narrows_model::{Segment, Summary};
use narrows_testkit::statistics::verdicts::{ScoredLoad, VerdictOutcome, VerdictScore};

/// Adds what a check said of each load for which the case knows what is true. A load is right if the first segment that is
/// named for it is one of those that are true, or the parent of one.
pub(crate) fn add(score: &mut VerdictScore, case: &MatrixCase, has_neighbour: bool, summary: &Summary) {
    for (load, truth) in case.truth {
        let mut seen: Vec<&str> = Vec::new();
        for entry in summary.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with(load)) {
            if seen.contains(&entry.regime.as_str()) {
                continue; // Another segment of the same load.
            }
            seen.push(&entry.regime);
            let is_true = |named: Segment| {
                truth.iter().any(|segment| *segment == named || segment.parent() == Some(named))
            };
            let outcome = match entry.segment {
                Segment::Unknown => VerdictOutcome::Unknown,
                named if is_true(named) => VerdictOutcome::Right,
                _ => VerdictOutcome::Wrong,
            };
            let truth: Vec<&str> = truth.iter().map(|segment| segment.id()).collect();
            score.add(&ScoredLoad {
                fault: case.fault,
                setting: if has_neighbour { " beside a busy loop".to_owned() } else { String::new() },
                load: &entry.regime,
                named: entry.segment.to_string(),
                confidence: entry.confidence,
                truth: truth.join(" or "),
                outcome,
            });
        }
        if seen.is_empty() {
            score.add_missing(case.fault, load);
        }
    }
}
