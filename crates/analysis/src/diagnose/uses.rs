//! How far each load used each segment of the path: one number for one load in one direction, that of the verdict's own
//! statement, for every place of a report that shows it.

use super::RuleVerdict;
use super::rank::RankedCase;
use crate::case::Cases;
use crate::verdict::{Stance, UsedShare};
use narrows_model::summary::{SegmentUse, UsedOf};
use narrows_model::{Diagnosis, Segment};
use std::collections::BTreeMap;

/// The uses of each segment of a run's path; none for observations and sweeps, which have no table of a path.
///
/// # Shape
/// Of a segment that limits, first those that it limits, in the order of the limiting list. Of a cleared one only those that
/// clear it, of any other all; of capacity first, the largest first. Each load at most once. Empty where the first load that a segment limits
/// has no share.
pub(super) fn of_segments(
    cases: &Cases<'_>,
    ranked: &[RankedCase<'_, '_>],
    evaluated: &[RuleVerdict],
    diagnosis: &Diagnosis,
) -> BTreeMap<Segment, Vec<SegmentUse>> {
    let Some(view) = cases.view() else { return BTreeMap::new() };
    let of_segment = |segment: Segment| {
        let is_cleared = diagnosis.exonerated.iter().any(|entry| entry.segment == segment);
        let Some(mut uses) = named(segment, ranked) else { return Vec::new() };
        for other in judged(segment, evaluated, is_cleared) {
            if !uses.iter().any(|known| known.cell == other.cell) {
                uses.push(other);
            }
        }
        uses
    };
    view.summary.segments.iter().map(|segment| (segment.id, of_segment(segment.id))).collect()
}

/// The uses of the loads that a segment is named for; `None` where it is named for the first of them by something that is
/// no share, which one of another load would contradict.
fn named(segment: Segment, ranked: &[RankedCase<'_, '_>]) -> Option<Vec<SegmentUse>> {
    let of_load = |ranked: &RankedCase<'_, '_>| {
        let named = ranked.named.iter().find(|named| named.segment == segment)?;
        Some(named.used.map(|share| used(ranked.case.id, share)))
    };
    let all: Vec<Option<SegmentUse>> = ranked.iter().filter_map(of_load).collect();
    let has_share = all.first().is_none_or(Option::is_some);
    has_share.then(|| all.into_iter().flatten().collect())
}

/// The uses that rules state of a segment, the one that counts first.
fn judged(segment: Segment, evaluated: &[RuleVerdict], only_clearing: bool) -> Vec<SegmentUse> {
    let own = evaluated.iter().map(|evaluated| &evaluated.verdict).filter(|verdict| {
        let stated =
            if only_clearing { verdict.stance == Stance::Clears } else { verdict.stance != Stance::Notes };
        verdict.segment == segment && stated
    });
    let mut uses: Vec<SegmentUse> =
        own.filter_map(|verdict| Some(used(&verdict.cell, verdict.used?))).collect();
    uses.sort_by(|a, b| {
        let is_time = |one: &SegmentUse| one.of == UsedOf::Time;
        is_time(a).cmp(&is_time(b)).then(b.used_ratio.total_cmp(&a.used_ratio))
    });
    uses
}

fn used(cell: &str, share: UsedShare) -> SegmentUse {
    SegmentUse { cell: cell.to_owned(), used_ratio: share.ratio, of: share.of }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::evaluate_rules;
    use crate::testing::{builtins, injected};
    use crate::text;
    use crate::thresholds::FULL_RATIO;
    use narrows_model::Summary;

    /// What contradicts what in a summary, with the number of uses that were compared.
    fn contradictions(summary: &Summary) -> (Vec<String>, usize) {
        let run = Cases::of_run(summary);
        let mut found = Vec::new();
        let evaluated = evaluate_rules(&run);
        for RuleVerdict { code, verdict, .. } in &evaluated {
            let says = |share: &UsedShare| {
                let share = text::percent(share.ratio);
                verdict.evidence.iter().any(|evidence| evidence.text.contains(&share))
            };
            if verdict.used.is_some_and(|share| verdict.stance != Stance::Notes && !says(&share)) {
                found.push(format!("{code}: {:?} is not in {:?}", verdict.used, verdict.evidence));
            }
        }
        let mut count = 0;
        for segment in &summary.segments {
            let is_cleared = summary.diagnosis.exonerated.iter().any(|entry| entry.segment == segment.id);
            let limiting = summary.diagnosis.limiting.iter().find(|entry| entry.segment == segment.id);
            let first = segment.uses.first();
            count += segment.uses.len();
            let shown = segment.utilisation_ratio;
            if first.is_some() && shown != first.map(|used| used.used_ratio) {
                found.push(format!("{}: {shown:?} beside {:?}", segment.id, segment.uses));
            }
            if is_cleared && shown.is_some_and(|used| used >= FULL_RATIO) {
                found.push(format!("{}: cleared at {shown:?}", segment.id));
            }
            let first_statement = limiting.and_then(|entry| entry.evidence.first());
            if let Some((shown, statement)) = shown.zip(first_statement)
                && !statement.text.contains(&text::percent(shown))
            {
                found.push(format!("{}: limits at {shown}, {}", segment.id, statement.text));
            }
        }
        (found, count)
    }

    #[test]
    fn bar_share_and_statement_are_one_number_on_every_machine_of_the_simulator() {
        let mut total = 0;
        for (machine, summary) in builtins() {
            let (found, count) = contradictions(&summary);
            assert!(found.is_empty(), "{machine}:\n{}", found.join("\n"));
            total += count;
        }
        assert!(total > 300, "{total} uses were compared");
    }

    #[test]
    fn bar_share_and_statement_are_one_number_on_machines_with_each_fault() {
        for (fault, summary) in injected::machines() {
            let (found, _) = contradictions(&summary);
            assert!(found.is_empty(), "{fault}:\n{}", found.join("\n"));
        }
    }

    #[test]
    fn each_load_is_in_the_uses_once_in_its_own_direction() {
        for (machine, summary) in builtins() {
            for segment in &summary.segments {
                let mut cells: Vec<&str> = segment.uses.iter().map(|used| used.cell.as_str()).collect();
                cells.sort_unstable();
                assert!(cells.windows(2).all(|pair| pair[0] != pair[1]), "{machine} {}", segment.id);
                let known = |cell: &&str| summary.cells.iter().any(|found| found.id == **cell);
                assert!(cells.iter().all(known), "{machine} {}: {cells:?}", segment.id);
            }
        }
    }
}
