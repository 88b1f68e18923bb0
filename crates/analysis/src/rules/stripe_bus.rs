//! The devices of a stripe together move less than each alone: they share a bus.

use super::device_bus::one_device;
use super::judge;
use super::{Basis, Rule, Stance, Verdict};
use crate::text;
use crate::view::{Alone, Ceiling, View};
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
                 what the devices share is the limit. Only judged where both were measured and no two of the members lie \
                 on one device.",
    formula: "rate of the devices together < 0.9 x members x rate of the slowest alone, and rate of the path at the \
              devices >= 0.9 x rate of the devices together",
    source: "Asymptotic bounds: independent stations add up, a shared one does not (Denning and Buzen 1978)",
    example: "two disks at 250 MiB/s each alone move 300 MiB/s together: 60 % of 500 MiB/s",
    how_to_measure: "run a study of a stripe over the devices with cuts = [\"local_device\"]",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let alone = Alone::of(&view.summary.cells, Cut::LocalDevice, cell)?;
    let bytes_per_s = view.best_of(Cut::LocalDevice, cell)?;
    let together = Ceiling { bytes_per_s, raised: true, ..view.ceiling(Cut::LocalDevice, cell)? };
    let expected = alone.together_bytes_per_s();
    let share = ratio(together.bytes_per_s, expected)?;
    let shared = share < judge::FULL_RATIO;
    let at_devices = cell.rate_bytes_per_s?.0 * judge::device_share(cell);
    if shared && (judge::is_cached(cell) || at_devices < together.bytes_per_s * judge::FULL_RATIO) {
        return None; // The path never came as far as what the devices share.
    }
    if let Some(device) = view.common_device(cell) {
        return Some(one_device(cell, &device));
    }
    let text = format!(
        "{}: the devices of {} members move {} together, {} of the {} that they move one at a time",
        cell.id,
        alone.len(),
        text::storage_rate(together.bytes_per_s),
        text::percent(share),
        text::storage_rate(expected),
    );
    let (stance, load) = if shared { (Stance::Limits, 1.0) } else { (Stance::Clears, 0.0) };
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::Utilisation, load);
    let verdict = verdict.within(judge::joint_error(cell, together.cell));
    let gain = ratio(expected, at_devices).filter(|gain| *gain > 1.0);
    judge::convicting(
        verdict.gains(gain).because(text, "rates of each alone and together", "iostat -x 1"),
        together,
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
