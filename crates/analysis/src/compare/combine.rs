//! The cells of the runs of a side, each with the figures of every run.

use super::MeasuredRun;
use super::items::{Item, items};
use super::pairs::pair;

/// Everything of the runs of a side that can be compared, in the order of the first run; what later runs have beyond that
/// is at the end.
pub(super) fn combined<'a>(runs: &[&'a MeasuredRun]) -> Vec<Item<'a>> {
    let mut all: Vec<Item<'a>> = Vec::new();
    for run in runs {
        let found = items(run);
        let mut is_taken = vec![false; found.len()];
        for (index, other) in pair(&all, &found).pairs {
            if let (Some(item), Some(other), Some(taken)) =
                (all.get_mut(index), found.get(other), is_taken.get_mut(other))
            {
                item.runs.extend(other.runs.iter().cloned());
                *taken = true;
            }
        }
        all.extend(found.into_iter().zip(is_taken).filter(|(_, taken)| !taken).map(|(item, _)| item));
    }
    all
}
