//! Verdicts: of each figure by its interval and its family, of each cell by the figures that decide, of the whole.

use super::items::Item;
use crate::summary::TRIALS_MIN;
use narrows_model::comparison::{ComparedCell, ComparedFigure, Verdict, VerdictCounts};
use narrows_stats::interval::Level;
use narrows_stats::multiplicity::holm;

/// Level of the intervals, and of the verdicts of a family together.
pub(super) const LEVEL: Level = Level::P95;

/// Decides every figure and cell. Figures that decide are one family, all others a second one, so that what only explains
/// does not take power from what was asked.
pub(super) fn decide_cells(cells: &mut [ComparedCell], margin_ratio: f64) {
    if !cells.iter().flat_map(|cell| &cell.figures).any(|figure| figure.decides) {
        // A study of cuts alone, or of other figures: all rates decide.
        let rates = cells.iter_mut().flat_map(|cell| &mut cell.figures);
        rates.filter(|figure| figure.id.more_is_better()).for_each(|figure| figure.decides = true);
    }
    for family in [true, false] {
        let mut figures: Vec<&mut ComparedFigure> = cells
            .iter_mut()
            .flat_map(|cell| &mut cell.figures)
            .filter(|figure| figure.decides == family && figure.p_value_adjusted.is_some())
            .collect();
        let p_values: Vec<f64> = figures.iter().filter_map(|figure| figure.p_value_adjusted).collect();
        for (figure, p) in figures.iter_mut().zip(holm(&p_values)) {
            decide_figure(figure, p, margin_ratio);
        }
    }
    for cell in cells {
        let deciding = deciding(cell);
        let verdict = combine_verdicts(deciding.iter().map(|figure| figure.verdict));
        let within_margin = !deciding.is_empty() && deciding.iter().all(|figure| figure.within_margin);
        (cell.verdict, cell.within_margin) = (verdict, within_margin);
    }
}

fn decide_figure(figure: &mut ComparedFigure, p_adjusted: f64, margin_ratio: f64) {
    figure.p_value_adjusted = Some(p_adjusted);
    let most = 1.0 + margin_ratio;
    let within = |low: f64, high: f64| low * most >= 1.0 && high <= most;
    figure.within_margin = figure.interval.as_ref().is_some_and(|found| within(found.low, found.high));
    if p_adjusted < 1.0 - LEVEL.ratio() {
        let more = figure.ratio > 1.0;
        let better = more == figure.id.more_is_better();
        figure.verdict = if better { Verdict::Better } else { Verdict::Worse };
    }
}

/// The figures by which a cell is evaluated: those that decide, else its rate.
fn deciding(cell: &ComparedCell) -> Vec<&ComparedFigure> {
    let decide: Vec<&ComparedFigure> = cell.figures.iter().filter(|figure| figure.decides).collect();
    if decide.is_empty() {
        cell.figures.iter().filter(|figure| figure.id.more_is_better()).collect()
    } else {
        decide
    }
}

/// What verdicts come to together: the one direction of those that are decided; undecided where there are two, or none.
fn combine_verdicts(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let decided = verdicts.filter(|verdict| *verdict != Verdict::Undecided);
    decided
        .map(Some)
        .reduce(|one, other| if one == other { one } else { None })
        .flatten()
        .unwrap_or(Verdict::Undecided)
}

/// The cells whose figures decide.
fn loads(cells: &[ComparedCell]) -> impl Iterator<Item = &ComparedCell> {
    cells.iter().filter(|cell| cell.figures.iter().any(|figure| figure.decides))
}

/// The verdict on the whole.
pub(super) fn whole(cells: &[ComparedCell]) -> Verdict {
    combine_verdicts(loads(cells).map(|cell| cell.verdict))
}

/// How many of the cells that decide have which verdict.
pub(super) fn counts(cells: &[ComparedCell]) -> VerdictCounts {
    let mut counts = VerdictCounts::default();
    for cell in loads(cells) {
        let counted = match cell.verdict {
            Verdict::Better => &mut counts.better_count,
            Verdict::Worse => &mut counts.worse_count,
            Verdict::Undecided if cell.within_margin => &mut counts.within_margin_count,
            Verdict::Undecided => &mut counts.undecided_count,
        };
        *counted += 1;
    }
    counts
}

/// What must be known before any ratio.
pub(super) fn remarks(cells: &[ComparedCell], pairs: &[(&Item<'_>, &Item<'_>)]) -> Vec<String> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let is_load = |(a, b): &&(&Item<'_>, &Item<'_>)| a.is_of_path() && b.is_of_path();
    let has_loads = pairs.iter().any(|pair| is_load(&pair));
    let on_path = || pairs.iter().filter(|pair| is_load(pair) || !has_loads);
    let repeated = on_path().filter(|(a, b)| a.trial_count.min(b.trial_count) >= TRIALS_MIN as u64).count();
    let shown = match repeated {
        0 => "one window of each cell varies",
        count if count == on_path().count() => "the repetitions inside each run vary",
        _ => "the repetitions inside each run vary, or one window where there are fewer than three",
    };
    let mut remarks = vec![format!(
        "The intervals are computed from how {shown}. Two runs at different times differ by more than that even if \
         nothing was changed: first compare two runs of the same state to see by how much, and repeat A and B in turn \
         (A, B, B, A)."
    )];
    let loads: Vec<&ComparedCell> = loads(cells).collect();
    let without = loads.iter().filter(|cell| deciding(cell).iter().all(|figure| figure.interval.is_none()));
    let why =
        without.clone().flat_map(|cell| deciding(cell)).find_map(|figure| figure.no_interval_because.clone());
    if let (count, Some(why)) = (without.count(), why) {
        remarks.push(format!(
            "{count} of {} loads cannot be decided for any ratio ({why}): give a cell more time or work, or three or \
             more repetitions (--trials 3, in a study `trials`).",
            loads.len()
        ));
    }
    remarks
}
