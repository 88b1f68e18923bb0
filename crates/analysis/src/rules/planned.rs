//! The rules on the shapes that the planner of `check` really makes: cuts with settings of their own, workers instead of
//! depth, loads bounded by bytes.

use crate::testing::{checked, found, machine, named, refined};
use narrows_model::{Cut, Segment};

#[test]
fn the_segment_that_limits_is_named_for_bulk() {
    let machines = [
        ("gigabit-nfs", Segment::NetworkBandwidth),
        ("hundred-megabit", Segment::NetworkBandwidth),
        ("ten-gigabit-nfs", Segment::DeviceBandwidth),
        ("slow-disk", Segment::DeviceBandwidth),
        ("slow-server-cpu", Segment::ServerCpu),
        ("weak-client", Segment::ClientCpu),
        ("shared-laptop", Segment::HostCpu),
        ("local-ssd", Segment::DeviceBandwidth),
        ("local-disk", Segment::DeviceBandwidth),
    ];
    for (name, segment) in machines {
        let summary = checked(&machine(name));
        assert_eq!(named(&summary, "bulk")[0], segment, "{name}: {:?}", summary.diagnosis.limiting);
    }
}

#[test]
fn a_long_way_is_named_for_single_requests() {
    assert!(named(&checked(&machine("wan-10ms")), "single").contains(&Segment::NetworkLatency));
}

#[test]
fn every_cell_of_a_path_finds_the_cuts_of_its_settings() {
    for name in ["gigabit-nfs", "local-ssd"] {
        let summary = checked(&machine(name));
        let view = crate::view::SummaryView::new(&summary);
        for cell in summary.cells.iter().filter(|cell| cell.cut == Cut::Path) {
            assert!(
                view.ceiling(Cut::Generator, cell).is_some_and(|found| found.same_settings),
                "{}",
                cell.id
            );
            assert!(view.device_ceiling(cell).is_some_and(|found| found.same_settings), "{}", cell.id);
        }
        assert!(!found(&summary, "generator-limited"));
    }
}

#[test]
fn a_window_that_limits_a_connection_is_distinguished_from_the_wire_by_one_more_connection() {
    let rule = |summary: &narrows_model::Summary| named(summary, "bulk")[0];
    assert_eq!(rule(&checked(&machine("small-window"))), Segment::ClientConnection);
    assert_eq!(rule(&refined(&machine("small-window"))), Segment::ClientConnection);
    assert_eq!(rule(&refined(&machine("wide-window"))), Segment::DeviceBandwidth);
}

#[test]
fn one_more_connection_is_measured_in_both_directions_and_reported_in_both() {
    let summary = refined(&machine("small-window"));
    let is_reported = |direction: &str| {
        let bulk = summary.diagnosis.limiting.iter().filter(|entry| entry.regime.starts_with("bulk"));
        let mut texts = bulk.flat_map(|entry| &entry.evidence).map(|evidence| &evidence.text);
        texts.any(|text| text.contains(direction) && text.contains("one more connection gives"))
    };
    assert!(is_reported("path/read/") && is_reported("path/write/"), "{:#?}", summary.diagnosis.limiting);
}

#[test]
fn loss_is_reported_at_once_and_blamed_when_one_more_connection_is_faster() {
    let lossy = machine("lossy-wire");
    assert!(found(&checked(&lossy), "packets-lost"));
    let summary = refined(&lossy);
    assert_eq!(named(&summary, "bulk")[0], Segment::NetworkLoss, "{:#?}", summary.diagnosis.limiting);
    assert!(!found(&refined(&machine("wide-window")), "packets-lost"));
}

#[test]
fn a_full_wire_that_loses_packets_gains_nothing_from_one_more_connection_and_stays_to_blame() {
    let mut full = machine("gigabit-nfs");
    full.network = full.network.map(|network| narrows_model::sim_profile::NetworkLaw {
        // One connection alone would reach three times the wire's rate with such a loss.
        loss_ratio: 0.0011,
        ..network
    });
    let summary = refined(&full);
    assert_eq!(named(&summary, "bulk")[0], Segment::NetworkBandwidth, "{:#?}", summary.diagnosis.limiting);
    assert!(found(&summary, "packets-lost"), "it is reported nevertheless");
}
