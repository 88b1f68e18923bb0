//! A measured window was too short for its figure.

use super::{Rule, Verdict, judge};
use crate::summary::{FEW_OPERATIONS, SHORT_RUN};
use crate::view::View;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "short-run",
    slug: "short_run",
    segment: Segment::Unknown,
    title: "a measured window was too short",
    definition: "A window under half a second, under fifty ticks of the clock, or with fewer than fifty operations: \
                 its rate is a sample, not a figure. The cuts in memory alone are \
                 planned to be short: they are told of for too few operations only.",
    formula: "window < 0.5 s, or window < 50 x clock resolution, or operations < 50",
    source: "Fifty ticks bound the error of the ends at 2 %; Jain, The Art of Computer Systems Performance Analysis (1991)",
    example: "31 operations in 1.5 s of 1 MiB writes",
    how_to_measure: "give the command more time: --seconds, --cell-seconds",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    let cells = view.summary.cells.iter().filter(|cell| is_told(cell));
    judge::notes(cells, "measured window", |cell| {
        let ops: f64 = cell.ops_per_s.map_or(0.0, |rate| rate.0 * cell.elapsed_s.last_done);
        format!("{}: {ops:.0} operations in {:.2} s", cell.id, cell.elapsed_s.last_done)
    })
}

fn is_told(cell: &CellSummary) -> bool {
    let flagged = |code: &str| cell.flags.iter().any(|flag| flag == code);
    // Planned to last less than half a second: nobody who reads this could give them more.
    let is_planned = matches!(cell.cut, Cut::Generator | Cut::MemoryCopy);
    flagged(FEW_OPERATIONS) || (flagged(SHORT_RUN) && !is_planned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, builtin, found, machine, measured};
    use narrows_model::BytesPerSec;
    use narrows_model::sim_profile::NetworkLaw;

    #[test]
    fn a_cell_of_few_operations_is_told() {
        let mut profile = machine("hundred-megabit");
        profile.network =
            profile.network.map(|network| NetworkLaw { bytes_per_s: BytesPerSec(1e6), ..network });
        assert!(found(&measured(&profile, Grid::default()), RULE.code));
    }

    #[test]
    fn a_short_cut_in_memory_is_told_for_its_operations_alone() {
        let told = |flag: &str| {
            let mut summary = builtin("local-ssd");
            for cell in &mut summary.cells {
                cell.flags.clear();
                cell.flags.extend((cell.cut == Cut::Generator).then(|| flag.to_owned()));
            }
            assert!(summary.cells.iter().any(|cell| !cell.flags.is_empty()));
            crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code)
        };
        assert!(!told(SHORT_RUN) && told(FEW_OPERATIONS));
    }

    #[test]
    fn windows_long_enough_are_not_told() {
        let mut summary = builtin("local-ssd");
        for cell in &mut summary.cells {
            cell.flags.clear();
        }
        assert!(!crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code));
    }
}
