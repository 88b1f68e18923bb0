//! Verdicts: of each figure by its interval and its family, of each cell by the figures that decide, of the whole.

use narrows_model::comparison::{ComparedCell, ComparedFigure, Verdict, VerdictCounts};
use narrows_stats::interval::Level;
use narrows_stats::multiplicity::holm;
use narrows_stats::power::{RunDeviation, runs_needed};

/// Level of the intervals, and of the verdicts of a family together.
pub(super) const LEVEL: Level = Level::P95;

/// Fewer runs do not show by themselves how much they differ.
const RUNS_NEEDED_MIN: u32 = 3;

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

/// Better or worse where the difference is more than chance and measured beyond the margin.
fn decide_figure(figure: &mut ComparedFigure, p_adjusted: f64, margin_ratio: f64) {
    figure.p_value_adjusted = Some(p_adjusted);
    let most = 1.0 + margin_ratio;
    let within = |low: f64, high: f64| low * most >= 1.0 && high <= most;
    figure.within_margin = figure.interval.as_ref().is_some_and(|found| within(found.low, found.high));
    if p_adjusted < 1.0 - LEVEL.ratio() && !within(figure.ratio, figure.ratio) {
        let more = figure.ratio > 1.0;
        let better = more == figure.id.more_is_better();
        figure.verdict = if better { Verdict::Better } else { Verdict::Worse };
    }
    if figure.verdict == Verdict::Undecided && !figure.within_margin {
        figure.runs_needed = runs_to_decide(figure, margin_ratio);
    }
}

/// Runs a side with which a ratio as measured would be decided: distinguished from 1 where it is beyond the margin, from the
/// margin's edge where it is within.
fn runs_to_decide(figure: &ComparedFigure, margin_ratio: f64) -> Option<u64> {
    let standard_deviation = figure.spread?.deviation_ratio;
    let (distance, margin) = (figure.ratio.ln().abs(), margin_ratio.ln_1p());
    let difference = if distance > margin { distance } else { margin - distance };
    // From three runs on, a number of runs has the degrees of freedom of these.
    let spread = RunDeviation { standard_deviation, degrees_of_freedom: 2.0 };
    let found = runs_needed(spread, difference).ok().flatten();
    found.map(|runs| u64::from(runs.max(RUNS_NEEDED_MIN)))
}

/// The figures by which a cell is evaluated: those that decide, else its rate.
pub(super) fn deciding(cell: &ComparedCell) -> Vec<&ComparedFigure> {
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
pub(super) fn loads(cells: &[ComparedCell]) -> impl Iterator<Item = &ComparedCell> {
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
