//! What limits the export behind a mount limits the mount that takes as long: the verdicts on the one for the other.
//!
//! Not here: what the kernel's client takes, which is a rule of its own.

use super::{RuleVerdict, drop_outranked_parts, rule_verdicts};
use crate::case::Cases;
use crate::method::export::{self, ExportLoad};
use crate::method::time::CLEARED_STAGE_RATIO;
use crate::text;
use crate::thresholds::{CONTRADICTION_RATIO, DOMINANT_RATIO, INFERRED_CONFIDENCE, STRONG_GAIN_RATIO};
use crate::verdict::{Basis, Stance, UsedShare};
use narrows_model::Segment;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;

/// From this share of what the export moves on, a mount is limited by what is full in front of both: the kernel's client,
/// which takes the rest of the time, is cleared then.
const FILLED_RATIO: f64 = 1.0 - CLEARED_STAGE_RATIO;

/// What the rules say of the export, for each load of the mount in front of it; empty for any other path.
pub(super) fn verdicts(cases: &Cases<'_>) -> Vec<RuleVerdict> {
    let Some(view) = cases.view() else { return Vec::new() };
    let Some(summary) = export::as_path(view.summary) else { return Vec::new() };
    let mut known = rule_verdicts(&Cases::of_run(&summary));
    drop_outranked_parts(&mut known);
    let of_load = |cell: &CellSummary| {
        let Some(load) = export::beside(view, cell) else { return Vec::new() };
        let own: Vec<&RuleVerdict> = known.iter().filter(|one| one.verdict.cell == load.cell.id).collect();
        let mut moved: Vec<RuleVerdict> = own.iter().filter_map(|one| for_mount(one, cell, &load)).collect();
        // What ranks behind the export's limit is none of it, and so none of the mount's where that limit is not.
        let limits = |one: &RuleVerdict| one.verdict.stance == Stance::Limits;
        let limit_tier = own.iter().filter(|one| limits(one)).map(|one| one.verdict.tier).max();
        for one in moved.iter_mut().filter(|one| limits(one) && Some(one.verdict.tier) < limit_tier) {
            one.verdict.stance = Stance::Open;
        }
        moved
    };
    view.regimes().iter().flat_map(|regime| of_load(regime.cell)).collect()
}

/// A verdict on the load of the export for that of the mount; `None` where it is of this machine's client, which is another
/// one, or where the mount moves more than what the export's load is said to be limited by.
fn for_mount(known: &RuleVerdict, cell: &CellSummary, load: &ExportLoad<'_>) -> Option<RuleVerdict> {
    let verdict = &known.verdict;
    let is_shared = [Segment::Network, Segment::Server, Segment::Device]
        .iter()
        .any(|parent| verdict.segment.is_within(*parent))
        || verdict.segment == Segment::ClientConnection;
    if !is_shared || verdict.stance == Stance::Notes {
        return None;
    }
    // How many times as long the export by itself takes: above 1 the mount is faster, by its cache or by larger requests.
    let times = ratio(load.export_s, load.mount_s)?;
    let is_limit = verdict.stance == Stance::Limits;
    let (load_ratio, least) = match verdict.basis {
        Basis::Utilisation if is_limit && times > CONTRADICTION_RATIO => return None,
        Basis::Utilisation => (verdict.load_ratio * times, FILLED_RATIO * verdict.load_ratio.min(1.0)),
        // What is left of a request without the part takes as long in front of both.
        _ if times > 1.0 => (1.0 - (1.0 - verdict.load_ratio) * times, DOMINANT_RATIO),
        _ => (verdict.load_ratio * times, DOMINANT_RATIO),
    };
    let stance = match verdict.stance {
        Stance::Clears if times > STRONG_GAIN_RATIO => return None,
        Stance::Limits if load_ratio < least => Stance::Open,
        stance => stance,
    };
    let load_ratio = load_ratio.max(0.0);
    let mut moved = verdict.clone();
    (moved.cell, moved.stance, moved.load_ratio) = (cell.id.clone(), stance, load_ratio);
    moved.used = verdict.used.map(|used| UsedShare { ratio: load_ratio, ..used });
    let text = format!(
        "{}: a request takes {}, by narrows's own client on the export {}",
        cell.id,
        text::seconds(load.mount_s),
        text::seconds(load.export_s),
    );
    let moved = moved.with_confidence_max(INFERRED_CONFIDENCE).with_evidence(
        text,
        "time of the same requests by narrows's own client",
        "nfsiostat 1",
    );
    Some(RuleVerdict { verdict: moved, ..known.clone() })
}
