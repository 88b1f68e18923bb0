//! The least time of a stage makes most of the response time.

use super::{Rule, SegmentVerdict};
use crate::case::Cases;
use crate::method::EvidenceSource;
use crate::method::time::share_of_time;
use crate::text;
use narrows_model::observation::{Capacity, Ceiling};
use narrows_model::units::ratio;
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "response-floor",
    slug: "latency_floor",
    segment: Segment::Unknown,
    title: "the minimum time of a stage dominates the response time",
    definition: "A [[ceiling]] gives the minimum time of an operation at a stage (latency_s). Where that is half of \
                 the mean response time or more, the stage limits the rate of a few requests in flight.",
    formula: "latency_s of the ceiling / latency_s of the observation >= 0.5 and <= 1.25",
    source: "Service time bounds response time, Denning and Buzen (1978)",
    example: "a disk of 8 ms a request under a response of 9 ms",
    how_to_measure: None,
    how_to_write: Some(
        "measure one request at a time at the stage alone and write it as latency_s of a [[ceiling]]",
    ),
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    let Some(table) = cases.table() else { return Vec::new() };
    let floors = table.all.ceilings.iter();
    floors
        .flat_map(|ceiling| table.observations().iter().filter_map(move |one| evaluate(ceiling, one)))
        .collect()
}

fn evaluate(ceiling: &Ceiling, one: &Observation) -> Option<SegmentVerdict> {
    let Capacity::LatencyS(least) = ceiling.capacity else { return None };
    let share = ratio(least, one.latency_s?)?;
    let text = format!(
        "{}: {} at {} is {} of a response time of {}",
        one.id,
        text::seconds(least),
        ceiling.segment,
        text::percent(share),
        text::seconds(one.latency_s?)
    );
    share_of_time(
        ceiling.segment,
        &one.id,
        share,
        text,
        EvidenceSource { counter: "response time and ceiling", command: "" },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::observed::{cleared, first, read};

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
