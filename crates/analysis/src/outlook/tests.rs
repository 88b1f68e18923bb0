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
