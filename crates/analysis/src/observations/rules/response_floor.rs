//! The least time of a stage makes most of the response time.

use super::super::table::Table;
use super::ObservationRule;
use crate::rules::{Basis, Stance, Verdict};
use crate::text;
use narrows_model::observation::{Capacity, Ceiling};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

const DOMINANT_RATIO: f64 = 0.5;
/// A response shorter than the stage's least time did not pass it.
const BEYOND_RATIO: f64 = 1.1;

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "response-floor",
    slug: "latency_floor",
    segment: Segment::Unknown,
    title: "the least time of a stage makes the response",
    definition: "A [[ceiling]] says how long an operation takes at a stage at least (latency_s). Where that is half of the \
                 mean response time or more, the stage limits what few requests in flight can do.",
    formula: "latency_s of the ceiling / latency_s of the observation >= 0.5 and <= 1.1",
    source: "Service time bounds response time, Denning and Buzen (1978)",
    example: "a disk of 8 ms a request under a response of 9 ms",
    how_to_measure: "measure one request at a time at the stage alone and write it as latency_s of a [[ceiling]]",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    let floors = table.all.ceilings.iter();
    floors
        .flat_map(|ceiling| table.observations().iter().filter_map(move |one| judge(ceiling, one)))
        .collect()
}

fn judge(ceiling: &Ceiling, one: &Observation) -> Option<Verdict> {
    let Capacity::LatencyS(least) = ceiling.capacity else { return None };
    let share = ratio(least, one.latency_s?).filter(|share| *share <= BEYOND_RATIO)?;
    let stance = if share >= DOMINANT_RATIO { Stance::Limits } else { Stance::Clears };
    let text = format!(
        "{}: {} at {} is {} of a response of {}",
        one.id,
        text::seconds(least),
        ceiling.segment,
        text::percent(share),
        text::seconds(one.latency_s?)
    );
    let verdict = Verdict::on(ceiling.segment, &one.id, stance, Basis::TimeShare, share.min(1.0));
    Some(verdict.because(text, "response time and ceiling", ""))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{cleared, first, read};
    use super::*;

    #[test]
    fn a_stage_that_makes_most_of_the_response_limits() {
        let of = |response: &str| {
            read(&format!(
                "[[ceiling]]\nsegment = \"device.latency\"\nlatency_s = 0.008\n[[observation]]\nid = \"a\"\nop = \"read\"\nlatency_s = {response}\n"
            ))
        };
        assert_eq!(first(&of("0.009")), Segment::DeviceLatency);
        assert!(cleared(&of("0.09"), Segment::DeviceLatency));
    }
}
