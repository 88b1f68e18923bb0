//! One request at a time: the application asks for too little at once.

use super::super::table::Table;
use super::ObservationRule;
use crate::rules::{Basis, Stance, Tier, Verdict};
use narrows_model::{Observation, Segment};

/// The rule.
pub(super) static RULE: ObservationRule = ObservationRule {
    code: "too-little-concurrency",
    slug: "concurrency",
    segment: Segment::WorkloadConcurrency,
    title: "too few requests in flight",
    definition: "One request was in flight at a time, and nothing that is known was full: the rate is one over the response \
                 time, and more requests at once would raise it. Said only where nothing else limits, or together with \
                 the round trips that the waiting consists of.",
    formula: "requests in flight <= 1",
    source: "Little's law; asymptotic bounds, Denning and Buzen (1978)",
    example: "one request at a time at 56.6 ms: 17.7 op/s",
    how_to_measure: "give in_flight_configured, and repeat with more",
    run,
};

fn run(table: &Table<'_>) -> Vec<Verdict> {
    table.observations().iter().filter_map(judge).collect()
}

fn judge(one: &Observation) -> Option<Verdict> {
    let asked = one.in_flight_configured?;
    (asked > 0.0 && asked <= 1.0).then(|| {
        let text = format!("{}: one request in flight at a time", one.id);
        let verdict = Verdict::on(RULE.segment, &one.id, Stance::Limits, Basis::State, 1.0);
        verdict.in_tier(Tier::Fallback).at_most(0.7).because(text, "requests in flight", "")
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{first, read};
    use super::*;

    fn of(rest: &str) -> narrows_model::Observations {
        read(&format!("[[observation]]\nid = \"a\"\nop = \"read\"\nin_flight_configured = {rest}\n"))
    }

    #[test]
    fn one_at_a_time_is_said_when_nothing_else_limits() {
        assert_eq!(first(&of("1")), Segment::WorkloadConcurrency);
        assert_eq!(first(&of("1\ncpu_ratio = { client = 1.0 }")), Segment::ClientCpu);
        assert_eq!(first(&of("16")), Segment::Unknown);
    }

    #[test]
    fn it_limits_together_with_the_round_trips() {
        let all = of("1\nelapsed_s = 100\nround_trips = 9000\nrtt_s = 0.01");
        let named: Vec<Segment> =
            crate::diagnose_observations(&all).limiting.iter().map(|entry| entry.segment).collect();
        assert_eq!(named, [Segment::NetworkLatency, Segment::WorkloadConcurrency]);
    }
}
