//! Two sides of one or more runs: the cells that are the same work paired, each figure's ratio with its interval, a verdict.
//! And the runs of one side alone: how much they differ with nothing changed.
//!
//! B is compared with A: a ratio is B over A. Deliberately absent: any correction for what is not alike (it is
//! reported), and text.

mod combine;
mod decide;
mod estimates;
mod items;
mod likeness;
mod load;
mod noise;
mod pairs;
mod remarks;
mod repeats;
mod sides;

use crate::conclude::conclude;
use crate::input::RunFacts;
use crate::summary::{RateSpread, Summarizer};
use combine::combined;
use narrows_model::comparison::{
    COMPARISON_SCHEMA, ComparedCell, ComparedRun, ComparedSide, Comparison, LimitsCompared, RegimeLimit,
};
use narrows_model::{Diagnosis, Event, Inventory, Plan, Segment, Summary};
pub use noise::noise;
use repeats::Repeats;
use std::collections::{BTreeMap, BTreeSet};

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

/// The runs that are one side of a comparison: repetitions of the same measurement.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonSide<'a> {
    /// What its record, or folder of records, is called.
    pub name: &'a str,
    /// What was measured, the earliest run first.
    pub runs: &'a [NamedRun],
}

/// A run with the name of its record.
#[derive(Debug, Clone)]
pub struct NamedRun {
    /// What its record is called.
    pub name: String,
    /// What was measured.
    pub run: MeasuredRun,
}

impl<'a> ComparisonSide<'a> {
    fn measured(self) -> Vec<&'a MeasuredRun> {
        self.runs.iter().map(|named| &named.run).collect()
    }
}

/// What two sides are compared by.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonBasis<'a> {
    /// Ratios from 1/(1 + margin) to 1 + margin do not matter.
    pub margin_ratio: f64,
    /// Runs that only show how much runs differ with nothing changed.
    pub noise: Option<ComparisonSide<'a>>,
}

/// B compared with A.
///
/// # Shape
/// Of sides without a cell in common the pairs are empty; all of their cells are listed. Of sides without a run everything is
/// empty.
///
/// # Source
/// The method, with its sources, is in docs/concepts/methodology.md, "Two sides".
#[must_use]
pub fn compare(
    a: ComparisonSide<'_>,
    b: ComparisonSide<'_>,
    basis: ComparisonBasis<'_>,
    narrows_version: &str,
) -> Comparison {
    let (items_a, items_b) = (combined(&a.measured()), combined(&b.measured()));
    let noise = basis.noise.map(|noise| combined(&noise.measured())).unwrap_or_default();
    let paired = pairs::pair(&items_a, &items_b);
    let noise_of: BTreeMap<usize, usize> = pairs::pair(&items_a, &noise).pairs.into_iter().collect();
    let pair = |(a, b): &(usize, usize)| {
        let noise = noise_of.get(a).and_then(|index| noise.get(*index));
        Some(pairs::compared(items_a.get(*a)?, items_b.get(*b)?, noise))
    };
    let mut cells: Vec<ComparedCell> = paired.pairs.iter().filter_map(pair).collect();
    decide::decide_cells(&mut cells, basis.margin_ratio);
    let facts = remarks::ComparisonFacts { a, b, noise: basis.noise, margin_ratio: basis.margin_ratio };
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        narrows_version: narrows_version.to_owned(),
        a: compared_side(a),
        b: compared_side(b),
        noise: basis.noise.map(compared_side),
        margin_ratio: basis.margin_ratio,
        level: decide::LEVEL.ratio(),
        verdict: decide::whole(&cells),
        counts: decide::counts(&cells),
        differences: first_summaries(a, b).map(|(a, b)| likeness::differences(a, b)).unwrap_or_default(),
        remarks: remarks::remarks(&cells, &facts),
        cells,
        only_in_a: paired.only_in_a,
        only_in_b: paired.only_in_b,
        limits: first_summaries(a, b).map(|(a, b)| limits(&a.diagnosis, &b.diagnosis)).unwrap_or_default(),
    }
}

fn first_summaries<'a>(a: ComparisonSide<'a>, b: ComparisonSide<'a>) -> Option<(&'a Summary, &'a Summary)> {
    Some((&a.runs.first()?.run.summary, &b.runs.first()?.run.summary))
}

fn compared_side(side: ComparisonSide<'_>) -> ComparedSide {
    ComparedSide { record: side.name.to_owned(), runs: side.runs.iter().map(compared_run).collect() }
}

fn compared_run(named: &NamedRun) -> ComparedRun {
    let summary = &named.run.summary;
    ComparedRun {
        record: named.name.clone(),
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
    let (of_a, of_b) = (by_load(&a), by_load(&b));
    let mut in_both = of_a.iter().filter_map(|(load, limit)| Some(*limit == *of_b.get(load)?)).peekable();
    let same = in_both.peek().is_some() && in_both.all(|is_same| is_same);
    LimitsCompared { same, a, b }
}

/// The segments that limit each load in one direction; of a regime that has both directions it is the same for each.
fn by_load(limits: &[RegimeLimit]) -> BTreeMap<String, BTreeSet<Segment>> {
    let of_load = |limit: &RegimeLimit| {
        let segments: BTreeSet<Segment> = limit.segments.iter().copied().collect();
        limit.loads().into_iter().map(move |load| (load, segments.clone()))
    };
    limits.iter().flat_map(of_load).collect()
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
