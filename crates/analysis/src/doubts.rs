//! Whether a run can be relied on, and why not: what ends a command with code 4.
//!
//! Judges the run, not the path: a slow disk is no doubt. Unsteady cells are only one where steadiness was asked for.

use crate::summary::{
    DATA_MISMATCH, GENERATOR_LIMITED, INCOMPLETE, INTERVAL_NOT_REACHED, LITTLE_LAW_VIOLATED,
    STEADY_NOT_REACHED,
};
use narrows_model::fault::ErrorCount;
use narrows_model::summary::{CellSummary, Doubt, DoubtCode};
use narrows_model::{Summary, verification};

/// The reasons not to rely on the run, in the order of their weight; empty where it can be.
///
/// # Cost
/// Linear in the cells and their flags.
#[must_use]
pub fn doubts(summary: &Summary) -> Vec<Doubt> {
    let flagged = |flag: &str| cells(summary, |cell| cell.flags.iter().any(|known| known == flag));
    let limited = flagged(GENERATOR_LIMITED);
    let failed = |error: &ErrorCount| error.errno != verification::DATA_MISMATCH;
    let found = [
        of_cells(
            DoubtCode::DataMismatch,
            flagged(DATA_MISMATCH),
            "what was read is not what was written in CELLS: see the mismatches of the cell, and do not trust the path with data",
        ),
        incomplete(summary),
        of_cells(
            DoubtCode::OperationsFailed,
            cells(summary, |cell| cell.errors.iter().any(failed)),
            "operations failed in CELLS: their rates and times are partly those of failures; see the errors of the cell",
        ),
        (summary.generator.limited || !limited.is_empty()).then(|| Doubt {
            code: DoubtCode::GeneratorLimited,
            cells: limited,
            text: "the load generator was at 0.8 or more of its own ceiling: the figures are its limit, not the path's; \
                   use more workers or clients, or larger requests"
                .to_owned(),
        }),
        of_cells(
            DoubtCode::LittleLawViolated,
            flagged(LITTLE_LAW_VIOLATED),
            "more requests were in flight than were asked for in CELLS: the load generator's own count is wrong",
        ),
        not_reached(
            summary,
            (DoubtCode::SteadyNotReached, STEADY_NOT_REACHED),
            "no steady state was reached in CELLS: the figures are those of a change",
            "or longer ones with stop.measure",
        ),
        not_reached(
            summary,
            (DoubtCode::IntervalNotReached, INTERVAL_NOT_REACHED),
            "the interval of the mean is still wider than asked for in CELLS",
            "or find out what varies",
        ),
    ];
    found.into_iter().flatten().collect()
}

/// A doubt about cells whose repetitions ended before what they were made for, and what to raise: what ended them.
fn not_reached(summary: &Summary, (code, flag): (DoubtCode, &str), what: &str, or: &str) -> Option<Doubt> {
    let flagged = || summary.cells.iter().filter(|cell| cell.flags.iter().any(|known| known == flag));
    let outcome = |cell: &CellSummary| (cell.repeat.trial_count, cell.repeat.trials_max);
    // Of a run that was cut off the trials that are missing are no matter of its time.
    let by_time = |cell: &&CellSummary| summary.complete && outcome(cell).0 < outcome(cell).1;
    let (short, whole) = (flagged().filter(by_time).count(), flagged().filter(|cell| !by_time(cell)).count());
    let time = "the time ended the trials before their most: give `seconds` more";
    let most = "all trials that are allowed were made: allow more with stop.trials";
    let advice = match (short, whole) {
        (_, 0) => format!("{time}, {or}"),
        (0, _) if summary.complete => format!("{most}, {or}"),
        (0, _) => format!("allow more trials, {or}"),
        (short, whole) => format!("in {short} of them {time}; in {whole} {most}, {or}"),
    };
    of_cells(
        code,
        cells(summary, |cell| cell.flags.iter().any(|known| known == flag)),
        &format!("{what}: {advice}"),
    )
}

fn incomplete(summary: &Summary) -> Option<Doubt> {
    let torn = cells(summary, |cell| cell.flags.iter().any(|flag| flag == INCOMPLETE));
    let failed = summary.failed.iter().map(|skip| skip.cell.0.clone());
    let missing: Vec<String> = torn.into_iter().chain(failed).fold(Vec::new(), |mut all, id| {
        if !all.contains(&id) {
            all.push(id);
        }
        all
    });
    (!summary.complete).then(|| Doubt {
        code: DoubtCode::Incomplete,
        text: "the run was cut off or cells of it failed: what is missing is listed with the cells left out"
            .to_owned(),
        cells: missing,
    })
}

/// Cells of which something holds, in the order of the run.
fn cells(summary: &Summary, holds: impl Fn(&CellSummary) -> bool) -> Vec<String> {
    summary.cells.iter().filter(|cell| holds(cell)).map(|cell| cell.id.clone()).collect()
}

/// A doubt about these cells; `None` where there are none.
fn of_cells(code: DoubtCode, cells: Vec<String>, text: &str) -> Option<Doubt> {
    let named = match cells.as_slice() {
        [] => return None,
        [only] => only.clone(),
        [first, ..] => format!("{} cells, the first of them {first}", cells.len()),
    };
    Some(Doubt { code, text: text.replace("CELLS", &named), cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;

    fn codes(summary: &Summary) -> Vec<DoubtCode> {
        doubts(summary).iter().map(|doubt| doubt.code).collect()
    }

    #[test]
    fn a_whole_run_of_a_healthy_machine_leaves_no_doubt() {
        let summary = builtin("local-ssd");
        assert_eq!((codes(&summary), summary.doubts.len()), (Vec::new(), 0));
    }

    #[test]
    fn what_cannot_be_relied_on_is_named_with_its_cells() {
        let mut summary = builtin("local-ssd");
        summary.complete = false;
        summary.generator.limited = true;
        summary.cells[3].flags.push(STEADY_NOT_REACHED.to_owned());
        summary.cells[4].flags.push(INTERVAL_NOT_REACHED.to_owned());
        summary.cells[5].flags.push(INTERVAL_NOT_REACHED.to_owned());
        let expected = [
            DoubtCode::Incomplete,
            DoubtCode::GeneratorLimited,
            DoubtCode::SteadyNotReached,
            DoubtCode::IntervalNotReached,
        ];
        assert_eq!(codes(&summary), expected);
        let found = doubts(&summary);
        assert_eq!(found[2].cells, [summary.cells[3].id.clone()]);
        assert!(found[2].text.contains(&summary.cells[3].id) && found[3].text.contains("2 cells"));
    }

    #[test]
    fn what_ended_the_trials_is_what_is_to_be_raised() {
        let told = |trial_counts: &[u64]| {
            let mut summary = builtin("local-ssd");
            for (cell, trial_count) in summary.cells.iter_mut().zip(trial_counts) {
                cell.flags.push(INTERVAL_NOT_REACHED.to_owned());
                (cell.repeat.trial_count, cell.repeat.trials_max) = (*trial_count, 20);
            }
            doubts(&summary).remove(0).text
        };
        let by_time = told(&[7]);
        assert!(by_time.contains("the time ended") && by_time.contains("`seconds`"), "{by_time}");
        assert!(!by_time.contains("stop.trials"));
        let by_trials = told(&[20]);
        assert!(by_trials.contains("stop.trials") && !by_trials.contains("`seconds`"), "{by_trials}");
        let by_both = told(&[7, 20, 20]);
        assert!(
            by_both.contains("in 1 of them the time") && by_both.contains("in 2 all trials"),
            "{by_both}"
        );
    }
}
