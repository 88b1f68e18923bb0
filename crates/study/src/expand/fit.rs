//! What of a study fits its time: whole groups from the front of the order; the rest is listed.
//!
//! Nobody knows before how long a count takes: such cells are planned with the least of their time, and those for which
//! there is none left in the run are left out then.

use super::cuts::CellGroup;
use crate::check;
use crate::cut::{MEASURE_NS, OPEN_MEASURE_NS};
use crate::file::{Study, StudyProblems};
use crate::schema::Complaint;
use narrows_model::plan::SkippedCell;
use narrows_model::{Cell, Nanos};

/// The cells that fit; the others are added to `skipped`.
///
/// # Errors
/// When not even the first cell with its cuts fits.
pub(super) fn fit(
    study: &Study,
    mut groups: Vec<CellGroup>,
    skipped: &mut Vec<SkippedCell>,
) -> Result<Vec<Cell>, StudyProblems> {
    let time = check::for_cells(Nanos::from_secs_f64(study.seconds));
    bound_counts(&mut groups, time);
    let whole = groups.iter().fold(Nanos(0), |sum, group| sum.saturating_add(cost(group, check::estimate)));
    let reason = SkippedCell::past_budget(study.seconds, check::seconds_for(whole));
    let first = groups.first().map(|group| cost(group, Cell::least_ns));
    let mut spent = Nanos(0);
    let mut cells = Vec::new();
    let mut full = false;
    for group in groups {
        let after = spent.saturating_add(cost(&group, Cell::least_ns));
        full |= after > time;
        let members = group.cuts.into_iter().chain([group.path]);
        if full {
            skipped.extend(members.map(|cell| SkippedCell { cell: cell.id, reason: reason.clone() }));
        } else {
            spent = after;
            cells.extend(members);
        }
    }
    match first {
        Some(first) if cells.is_empty() => Err(too_short(study, first)),
        _ => Ok(cells),
    }
}

/// Gives the windows that only a count ends the time that all other cells leave, in equal parts: none of it is lost to a
/// bound that nobody asked for, and a count that takes for ever leaves the others theirs.
fn bound_counts(groups: &mut [CellGroup], whole: Nanos) {
    let is_open = |cell: &Cell| cell.stop.measure_ns == OPEN_MEASURE_NS;
    let all = || groups.iter().flat_map(|group| group.cuts.iter().chain([&group.path]));
    let trials_of = |cell: &Cell| u64::from(cell.repeat.trials_min(cell.trials));
    let trials =
        all().filter(|cell| is_open(cell)).fold(0, |sum: u64, cell| sum.saturating_add(trials_of(cell)));
    let around = |cell: &Cell| {
        let mut cell = cell.clone();
        if is_open(&cell) {
            cell.stop.measure_ns = Nanos(0);
        }
        check::estimate(&cell)
    };
    let spent = all().fold(Nanos(0), |sum, cell| sum.saturating_add(around(cell)));
    let share = Nanos(whole.saturating_sub(spent).0 / trials.max(1)).max(MEASURE_NS);
    for group in groups {
        for cell in group.cuts.iter_mut().chain([&mut group.path]).filter(|cell| is_open(cell)) {
            cell.stop.measure_ns = share;
        }
    }
}

fn cost(group: &CellGroup, of: fn(&Cell) -> Nanos) -> Nanos {
    let cells = group.cuts.iter().chain([&group.path]);
    cells.fold(Nanos(0), |sum, cell| sum.saturating_add(of(cell)))
}

fn too_short(study: &Study, first: Nanos) -> StudyProblems {
    let least = check::seconds_for(first);
    let complaint = Complaint::new(
        "seconds",
        format!("{} s, and the first cell with its cuts takes {:.2} s", study.seconds, first.as_secs_f64()),
        format!("{least} s or more with these windows and trials"),
        format!("write seconds = {least} or more, or lower stop.measure or stop.trials"),
    );
    super::problem(study, &study.positions.seconds, complaint)
}
