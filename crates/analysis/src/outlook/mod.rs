//! What the cells that were not measured could still change of the verdict: which loads are decided, and how much each
//! cell is worth.
//!
//! Each cell is imagined with several outcomes, and the rules evaluate it as they evaluate a measurement; a cell whose
//! outcomes all leave the verdict as it is, is worth nothing. So no rule has to say what it needs. Not here: how long a
//! cell takes and which is next, which the planner decides.

mod imagined;
mod repeats;

pub use repeats::{RepeatReason, repeats, stays_disturbed};

use crate::case::Cases;
use crate::diagnose::{RuleVerdict, evaluate_rules, rank};
use crate::thresholds::{BARELY_RATIO, ELIMINATED_CONFIDENCE};
use crate::verdict::{Basis, Stance, Tier};
use crate::view::{Regime, RegimeKind};
use imagined::{ImaginedCell, Outcome};
use narrows_model::workload::Access;
use narrows_model::{Cell, Cut, Segment, Summary};

/// From this probability on that a cell changes the verdict on a load, the load is not decided.
const CHANGE_MIN: f64 = 0.1;
/// What the device alone is worth under a bulk load that the page cache serves: it changes no verdict there, and it is what the
/// cache's rate is to be read beside.
const BESIDE_CACHE: f64 = CHANGE_MIN;
/// Share of what is known of a load by elimination that each cut adds, where no single one of them would change it.
const ELIMINATION_SHARE: f64 = 0.1;
/// The same where the verdict would be another one without it.
const ELIMINATES_SHARE: f64 = 0.5;

/// What is known of a load so far.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadStanding {
    /// The cell of the path.
    pub cell: String,
    /// The load in words.
    pub name: String,
    /// The segment that is named first so far.
    pub segment: Segment,
    /// How sure that is.
    pub confidence: f64,
    /// Whether no cell that is left is likely to change it.
    pub is_decided: bool,
}

/// What the cells that are left could change.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outlook {
    /// Each load that was measured, the one that matters most first.
    pub loads: Vec<LoadStanding>,
    /// For each cell that is left, in their order, what it is worth to be next: the sum over the loads of the probabilities that
    /// it changes their verdict, less where it hardly ever names a segment; 0 where no load is likely to be changed by it.
    pub values: Vec<f64>,
}

impl Outlook {
    /// The cell that is worth most for the time it takes, among those for which `fits` is true; `None` where none is worth
    /// anything.
    ///
    /// Writes that are acknowledged before they are durable come after all others: what they leave to be written back loads
    /// the device.
    #[must_use]
    pub fn best(&self, left: &[Cell], fits: impl Fn(&Cell) -> bool) -> Option<usize> {
        let worth = |(index, cell): &(usize, &Cell)| {
            self.values.get(*index).copied().unwrap_or(0.0) / cell.estimated_ns().as_secs_f64().max(1e-3)
        };
        let leaves_nothing = |cell: &Cell| cell.cut != Cut::EarlyPath;
        let of_value = left.iter().enumerate().filter(|one| worth(one) > 0.0 && fits(one.1));
        let order = |one: &(usize, &Cell)| (leaves_nothing(one.1), worth(one));
        let best = of_value.reduce(|best, next| {
            let ((a_clean, a_worth), (b_clean, b_worth)) = (order(&best), order(&next));
            if (b_clean && !a_clean) || (a_clean == b_clean && b_worth > a_worth) { next } else { best }
        });
        best.map(|(index, _)| index)
    }
}

/// The outlook of `summary`, of which the cells `left` were not measured yet; those that refine it may be among them.
///
/// # Cost
/// Some rule evaluations for each load and cell that is left.
#[must_use]
pub fn outlook(summary: &Summary, left: &[Cell]) -> Outlook {
    let imagined = imagined::cells(summary, left);
    let mut outlook = Outlook { loads: Vec::new(), values: vec![0.0; left.len()] };
    for load in verdicts(summary) {
        let beside: Vec<&ImaginedCell> = imagined.iter().filter(|cell| cell.is_beside(&load.cell)).collect();
        let scene = LoadScene::new(summary, &load.cell, &beside);
        let mut is_decided = true;
        // What has more in flight or more connections comes after the load's other cuts: these decide most verdicts, and need
        // no files of their own.
        let (more, cuts): (Vec<&ImaginedCell>, Vec<&ImaginedCell>) =
            beside.into_iter().partition(|cell| cell.has_more());
        let mut has_open_cut = false;
        for cell in cuts.into_iter().chain(more) {
            if cell.has_more() && has_open_cut {
                continue;
            }
            let beside =
                if load.is_cached_bulk && cell.is_device_under(&load.cell) { BESIDE_CACHE } else { 0.0 };
            let change = scene.change(cell).max(beside);
            if change >= CHANGE_MIN {
                is_decided = false;
                has_open_cut |= !cell.has_more();
                if let Some(value) = outlook.values.get_mut(cell.index) {
                    *value += change * cell.order_weight();
                }
            }
        }
        outlook.loads.push(LoadStanding {
            cell: load.cell,
            name: load.name,
            segment: load.segment,
            confidence: load.confidence,
            is_decided,
        });
    }
    outlook
}

/// The verdict on one load.
#[derive(Debug, Clone)]
struct LoadVerdict {
    cell: String,
    name: String,
    segment: Segment,
    /// All that are named, that one first.
    named: Vec<Segment>,
    confidence: f64,
    /// Whether a resource at its limit, or what makes all of these void, is named.
    is_full: bool,
    /// Whether it is a bulk load through the page cache, and named is what happens on the client.
    is_cached_bulk: bool,
}

fn verdicts(summary: &Summary) -> Vec<LoadVerdict> {
    let cases = Cases::of_run(summary);
    let Some(view) = cases.view() else { return Vec::new() };
    let evaluated = evaluate_rules(&cases);
    let of_regime = |regime: &Regime<'_>| {
        let ranked = rank::rank(&cases, cases.find(&regime.cell.id)?, &evaluated)?;
        let first = ranked.named.first()?;
        Some(LoadVerdict {
            cell: regime.cell.id.clone(),
            name: regime.name(),
            segment: first.segment,
            named: ranked.named.iter().map(|named| named.segment).collect(),
            confidence: first.confidence,
            is_full: is_full(&regime.cell.id, &evaluated),
            is_cached_bulk: is_cached_bulk(regime, first.segment),
        })
    };
    view.regimes().iter().filter_map(of_regime).collect()
}

/// Whether a bulk load is served through the page cache, and `named` is a part of the client: then its rate is no device's.
fn is_cached_bulk(regime: &Regime<'_>, named: Segment) -> bool {
    regime.kind == RegimeKind::Bulk
        && regime.cell.requested.access == Access::Buffered
        && named.is_within(Segment::Client)
}

/// Whether a resource is known to be at its limit under the load. What a comparison leaves alone as the limit is not: beside
/// a proxy that is slower than the way past it, the link to the proxy may be as slow. Nor is what takes barely more than half
/// of a request's time: what takes the rest may gain as much.
fn is_full(cell: &str, evaluated: &[RuleVerdict]) -> bool {
    evaluated.iter().any(|one| {
        one.verdict.cell == cell
            && one.verdict.stance == Stance::Limits
            && one.verdict.tier >= Tier::Resource
            && one.verdict.confidence_max > ELIMINATED_CONFIDENCE
            && !(one.verdict.basis == Basis::TimeShare && one.verdict.load_ratio < BARELY_RATIO)
    })
}

/// One load with what was measured, and with everything that was not at its most innocent.
struct LoadScene<'s> {
    path: &'s str,
    present: Summary,
    innocent: Summary,
    now: Option<LoadVerdict>,
    at_best: Option<Segment>,
}

impl<'s> LoadScene<'s> {
    fn new(summary: &Summary, path: &'s str, left: &[&ImaginedCell]) -> Self {
        let present = imagined::scene(summary, path);
        let innocent = imagined::with(&present, left.iter().copied().filter(|one| !one.refines()));
        let now = verdict(&present, path);
        let at_best = verdict(&innocent, path).map(|best| best.segment);
        Self { path, present, innocent, now, at_best }
    }

    /// The probability that `cell` changes the verdict on the load.
    fn change(&self, cell: &ImaginedCell) -> f64 {
        if !cell.concerns(self.path) {
            // A cut under another load: it says nothing of this one by itself, and may be what a comparison needs.
            return self.of_elimination(cell);
        }
        let base = if cell.refines() { &self.present } else { &self.innocent };
        let full = self.now.as_ref().filter(|now| now.is_full).map(|now| now.segment);
        let is_other = |outcome: &&Outcome| self.is_changed_by(&cell.in_summary(base, self.path, outcome));
        let outcomes = cell.outcomes(full);
        let of_outcomes: f64 = outcomes.iter().filter(is_other).map(|outcome| outcome.probability).sum();
        if cell.refines() {
            return of_outcomes;
        }
        // Of a load that nothing is known to limit, its own cuts may show what was not imagined.
        let least = if self.segment() == Some(Segment::Unknown) { CHANGE_MIN } else { 0.0 };
        (of_outcomes + self.of_elimination(cell)).max(least)
    }

    /// What `cell` adds to a verdict that is only reached once all others are cleared.
    fn of_elimination(&self, cell: &ImaginedCell) -> f64 {
        if self.at_best == self.segment() {
            return 0.0;
        }
        let without = cell.without(&self.innocent);
        match (self.named(&without) == self.at_best, cell.concerns(self.path)) {
            (false, _) => ELIMINATES_SHARE,
            (true, true) => ELIMINATION_SHARE,
            (true, false) => 0.0,
        }
    }

    fn segment(&self) -> Option<Segment> {
        self.now.as_ref().map(|now| now.segment)
    }

    fn named(&self, summary: &Summary) -> Option<Segment> {
        verdict(summary, self.path).map(|load| load.segment)
    }

    /// Whether another segment is named first; where no resource is known to be at its limit, whether any other is named.
    fn is_changed_by(&self, summary: &Summary) -> bool {
        let (now, then) = (self.now.as_ref(), verdict(summary, self.path));
        match (now, then) {
            (Some(now), Some(then)) if now.is_full => now.segment != then.segment,
            (Some(now), Some(then)) => now.named != then.named,
            (now, then) => now.is_some() != then.is_some(),
        }
    }
}

/// The verdict on the load of this cell of the path.
fn verdict(summary: &Summary, path: &str) -> Option<LoadVerdict> {
    verdicts(summary).into_iter().find(|load| load.cell == path)
}

#[cfg(test)]
mod tests;
