//! Whether a run can be relied on, and why not: what ends a command with code 4.
//!
//! This is about the run, not the path: a slow disk is no doubt. Unsteady cells are one only if steadiness was requested.

use crate::facts::flags::{
    DATA_MISMATCH, GENERATOR_LIMITED, INCOMPLETE, INTERVAL_NOT_REACHED, LITTLE_LAW_VIOLATED,
    STEADY_NOT_REACHED,
};
use narrows_model::event::EndReason;
use narrows_model::fault::ErrorCount;
use narrows_model::summary::{CellSummary, Doubt, DoubtCode};
use narrows_model::{Cut, Summary, verification};

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
            "data read differs from data written in CELLS: see the mismatches of the cell, and do not store data over \
            this path",
        ),
        incomplete(summary),
        of_cells(
            DoubtCode::OperationsFailed,
            cells(summary, |cell| cell.errors.iter().any(failed)),
            "operations failed in CELLS: their rates and times include failed operations; see the errors of the cell",
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
            "more requests were in flight than requested in CELLS: the load generator's own count is wrong",
        ),
        not_reached(
            summary,
            (DoubtCode::SteadyNotReached, STEADY_NOT_REACHED),
            "no steady state was reached in CELLS: the figures were taken while the rate was changing",
            "or longer ones with stop.measure",
        ),
        not_reached(
            summary,
            (DoubtCode::IntervalNotReached, INTERVAL_NOT_REACHED),
            "the interval of the mean is wider than requested in CELLS",
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
    let time = "the time ran out before the maximum number of trials: raise `seconds`";
    let most = "the maximum number of trials was reached: raise stop.trials";
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
        text: "the run was cut off or some of its cells failed: what is missing is listed with the cells left out"
            .to_owned(),
        cells: missing,
    })
}

/// Cells that meet a condition, in the order of the run.
fn cells(summary: &Summary, predicate: impl Fn(&CellSummary) -> bool) -> Vec<String> {
    summary.cells.iter().filter(|cell| predicate(cell)).map(|cell| cell.id.clone()).collect()
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

/// How far the figures of a run can be relied on as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Nothing was measured, for this reason.
    NothingMeasured(String),
    /// Something that was measured cannot be relied on.
    Doubtful,
    /// No reason for doubt.
    Full,
}

/// How far a run that `ended` so can be relied on; the same for a run and for its record.
#[must_use]
pub fn trust(summary: &Summary, ended: EndReason) -> Trust {
    if is_empty(summary) {
        return Trust::NothingMeasured(nothing_measured(summary));
    }
    let lost = summary.cells.iter().any(|cell| !cell.errors.is_empty());
    let broken = matches!(ended, EndReason::Failed | EndReason::Interrupted) || !summary.complete;
    let doubtful = !summary.doubts.is_empty() || summary.generator.limited;
    if doubtful || lost || broken || !has_path(summary) { Trust::Doubtful } else { Trust::Full }
}

/// Whether some load of the whole path was measured; without one, what was measured of its segments has no verdict.
fn has_path(summary: &Summary) -> bool {
    let is_measured = |cell: &CellSummary| cell.cut == Cut::Path && cell.ops_per_s.is_some();
    summary.relay.is_some() || summary.cells.iter().any(is_measured)
}

/// Whether nothing was measured: for a study, no cell of what it asked for has completed an operation; for the buffer
/// experiment, no trial is whole.
fn is_empty(summary: &Summary) -> bool {
    if let Some(relay) = &summary.relay {
        return relay.points.iter().all(|point| point.trial_count == 0);
    }
    let asked_for = |cell: &&CellSummary| summary.study.is_none() || cell.cut == Cut::Path;
    !summary.cells.iter().filter(asked_for).any(|cell| summary.study.is_none() || cell.ops_per_s.is_some())
}

fn nothing_measured(summary: &Summary) -> String {
    let mut points = summary.relay.iter().flat_map(|relay| &relay.points);
    let first = points.find_map(|point| Some((&point.cell, point.problems.first()?)));
    if let Some((cell, problem)) = first {
        return format!("nothing could be measured: {cell}: {problem}");
    }
    match summary.failed.iter().chain(&summary.skipped).next() {
        Some(first) => format!("nothing could be measured: {}: {}", first.cell, first.reason),
        None => "nothing was measured before the stop".to_owned(),
    }
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
    fn segments_without_their_path_are_no_trustworthy_verdict() {
        let mut summary = builtin("local-ssd");
        assert_eq!(trust(&summary, EndReason::Finished), Trust::Full);
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.ops_per_s = None;
        }
        assert_eq!(trust(&summary, EndReason::Finished), Trust::Doubtful);
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
        let doubt_text = |trial_counts: &[u64]| {
            let mut summary = builtin("local-ssd");
            for (cell, trial_count) in summary.cells.iter_mut().zip(trial_counts) {
                cell.flags.push(INTERVAL_NOT_REACHED.to_owned());
                (cell.repeat.trial_count, cell.repeat.trials_max) = (*trial_count, 20);
            }
            doubts(&summary).remove(0).text
        };
        let by_time = doubt_text(&[7]);
        assert!(by_time.contains("the time ran out") && by_time.contains("`seconds`"), "{by_time}");
        assert!(!by_time.contains("stop.trials"));
        let by_trials = doubt_text(&[20]);
        assert!(by_trials.contains("stop.trials") && !by_trials.contains("`seconds`"), "{by_trials}");
        let by_both = doubt_text(&[7, 20, 20]);
        assert!(
            by_both.contains("in 1 of them the time") && by_both.contains("in 2 the maximum"),
            "{by_both}"
        );
    }
}
