//! What must be known before any ratio of a comparison is used, in sentences.

use super::combine::combined;
use super::decide::{deciding, loads};
use super::items::is_blocked;
use super::sides::{ASSUMED_RATIO, ASSUMED_STEADY_RATIO};
use super::{ComparisonSide, pairs};
use narrows_model::comparison::{ComparedCell, ComparedFigure, SpreadSource, Verdict};
use narrows_model::quantity::percent;

/// Loads that a remark names.
const LOADS_NAMED: usize = 2;
/// So many runs are not made: a number above it only says that there are too many.
const RUNS_NAMED_MAX: u64 = 100;

/// What is compared, and by what.
#[derive(Debug)]
pub(super) struct ComparisonFacts<'a> {
    pub(super) a: ComparisonSide<'a>,
    pub(super) b: ComparisonSide<'a>,
    pub(super) noise: Option<ComparisonSide<'a>>,
    pub(super) margin_ratio: f64,
}

/// The remarks on the comparison of `cells`; none where nothing is compared.
pub(super) fn remarks(cells: &[ComparedCell], facts: &ComparisonFacts<'_>) -> Vec<String> {
    let loads: Vec<&ComparedCell> = loads(cells).collect();
    if loads.is_empty() {
        return Vec::new();
    }
    let sides = [("A", facts.a), ("B", facts.b)];
    let unlike = sides.into_iter().filter_map(|(letter, side)| unlike_runs(letter, side));
    [variation(&loads, facts), disturbed(&loads), unknown(&loads), in_turn(facts), needed(&loads, facts)]
        .into_iter()
        .flatten()
        .chain(unlike)
        .collect()
}

fn rates<'c>(loads: &[&'c ComparedCell]) -> Vec<&'c ComparedFigure> {
    loads.iter().flat_map(|cell| deciding(cell)).collect()
}

/// What the intervals are computed from.
fn variation(loads: &[&ComparedCell], facts: &ComparisonFacts<'_>) -> Option<String> {
    let rates = rates(loads);
    let of = |source: SpreadSource| {
        rates.iter().filter(move |rate| rate.spread.is_some_and(|spread| spread.source == source))
    };
    let counts = format!("{} of A and {} of B", runs(facts.a.runs.len()), runs(facts.b.runs.len()));
    let noise = facts
        .noise
        .map_or_else(String::new, |noise| format!(" and {} of {}", runs(noise.runs.len()), noise.name));
    if of(SpreadSource::Assumed).next().is_some() {
        let is_steady = |rate: &&&ComparedFigure| {
            rate.spread.is_some_and(|spread| spread.deviation_ratio < 2.0 * ASSUMED_STEADY_RATIO)
        };
        let steady = if of(SpreadSource::Assumed).any(|rate| is_steady(&rate)) {
            format!(
                " ({} where the network's bandwidth or a cap sets the rate)",
                percent(ASSUMED_STEADY_RATIO)
            )
        } else {
            String::new()
        };
        let measure = if facts.noise.is_some() {
            "Measure it with three or more runs (`narrows noise TARGET --runs 3`)"
        } else {
            "Measure it (`narrows noise TARGET`, then --noise DIR)"
        };
        return Some(format!(
            "{counts}{noise} do not show how much runs of this path differ with nothing changed. A deviation of {} from run to \
             run is assumed{steady}, as measured on a busy machine. {measure}, or give three or more runs a side.",
            percent(ASSUMED_RATIO)
        ));
    }
    if of(SpreadSource::Pooled).next().is_some() {
        return Some(format!(
            "The intervals are computed from how much {counts}{noise} differ, taken together: with three or more runs a \
             side, those alone show it."
        ));
    }
    of(SpreadSource::Runs).next()?;
    Some(format!("The intervals are computed from how much {counts} differ."))
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

fn names(cells: &[&ComparedCell]) -> String {
    let named: Vec<&str> = cells.iter().take(LOADS_NAMED).map(|cell| cell.cell_a.as_str()).collect();
    let more = cells.len().saturating_sub(LOADS_NAMED);
    if more > 0 { format!("{} and {more} more", named.join(", ")) } else { named.join(", ") }
}

/// Which runs other programs disturbed, and what that means.
fn disturbed(loads: &[&ComparedCell]) -> Option<String> {
    let among = |is_meant: fn(&ComparedCell) -> bool| -> Option<String> {
        let cells: Vec<&ComparedCell> = loads.iter().copied().filter(|cell| is_meant(cell)).collect();
        (!cells.is_empty()).then(|| names(&cells))
    };
    let left_out = among(|cell| cell.runs_a.left_out_count + cell.runs_b.left_out_count > 0).map(|names| {
        format!("in {names}, runs that they disturbed are left out, since three others of that side remain")
    });
    let blocked = among(|cell| is_blocked(cell.runs_a, cell.runs_b)).map(|names| {
        format!("{names} cannot be decided: they disturbed a run of it, and too few others remain")
    });
    let kept = among(|cell| is_disturbed(cell) && !is_blocked(cell.runs_a, cell.runs_b))
        .map(|names| format!("in {names}, they disturbed runs of both sides, and are part of what varies"));
    let all: Vec<String> = [left_out, blocked, kept].into_iter().flatten().collect();
    (!all.is_empty()).then(|| {
        format!("Other programs were busy (foreign_load): {}. End them, or give more runs.", all.join("; "))
    })
}

fn is_disturbed(cell: &ComparedCell) -> bool {
    cell.runs_a.disturbed_count + cell.runs_b.disturbed_count > 0
}

/// Which loads have no interval at all, for other reasons.
fn unknown(loads: &[&ComparedCell]) -> Option<String> {
    let without: Vec<&ComparedCell> = loads
        .iter()
        .copied()
        .filter(|cell| {
            !is_blocked(cell.runs_a, cell.runs_b)
                && deciding(cell).iter().all(|figure| figure.interval.is_none())
        })
        .collect();
    let why = without
        .iter()
        .flat_map(|cell| deciding(cell))
        .find_map(|figure| figure.no_interval_because.clone())?;
    Some(format!("{} of {} loads cannot be decided for any ratio ({why}).", without.len(), loads.len()))
}

/// Whether all runs of one side are older than those of the other.
fn in_turn(facts: &ComparisonFacts<'_>) -> Option<String> {
    let times = |side: ComparisonSide<'_>| {
        let times: Vec<String> = side.runs.iter().map(|named| named.run.summary.started_at.clone()).collect();
        Some((times.iter().min()?.clone(), times.iter().max()?.clone()))
    };
    let ((first_a, last_a), (first_b, last_b)) = (times(facts.a)?, times(facts.b)?);
    let is_apart = last_a < first_b || last_b < first_a;
    let is_repeated = facts.a.runs.len().max(facts.b.runs.len()) > 1;
    (is_apart && is_repeated).then(|| {
        "All runs of one side are older than those of the other: what changed in the meantime by itself looks like a \
         difference. Measure in turn: A, B, B, A."
            .to_owned()
    })
}

/// How many runs the undecided loads need.
fn needed(loads: &[&ComparedCell], facts: &ComparisonFacts<'_>) -> Option<String> {
    let undecided = loads.iter().filter(|cell| cell.verdict == Verdict::Undecided && !cell.within_margin);
    let mut known: Vec<(u64, &str)> = Vec::new();
    let mut has_more = false;
    for cell in undecided {
        let open = deciding(cell).into_iter().filter(|figure| {
            figure.interval.is_some() && figure.verdict == Verdict::Undecided && !figure.within_margin
        });
        for figure in open {
            match figure.runs_needed.filter(|runs| *runs <= RUNS_NAMED_MAX) {
                Some(runs) => known.push((runs, &cell.cell_a)),
                None => has_more = true,
            }
        }
    }
    let (most, cell) = known.iter().max()?;
    let more = if has_more {
        format!("; others, whose ratio is near 1 or near the margin's edge, need more than {RUNS_NAMED_MAX}")
    } else {
        String::new()
    };
    let so_far = facts.a.runs.len().min(facts.b.runs.len()) as u64;
    if *most <= so_far {
        return None;
    }
    Some(format!(
        "What is undecided would probably be decided with {most} runs a side, of which {cell} needs the most{more}, if the ratios stay \
         as they are and differences below {} are ignored.",
        percent(facts.margin_ratio)
    ))
}

/// What is not alike in the loads of the runs of one side.
fn unlike_runs(letter: &str, side: ComparisonSide<'_>) -> Option<String> {
    let first = combined(&[&side.runs.first()?.run]);
    for named in side.runs.iter().skip(1) {
        let other = combined(&[&named.run]);
        for (index, found) in pairs::pair(&first, &other).pairs {
            let differences = pairs::differences(first.get(index)?, other.get(found)?);
            let what = differences.iter().find(|difference| !VARIES.contains(&difference.what.as_str()));
            if let Some(difference) = what {
                return Some(format!(
                    "The runs of {letter} are not of the same load: {} is {} in {}, {} in {}; the first is {}.",
                    difference.what,
                    difference.a,
                    side.runs.first()?.name,
                    difference.b,
                    named.name,
                    first.get(index)?.id
                ));
            }
        }
    }
    None
}

/// Conditions that vary by themselves from run to run.
const VARIES: [&str; 3] = ["file", "measured for", "served by a cache"];
