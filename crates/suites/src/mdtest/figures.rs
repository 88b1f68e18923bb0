//! The figures of a run: for each line of the table and each iteration the rate of all ranks and that of each.

use super::request::Request;
use super::{MdtestTest, iteration_name};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Summary};
use narrows_stats::moments::{mean, sample_variance};

/// What all ranks did in one phase of one iteration.
#[derive(Debug, Clone, Copy)]
pub(super) struct MdtestMeasurement<'s> {
    /// The iteration, from 1.
    pub(super) iteration: u32,
    pub(super) cell: &'s CellSummary,
    /// Items a second, all ranks together, until the last of them was done.
    pub(super) rate: f64,
    /// Seconds until then.
    pub(super) elapsed_s: f64,
    /// Every rank has visited all its items, and no operation failed.
    pub(super) is_whole: bool,
}

impl MdtestMeasurement<'_> {
    /// Items a second of each rank, until it was done itself.
    pub(super) fn rank_rates(&self) -> Vec<f64> {
        let rate = |ops: u64, elapsed_s: f64| ratio(ops as f64, elapsed_s).unwrap_or(0.0);
        self.cell.per_client.iter().map(|rank| rate(rank.ops, rank.elapsed_s)).collect()
    }
}

/// A line of the table.
#[derive(Debug, Clone)]
pub(super) struct MdtestRow<'s> {
    pub(super) test: &'static MdtestTest,
    /// The iterations in which it was measured, in their order.
    pub(super) measured: Vec<MdtestMeasurement<'s>>,
    /// Iterations that were asked for.
    planned: u32,
}

impl MdtestRow<'_> {
    /// Whether every iteration was measured to its end.
    pub(super) fn is_whole(&self) -> bool {
        self.measured.len() as u64 == u64::from(self.planned) && self.measured.iter().all(|one| one.is_whole)
    }

    /// The rates of all ranks together over the iterations.
    pub(super) fn iterations(&self) -> Option<IterationRates> {
        IterationRates::from_rates(&self.measured.iter().map(|one| one.rate).collect::<Vec<_>>())
    }

    /// The rates of single ranks over all iterations.
    pub(super) fn ranks(&self) -> Option<IterationRates> {
        let rates: Vec<f64> = self.measured.iter().flat_map(MdtestMeasurement::rank_rates).collect();
        IterationRates::from_rates(&rates)
    }
}

/// What the table has of several rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct IterationRates {
    pub(super) max: f64,
    pub(super) min: f64,
    pub(super) mean: f64,
    /// Of a sample; 0 for one rate.
    pub(super) deviation: f64,
}

impl IterationRates {
    fn from_rates(rates: &[f64]) -> Option<Self> {
        Some(Self {
            max: rates.iter().copied().max_by(f64::total_cmp)?,
            min: rates.iter().copied().min_by(f64::total_cmp)?,
            mean: mean(rates)?,
            deviation: sample_variance(rates).map_or(0.0, f64::sqrt),
        })
    }
}

/// The lines of the table of a run of `request`, in their order: those of the tree are the last.
pub(super) fn rows<'s>(summary: &'s Summary, request: &Request) -> Vec<MdtestRow<'s>> {
    let row = |test: &'static MdtestTest| MdtestRow {
        test,
        measured: (1..=request.iterations)
            .filter_map(|iteration| measured(summary, request, test, iteration))
            .collect(),
        planned: request.iterations,
    };
    let (of_tree, of_items): (Vec<_>, Vec<_>) = request.tests().partition(|test| test.is_of_tree);
    of_items.into_iter().chain(of_tree).map(row).collect()
}

fn measured<'s>(
    summary: &'s Summary,
    request: &Request,
    test: &MdtestTest,
    iteration: u32,
) -> Option<MdtestMeasurement<'s>> {
    let name = iteration_name(iteration);
    let is_it = |cell: &&CellSummary| {
        let is_of_iteration = cell.test.as_deref() == Some(name.as_str());
        cell.cut == Cut::Path && is_of_iteration && cell.phase.as_deref() == Some(test.name)
    };
    let cell = summary.cells.iter().find(is_it)?;
    let trial = cell.trials.first()?;
    let all_done = cell.per_client.iter().filter(|rank| rank.ops == request.items_in(test)).count() as u64;
    Some(MdtestMeasurement {
        iteration,
        cell,
        rate: trial.ops_per_s.0,
        elapsed_s: trial.elapsed_s,
        is_whole: all_done == u64::from(request.ranks_in(test)) && cell.errors.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample_and_0_for_one_rate() {
        // By hand: of 2, 4, 4, 4, 5, 5, 7, 9 the squared deviations from 5 sum up to 32, of 7 degrees of freedom.
        let spread = IterationRates::from_rates(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((spread.max, spread.min, spread.mean), (9.0, 2.0, 5.0));
        assert!((spread.deviation - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let one = IterationRates::from_rates(&[3.0]).unwrap();
        assert_eq!((one.max, one.min, one.mean, one.deviation), (3.0, 3.0, 3.0, 0.0));
        assert_eq!(IterationRates::from_rates(&[]), None);
    }
}
