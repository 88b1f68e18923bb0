//! Whether a path moved as predicted when what is blamed was changed.
//!
//! Not here: what follows for the confidence.

use super::gain::RateGain;
use crate::text;
use crate::view::SummaryView;
use narrows_model::change::{Confirmation, ConfirmingChange, PathChange};
use narrows_model::diagnosis::Evidence;
use narrows_model::summary::CellSummary;
use narrows_model::units::ratio;
use narrows_model::{Cut, Segment};

/// With a CPU less the rate of what a CPU limits falls by this at least; with two CPUs it is halved.
const FALLEN_RATIO: f64 = 0.9;
/// Above it, it did not fall.
const STAYED_RATIO: f64 = 0.97;
/// At half of the rate the queue before what is full has emptied: a request takes this share of its time at most ...
const EMPTIED_RATIO: f64 = 0.7;
/// ... and this share at least where there was none.
const QUEUED_STILL_RATIO: f64 = 0.9;
/// The rate that half of a rate comes to.
const HALF: std::ops::RangeInclusive<f64> = 0.4..=0.6;

/// What changing a segment did to the load of `cell`; `None` where it was not changed.
pub(crate) fn confirmation(
    view: &SummaryView<'_>,
    cell: &CellSummary,
    segment: Segment,
) -> Option<(Confirmation, Evidence)> {
    let own = |other: &&CellSummary| {
        let is_of = |change: &ConfirmingChange| change.path == cell.id && change.segment == segment;
        other.cut == Cut::ChangedPath && other.confirms.as_ref().is_some_and(is_of)
    };
    let changed = view.summary.cells.iter().find(own)?;
    let change = changed.confirms.as_ref()?.change;
    let gain = RateGain::between(cell, changed)?;
    let (outcome, predicted) = outcome(segment, change, gain, cell, changed)?;
    let verdict = match outcome {
        Confirmation::Confirmed => "as predicted",
        Confirmation::Refuted => "against the prediction",
        Confirmation::Undecided => "which decides nothing",
    };
    let evidence = Evidence {
        text: format!(
            "{}: {} it moves {:.2} times the rate{}, {verdict} ({predicted})",
            cell.id,
            change.text(),
            gain.ratio,
            response_text(change, cell, changed),
        ),
        counter: "rate of the path with this change alone".to_owned(),
        command: String::new(),
    };
    Some((outcome, evidence))
}

/// The outcome, and what was predicted.
fn outcome(
    segment: Segment,
    change: PathChange,
    gain: RateGain,
    cell: &CellSummary,
    changed: &CellSummary,
) -> Option<(Confirmation, &'static str)> {
    Some(match (change, segment) {
        (PathChange::HalfTheRate, _) => {
            (emptied(gain, cell, changed)?, "half of the rate, in clearly less time each")
        }
        (PathChange::OneCpuLess, _) | (PathChange::Direct, Segment::ClientCache) => {
            (fallen(gain), "a lower rate")
        }
        (PathChange::OneMoreConnection, Segment::Network | Segment::NetworkBandwidth) => {
            (opposite(grown(gain)), "the same rate")
        }
        _ => (grown(gain), "a higher rate"),
    })
}

fn grown(gain: RateGain) -> Confirmation {
    match (gain.is_real(), gain.is_none()) {
        (true, _) => Confirmation::Confirmed,
        (false, true) => Confirmation::Refuted,
        (false, false) => Confirmation::Undecided,
    }
}

fn opposite(outcome: Confirmation) -> Confirmation {
    match outcome {
        Confirmation::Confirmed => Confirmation::Refuted,
        Confirmation::Refuted => Confirmation::Confirmed,
        Confirmation::Undecided => Confirmation::Undecided,
    }
}

fn fallen(gain: RateGain) -> Confirmation {
    if gain.ratio <= FALLEN_RATIO && gain.ratio < 1.0 - gain.noise_ratio {
        Confirmation::Confirmed
    } else if gain.ratio >= STAYED_RATIO {
        Confirmation::Refuted
    } else {
        Confirmation::Undecided
    }
}

/// A queue before what is full empties at half of the rate; what takes its time without one takes it still.
fn emptied(gain: RateGain, cell: &CellSummary, changed: &CellSummary) -> Option<Confirmation> {
    let response = response_ratio(cell, changed)?;
    Some(match response {
        _ if !HALF.contains(&gain.ratio) => Confirmation::Undecided,
        response if response <= EMPTIED_RATIO => Confirmation::Confirmed,
        response if response >= QUEUED_STILL_RATIO => Confirmation::Refuted,
        _ => Confirmation::Undecided,
    })
}

/// The mean time of a request with the change over that without.
fn response_ratio(cell: &CellSummary, changed: &CellSummary) -> Option<f64> {
    let mean = |cell: &CellSummary| cell.service_ns.unwrap_or(cell.latency_ns).mean;
    ratio(mean(changed)?, mean(cell)?)
}

fn response_text(change: PathChange, cell: &CellSummary, changed: &CellSummary) -> String {
    let shown = response_ratio(cell, changed).filter(|_| change == PathChange::HalfTheRate);
    shown
        .map(|share| format!(" and a request takes {} of its time", text::percent(share)))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;
    use narrows_model::{BytesPerSec, Summary};

    /// The slow disk's bulk loads, with their rates and response times these many times what they were once `change` is made.
    fn changed(change: PathChange, rate: f64, response: f64) -> Summary {
        let mut summary = builtin("slow-disk");
        let bulk = |cell: &&CellSummary| cell.cut == Cut::Path && cell.id.ends_with("/1MiB/qd16/c1");
        let paths: Vec<CellSummary> = summary.cells.iter().filter(bulk).cloned().collect();
        for path in paths {
            let mut cell = path.clone();
            cell.id = format!("changed-{}/{}", path.id, change.name());
            cell.cut = Cut::ChangedPath;
            cell.rate_bytes_per_s = path.rate_bytes_per_s.map(|own| BytesPerSec(own.0 * rate));
            cell.latency_ns.mean = path.latency_ns.mean.map(|mean| mean * response);
            cell.service_ns = None;
            let segment = Segment::DeviceBandwidth;
            cell.confirms = Some(ConfirmingChange { path: path.id, segment, change });
            summary.cells.push(cell);
        }
        summary.diagnosis = crate::diagnose(&summary);
        summary
    }

    fn bulk(summary: &Summary) -> (Option<Confirmation>, f64) {
        let mut limiting = summary.diagnosis.limiting.iter();
        let entry = limiting.find(|entry| entry.regime.starts_with("bulk")).unwrap();
        (entry.confirmed, entry.confidence)
    }

    #[test]
    fn a_memory_store_that_is_faster_halves_the_doubt_in_the_device() {
        let (confirmed, confidence) = bulk(&changed(PathChange::MemoryStore, 3.0, 0.3));
        assert_eq!(confirmed, Some(Confirmation::Confirmed));
        let before = builtin("slow-disk").diagnosis.limiting[0].confidence;
        assert!((confidence - (1.0 - (1.0 - before) / 2.0)).abs() < 1e-9, "{confidence} after {before}");
    }

    #[test]
    fn a_memory_store_that_is_no_faster_refutes_the_device_and_lowers_the_confidence() {
        let (confirmed, confidence) = bulk(&changed(PathChange::MemoryStore, 1.0, 1.0));
        assert_eq!(confirmed, Some(Confirmation::Refuted));
        assert!(confidence <= 0.45, "{confidence}");
    }

    #[test]
    fn half_of_the_rate_confirms_a_queue_that_empties_and_refutes_one_that_is_none() {
        assert_eq!(bulk(&changed(PathChange::HalfTheRate, 0.5, 0.2)).0, Some(Confirmation::Confirmed));
        assert_eq!(bulk(&changed(PathChange::HalfTheRate, 0.5, 1.0)).0, Some(Confirmation::Refuted));
        assert_eq!(bulk(&changed(PathChange::HalfTheRate, 0.9, 0.2)).0, Some(Confirmation::Undecided));
    }

    #[test]
    fn without_a_change_no_verdict_is_surer_than_nine_tenths() {
        let summary = builtin("slow-disk");
        assert!(
            summary
                .diagnosis
                .limiting
                .iter()
                .all(|entry| entry.confidence <= 0.9 && entry.confirmed.is_none())
        );
    }
}
