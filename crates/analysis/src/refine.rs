//! Where the next cells are best spent: the cells of the path at which the verdict turns.
//!
//! Not here: which cells these are and how many fit in the time, which the planner decides.

use crate::case::Cases;
use crate::diagnose::{evaluate_rules, rank};
use crate::method::saturation;
use crate::view::{Regime, SummaryView};
use narrows_model::{Segment, Summary, Target};

/// What is worth measuring more closely: with more clients, one more connection, one more depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    /// The segment that the verdict names so far.
    pub segment: Segment,
    /// The cell of the path at which it does.
    pub cell: String,
}

/// The suspects: that of the regime that matters most, then those of every regime, itself included, that one more
/// connection or one more depth would confirm or clear.
///
/// # Shape
/// Each once; empty when nothing of the path was measured.
#[must_use]
pub fn refinement(summary: &Summary) -> Vec<Suspect> {
    let cases = Cases::of_run(summary);
    let Some(view) = cases.view() else { return Vec::new() };
    let evaluated = evaluate_rules(&cases);
    let mut suspects: Vec<Suspect> = Vec::new();
    for (index, regime) in view.regimes().iter().enumerate() {
        let ranked = cases.find(&regime.cell.id).and_then(|case| rank::rank(&cases, case, &evaluated));
        let named = ranked.map(|ranked| ranked.named).unwrap_or_default();
        let segments = named.iter().enumerate().filter(|(place, named)| {
            let matters_most = index == 0 && *place == 0;
            matters_most || is_decided_by_one_more(view, regime, named.segment)
        });
        for (_, named) in segments {
            let suspect = Suspect { segment: named.segment, cell: regime.cell.id.clone() };
            if !suspects.contains(&suspect) {
                suspects.push(suspect);
            }
        }
    }
    suspects
}

/// Whether the rules clear or confirm this segment by the same load over one more connection or at twice the depth: what
/// is full gains from neither, and a device's ceiling binds only where its load gains nothing from more in flight.
///
/// A single request leaves the wire empty between two of them: more connections fill that, whatever limits the one. A
/// mount's connections are not the load's own; those to a server of a storage protocol are.
fn is_decided_by_one_more(view: &SummaryView<'_>, regime: &Regime<'_>, segment: Segment) -> bool {
    let many = regime.cell.in_flight.configured > 1;
    let own_connections = matches!(regime.cell.target, Target::Tcp { .. }) || view.speaks_protocol();
    match segment {
        Segment::ClientConnection | Segment::Network | Segment::NetworkBandwidth | Segment::NetworkLoss => {
            many && own_connections
        }
        Segment::WorkloadConcurrency
        | Segment::ServerProtocol
        | Segment::Device
        | Segment::DeviceBandwidth
        | Segment::DeviceIops
        | Segment::Unknown => many && saturation::is_open(view, regime.cell),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builtin;

    fn cells(suspects: &[Suspect], segment: Segment) -> Vec<&str> {
        suspects.iter().filter(|found| found.segment == segment).map(|found| found.cell.as_str()).collect()
    }

    #[test]
    fn the_first_suspect_is_what_limits_the_bulk_load() {
        let suspects = refinement(&builtin("slow-disk"));
        assert_eq!(suspects[0].segment, Segment::DeviceBandwidth);
        assert_eq!(suspects[0].cell, "path/read/1MiB/qd16/c1");
    }

    #[test]
    fn a_wire_is_suspect_in_every_regime_that_one_more_connection_decides() {
        for machine in ["small-window", "gigabit-nfs"] {
            let suspects = refinement(&builtin(machine));
            let segment = suspects[0].segment;
            let bulk = ["path/read/1MiB/qd16/c1", "path/write/1MiB/qd16/c1"];
            assert_eq!(cells(&suspects, segment)[..2], bulk, "{machine}: {suspects:?}");
            let single = |suspect: &Suspect| suspect.cell.contains("/qd1/");
            assert!(!suspects.iter().any(single), "{machine}: {suspects:?}");
        }
    }

    #[test]
    fn a_device_is_suspect_wherever_many_requests_leave_open_whether_more_help() {
        let suspects = refinement(&builtin("local-ssd"));
        let device = |cell: &str| {
            let found = suspects.iter().find(|suspect| suspect.cell == cell);
            found.is_some_and(|suspect| suspect.segment.parent() == Some(Segment::Device))
        };
        for cell in ["path/read/4KiB/qd1/w16/c1", "path/write/4KiB/qd1/w16/c1", "path/write/1MiB/qd1/w16/c1"]
        {
            assert!(device(cell), "{cell}: {suspects:?}");
        }
        assert!(!suspects.iter().any(|suspect| suspect.cell.contains("/qd1/c1")), "{suspects:?}");
    }

    #[test]
    fn without_a_path_there_is_no_suspect() {
        let mut summary = builtin("gigabit-nfs");
        summary.cells.clear();
        assert_eq!(refinement(&summary), []);
    }
}
