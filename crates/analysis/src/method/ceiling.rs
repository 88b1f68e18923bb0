//! A rate compared with what a segment sustains.
//!
//! Not here: which cut or declaration gives that ceiling, which the rule chooses.

use super::{EvidenceSource, joint_error};
use crate::case::is_full;
use crate::facts::offered_load::is_delivered;
use crate::summary::laws;
use crate::text;
use crate::thresholds::{BEYOND_RATIO, FULL_RATIO, RAISED_RATIO};
use crate::verdict::{Basis, SegmentVerdict, Stance};
use crate::view::{CutCeiling, SummaryView};
use narrows_model::counters::Role;
use narrows_model::summary::{CellSummary, RoleCpu};
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// Compares a rate of the path with a ceiling measured at the same settings.
pub(crate) fn evaluate_cell_rate(
    segment: Segment,
    cell: &CellSummary,
    ceiling: CutCeiling<'_>,
    format_rate: fn(f64) -> String,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let rate = cell.rate_bytes_per_s?.0;
    evaluate_segment_rate(SegmentRate { segment, cell, rate }, ceiling, format_rate, shown)
}

/// What passed a segment of a cell's load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentRate<'a> {
    pub segment: Segment,
    pub cell: &'a CellSummary,
    /// Bytes a second that passed the segment.
    pub rate: f64,
}

/// Compares the rate that passed a segment with its ceiling.
pub(crate) fn evaluate_segment_rate(
    segment_rate: SegmentRate<'_>,
    ceiling: CutCeiling<'_>,
    format_rate: fn(f64) -> String,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let SegmentRate { segment, cell, rate } = segment_rate;
    let load = ratio(rate, ceiling.bytes_per_s).filter(|load| *load <= BEYOND_RATIO)?;
    let error = joint_error(cell, ceiling.cell);
    if load > raised_from(cell, ceiling.cell) {
        return None; // The cut did not reach what the segment transfers, and the path shows no more than that.
    }
    let stance = if load >= FULL_RATIO { Stance::Limits } else { Stance::Clears };
    let settings = match (ceiling.raised, ceiling.same_settings) {
        (true, _) => "at its best block and depth",
        (false, true) => "at the same settings",
        (false, false) => "at the same block size",
    };
    let text = format!(
        "{} moves {}, {} of the {} that {} reached {settings}",
        cell.id,
        format_rate(rate),
        text::percent(load),
        format_rate(ceiling.bytes_per_s),
        ceiling.cell.cut.name(),
    );
    let verdict = SegmentVerdict::new(segment, &cell.id, stance, Basis::Utilisation, load);
    unless_cut_was_limited(
        verdict.with_load_error(error).with_evidence(text, shown.counter, shown.command),
        ceiling,
    )
}

/// From which share of a ceiling the path has raised it: above what noise explains, which is two standard errors, and
/// half the range of each cell's rounds where it was too short for an interval; a turn of either queue it may be in any
/// case.
fn raised_from(cell: &CellSummary, cut: &CellSummary) -> f64 {
    let half_range = |cell: &CellSummary| cell.steadiness.map_or(0.0, |seen| seen.range_ratio / 2.0);
    let noise = match joint_error(cell, cut) {
        Some(error) => 2.0 * error,
        None => half_range(cell) + half_range(cut),
    };
    let of_turns = 2.0 * laws::turn_error(cell).hypot(laws::turn_error(cut));
    (1.0 + noise.max(of_turns)).clamp(RAISED_RATIO, BEYOND_RATIO)
}

/// The verdict, unless it blames a segment by a cut that a CPU or a cap on the load limited: such a cut's rate is not
/// the segment's. As a lower bound it still clears.
pub(crate) fn unless_cut_was_limited(
    verdict: SegmentVerdict,
    ceiling: CutCeiling<'_>,
) -> Option<SegmentVerdict> {
    let full = |cpu: &RoleCpu| is_full(cpu, ceiling.cell);
    let cpu_bound = ceiling.cell.cpu.values().any(full);
    let is_limited = cpu_bound || is_delivered(ceiling.cell);
    (verdict.stance != Stance::Limits || !is_limited).then_some(verdict)
}

/// How many times faster the path gets at most when one segment is relieved: to the lowest of the ceilings of
/// `others` and of what the CPUs allow.
pub(crate) fn relief(view: &SummaryView<'_>, cell: &CellSummary, others: &[Cut]) -> Option<f64> {
    relief_of(view, cell, others, None)
}

/// The same where the CPU of `relieved` is what is relieved: it bounds nothing then.
pub(crate) fn relief_of(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    others: &[Cut],
    relieved: Option<Role>,
) -> Option<f64> {
    let rate = cell.rate_bytes_per_s?.0;
    let ceilings = others.iter().filter_map(|cut| view.ceiling(*cut, cell)).map(|found| found.bytes_per_s);
    let other = cell.cpu.iter().filter(|(role, cpu)| Some(**role) != relieved && cpu.busy_ratio > 0.0);
    let cpus = other.map(|(_, cpu)| rate / cpu.busy_ratio.min(1.0));
    let next = ceilings.chain(cpus).reduce(f64::min)?;
    ratio(next, rate).filter(|gain| *gain > 1.0)
}
