//! The loads that are evaluated: cells of a run, rows of an observation file, points of the buffer experiment.
//!
//! A [`Case`] has the facts that rules ask for, each optional, wherever they come from; [`Cases`] answers what is asked of
//! all of them together. Deliberately absent: every judgement.

mod cpu;
mod load;
mod measured;
pub(crate) mod modes;
mod observed;
pub(crate) mod relay;
mod stations;
pub(crate) mod table;

pub(crate) use cpu::CpuUse;
pub(crate) use cpu::{CpuSource, cpu_and_throttled_s, is_full};
pub(crate) use load::{GeneratorLoad, ModalFigure, OfferedLoad};
pub(crate) use measured::{error_ratio, joint_error};
pub(crate) use stations::{SharedStation, share_a_machine};
pub use table::known_factors;

use crate::verdict::SegmentVerdict;
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::observation::Quality;
use narrows_model::summary::{CellSummary, RelaySummary};
use narrows_model::{Observation, Observations, Summary};
use std::collections::BTreeMap;
use table::ObservationTable;

/// Where the facts of a case come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A cell that a run measured.
    Measured(&'a CellSummary),
    /// A row of a file, or a point of the buffer experiment as such.
    Observed(&'a Observation),
}

/// One load with what is known of it. What is not known is `None` or empty.
#[derive(Debug)]
pub(crate) struct Case<'a> {
    /// Its name: of the cell, or of the observation.
    pub id: &'a str,
    /// Where its facts come from, for what only one of the two has.
    pub origin: Origin<'a>,
    /// How its figures are to be taken; those of a cell are exact, with an error of their own.
    pub quality: Quality,
    /// Relative standard error of its rate; `None` where nothing was repeated.
    pub error_ratio: Option<f64>,
    /// The load that was asked for, where it came at a rate of its own or under a cap.
    pub offered: Option<OfferedLoad>,
    /// What it is of the most that the load generator issues.
    pub generator: Option<GeneratorLoad>,
    /// What each role used of its CPU.
    pub cpu: BTreeMap<Role, CpuUse<'a>>,
    /// Roles that share CPUs, where that is known role by role.
    pub stations: Vec<SharedStation>,
    /// Whether it is a single request at a time.
    pub is_single: bool,
    /// Whether one connection of one client made the load.
    pub is_one_connection: bool,
    /// Seconds of its window, or what its bytes and its rate come to.
    pub elapsed_s: Option<f64>,
    /// What failed, in words.
    pub failures: Vec<String>,
    /// Figures that have several modes, each with these.
    pub mixtures: Vec<ModalFigure>,
}

impl<'a> Case<'a> {
    /// The measured cell; `None` for what was observed.
    pub(crate) fn cell(&self) -> Option<&'a CellSummary> {
        match self.origin {
            Origin::Measured(cell) => Some(cell),
            Origin::Observed(_) => None,
        }
    }

    /// The observation; `None` for a measured cell.
    pub(crate) fn observation(&self) -> Option<&'a Observation> {
        match self.origin {
            Origin::Measured(_) => None,
            Origin::Observed(one) => Some(one),
        }
    }

    /// How far a figure of this quality may be from the truth.
    pub(crate) fn doubt_ratio(&self) -> f64 {
        if self.quality == Quality::Approximate { table::APPROXIMATE_RATIO } else { 0.0 }
    }

    /// Whether all that was asked for was delivered, so that the rate says nothing of what it ran against.
    pub(crate) fn is_delivered(&self) -> bool {
        self.offered.as_ref().is_some_and(|offered| offered.is_delivered(self.doubt_ratio()))
    }
}

/// What all cases of one run, file or sweep come from.
#[derive(Debug)]
enum CaseSource<'a> {
    Run(Box<SummaryView<'a>>),
    File(Box<ObservationTable<'a>>),
}

/// The cases of one run, file or sweep, with the questions that rules ask.
#[derive(Debug)]
pub struct Cases<'a> {
    source: CaseSource<'a>,
    /// In the order of the run or file: those of which a verdict is given, cuts, and what else was measured.
    all: Vec<Case<'a>>,
    /// Indexes of those of which a verdict is given, in the order in which they are reported.
    loads: Vec<usize>,
}

impl<'a> Cases<'a> {
    /// The cells of a run.
    #[must_use]
    pub fn of_run(summary: &'a Summary) -> Self {
        let view = SummaryView::new(summary);
        let all: Vec<Case<'a>> = summary.cells.iter().map(|cell| measured::case(&view, cell)).collect();
        let place = |cell: &CellSummary| summary.cells.iter().position(|known| known.id == cell.id);
        let loads = view.regimes().iter().filter_map(|regime| place(regime.cell)).collect();
        Self { source: CaseSource::Run(Box::new(view)), all, loads }
    }

    /// The observations of a file.
    #[must_use]
    pub fn of_file(observations: &'a Observations) -> Self {
        let table = ObservationTable::new(observations);
        let all: Vec<Case<'a>> =
            observations.observations.iter().map(|one| observed::case(&table, one)).collect();
        let loads = (0..all.len()).collect();
        Self { source: CaseSource::File(Box::new(table)), all, loads }
    }

    /// The points of one sweep of the buffer experiment, as [`relay::observations`] has them, with the CPUs that their
    /// roles shared.
    pub(crate) fn of_sweep(relay: &RelaySummary, observations: &'a Observations) -> Self {
        let mut cases = Self::of_file(observations);
        for case in &mut cases.all {
            let point = relay.points.iter().find(|point| point.cell.0 == case.id);
            case.stations = point.map(stations::stations).unwrap_or_default();
        }
        cases
    }

    /// The cases of which a verdict is given.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &Case<'a>> {
        self.loads.iter().filter_map(|index| self.all.get(*index))
    }

    /// Every case, with cuts, and with cells that represent no regime.
    pub(crate) fn all(&self) -> &[Case<'a>] {
        &self.all
    }

    /// The case with this name.
    pub(crate) fn find(&self, id: &str) -> Option<&Case<'a>> {
        self.all.iter().find(|case| case.id == id)
    }

    /// What only a run has: cuts, inventories, regimes. `None` for observations.
    pub(crate) fn view(&self) -> Option<&SummaryView<'a>> {
        match &self.source {
            CaseSource::Run(view) => Some(view),
            CaseSource::File(_) => None,
        }
    }

    /// What only a file has: ceilings and claims as written, series of factors. `None` for a run.
    pub(crate) fn table(&self) -> Option<&ObservationTable<'a>> {
        match &self.source {
            CaseSource::Run(_) => None,
            CaseSource::File(table) => Some(table),
        }
    }

    /// What `evaluate` returns of each load.
    pub(crate) fn evaluate_loads(
        &self,
        evaluate: impl Fn(&Case<'a>) -> Option<SegmentVerdict>,
    ) -> Vec<SegmentVerdict> {
        self.loads().filter_map(evaluate).collect()
    }

    /// What `evaluate` returns of each load's cell; nothing where no run measured it.
    pub(crate) fn evaluate_cells(
        &self,
        evaluate: impl Fn(&SummaryView<'a>, &'a CellSummary) -> Option<SegmentVerdict>,
    ) -> Vec<SegmentVerdict> {
        let Some(view) = self.view() else { return Vec::new() };
        view.regimes().iter().filter_map(|regime| evaluate(view, regime.cell)).collect()
    }

    /// What `evaluate` returns for each load's cell where there is a network between client and storage.
    pub(crate) fn evaluate_cells_over_network(
        &self,
        evaluate: impl Fn(&SummaryView<'a>, &'a CellSummary) -> Option<SegmentVerdict>,
    ) -> Vec<SegmentVerdict> {
        if self.view().is_some_and(SummaryView::has_network) {
            self.evaluate_cells(evaluate)
        } else {
            Vec::new()
        }
    }

    /// What `evaluate` returns of each observation; nothing for a run.
    pub(crate) fn evaluate_observations(
        &self,
        evaluate: impl Fn(&ObservationTable<'a>, &'a Observation) -> Option<SegmentVerdict>,
    ) -> Vec<SegmentVerdict> {
        let Some(table) = self.table() else { return Vec::new() };
        table.observations().iter().filter_map(|one| evaluate(table, one)).collect()
    }
}
