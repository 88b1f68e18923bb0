//! A check that stops early has the verdict of one that measures everything.

use super::*;
use crate::testing::proxied::{Proxied, proxied};
use narrows_model::{Bytes, Op, Workload};

#[test]
fn a_load_with_all_its_cells_is_decided() {
    let summary = crate::testing::builtin("slow-disk");
    let outlook = outlook(&summary, &[]);
    assert!(outlook.loads.iter().all(|load| load.is_decided), "{outlook:?}");
    assert_eq!(outlook.loads[0].segment, Segment::DeviceBandwidth);
}

/// What is left to be measured: the stream through the proxy in the direction of its path.
fn stream_left() -> Vec<Cell> {
    let workload = Workload { op: Op::Read, block_bytes: Bytes(1 << 20), ..Workload::default() };
    vec![crate::testing::cell(Cut::NetworkStream, workload)]
}

#[test]
fn a_proxy_past_which_the_path_is_faster_is_not_decided_before_the_stream_to_it_is_measured() {
    let mut summary = proxied(Proxied { busy: 0.03, ..Proxied::slow() });
    summary.cells.retain(|cell| cell.cut != Cut::NetworkStream);
    summary.diagnosis = crate::diagnose(&summary);
    let seen = outlook(&summary, &stream_left());
    let load = seen.loads.iter().find(|load| load.name.starts_with("bulk read")).unwrap();
    assert_eq!((load.segment, load.is_decided), (Segment::ProxyQueue, false), "{seen:#?}");
    assert!(seen.values[0] >= CHANGE_MIN);
}

#[test]
fn the_device_under_a_bulk_load_that_the_page_cache_serves_is_measured_before_the_load_is_decided() {
    use narrows_model::workload::Access;
    let device = |access| {
        let mut summary = crate::testing::builtin("local-ssd");
        summary.cells.retain(|cell| cell.cut != Cut::LocalDevice);
        for cell in summary.cells.iter_mut().filter(|cell| cell.cut == Cut::Path) {
            cell.requested.access = access;
            // A thousandth of the bytes reach the device.
            cell.bytes.device = Some(Bytes(cell.bytes.application.0 / 1000));
        }
        summary.diagnosis = crate::diagnose(&summary);
        let plan =
            crate::testing::plan(&crate::testing::machine("local-ssd"), crate::testing::Grid::default());
        let is_left = |cell: &&Cell| cell.cut == Cut::LocalDevice && cell.workload.op == Op::Read;
        let left: Vec<Cell> = plan.cells.iter().filter(is_left).cloned().collect();
        let seen = outlook(&summary, &left);
        let bulk = seen.loads.iter().find(|load| load.name.starts_with("bulk read")).unwrap().clone();
        let best = seen.best(&left, |_| true).map(|best| left[best].id.0.clone());
        (bulk.segment, bulk.is_decided, best)
    };
    let (segment, is_decided, best) = device(Access::Buffered);
    assert_eq!((segment, is_decided), (Segment::ClientCache, false));
    assert!(best.is_some_and(|best| best.contains("read/1MiB")), "its own load's comes first");
    assert!(device(Access::Direct).1, "past the page cache nothing is read beside it");
}

#[test]
fn on_a_slow_path_the_wire_is_measured_before_what_stays_in_memory() {
    let best = |machine: &str| {
        let mut summary = crate::testing::builtin(machine);
        summary.cells.retain(|cell| !matches!(cell.cut, Cut::MemoryCopy | Cut::NetworkStream));
        summary.diagnosis = crate::diagnose(&summary);
        let plan = crate::testing::plan(&crate::testing::machine(machine), crate::testing::Grid::default());
        let is_left = |cell: &&Cell| matches!(cell.cut, Cut::MemoryCopy | Cut::NetworkStream);
        let left: Vec<Cell> = plan.cells.iter().filter(is_left).cloned().collect();
        let seen = outlook(&summary, &left);
        let cuts: Vec<Cut> = left.iter().map(|cell| cell.cut).collect();
        assert!(cuts.contains(&Cut::MemoryCopy) && cuts.contains(&Cut::NetworkStream), "{cuts:?}");
        cuts[seen.best(&left, |_| true).unwrap()]
    };
    assert_eq!(best("hundred-megabit"), Cut::NetworkStream);
}

#[test]
fn over_more_connections_a_bulk_load_is_measured_after_its_hot_blocks() {
    let mut summary = crate::testing::by_protocol::spoken(|cell| cell.arrival(4.0));
    summary.cells.retain(|cell| cell.cut != Cut::HotBlocks && cell.cut != Cut::MoreConnections);
    summary.diagnosis = crate::diagnose(&summary);
    let is_bulk_read = |cell: &&narrows_model::summary::CellSummary| {
        cell.cut == Cut::Path
            && (cell.op, cell.block_bytes.0, cell.in_flight.configured) == (Op::Read, 1 << 20, 16)
    };
    let load = summary.cells.iter().find(is_bulk_read).unwrap().requested.clone();
    let left = |cut, workers| Cell {
        target: summary.target.clone(),
        ..crate::testing::cell(cut, Workload { workers, ..load.clone() })
    };
    let both = [left(Cut::MoreConnections, 2), left(Cut::HotBlocks, 1)];
    let seen = outlook(&summary, &both);
    assert!(seen.values[0] == 0.0 && seen.values[1] >= CHANGE_MIN, "{:?}", seen.values);
}
