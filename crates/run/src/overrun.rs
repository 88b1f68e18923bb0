//! The trial that took longest beyond its plan: reported where it left other cells no time.

use narrows_model::{Cell, CellId, Nanos};

/// An overrun that is shorter is not reported: opening, counting and closing are planned roughly.
const REPORTED_NS: u64 = 1_000_000_000;

/// The trial that took longest beyond its plan so far: its requests, or what ends it, were late.
#[derive(Debug, Clone, Default)]
pub struct LongestOverrun(Option<Overrun>);

#[derive(Debug, Clone)]
struct Overrun {
    cell: CellId,
    took: Nanos,
    planned: Nanos,
}

impl Overrun {
    fn beyond_ns(&self) -> u64 {
        self.took.0.saturating_sub(self.planned.0)
    }
}

impl LongestOverrun {
    /// Notes that a trial of `cell` took `took`, without the preparation of its files.
    pub(crate) fn note(&mut self, cell: &Cell, took: Nanos) {
        let planned = cell.trial_ns();
        let overrun = Overrun { cell: cell.id.clone(), took, planned };
        let longest_ns = self.0.as_ref().map_or(REPORTED_NS, Overrun::beyond_ns);
        if overrun.beyond_ns() > longest_ns {
            self.0 = Some(overrun);
        }
    }

    /// The part of a sentence on used time that names it; `None` where none took much longer than planned.
    pub(crate) fn part_of_sentence(&self) -> Option<String> {
        let Overrun { cell, took, planned } = self.0.as_ref()?;
        let (took_s, planned_s) = (took.as_secs_f64(), planned.as_secs_f64());
        Some(format!("{took_s:.1} s of it for a trial of {cell} that was planned to take {planned_s:.1} s"))
    }
}
