//! By how much trials took longer than planned: reported where it leaves other cells no time.

use narrows_model::cell::TRIAL_OVERHEAD_NS;
use narrows_model::{Cell, CellId, Nanos};

/// The shortest time beyond planned loads that is reported where time is missing.
pub(crate) const REPORTED_NS: u64 = 1_000_000_000;

/// The trials of this process so far that took longer than planned.
#[derive(Debug, Clone, Default)]
pub struct Overruns {
    total_ns: u64,
    longest: Option<Overrun>,
}

#[derive(Debug, Clone)]
struct Overrun {
    cell: CellId,
    took: Nanos,
    planned: Nanos,
}

impl Overrun {
    fn beyond_ns(&self) -> u64 {
        self.took.0.saturating_sub(self.planned.0).saturating_sub(TRIAL_OVERHEAD_NS)
    }
}

impl Overruns {
    /// Notes that a trial of `cell` took `took` from the start of its clients to the end of its sync.
    pub(crate) fn note(&mut self, cell: &Cell, took: Nanos) {
        let overrun = Overrun { cell: cell.id.clone(), took, planned: cell.trial_ns() };
        let beyond_ns = overrun.beyond_ns();
        self.total_ns = self.total_ns.saturating_add(beyond_ns);
        if beyond_ns > self.longest.as_ref().map_or(0, Overrun::beyond_ns) {
            self.longest = Some(overrun);
        }
    }

    /// What the time beyond the plan was used for, as a part of a sentence; `None` where it was little.
    pub(crate) fn described(&self) -> Option<String> {
        let longest = self.longest.as_ref().filter(|_| self.total_ns >= REPORTED_NS)?;
        Some(format!(
            "{:.1} s for trials that took longer than planned, most of all {}: {:.1} s instead of {:.1} s",
            Nanos(self.total_ns).as_secs_f64(),
            longest.cell,
            longest.took.as_secs_f64(),
            longest.planned.as_secs_f64()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repetition::tests::a_cell;
    use narrows_model::Repeat;

    fn noted(took_ms: &[u64]) -> Option<String> {
        let mut overruns = Overruns::default();
        for (index, ms) in took_ms.iter().enumerate() {
            // A trial of 1 s.
            let cell = Cell { id: CellId(format!("cell{index}")), ..a_cell(Repeat::Fixed, 1) };
            overruns.note(&cell, Nanos::from_millis(*ms));
        }
        overruns.described()
    }

    #[test]
    fn the_time_beyond_the_plan_is_summed_and_the_longest_trial_named() {
        let expected =
            "7.7 s for trials that took longer than planned, most of all cell1: 6.0 s instead of 1.0 s";
        assert_eq!(noted(&[2_000, 6_000, 500, 3_150]).as_deref(), Some(expected));
    }

    #[test]
    fn less_than_a_second_in_all_is_not_reported() {
        assert_eq!(noted(&[]), None);
        assert_eq!(noted(&[1_100, 1_100, 1_500, 1_700]), None);
    }
}
