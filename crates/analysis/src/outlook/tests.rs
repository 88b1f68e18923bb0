//! A check that stops early has the verdict of one that measures everything.

use super::*;

#[test]
fn a_load_with_all_its_cells_is_decided() {
    let summary = crate::testing::builtin("slow-disk");
    let outlook = outlook(&summary, &[]);
    assert!(outlook.loads.iter().all(|load| load.is_decided), "{outlook:?}");
    assert_eq!(outlook.loads[0].segment, Segment::DeviceBandwidth);
}
