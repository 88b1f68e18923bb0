//! Two runs side by side: the cells that are the same work paired, each figure's ratio with its interval, a verdict.
//!
//! B is compared with A: a ratio is B over A. Deliberately absent: any correction for what is not alike (it is
//! reported), and text.

mod decide;
mod estimates;
mod items;
mod likeness;
mod load;
mod pairs;
mod repeats;

use crate::conclude::conclude;
use crate::input::RunFacts;
use crate::summary::{RateSpread, Summarizer};
use items::items;
use narrows_model::comparison::{
    COMPARISON_SCHEMA, ComparedCell, ComparedRun, Comparison, LimitsCompared, RegimeLimit,
};
use narrows_model::{Diagnosis, Event, Inventory, Plan, Summary};
use repeats::Repeats;
use std::collections::BTreeMap;

/// Below this difference ratios do not matter unless said otherwise: cells of a steady machine repeat within it.
pub const MARGIN_RATIO: f64 = 0.03;

/// Takes the events of a run that is to be compared, one after the other.
#[derive(Debug)]
pub struct RunReader<'a> {
    summarizer: Summarizer<'a>,
    repeats: Repeats,
}

impl<'a> RunReader<'a> {
    /// A reader of a run of `plan` in which nothing has happened yet.
    #[must_use]
    pub fn new(facts: RunFacts, plan: &'a Plan, inventory: &'a Inventory) -> Self {
        Self { summarizer: Summarizer::new(facts, plan, inventory), repeats: Repeats::default() }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) {
        self.summarizer.event(event);
        self.repeats.event(event);
    }

    /// The run with its verdict.
    #[must_use]
    pub fn finish(mut self) -> MeasuredRun {
        self.repeats.close();
        let (summary, rates) = self.summarizer.finish_with_spreads();
        MeasuredRun { summary: conclude(summary), rates, repeats: self.repeats }
    }
}

/// A run with the data that show how far its figures vary.
#[derive(Debug, Clone)]
pub struct MeasuredRun {
    /// Its summary, verdict included.
    pub summary: Summary,
    pub(crate) rates: BTreeMap<String, RateSpread>,
    pub(crate) repeats: Repeats,
}

/// A run as one side of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonSide<'a> {
    /// What its record is called.
    pub name: &'a str,
    /// What was measured.
    pub run: &'a MeasuredRun,
}

/// B compared with A. Ratios from 1/(1 + `margin_ratio`) to 1 + `margin_ratio` do not matter.
///
/// # Shape
/// Of runs without a cell in common the pairs are empty; all of their cells are listed.
///
/// # Source
/// The method, with its sources, is in docs/concepts/methodology.md, "Two runs".
#[must_use]
pub fn compare(
    a: ComparisonSide<'_>,
    b: ComparisonSide<'_>,
    margin_ratio: f64,
    narrows_version: &str,
) -> Comparison {
    let (items_a, items_b) = (items(a.run), items(b.run));
    let paired = pairs::pair(&items_a, &items_b);
    let compared = paired.pairs.iter().map(|(a, b)| pairs::compared(a, b, margin_ratio));
    let mut cells: Vec<ComparedCell> = compared.collect();
    decide::decide_cells(&mut cells, margin_ratio);
    let (summary_a, summary_b) = (&a.run.summary, &b.run.summary);
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        narrows_version: narrows_version.to_owned(),
        a: compared_run(a),
        b: compared_run(b),
        margin_ratio,
        level: decide::LEVEL.ratio(),
        verdict: decide::whole(&cells),
        counts: decide::counts(&cells),
        differences: likeness::differences(summary_a, summary_b),
        remarks: decide::remarks(&cells, &paired.pairs),
        cells,
        only_in_a: paired.only_in_a,
        only_in_b: paired.only_in_b,
        limits: limits(&summary_a.diagnosis, &summary_b.diagnosis),
    }
}

fn compared_run(side: ComparisonSide<'_>) -> ComparedRun {
    let summary = &side.run.summary;
    ComparedRun {
        record: side.name.to_owned(),
        narrows_version: summary.narrows_version.clone(),
        started_at: summary.started_at.clone(),
        command: summary.command.clone(),
        target: likeness::target(summary),
        seed: summary.seed,
        complete: summary.complete,
        generator_limited: summary.generator.limited,
        doubts: summary.doubts.clone(),
    }
}

fn limits(a: &Diagnosis, b: &Diagnosis) -> LimitsCompared {
    let (a, b) = (regimes(a), regimes(b));
    let sorted = |limits: &[RegimeLimit]| -> BTreeMap<String, Vec<_>> {
        limits.iter().map(|limit| (limit.regime.clone(), limit.segments.clone())).collect()
    };
    LimitsCompared { same: sorted(&a) == sorted(&b), a, b }
}

/// What limits each regime, in the order of the diagnosis.
fn regimes(diagnosis: &Diagnosis) -> Vec<RegimeLimit> {
    let mut regimes: Vec<RegimeLimit> = Vec::new();
    for entry in &diagnosis.limiting {
        match regimes.iter_mut().find(|known| known.regime == entry.regime) {
            Some(known) if known.segments.contains(&entry.segment) => {}
            Some(known) => known.segments.push(entry.segment),
            None => regimes.push(RegimeLimit { regime: entry.regime.clone(), segments: vec![entry.segment] }),
        }
    }
    regimes
}

#[cfg(test)]
mod tests;
