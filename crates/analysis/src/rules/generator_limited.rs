//! The load generator is the limit: what it measures is itself.

use super::judge::joint_error;
use super::{Basis, Rule, Stance, Tier, Verdict};
use crate::summary::GENERATOR_LIMITED;
use crate::text;
use crate::view::View;
use narrows_model::diagnosis::Severity;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "generator-limited",
    slug: "generator_limited",
    segment: Segment::Generator,
    title: "the load generator itself is the limit",
    definition: "The path was asked for almost as many operations as the generator can issue when nothing is done \
                 for them. The figure then says what the generator can do, not what the path can.",
    formula: "rate of the path >= 0.8 x rate of the null engine with the same settings",
    source: "Netperf and fio documentation on null engines; Hoefler and Belli, SC'15, rule 9",
    example: "4 KiB reads from memory at 410 thousand op/s where the null engine reaches 480 thousand op/s: 85 %",
    how_to_measure: "compare with the null engine at the same settings (cut `generator`); relieve it with more clients",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &narrows_model::summary::CellSummary) -> Option<Verdict> {
    let ceiling = view.ceiling(Cut::Generator, cell).filter(|found| found.same_settings)?;
    let (rate, most) = (cell.ops_per_s?.0, ceiling.cell.ops_per_s?.0);
    let load = ratio(rate, most)?;
    let limited = cell.flags.iter().any(|flag| flag == GENERATOR_LIMITED);
    let stance = if limited { Stance::Limits } else { Stance::Clears };
    let severity = if limited { Severity::Error } else { Severity::Info };
    let text = format!(
        "{} does {}, {} of the {} that the generator issues when nothing is done for them",
        cell.id,
        text::op_rate(rate),
        text::percent(load),
        text::op_rate(most),
    );
    let verdict = Verdict::on(Segment::Generator, &cell.id, stance, Basis::Utilisation, load);
    let tier = if limited { Tier::Voids } else { Tier::Resource };
    Some(Verdict { severity, ..verdict }.in_tier(tier).within(joint_error(cell, ceiling.cell)).because(
        text,
        "operations of the null engine",
        "",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, builtin, cleared, found, machine, measured, named};
    use narrows_model::Nanos;
    use narrows_model::sim_profile::{SimProfile, StationLaw};

    fn slow_generator() -> SimProfile {
        let generator = StationLaw { per_op_ns: Nanos(2_000_000), ..StationLaw::default() };
        SimProfile { client_cpus: 1.0, generator, ..machine("ten-gigabit-nfs") }
    }

    #[test]
    fn a_generator_that_costs_more_than_the_path_is_named_first() {
        let summary = measured(&slow_generator(), Grid::default());
        assert_eq!(named(&summary, "bulk")[0], Segment::Generator);
        assert!(summary.generator.limited);
    }

    #[test]
    fn the_flag_of_the_cell_decides() {
        let mut summary = builtin("ten-gigabit-nfs");
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.flags.push(crate::summary::GENERATOR_LIMITED.to_owned());
        }
        assert_eq!(crate::diagnose(&summary).limiting[0].segment, Segment::Generator);
    }

    #[test]
    fn a_cheap_generator_is_cleared() {
        let summary = builtin("ten-gigabit-nfs");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::Generator));
        assert!(summary.generator.headroom_ratio.is_some_and(|ratio| ratio > 10.0));
    }
}
