//! A part of the time that one request takes.

use super::{EvidenceSource, error_ratio, joint_error};
use crate::facts::time_per_op_s;
use crate::text;
use crate::thresholds::{BARELY_RATIO, BEYOND_RATIO, DOMINANT_RATIO, GAIN_MAX, INFERRED_CONFIDENCE};
use crate::verdict::{Basis, SegmentVerdict, Stance};
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// Evaluates a part of the time that one request takes at depth 1.
pub(crate) fn time_share(
    segment: Segment,
    cell: &CellSummary,
    part_s: f64,
    what: &str,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let whole_s = time_per_op_s(cell)?;
    let share = ratio(part_s, whole_s)?;
    let text = format!(
        "{what} is {} of the {} that one request takes in {} ({})",
        text::seconds(part_s),
        text::seconds(whole_s),
        cell.id,
        text::percent(share.clamp(0.0, 1.0)),
    );
    Some(share_of_time(segment, &cell.id, share, text, shown)?.with_load_error(error_ratio(cell)))
}

/// Below this share of a request's time a stage is cleared.
pub(crate) const CLEARED_STAGE_RATIO: f64 = DOMINANT_RATIO / 2.0;

/// What the share of a request's time says that is gone without a stage: half of it limits, less than a quarter clears.
pub(crate) fn stance_of_stage(share: f64) -> Stance {
    match share {
        share if share >= DOMINANT_RATIO => Stance::Limits,
        share if share < CLEARED_STAGE_RATIO => Stance::Clears,
        _ => Stance::Open,
    }
}

/// Evaluates the share of the time of a request of `cell` that is gone without a stage, as `other` shows, inferred and not
/// seen.
pub(crate) fn stage(segment: Segment, cell: &CellSummary, other: &CellSummary, share: f64) -> SegmentVerdict {
    SegmentVerdict::new(segment, &cell.id, stance_of_stage(share), Basis::TimeShare, share)
        .with_load_error(joint_error(cell, other))
        .with_confidence_max(INFERRED_CONFIDENCE)
        .unsure_if(share < BARELY_RATIO)
        .with_relief_gain(ratio(1.0, 1.0 - share).filter(|gain| *gain < GAIN_MAX))
}

/// Evaluates a share of a time; `None` where it is further above the whole than noise takes it: then not every request passed
/// the segment.
pub(crate) fn share_of_time(
    segment: Segment,
    id: &str,
    share: f64,
    text: String,
    shown: EvidenceSource<'_>,
) -> Option<SegmentVerdict> {
    let share = Some(share).filter(|share| *share <= BEYOND_RATIO)?.clamp(0.0, 1.0);
    let stance = if share >= DOMINANT_RATIO { Stance::Limits } else { Stance::Clears };
    let gain = ratio(1.0, 1.0 - share).filter(|gain| *gain < GAIN_MAX);
    let verdict = SegmentVerdict::new(segment, id, stance, Basis::TimeShare, share);
    let verdict = verdict.unsure_if(share < BARELY_RATIO);
    Some(verdict.with_relief_gain(gain).with_evidence(text, shown.counter, shown.command))
}
