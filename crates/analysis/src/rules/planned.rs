//! The rules on the shapes that the planner of `check` really makes: cuts with settings of their own, workers instead of
//! depth, loads bounded by bytes.

use crate::testing::{checked, found, machine, named};
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
    assert!(named(&checked(&machine("wan-10ms")), "small synchronous").contains(&Segment::NetworkLatency));
}

#[test]
fn every_cell_of_a_path_finds_the_cuts_of_its_settings() {
    for name in ["gigabit-nfs", "local-ssd"] {
        let summary = checked(&machine(name));
        let view = crate::view::View::of(&summary);
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
