//! Users think for most of a cycle, and nothing on the path is full.

use super::{Basis, Rule, SegmentVerdict, Stance, Tier};
use crate::case::Cases;
use crate::facts::offered_load::is_delivered;
use crate::facts::time_per_op_s;
use crate::method::{self, think};
use crate::text;
use crate::thresholds::DOMINANT_RATIO;
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "users-think",
    slug: "think_time",
    segment: Segment::OfferedLoad,
    title: "users think for most of the time",
    definition: "Each request in flight represents a user who waits for the completion and then thinks. Where the \
                 think time is half of that cycle or more and no segment is full, the users set the rate: more users, \
                 or a shorter think time, raise it. A segment that takes half of the waiting time or more is named as \
                 well. From 0.95 of the cycle on the load is delivered (load-delivered), and nothing else is \
                 reported.",
    formula: "Z / (N / X) >= 0.5 with X = N / (R + Z): rate X, N users, think time Z, response time R",
    source: "Interactive response time law, Denning and Buzen, ACM Computing Surveys 10 (1978)",
    example: "16 users who think 5.00 ms of the 7.14 ms from one request to the next (70 %), at 2.24 thousand op/s",
    how_to_measure: Some("repeat without `think`, or with more users (depth, workers, clients)"),
    how_to_write: None,
    run,
};

fn run(cases: &Cases<'_>) -> Vec<SegmentVerdict> {
    cases.evaluate_cells(evaluate)
}

fn evaluate(view: &SummaryView<'_>, cell: &CellSummary) -> Option<SegmentVerdict> {
    let share = think::share(cell)?;
    if is_delivered(cell) {
        return None; // The load is delivered: that says all.
    }
    let stance = if share >= DOMINANT_RATIO { Stance::Limits } else { Stance::Clears };
    let users = match cell.in_flight.configured {
        1 => "a user".to_owned(),
        users => format!("each of {users} users"),
    };
    let think_s = cell.requested.think_ns.as_secs_f64();
    let waits_s = time_per_op_s(cell)?;
    let text = format!(
        "{}: {users} thinks {} of the {} from one request to the next ({}) and waits {} for the path",
        cell.id,
        text::seconds(think_s),
        text::seconds(think_s + waits_s),
        text::percent(share),
        text::seconds(waits_s),
    );
    let verdict =
        SegmentVerdict::new(RULE.segment, &cell.id, stance, Basis::TimeShare, share).with_tier(Tier::Offered);
    let cuts = [Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage, Cut::LocalDevice];
    let gain = [Some(1.0 / (1.0 - share)), method::relief(view, cell, &cuts)].into_iter().flatten();
    Some(
        verdict
            .with_load_error(method::error_ratio(cell))
            .with_relief_gain(gain.reduce(f64::min))
            .with_evidence(text, "think time x rate / users (interactive response time law)", ""),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, cleared, found, machine, measured_by, plan};
    use narrows_model::{Limiting, Nanos, Relation, Summary};

    /// Reads of `block` bytes by `users` who think, on this machine with its cuts, which do not think.
    fn thinking(name: &str, block: u64, users: u32, think_ms: u64) -> Summary {
        let profile = machine(name);
        let mut plan = plan(&profile, Grid::default());
        plan.segments.insert(0, Segment::OfferedLoad);
        let depth = if users > 1 { 16 } else { 1 };
        plan.cells.retain(|cell| {
            let load = &cell.workload;
            (load.block_bytes.0, load.queue_depth) == (block, depth) && !load.op.moves_towards_device()
        });
        for cell in &mut plan.cells {
            cell.workload.queue_depth = users;
            if cell.cut == Cut::Path {
                cell.workload.think_ns = Nanos(think_ms * 1_000_000);
            }
        }
        measured_by(&profile, &plan)
    }

    fn names(summary: &Summary) -> Vec<(Segment, Relation)> {
        let name = |entry: &Limiting| (entry.segment, entry.relation);
        summary.diagnosis.limiting.iter().map(name).collect()
    }

    #[test]
    fn a_user_who_thinks_most_of_the_time_is_named_with_what_takes_the_waiting() {
        // 10.1 ms for an answer, of which the way is 10 ms, and 30 ms of thinking.
        let summary = thinking("wan-10ms", 4096, 1, 30);
        let expected = [(Segment::OfferedLoad, Relation::Joint), (Segment::NetworkLatency, Relation::Joint)];
        assert_eq!(names(&summary), expected, "{:#?}", summary.diagnosis);
        let entry = &summary.diagnosis.limiting[0];
        let text = &entry.evidence[0].text;
        assert!(text.contains("thinks 30.0 ms of the 40.1 ms") && text.contains("(75 %)"), "{text}");
        assert_eq!(entry.codes, [RULE.code]);
        assert!(
            !found(&summary, "too-little-concurrency") && !cleared(&summary, Segment::WorkloadConcurrency)
        );
    }

    #[test]
    fn many_users_who_think_are_named_where_nothing_is_full() {
        for (name, think_ms, with) in
            [("local-ssd", 1, None), ("wan-10ms", 20, Some(Segment::NetworkLatency))]
        {
            let summary = thinking(name, 4096, 16, think_ms);
            let named: Vec<Segment> = names(&summary).iter().map(|(segment, _)| *segment).collect();
            let expected: Vec<Segment> = [Some(Segment::OfferedLoad), with].into_iter().flatten().collect();
            assert_eq!(named, expected, "{name}: {:#?}", summary.diagnosis);
        }
    }

    #[test]
    fn a_full_wire_limits_users_who_think_however_long_they_do() {
        // The wire sustains 11.1 requests a second: 64 users who think 3 s of 5.7 s would ask for 20.
        let summary = thinking("hundred-megabit", 1 << 20, 64, 3_000);
        assert!(
            think::share(summary.cells.iter().find(|cell| cell.cut == Cut::Path).unwrap()).unwrap() > 0.5
        );
        assert_eq!(names(&summary)[0].0, Segment::NetworkBandwidth, "{:#?}", summary.diagnosis);
    }

    #[test]
    fn users_who_think_less_than_they_wait_are_cleared_and_the_waiting_is_judged() {
        let summary = thinking("wan-10ms", 4096, 1, 5);
        assert!(cleared(&summary, Segment::OfferedLoad), "{:#?}", summary.diagnosis);
        assert_eq!(names(&summary)[0].0, Segment::NetworkLatency);
        let text = &summary.diagnosis.limiting[0].evidence[0].text;
        assert!(text.contains("10.0 ms of the 10.1 ms that one request takes"), "{text}");
    }

    #[test]
    fn from_nineteen_twentieths_on_the_load_is_delivered() {
        let summary = thinking("wan-10ms", 4096, 1, 400);
        assert_eq!(names(&summary), [(Segment::OfferedLoad, Relation::Sole)]);
        assert_eq!(summary.diagnosis.limiting[0].codes, ["load-delivered"]);
    }
}
