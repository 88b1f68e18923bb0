//! The devices of a stripe together move less than each alone: they share a bus.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::facts::StripeMembers;
use crate::method;
use crate::text;
use crate::thresholds::FULL_RATIO;
use crate::view::{CutCeiling, SummaryView};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "stripe-bus-shared",
    slug: "stripe_bus",
    segment: Segment::DeviceBus,
    title: "the devices of a stripe together move less than each alone",
    definition: "The members of a stripe of folders were loaded past the page cache, each alone and all together. \
                 Together they move clearly less than as many times the slowest one, and the path moves nearly that: \
                 what the devices share is the limit. Evaluated only where both were measured and no two of the \
                 members are on one device.",
    formula: "rate of the devices together < 0.9 x members x rate of the slowest alone, and rate of the path at the \
              devices >= 0.9 x rate of the devices together",
    source: "Asymptotic bounds: independent stations add up, a shared one does not (Denning and Buzen 1978)",
    example: "two disks at 250 MiB/s each alone move 300 MiB/s together: 60 % of 500 MiB/s",
    how_to_measure: Some("run a study of a stripe over the devices with cuts = [\"local_device\"]"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let alone = StripeMembers::new(&view.summary.cells, Cut::LocalDevice, cell)?;
    let bytes_per_s = view.best_of(Cut::LocalDevice, cell)?;
    let combined = CutCeiling { bytes_per_s, raised: true, ..view.ceiling(Cut::LocalDevice, cell)? };
    let expected = alone.combined_bytes_per_s();
    let share = ratio(combined.bytes_per_s, expected)?;
    let shared = share < FULL_RATIO;
    let at_devices = cell.rate_bytes_per_s?.0 * method::device_share(cell);
    if shared && (method::is_cached(cell) || at_devices < combined.bytes_per_s * FULL_RATIO) {
        return None; // The path never came as far as what the devices share.
    }
    if let Some(device) = view.common_device(cell) {
        return Some(method::one_device(cell, &device));
    }
    let text = format!(
        "{}: the devices of {} members move {} together, {} of the {} that they move one at a time",
        cell.id,
        alone.len(),
        text::storage_rate(combined.bytes_per_s),
        text::percent(share),
        text::storage_rate(expected),
    );
    let (stance, load) = if shared { (Stance::Limits, 1.0) } else { (Stance::Clears, 0.0) };
    let verdict = SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    let verdict = verdict.without_used().with_load_error(method::joint_error(cell, combined.cell));
    let gain = ratio(expected, at_devices).filter(|gain| *gain > 1.0);
    method::unless_cut_was_limited(
        verdict.with_relief_gain(gain).with_evidence(text, "rates of each alone and together", "iostat -x 1"),
        combined,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::diagnose;
    use crate::testing::{cleared, found, gridded, named};
    use narrows_model::units::BytesPerSec;
    use narrows_model::{Summary, Target};

    /// A machine with a disk as a stripe over two, which move this share of it each alone.
    fn striped(alone: f64) -> Summary {
        let mut summary = gridded("local-disk");
        let at = |text: &str| text.parse::<Target>().unwrap();
        summary.segments.push(narrows_model::summary::SegmentSummary::unmeasured(Segment::DeviceBus));
        let mut members: Vec<CellSummary> = Vec::new();
        for cell in &mut summary.cells {
            if cell.cut == Cut::LocalDevice {
                for path in ["/a", "/b"] {
                    let rate = BytesPerSec(cell.rate_bytes_per_s.unwrap().0 * alone);
                    let id = format!("{}{path}", cell.id);
                    members.push(CellSummary {
                        id,
                        target: at(path),
                        rate_bytes_per_s: Some(rate),
                        ..cell.clone()
                    });
                }
            }
            if matches!(cell.cut, Cut::LocalDevice | Cut::Path) {
                cell.target = at("stripe:/a,/b");
            }
        }
        summary.cells.extend(members);
        summary.diagnosis = diagnose(&summary);
        summary
    }

    #[test]
    fn devices_that_move_no_more_together_than_one_alone_share_a_bus() {
        let summary = striped(1.0);
        assert!(named(&summary, "bulk").contains(&Segment::DeviceBus), "{:#?}", summary.diagnosis.limiting);
    }

    #[test]
    fn devices_that_add_up_clear_the_bus() {
        let summary = striped(0.5);
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::DeviceBus));
    }
}
