//! A study becomes a plan: its points as cells in their order, the cuts that they are compared with, what is left out
//! and why, within its time.
//!
//! Pure: what the machine is and can do is handed in as [`StudyFacts`]. Deliberately absent: reading the study's
//! text, which is `file`'s.

mod cells;
mod cuts;
mod facts;
mod fit;
mod load;
mod shuffle;
mod striped;

pub(crate) use shuffle::shuffle;

pub use facts::{EngineAnswer, StudyFacts, TargetFacts};

use crate::check;
use crate::file::{CellOrder, Study, StudyProblems};
use crate::schema::Complaint;
use cells::StudyCells;
use narrows_model::inventory::PathKind;
use narrows_model::plan::{PLAN_SCHEMA, SkippedCell, Topology};
use narrows_model::workload::Arrivals;
use narrows_model::{Cell, Nanos, Plan, Segment, Target};

/// The plan of a study, with `seed` for the order of cells and every random choice of the run.
///
/// # Shape
/// Path cells in random or written order, each after those cuts of it that no earlier cell had. Ids are unique among
/// cells and skips. What an engine or the machine cannot do is a skip with its reason, and so is what does not fit the
/// time, from the end of the order. A plan may be without cells: then every cell has a skip.
///
/// # Errors
/// What is wrong with the study on this machine, located: a file that exists written, a budget below the first cell.
pub fn plan_study(study: &Study, facts: &StudyFacts, seed: u64) -> Result<Plan, StudyProblems> {
    let planned = cells::cells(study, facts)?;
    let StudyCells { mut cells, mut skipped } = planned;
    if study.cell_order == CellOrder::Random {
        shuffle(&mut cells, seed);
    }
    let groups = cuts::groups(study, facts, cells, &mut skipped);
    let fitted = fit::fit(study, groups, &mut skipped)?;
    Ok(Plan {
        schema: PLAN_SCHEMA.to_owned(),
        seed,
        target: study.points.first().map_or(Target::Null { copy: false }, |point| point.target.clone()),
        topology: topology(study, facts),
        segments: segments(study, facts),
        load: load::statement(&fitted, facts),
        cells: fitted,
        skipped: unique(skipped),
        budget_ns: Nanos::from_secs_f64(study.seconds),
        interval_ns: check::INTERVAL_NS,
        study: Some(study.source.clone()),
        relay: None,
        suite: None,
        fail_if: Vec::new(),
    })
}

/// Each skip once, the first reason kept.
fn unique(skipped: Vec<SkippedCell>) -> Vec<SkippedCell> {
    let mut known = std::collections::BTreeSet::new();
    skipped.into_iter().filter(|skip| known.insert(skip.cell.clone())).collect()
}

fn topology(study: &Study, facts: &StudyFacts) -> Topology {
    let remote = |target: &Target| match target.form() {
        Target::Tcp { .. } => true,
        Target::Sim { .. } => {
            facts.target_facts(target).and_then(|facts| facts.path_kind) == Some(PathKind::OtherNetwork)
        }
        _ => false,
    };
    if study.points.iter().any(|point| point.target.via().is_some()) {
        Topology::ClientProxyServer
    } else if study.points.iter().any(|point| remote(&point.target)) {
        Topology::ClientServer
    } else {
        Topology::Local
    }
}

/// The segments of all targets' paths together.
fn segments(study: &Study, facts: &StudyFacts) -> Vec<Segment> {
    let mut all = Vec::new();
    let mut seen: Vec<&Target> = Vec::new();
    let held_back = study.points.iter().any(|point| {
        let load = &point.workload;
        load.max_bytes_per_s.is_some()
            || load.max_ops_per_s.is_some()
            || load.think_ns > Nanos(0)
            || load.arrivals != Arrivals::Closed
    });
    let together = study.points.iter().any(|point| !point.more_targets.is_empty());
    for point in &study.points {
        if seen.contains(&&point.target) {
            continue;
        }
        seen.push(&point.target);
        let kind = facts.target_facts(&point.target).and_then(|facts| facts.path_kind);
        let more =
            [Some(Segment::OfferedLoad).filter(|_| held_back), Some(Segment::DeviceBus).filter(|_| together)];
        let more: Vec<Segment> = more.into_iter().flatten().collect();
        all.extend(check::segments_to(&point.target, kind, &more));
    }
    Segment::ALL.iter().copied().filter(|segment| all.contains(segment)).collect()
}

/// The problem of one place, alone.
fn problem(study: &Study, at: &std::ops::Range<usize>, complaint: Complaint) -> StudyProblems {
    let mut findings = study.findings();
    findings.add(at, complaint);
    match findings.into_result() {
        Err(problems) => problems,
        Ok(()) => StudyProblems { name: study.source.name.clone(), list: Vec::new(), more_count: 0 },
    }
}

/// Whether a cell's target is read only, for it existed before.
fn existing(facts: &StudyFacts, cell: &Cell) -> bool {
    facts.target_facts(&cell.target).is_some_and(|facts| facts.existing_file.is_some())
}

#[cfg(test)]
mod tests;
