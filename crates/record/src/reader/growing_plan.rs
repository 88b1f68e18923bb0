//! The plan of a record with the cells that were added to it while it ran, in bounded memory.
//!
//! What a line says is decoded elsewhere.

use narrows_model::{Event, Plan};

/// Cells of a plan at most, skipped ones included. `plan.json` has room for fewer: a cell in it has at least 1.3 KiB.
pub(super) const PLAN_CELLS_MAX: usize = 250_000;
/// Bytes of the lines that add to a plan at most. Those of a check add two dozen cells: some ten kilobytes.
pub(super) const ADDED_BYTES_MAX: usize = 64 << 20;

/// A plan and how much has been added to it.
#[derive(Debug)]
pub(super) struct GrowingPlan {
    plan: Plan,
    added_bytes: usize,
}

impl GrowingPlan {
    /// The plan at the start.
    pub(super) fn new(plan: Plan) -> Self {
        Self { plan, added_bytes: 0 }
    }

    /// Whether a line of `length_bytes` may be added; it then counts as added.
    pub(super) fn takes(&mut self, length_bytes: usize) -> bool {
        self.added_bytes = self.added_bytes.saturating_add(length_bytes);
        self.added_bytes <= ADDED_BYTES_MAX
    }

    /// Adds what `event` adds.
    pub(super) fn extend(&mut self, event: Event) {
        if let Event::PlanExtended { cells, skipped } = event {
            self.plan.cells.extend(cells);
            self.plan.skipped.extend(skipped);
        }
    }

    /// Whether it has no more cells than a plan may have.
    pub(super) fn is_within_limits(&self) -> bool {
        self.plan.cells.len().saturating_add(self.plan.skipped.len()) <= PLAN_CELLS_MAX
    }

    /// The plan with all that was added.
    pub(super) fn whole(self) -> Plan {
        self.plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_plan_has_a_quarter_of_a_million_cells_at_most_and_skipped_ones_count() {
        let mut plan = GrowingPlan::new(samples::plan(2));
        let skipped = |count| Event::PlanExtended {
            cells: vec![samples::cell(9)],
            skipped: vec![samples::skipped(91); count],
        };
        plan.extend(skipped(PLAN_CELLS_MAX - 3));
        assert!(plan.is_within_limits());
        plan.extend(skipped(0));
        assert!(!plan.is_within_limits());
        assert_eq!(plan.whole().cells.len(), 4);
    }

    #[test]
    fn additions_have_64_mib_at_most_in_all() {
        let mut plan = GrowingPlan::new(samples::plan(1));
        assert!(plan.takes(ADDED_BYTES_MAX / 2) && plan.takes(ADDED_BYTES_MAX / 2));
        assert!(!plan.takes(1) && !plan.takes(usize::MAX));
    }
}
