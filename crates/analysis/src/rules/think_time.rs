//! Users think for most of a cycle, and nothing on the path is full.

use super::{Basis, Rule, Stance, Tier, Verdict, judge, offered_load};
use crate::text;
use crate::view::{View, time_per_op_s};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "users-think",
    slug: "think_time",
    segment: Segment::OfferedLoad,
    title: "users think for most of the time",
    definition: "Each of the requests in flight is a user who waits for an answer and then thinks. Where thinking is half \
                 of that cycle or more and no segment is full, the rate is the users': more of them, or quicker ones, get \
                 more. The segment that takes half of the waiting or more limits together with it. From 0.95 of the cycle \
                 on the load is delivered (load-delivered), and nothing else is said.",
    formula: "Z / (N / X) >= 0.5 with X = N / (R + Z): rate X, N users, think time Z, response time R",
    source: "Interactive response time law, Denning and Buzen, ACM Computing Surveys 10 (1978)",
    example: "16 users who think 5.00 ms of the 7.14 ms from one request to the next (70 %), at 2.24 thousand op/s",
    how_to_measure: "repeat without `think`, or with more users (depth, workers, clients)",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let share = share(cell)?;
    if offered_load::is_held(cell) {
        return None; // The load is delivered: that says all.
    }
    let stance = if share >= judge::DOMINANT_RATIO { Stance::Limits } else { Stance::Clears };
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
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::TimeShare, share).in_tier(Tier::Offered);
    let cuts = [Cut::NetworkStream, Cut::ServerMemory, Cut::ServerStorage, Cut::LocalDevice];
    let gain = [Some(1.0 / (1.0 - share)), judge::relief(view, cell, &cuts)].into_iter().flatten();
    Some(verdict.within(judge::error_ratio(cell)).gains(gain.reduce(f64::min)).because(
        text,
        "think time x rate / users (interactive response time law)",
        "",
    ))
}

/// Share of a closed loop's cycle that its users think; `None` where they do not.
fn share(cell: &CellSummary) -> Option<f64> {
    let think_s = Some(cell.requested.think_ns.as_secs_f64()).filter(|think| *think > 0.0)?;
    let cycle_s = ratio(cell.in_flight.configured as f64, cell.ops_per_s?.0)?;
    ratio(think_s, cycle_s).filter(|share| *share < 1.0)
}

/// Whether thinking is most of a cycle, so that how many requests are in flight is the users' doing.
pub(super) fn dominates(cell: &CellSummary) -> bool {
    share(cell).is_some_and(|share| share >= judge::DOMINANT_RATIO)
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
        // 11.1 requests a second is what the wire carries: 64 users who think 3 s of 5.7 s would ask for 20.
        let summary = thinking("hundred-megabit", 1 << 20, 64, 3_000);
        assert!(share(summary.cells.iter().find(|cell| cell.cut == Cut::Path).unwrap()).unwrap() > 0.5);
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
