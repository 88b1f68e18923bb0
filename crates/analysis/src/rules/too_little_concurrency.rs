//! The application asks for too little at once, and nothing on the path is full.

use super::judge;
use super::{Basis, Rule, Stance, Tier, Verdict};
use crate::text;
use crate::view::{View, reads};
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// A gain from more requests in flight that is no noise.
const GAIN_RATIO: f64 = 1.10;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "too-little-concurrency",
    slug: "concurrency",
    segment: Segment::WorkloadConcurrency,
    title: "the application asks for too little at once",
    definition: "As many requests are in flight as were asked for, no segment is full, and the time of one request \
                 is spent on one stage after the other. The same path carries more when more is asked for at once.",
    formula: "in flight (rate x response time) = asked for within a tenth; one at a time, or 1.1 x the rate with more in flight",
    source: "Little, Operations Research 9 (1961); asymptotic bounds of Denning and Buzen (1978)",
    example: "4 KiB reads one at a time: 97 op/s; 16 at a time: 1 540 op/s",
    how_to_measure: "repeat with more requests in flight",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(view, regime.cell)).collect()
}

fn judge(view: &View<'_>, cell: &CellSummary) -> Option<Verdict> {
    let measured = cell.in_flight.measured?;
    let asked = cell.in_flight.configured;
    if !judge::as_asked(cell)? {
        return None; // Not the load that was asked for: it neither blames nor clears what was asked.
    }
    let deeper = deeper(view, cell);
    let gain = deeper.and_then(|deeper| ratio(deeper.ops_per_s?.0, cell.ops_per_s?.0));
    let helps = gain.map_or(judge::is_single(cell), |gain| gain >= GAIN_RATIO);
    let stance = if helps { Stance::Limits } else { Stance::Clears };
    let more = deeper.zip(gain).map(|(deeper, gain)| {
        format!("; {} in flight give {gain:.2} times the rate", deeper.in_flight.configured)
    });
    let text = format!(
        "{}: {measured:.2} requests in flight of {asked} asked for, at {}{}",
        cell.id,
        text::op_rate(cell.ops_per_s?.0),
        more.unwrap_or_default(),
    );
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::State, 1.0).in_tier(Tier::Fallback);
    Some(verdict.gains(gain.filter(|gain| *gain > 1.0)).because(
        text,
        "Little's law: rate x response time",
        "",
    ))
}

/// The path's cell at the same operation and block with the most requests in flight above this one's.
fn deeper<'v>(view: &View<'v>, cell: &CellSummary) -> Option<&'v CellSummary> {
    view.summary
        .cells
        .iter()
        .filter(|other| other.cut == Cut::Path && other.block_bytes == cell.block_bytes)
        .filter(|other| reads(other.op) == reads(cell.op) && other.ops_per_s.is_some())
        .filter(|other| other.in_flight.configured > cell.in_flight.configured)
        .max_by_key(|other| other.in_flight.configured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{builtin, cleared, found, named};

    #[test]
    fn one_request_at_a_time_on_an_idle_path_is_named() {
        let summary = builtin("ten-gigabit-nfs");
        assert_eq!(named(&summary, "small synchronous"), [Segment::WorkloadConcurrency]);
    }

    #[test]
    fn a_disk_that_gains_nothing_from_more_requests_clears_it() {
        let summary = builtin("slow-disk");
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::WorkloadConcurrency));
    }
}
