//! Whether what all clients share is full: with the fewest clients already, with many, or not yet.

use super::ceiling::{StageCeiling, stage_ceilings};
use super::{BYTES_UNIT, Curve};
use crate::text;
use crate::thresholds::{CPU_FULL_RATIO, FULL_RATIO};
use crate::view::SummaryView;
use narrows_model::counters::Role;
use narrows_model::summary::{
    CellSummary, Saturation, SaturationState, SharedStage, SharedStageState, StageUse,
};
use narrows_model::units::{ratio, round_to_u64};
use narrows_model::{Segment, Summary};
use narrows_stats::saturation::GAIN_LIMIT_RATIO;

/// The verdict on `curve`, which stops to grow as `saturation` says.
///
/// # Source
/// Full with one client only where a stage that all clients share was seen full then; that the aggregate does not grow
/// shows by itself only that the clients do not limit (Gunther 2007; methodology, section 14).
pub(super) fn shared_stage(
    summary: &Summary,
    curve: &Curve<'_>,
    saturation: Option<&Saturation>,
) -> SharedStage {
    let view = SummaryView::new(summary);
    let knee = saturation.and_then(|found| found.knee_in_flight);
    let at_knee = knee.and_then(|knee| curve.cells.iter().find(|cell| f64::from(cell.clients) >= knee));
    let state_of = saturation.map(|found| found.state);
    let is_flat = at_knee.is_some_and(|cell| cell.clients == curve.first().clients);
    let leaves_none = state_of == Some(SaturationState::Undecided) && one_leaves_none(&view, curve);
    let looked_at = if leaves_none { curve.first() } else { at_knee.copied().unwrap_or(curve.last()) };
    let full = full_stages(&view, curve, looked_at);
    let state = match state_of {
        Some(SaturationState::Undecided) if leaves_none => SharedStageState::FullWithOneClient,
        Some(SaturationState::Reached) if is_flat && curve.first().clients == 1 => {
            if full.is_empty() {
                SharedStageState::NothingAdded
            } else {
                SharedStageState::FullWithOneClient
            }
        }
        Some(SaturationState::Reached) => SharedStageState::SaturatedWithMany,
        Some(SaturationState::NotReached) => SharedStageState::NotReached,
        Some(SaturationState::Undecided) | None => SharedStageState::Undecided,
    };
    let evidence = evidence(&view, curve, saturation, (state, looked_at, &full));
    SharedStage { state, full, evidence }
}

/// Whether one client uses so much of a stage that all share that more of them could not add 3 %, and did not as far as the
/// points show: then the errors of these leave nothing open.
fn one_leaves_none(view: &SummaryView<'_>, curve: &Curve<'_>) -> bool {
    let is_used_up = |stage: &StageUse| stage.used_ratio * (1.0 + GAIN_LIMIT_RATIO) >= 1.0;
    curve.first().clients == 1
        && curve.gain_ratio().is_some_and(|gain| gain < 1.0 + GAIN_LIMIT_RATIO)
        && full_stages(view, curve, curve.first()).first().is_some_and(is_used_up)
}

/// The stages that all clients share and that were full at `cell`, the fullest first.
fn full_stages(view: &SummaryView<'_>, curve: &Curve<'_>, cell: &CellSummary) -> Vec<StageUse> {
    let mut all = uses(view, curve, cell);
    all.retain(|used| used.used_ratio >= limit(used.segment));
    all
}

/// Whether a link or a device was full at `cell`, by a cut that binds or by the verdict on it. These serve as much whoever
/// asks.
pub(crate) fn is_hardware_full(summary: &Summary, curve: &Curve<'_>, cell: &CellSummary) -> bool {
    let is_hardware =
        |segment: Segment| segment == Segment::NetworkBandwidth || segment.is_within(Segment::Device);
    let full = full_stages(&SummaryView::new(summary), curve, cell);
    cell.limiting.into_iter().chain(full.iter().map(|used| used.segment)).any(is_hardware)
}

/// From which share on a segment counts as full.
fn limit(segment: Segment) -> f64 {
    if matches!(segment, Segment::ClientCpu | Segment::ServerCpu) { CPU_FULL_RATIO } else { FULL_RATIO }
}

/// How far `cell` used what all clients share, the fullest first.
fn uses(view: &SummaryView<'_>, curve: &Curve<'_>, cell: &CellSummary) -> Vec<StageUse> {
    let stage = |segment: Segment, used_ratio: f64, counter: &str| StageUse {
        segment,
        clients: cell.clients,
        used_ratio,
        counter: counter.to_owned(),
    };
    // A cut whose own rate still grows with its clients shows what they ask for, not what the stage sustains.
    let is_known = |ceiling: &StageCeiling| {
        ceiling.binds && (ceiling.segment != Segment::NetworkBandwidth || view.has_network())
    };
    let ceilings = stage_ceilings(view.summary, curve).into_iter().filter(is_known);
    let by_cut = ceilings.filter_map(|ceiling| {
        Some(stage(ceiling.segment, ratio(curve.rate(cell), ceiling.rate)?, ceiling.cut.name()))
    });
    let by_cpu = [(Role::Client, Segment::ClientCpu), (Role::Server, Segment::ServerCpu)];
    let by_cpu = by_cpu.into_iter().filter_map(|(role, segment)| {
        let cpu = SummaryView::cpu(cell, role)
            .filter(|cpu| role != Role::Client || is_shared(cell, cpu.capacity_cpus))?;
        Some(stage(segment, cpu.busy_ratio, "CPU time over the CPUs of the machine"))
    });
    let mut all: Vec<StageUse> = by_cut.chain(by_cpu).collect();
    all.sort_by(|a, b| b.used_ratio.total_cmp(&a.used_ratio));
    all
}

/// Whether the CPUs are fewer than the clients' threads: else each thread has one of its own, which others do not share.
fn is_shared(cell: &CellSummary, capacity_cpus: f64) -> bool {
    let threads = round_to_u64(capacity_cpus.ceil());
    cell.clients > 1 && threads <= u64::from(cell.clients) * u64::from(cell.requested.workers)
}

fn evidence(
    view: &SummaryView<'_>,
    curve: &Curve<'_>,
    saturation: Option<&Saturation>,
    (state, looked_at, full): (SharedStageState, &CellSummary, &[StageUse]),
) -> Vec<String> {
    let clients = |count: u32| if count == 1 { "1 client".to_owned() } else { format!("{count} clients") };
    let (first, last) = (curve.first(), curve.last());
    let mut all = Vec::new();
    all.extend(curve.gain_ratio().map(|gain| {
        format!(
            "{} reach {gain:.2} times the rate of {} ({} and {})",
            clients(last.clients),
            clients(first.clients),
            rate_text(curve, last),
            rate_text(curve, first)
        )
    }));
    all.extend(saturation.map(|found| match found.state {
        SaturationState::Reached => {
            format!("from {} on, doubling them adds less than 3 %", clients(looked_at.clients))
        }
        SaturationState::NotReached => {
            format!("the last doubling still adds {}", text::percent(found.last_doubling_gain_ratio))
        }
        SaturationState::Undecided if state == SharedStageState::FullWithOneClient => {
            "one client leaves less than 3 % of what all share to others".to_owned()
        }
        SaturationState::Undecided => {
            "whether the last doubling adds 3 % or more is within the errors of the points".to_owned()
        }
    }));
    for used in full {
        all.push(format!(
            "{} was at {} of what it sustains with {} ({})",
            used.segment,
            text::percent(used.used_ratio),
            clients(used.clients),
            used.counter
        ));
    }
    let is_full = matches!(
        state,
        SharedStageState::NothingAdded
            | SharedStageState::SaturatedWithMany
            | SharedStageState::FullWithOneClient
    );
    if is_full && full.is_empty() {
        all.push(match uses(view, curve, looked_at).first() {
            Some(most) => format!(
                "no stage that was measured was full: the fullest is {} with {}",
                most.segment,
                text::percent(most.used_ratio)
            ),
            None => "no stage that all clients share was measured by itself".to_owned(),
        });
    }
    if let Some(segment) = looked_at.limiting.filter(|_| is_full && full.is_empty()) {
        all.push(format!("the verdict on {} names {segment}", looked_at.id));
    }
    if last.clients > 1 {
        all.push(clients_words(view, last));
    }
    all
}

/// Where the clients of a cell ran, and what they share by that.
fn clients_words(view: &SummaryView<'_>, cell: &CellSummary) -> String {
    let used = view.hosts_of_clients(cell.clients);
    match used.split_last() {
        None => "the clients are processes of one machine, and share its CPUs, memory and link".to_owned(),
        Some((last, [])) => {
            format!("the clients are processes of the host {last}, and share its CPUs, memory and link")
        }
        Some((last, others)) => format!(
            "the clients are processes of the hosts {} and {last}; those of a host share its CPUs, memory and link",
            others.join(", ")
        ),
    }
}

/// The rate of a cell in words.
fn rate_text(curve: &Curve<'_>, cell: &CellSummary) -> String {
    let rate = curve.rate(cell);
    if curve.unit == BYTES_UNIT { text::storage_rate(rate) } else { text::op_rate(rate) }
}
