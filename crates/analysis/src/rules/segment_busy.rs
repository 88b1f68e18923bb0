//! A segment that was seen busy.

use super::{Basis, Rule, SegmentVerdict, Stance};
use crate::case::Cases;
use crate::text;
use crate::thresholds::{CPU_FULL_RATIO, FREE_RATIO, INFERRED_CONFIDENCE};
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "segment-busy",
    slug: "busy",
    segment: Segment::Unknown,
    title: "a segment was busy all of the time",
    definition: "A segment other than a CPU was busy nearly all of the time. A device that serves several requests at \
                 once is busy before it is full, so the confidence is at most 0.7; one that was mostly idle is \
                 cleared.",
    formula: "busy ratio >= 0.95; cleared below 0.7",
    source: "Gregg, The USE Method; iostat(1) on %util",
    example: "a disk busy for 98 % of the time",
    how_to_measure: None,
    how_to_write: Some("give busy_ratio = { device = .. } (iostat -x)"),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    table.observations().iter().flat_map(of_one).collect()
}

fn of_one(one: &Observation) -> Vec<SegmentVerdict> {
    let verdicts = one.busy_ratio.iter().filter_map(|(segment, busy)| {
        let full = *busy >= CPU_FULL_RATIO;
        if !full && *busy >= FREE_RATIO {
            return None;
        }
        let stance = if full { Stance::Limits } else { Stance::Clears };
        let text = format!("{}: {segment} was busy for {} of the time", one.id, text::percent(*busy));
        let verdict = SegmentVerdict::new(*segment, &one.id, stance, Basis::Utilisation, busy.min(1.0));
        Some(verdict.with_confidence_max(INFERRED_CONFIDENCE).with_evidence(text, "busy time", ""))
    });
    verdicts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, first, read};

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
