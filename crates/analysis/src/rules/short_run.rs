//! A measured window was too short for its figure.

use super::{Rule, Verdict, judge};
use crate::summary::{FEW_OPERATIONS, SHORT_RUN};
use crate::view::View;
use narrows_model::Segment;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "short-run",
    slug: "short_run",
    segment: Segment::Unknown,
    title: "a measured window was too short",
    definition: "A window under half a second, under fifty ticks of the clock, or with fewer than fifty operations: \
                 its rate is a sample, not a figure.",
    formula: "window < 0.5 s, or window < 50 x clock resolution, or operations < 50",
    source: "Fifty ticks bound the error of the ends at 2 %; Jain, The Art of Computer Systems Performance Analysis (1991)",
    example: "31 operations in 1.5 s of 1 MiB writes",
    how_to_measure: "give the command more time: --seconds, --cell-seconds",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    let short = |flag: &String| flag == SHORT_RUN || flag == FEW_OPERATIONS;
    let cells = view.summary.cells.iter().filter(|cell| cell.flags.iter().any(short));
    judge::notes(cells, "measured window", |cell| {
        let ops: f64 = cell.ops_per_s.map_or(0.0, |rate| rate.0 * cell.elapsed_s.last_done);
        format!("{}: {ops:.0} operations in {:.2} s", cell.id, cell.elapsed_s.last_done)
    })
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
    fn windows_long_enough_are_not_told() {
        let mut summary = builtin("local-ssd");
        for cell in &mut summary.cells {
            cell.flags.clear();
        }
        assert!(!crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code));
    }
}
