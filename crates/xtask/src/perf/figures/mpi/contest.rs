//! narrows-mpi and the bare program in turn, where one run gives several rates.

use crate::perf::bench::Bench;
use crate::perf::contest::{Contender, run_rounds};
use crate::perf::estimate::ratios;
use crate::perf::finding::{PerfFinding, PerfFindings, PerfTarget};
use anyhow::Context;
use std::cell::RefCell;

/// A comparison of several rates that one run of each program gives.
pub(super) struct MpiContest<'c> {
    pub(super) label: String,
    pub(super) names: &'c [&'static str],
    pub(super) unit: &'static str,
    pub(super) target: PerfTarget,
}

impl MpiContest<'_> {
    pub(super) fn run(
        &self,
        bench: &Bench,
        narrows: impl Fn() -> anyhow::Result<Vec<f64>>,
        bare: impl Fn() -> anyhow::Result<Vec<f64>>,
        all: &mut PerfFindings,
    ) -> anyhow::Result<()> {
        let (ours, theirs) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let turn = |rows: &RefCell<Vec<Vec<f64>>>, row: Vec<f64>| {
            rows.borrow_mut().push(row);
            Ok(1.0)
        };
        // What comes first finds memory that the machine has not given yet.
        bare().context("a turn that is not counted")?;
        run_rounds(
            bench.rounds,
            &mut [
                Contender::new("narrows-mpi", || turn(&ours, narrows()?)),
                Contender::new("the bare program", || turn(&theirs, bare()?)),
            ],
        )?;
        let column =
            |rows: &[Vec<f64>], index: usize| rows.iter().map(|row| row[index]).collect::<Vec<f64>>();
        for (index, name) in self.names.iter().enumerate() {
            let (own, other) = (column(&ours.borrow(), index), column(&theirs.borrow(), index));
            let label = |what: &str| format!("{}, {name}: {what}", self.label);
            let over = ratios(&own, &other);
            all.findings.extend([
                PerfFinding::from_values(label("narrows-mpi"), self.unit, own, PerfTarget::None)?,
                PerfFinding::from_values(label("bare"), self.unit, other, PerfTarget::None)?,
                PerfFinding::from_values(label("over bare"), "x", over, self.target)?,
            ]);
        }
        Ok(())
    }
}
