//! A window was too short for its figure.

use super::{Rule, SegmentVerdict};
use crate::case::{Case, Cases};
use crate::facts::flags::{self, FEW_OPERATIONS, SHORT_RUN};
use crate::facts::is_in_memory;
use crate::method;
use crate::text;
use crate::thresholds::SHORT_RUN_S;
use narrows_model::Segment;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "short-run",
    slug: "short_run",
    segment: Segment::Unknown,
    title: "a window was too short",
    definition: "A window under half a second, under fifty ticks of the clock, or with fewer than fifty operations: \
                 its rate reflects start-up and the clock's ticks. Cuts that use only memory are planned to be short: \
                 they are reported only for too few operations. For an observation the time is bytes / rate where it \
                 is not given.",
    formula: "window < 0.5 s, or window < 50 x clock resolution, or operations < 50",
    source: "Fifty ticks bound the error of the ends at 2 %; Jain, The Art of Computer Systems Performance Analysis \
             (1991); bonnie++ prints `+++++` below half a second",
    example: "31 operations in 1.5 s of 1 MiB writes",
    how_to_measure: Some("give the command more time: --seconds, --cell-seconds"),
    how_to_write: Some("move more data"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let short = cases.all().iter().filter(|case| is_short(case));
    method::notes(short, "measured window", |case| match case.cell() {
        Some(cell) => {
            let ops = cell.ops_per_s.map_or(0.0, |rate| rate.0 * cell.elapsed_s.last_done);
            format!("{}: {ops:.0} operations in {:.2} s", case.id, cell.elapsed_s.last_done)
        }
        None => format!(
            "{}: {}, below {}: start-up and the clock's ticks are part of it; move more data",
            case.id,
            text::seconds(case.elapsed_s.unwrap_or_default()),
            text::seconds(SHORT_RUN_S)
        ),
    })
}

/// By the flags of a cell, which know the clock and the count of its operations; of an observation by its time.
fn is_short(case: &Case<'_>) -> bool {
    let Some(cell) = case.cell() else {
        return case.elapsed_s.is_some_and(|elapsed_s| elapsed_s < SHORT_RUN_S);
    };
    // Planned to last less than half a second: nobody who reads this could give them more.
    let is_planned = is_in_memory(cell.cut);
    flags::has(cell, FEW_OPERATIONS) || (flags::has(cell, SHORT_RUN) && !is_planned)
}

#[cfg(test)]
mod tests {
    mod of_runs {
        use super::super::*;
        use crate::testing::{Grid, builtin, found, machine, measured};
        use narrows_model::BytesPerSec;
        use narrows_model::Cut;
        use narrows_model::sim_profile::NetworkLaw;

        #[test]
        fn a_cell_of_few_operations_is_reported() {
            let mut profile = machine("hundred-megabit");
            profile.network =
                profile.network.map(|network| NetworkLaw { bytes_per_s: BytesPerSec(1e6), ..network });
            assert!(found(&measured(&profile, Grid::default()), RULE.code));
        }

        #[test]
        fn a_short_cut_in_memory_is_reported_for_its_operations_alone() {
            let is_reported = |flag: &str| {
                let mut summary = builtin("local-ssd");
                for cell in &mut summary.cells {
                    cell.flags.clear();
                    cell.flags.extend((cell.cut == Cut::Generator).then(|| flag.to_owned()));
                }
                assert!(summary.cells.iter().any(|cell| !cell.flags.is_empty()));
                crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code)
            };
            assert!(!is_reported(SHORT_RUN) && is_reported(FEW_OPERATIONS));
        }

        #[test]
        fn windows_long_enough_are_not_reported() {
            let mut summary = builtin("local-ssd");
            for cell in &mut summary.cells {
                cell.flags.clear();
            }
            assert!(!crate::diagnose(&summary).findings.iter().any(|finding| finding.code == RULE.code));
        }
    }

    mod of_files {
        use crate::testing::observed::{read, slugs};

        #[test]
        fn a_run_under_half_a_second_is_reported() {
            let of = |rest: &str| {
                slugs(&read(&format!("[[observation]]\nid = \"a\"\n{rest}\n")))
                    .contains(&"short_run".to_owned())
            };
            assert!(of("elapsed_s = 0.3") && of("file_bytes = 40000000\nbytes_per_s = 444e6"));
            assert!(!of("elapsed_s = 3") && !of("bytes_per_s = 444e6"));
        }
    }
}
