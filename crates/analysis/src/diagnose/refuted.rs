//! Verdicts that deeper measurements refute: a part is not full where more in flight gets more through it.
//!
//! Not here: what limits then; that more in flight helps is the rule `too-little-concurrency`'s to say.

use crate::case::Cases;
use crate::method::group_limit;
use crate::method::saturation::{ComparedHosts, grows};
use crate::verdict::{Basis, SegmentVerdict, Stance};
use crate::view::SummaryView;
use narrows_model::summary::CellSummary;
use narrows_model::{Cut, Segment};

/// Whether a verdict blames a part that is shared by all requests, by the ceiling that a cut measured, although the path
/// moves clearly more with more in flight, or the cut does.
///
/// A measured ceiling is a lower bound and binds only once more in flight adds nothing. A segment counts as full within
/// a tenth of its ceiling: where more in flight adds as much, and more than chance explains, it was not full. CPUs are
/// not assessed by a cut, and more workers have more of them. The limit of a control group is no lower bound: what goes
/// beyond it in a short window is what the kernel lets pass at once.
pub(super) fn is_refuted(cases: &Cases<'_>, verdict: &SegmentVerdict) -> bool {
    let Some(view) = cases.view() else { return false };
    let is_certain = group_limit::is_certain(verdict);
    if verdict.stance != Stance::Limits || verdict.basis != Basis::Utilisation || is_certain {
        return false;
    }
    let Some(cuts) = cuts(verdict.segment) else { return false };
    let Some(cell) = view.summary.cells.iter().find(|cell| cell.id == verdict.cell) else { return false };
    // The part of the path that is full may be the link, or the memory, of each client's host.
    let is_of_hosts = matches!(verdict.segment, Segment::NetworkBandwidth | Segment::ClientMemory);
    let hosts = if is_of_hosts { ComparedHosts::Same } else { ComparedHosts::Any };
    grows(view, cell, hosts) || measured_by(view, cell, cuts).is_some_and(|cut| grows(view, cut, hosts))
}

/// The cuts that measure the ceiling of a shared part; `None` for what no cut's rate is the ceiling of. The raw stream
/// has no number in flight that could grow.
fn cuts(segment: Segment) -> Option<&'static [Cut]> {
    match segment {
        Segment::NetworkBandwidth | Segment::ClientMemory => Some(&[]),
        Segment::ServerProtocol => Some(&[Cut::ServerMemory]),
        Segment::Device | Segment::DeviceBandwidth | Segment::DeviceIops => {
            Some(&[Cut::ServerStorage, Cut::LocalDevice])
        }
        _ => None,
    }
}

/// The cut's cell that the path was compared with, where it ran with as many in flight. Below a page cache the path is
/// compared with the cut's best.
fn measured_by<'v>(view: &SummaryView<'v>, cell: &CellSummary, cuts: &[Cut]) -> Option<&'v CellSummary> {
    let found = cuts.iter().find_map(|cut| view.ceiling(*cut, cell))?;
    (found.same_settings && !found.raised).then_some(found.cell)
}

#[cfg(test)]
mod tests {
    use crate::testing::{checked, machine, named, refined};
    use narrows_model::Segment;

    #[test]
    fn a_device_that_does_more_with_more_in_flight_is_not_full() {
        // It serves 32 at once, and a check asks for 16.
        let machine = machine("many-threads");
        assert_eq!(named(&checked(&machine), "random"), [Segment::DeviceIops]);
        let refined = refined(&machine);
        assert_eq!(named(&refined, "random"), [Segment::WorkloadConcurrency]);
        let entry = refined.diagnosis.limiting.iter().find(|entry| entry.regime.starts_with("random"));
        let text = &entry.unwrap().evidence[0].text;
        assert!(text.contains("32 in flight give ") && text.contains("16 -> 32 still added "), "{text}");
    }

    #[test]
    fn a_gain_in_cells_of_a_few_turns_of_the_queue_refutes_nothing() {
        let mut summary = refined(&machine("many-threads"));
        let named_segments = |summary: &narrows_model::Summary| named(summary, "random");
        let with_ops = |summary: &mut narrows_model::Summary, ops: f64| {
            for cell in summary.cells.iter_mut().filter(|cell| cell.in_flight.configured > 1) {
                (cell.interval, cell.steadiness) = (None, None);
                cell.elapsed_s.last_done = ops / cell.ops_per_s.unwrap().0;
            }
            summary.diagnosis = crate::diagnose(summary);
        };
        with_ops(&mut summary, 3_000.0);
        assert_eq!(named_segments(&summary), [Segment::WorkloadConcurrency]);
        // 16 and 32 in flight: 27 operations of either show only their turns.
        with_ops(&mut summary, 27.0);
        assert_eq!(named_segments(&summary), [Segment::DeviceIops]);
    }

    #[test]
    fn a_device_that_does_no_more_with_more_in_flight_stays_full() {
        for name in ["ten-gigabit-nfs", "local-ssd", "capped-iops"] {
            let refined = refined(&machine(name));
            assert_eq!(named(&refined, "random"), [Segment::DeviceIops], "{name}");
        }
        for name in ["ten-gigabit-nfs", "local-ssd", "local-disk"] {
            assert_eq!(named(&refined(&machine(name)), "bulk")[0], Segment::DeviceBandwidth, "{name}");
        }
    }
}
