//! What a suspect adds to a plan.

use super::*;
use crate::{CheckRequest, plan_check};
use narrows_model::Op;

fn plan(target: &str) -> Plan {
    plan_check(&CheckRequest { budget_s: 600.0, ..CheckRequest::new(target.parse().unwrap()) }).unwrap()
}

fn suspect(segment: Segment, cell: &str) -> SuspectedCell {
    SuspectedCell { segment, cell: CellId(cell.into()) }
}

fn ids(cells: &[Cell]) -> Vec<&str> {
    cells.iter().map(|cell| cell.id.0.as_str()).collect()
}

const MINUTE: Nanos = Nanos(60_000_000_000);

#[test]
fn a_connection_is_refined_by_one_more_of_it_first() {
    let suspects = [suspect(Segment::ClientConnection, "path/read/64KiB/qd16/c1")];
    let planned = refine(&plan("tcp://h:1/disk"), &suspects, MINUTE);
    assert_eq!(
        ids(&planned.cells),
        [
            "path/read/64KiB/qd16/w2/c1",
            "path/read/64KiB/qd16/c2",
            "path/read/64KiB/qd32/c1",
            "path/read/64KiB/qd16/c4"
        ]
    );
}

#[test]
fn concurrency_is_refined_by_depth_first() {
    let suspects = [suspect(Segment::WorkloadConcurrency, "path/write/4KiB/qd1/c1")];
    let planned = refine(&plan("tcp://h:1/disk"), &suspects, MINUTE);
    assert_eq!(planned.cells[0].workload.queue_depth, 2);
    assert_eq!(planned.cells[0].workload.op, Op::Write);
}

#[test]
fn a_synchronous_path_deepens_by_workers_and_a_cell_is_planned_once() {
    // One more worker and twice the depth are the same load here.
    let suspects = [suspect(Segment::DeviceLatency, "path/read/4KiB/qd1/c1")];
    let planned = refine(&plan("/srv"), &suspects, MINUTE);
    let expected = ["path/read/4KiB/qd1/w2/c1", "path/read/4KiB/qd1/c2", "path/read/4KiB/qd1/c4"];
    assert_eq!(ids(&planned.cells), expected);
}

#[test]
fn clients_share_the_bytes_that_were_stated() {
    let plan = plan("/srv");
    let planned = refine(&plan, &[suspect(Segment::DeviceBandwidth, "path/write/1MiB/qd1/w16/c1")], MINUTE);
    for cell in &planned.cells {
        let all = cell.workload.file_bytes.0 * u64::from(cell.workload.clients);
        assert!(all <= plan.load.file_bytes_max.0, "{}", cell.id);
        assert!(cell.workload.in_flight_configured() <= plan.load.in_flight_max, "{}", cell.id);
    }
    assert_eq!(planned.cells[2].workload.clients, 4);
}

#[test]
fn what_was_added_is_not_refined_in_turn() {
    let mut plan = plan("/srv");
    let bulk = [suspect(Segment::Unknown, "path/write/1MiB/qd1/w16/c1")];
    plan.cells.extend(refine(&plan, &bulk, MINUTE).cells);
    let twice = [suspect(Segment::Unknown, "path/write/1MiB/qd1/w32/c1")];
    assert_eq!(refine(&plan, &twice, MINUTE), PlannedCells::default());
    assert!(plan.cells.iter().all(|cell| cell.workload.in_flight_configured() <= plan.load.in_flight_max));
}

#[test]
fn a_unit_that_was_claimed_for_one_client_gets_no_more() {
    let unit: Target = "iscsi://storage/iqn.2026-01.com.example:disk/1".parse().unwrap();
    let mut plan = plan("/srv");
    for cell in &mut plan.cells {
        cell.target = unit.clone();
    }
    let planned = refine(&plan, &[suspect(Segment::DeviceBandwidth, "path/write/1MiB/qd1/w16/c1")], MINUTE);
    assert!(planned.cells.iter().all(|cell| cell.workload.clients == 1), "{:?}", ids(&planned.cells));
    assert!(planned.skipped.iter().any(|skip| skip.reason.contains("for one client")), "{planned:?}");
}

#[test]
fn one_more_connection_is_measured_for_each_suspect_before_all_else() {
    let suspects = [
        suspect(Segment::DeviceBandwidth, "path/read/1MiB/qd16/c1"),
        suspect(Segment::NetworkBandwidth, "path/write/1MiB/qd16/c1"),
        suspect(Segment::NetworkLoss, "path/read/4KiB/qd16/c1"),
        // A second suspect at the cell of the first.
        suspect(Segment::NetworkBandwidth, "path/read/1MiB/qd16/c1"),
    ];
    let planned = refine(&plan("tcp://h:1/disk"), &suspects, MINUTE);
    let expected = [
        "path/read/1MiB/qd32/c1",
        "path/write/1MiB/qd16/w2/c1",
        "path/read/4KiB/qd16/w2/c1",
        "path/read/1MiB/qd16/w2/c1",
        "path/read/1MiB/qd16/c2",
        "path/read/1MiB/qd16/c4",
    ];
    assert_eq!((ids(&planned.cells), planned.skipped), (expected.to_vec(), Vec::new()));
}

#[test]
fn what_several_suspects_ask_for_is_skipped_once() {
    let suspects = [Segment::NetworkBandwidth, Segment::ClientConnection, Segment::Unknown]
        .map(|segment| suspect(segment, "path/read/1MiB/qd16/c1"));
    let planned = refine(&plan("tcp://h:1/disk"), &suspects, Nanos(0));
    let skipped: Vec<&str> = planned.skipped.iter().map(|skip| skip.cell.0.as_str()).collect();
    let expected = [
        "path/read/1MiB/qd16/w2/c1",
        "path/read/1MiB/qd32/c1",
        "path/read/1MiB/qd16/c2",
        "path/read/1MiB/qd16/c4",
    ];
    assert_eq!((skipped, planned.cells.len()), (expected.to_vec(), 0));
}

#[test]
fn what_the_time_does_not_contain_is_listed() {
    let suspects = [suspect(Segment::ServerCpu, "path/read/1MiB/qd16/c1")];
    let planned = refine(&plan("tcp://h:1/disk"), &suspects, Nanos(4_000_000_000));
    assert_eq!((planned.cells.len(), planned.skipped.len()), (2, 2));
    assert!(planned.skipped[0].reason.contains("--seconds"));
}

#[test]
fn points_of_the_path_stay_within_their_number() {
    let plan = plan("tcp://h:1/disk");
    let suspects: Vec<SuspectedCell> = plan
        .cells
        .iter()
        .filter(|cell| cell.cut == Cut::Path)
        .map(|cell| SuspectedCell { segment: Segment::ServerCpu, cell: cell.id.clone() })
        .collect();
    let planned = refine(&plan, &suspects, Nanos(u64::MAX));
    assert_eq!(suspects.len() + planned.cells.len(), PATH_CELLS_MAX);
    assert!(planned.skipped.iter().all(|skip| skip.reason.contains("at most 24")));
}

#[test]
fn a_cell_that_is_no_path_adds_nothing() {
    let suspects = [
        suspect(Segment::Generator, "generator/read/4KiB/qd1/c1"),
        suspect(Segment::ServerCpu, "path/read/3KiB/qd1/c1"),
    ];
    assert_eq!(refine(&plan("/srv"), &suspects, MINUTE), PlannedCells::default());
}

#[test]
fn refining_twice_adds_nothing_twice() {
    let mut plan = plan("tcp://h:1/disk");
    let suspects = [suspect(Segment::ServerCpu, "path/read/1MiB/qd16/c1")];
    let first = refine(&plan, &suspects, MINUTE);
    plan.cells.extend(first.cells);
    assert_eq!(refine(&plan, &suspects, MINUTE), PlannedCells::default());
}
