//! The load that was asked for is delivered: nothing of the path is at its limit.

use super::{Basis, Rule, Stance, Tier, Verdict};
use crate::text;
use crate::view::View;
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// From this share of the asked rate the load is delivered: pacing keeps within a few percent.
const DELIVERED_RATIO: f64 = 0.95;

/// The rule.
pub(super) static RULE: Rule = Rule {
    code: "load-delivered",
    slug: "offered_load",
    segment: Segment::OfferedLoad,
    title: "the load asked for is delivered",
    definition: "The rate was capped, requests came at a rate of their own (open loop) or after a think time, and the path carried \
                 nearly all that was asked for. What the path can carry was not \
                 measured: every other verdict on such a cell is void.",
    formula: "rate >= 0.95 x cap on bytes or operations a second, or x the offered operations a second, or x \
              requests in flight / think time",
    source: "Open and closed loads: a delivered load is below capacity, Jain (1991), chapter 31",
    example: "1 MiB reads at 9.96 MiB/s under a cap of 10.0 MiB/s",
    how_to_measure: "ask for a rate below what the path can carry; leave --max-rate out to find what limits",
    run,
};

fn run(view: &View<'_>) -> Vec<Verdict> {
    view.regimes().iter().filter_map(|regime| judge(regime.cell)).collect()
}

fn judge(cell: &CellSummary) -> Option<Verdict> {
    let Asked { share: load, moved, wanted } = asked(cell)?;
    let delivered = load >= DELIVERED_RATIO;
    let stance = if delivered { Stance::Limits } else { Stance::Clears };
    let text = format!("{} moves {moved}, {} of the {wanted} asked for", cell.id, text::percent(load));
    let verdict = Verdict::on(RULE.segment, &cell.id, stance, Basis::State, load.min(1.0));
    let tier = if delivered { Tier::Voids } else { Tier::Resource };
    Some(verdict.in_tier(tier).because(text, "rate against the cap on it", ""))
}

/// What was asked of a cell, and how much of it came.
struct Asked {
    share: f64,
    moved: String,
    wanted: String,
}

/// What was asked of a cell: the cap on its bytes, the cap on its operations or the rate of an open loop, whichever it
/// came nearest to; `None` where it was to go as fast as it could.
fn asked(cell: &CellSummary) -> Option<Asked> {
    let (bytes, ops) = (cell.rate_bytes_per_s?.0, cell.ops_per_s?.0);
    let load = &cell.requested;
    let of_bytes = load.max_bytes_per_s.and_then(|cap| {
        let wanted = text::storage_rate(cap as f64);
        Some(Asked { share: ratio(bytes, cap as f64)?, moved: text::storage_rate(bytes), wanted })
    });
    let offered = cell.offered_ops_per_s.map(|rate| rate.0);
    let of_ops = [offered, load.max_ops_per_s].into_iter().flatten().filter_map(|cap| {
        Some(Asked { share: ratio(ops, cap)?, moved: text::op_rate(ops), wanted: text::op_rate(cap) })
    });
    let of_think = think(cell, ops).filter(|asked| asked.share >= DELIVERED_RATIO);
    of_bytes.into_iter().chain(of_ops).chain(of_think).max_by(|a, b| a.share.total_cmp(&b.share))
}

/// What think time lets be asked: N requests in turn start at most N / Z a second.
fn think(cell: &CellSummary, ops_per_s: f64) -> Option<Asked> {
    let most = ratio(cell.in_flight.configured as f64, cell.requested.think_ns.as_secs_f64())?;
    let wanted = text::op_rate(most);
    Some(Asked { share: ratio(ops_per_s, most)?, moved: text::op_rate(ops_per_s), wanted })
}

/// Whether the cap on its rate held a cell back, so that its rate says nothing of what it ran against.
pub(crate) fn is_held(cell: &CellSummary) -> bool {
    asked(cell).is_some_and(|asked| asked.share >= DELIVERED_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Grid, cleared, found, machine, measured_by, plan};
    use narrows_model::{Cut, Summary};

    /// A file server of which every cell but the generator's is capped.
    fn capped(bytes_per_s: u64) -> Summary {
        let profile = machine("gigabit-nfs");
        let mut plan = plan(&profile, Grid::default());
        plan.segments.push(Segment::OfferedLoad);
        for cell in plan.cells.iter_mut().filter(|cell| cell.cut != Cut::Generator) {
            cell.workload.max_bytes_per_s = Some(bytes_per_s);
            cell.stop.measure_ns = narrows_model::Nanos(20_000_000_000);
        }
        measured_by(&profile, &plan)
    }

    #[test]
    fn a_load_held_at_its_cap_is_delivered_and_blames_nothing() {
        let summary = capped(20_000_000);
        let bulk: Vec<_> =
            summary.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("bulk")).collect();
        assert!(
            !bulk.is_empty() && bulk.iter().all(|entry| entry.segment == Segment::OfferedLoad),
            "{bulk:?}"
        );
        assert!(!cleared(&summary, Segment::NetworkBandwidth), "a capped load shows no spare bandwidth");
    }

    #[test]
    fn a_load_that_thinks_nearly_all_of_the_time_is_delivered() {
        let mut summary = crate::testing::builtin("local-ssd");
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            let each_s = cell.in_flight.configured as f64 / cell.ops_per_s.unwrap().0;
            cell.requested.think_ns =
                narrows_model::Nanos(narrows_model::units::round_to_u64(each_s * 0.97e9));
        }
        let limiting = crate::diagnose(&summary).limiting;
        assert!(!limiting.is_empty());
        assert!(limiting.iter().all(|entry| entry.segment == Segment::OfferedLoad), "{limiting:?}");
    }

    #[test]
    fn a_cap_above_what_the_path_carries_does_not_change_the_verdict() {
        let summary = capped(1_000_000_000);
        assert!(!found(&summary, RULE.code) && cleared(&summary, Segment::OfferedLoad));
        assert_eq!(summary.diagnosis.limiting[0].segment, Segment::NetworkBandwidth);
    }

    #[test]
    fn a_cut_held_at_its_cap_convicts_nothing() {
        let mut summary = capped(20_000_000);
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.rate_bytes_per_s =
                cell.rate_bytes_per_s.map(|rate| narrows_model::BytesPerSec(rate.0 * 0.94));
        }
        let diagnosis = crate::diagnose(&summary);
        let convicted = |segment| diagnosis.limiting.iter().any(|entry| entry.segment == segment);
        assert!(
            !convicted(Segment::NetworkBandwidth) && !convicted(Segment::DeviceBandwidth),
            "{:?}",
            diagnosis.limiting
        );
    }
}
