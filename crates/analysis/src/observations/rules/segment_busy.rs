//! A segment that was seen busy.

use super::super::table::Table;
use super::{ObservationRule, offered_load};
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::{Observation, Segment};

/// Busy time from which a segment counts as full, and below which it is cleared.
const FULL_RATIO: f64 = 0.95;
const FREE_RATIO: f64 = 0.7;
/// A device that serves several requests at once is busy long before it is full (iostat's `%util`).
const PARALLEL_CONFIDENCE: f64 = 0.7;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "segment-busy",
    slug: "busy",
    segment: Segment::Unknown,
    title: "a segment was busy all of the time",
    definition: "A segment other than a CPU was busy nearly all of the time. A device that serves several requests at once \
                 is busy before it is full, so the verdict is no surer than 0.7; one that was mostly idle is cleared.",
    formula: "busy ratio >= 0.95; cleared below 0.7",
    source: "Gregg, The USE Method; iostat(1) on %util",
    example: "a disk busy for 98 % of the time",
    how_to_measure: "give busy_ratio = { device = .. } (iostat -x)",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.observations().iter().flat_map(of_one).collect()
}

fn of_one(one: &Observation) -> Vec<Verdict> {
    let judged = one.busy_ratio.iter().filter_map(|(segment, busy)| {
        let full = *busy >= FULL_RATIO;
        if !full && (*busy >= FREE_RATIO || offered_load::is_held(one)) {
            return None;
        }
        let stance = if full { Stance::Limits } else { Stance::Clears };
        let text = format!("{}: {segment} was busy for {} of the time", one.id, text::percent(*busy));
        let verdict = Verdict::on(*segment, &one.id, stance, Basis::Utilisation, busy.min(1.0));
        Some(verdict.at_most(PARALLEL_CONFIDENCE).because(text, "busy time", ""))
    });
    judged.collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read};
    use super::*;

    #[test]
    fn a_disk_that_is_always_busy_limits_and_an_idle_one_does_not() {
        let of = |busy: &str| {
            read(&format!(
                "[[observation]]\nid = \"a\"\nop = \"read\"\nbusy_ratio = {{ device.iops = {busy} }}\n"
            ))
        };
        assert_eq!(first(&of("0.98")), Segment::DeviceIops);
        assert!(cleared(&of("0.3"), Segment::DeviceIops));
    }
}
