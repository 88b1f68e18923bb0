//! Requests and their plans, for tests.

use super::request::{MdtestPhase, Request};
use crate::suite::Suite;
use narrows_model::workload::ObjectKind;
use narrows_model::{Bytes, Plan};

/// All phases of two ranks in one folder, with files of the size of IO500's hard test.
pub(super) fn request() -> Request {
    Request {
        items: 100,
        tree: None,
        kinds: vec![ObjectKind::Folder, ObjectKind::File],
        phases: MdtestPhase::ALL.to_vec(),
        unique_folders: false,
        write_bytes: Bytes(3901),
        read_bytes: Bytes(1000),
        syncs_each: false,
        syncs_phase: false,
        random: false,
        stride: 0,
        host_ranks: None,
        iterations: 1,
        ranks: Some(2),
        rank_statistics: false,
        all_ranks: false,
        has_cuts: true,
        memory: None,
        free: None,
    }
}

pub(super) fn planned(request: &Request) -> Plan {
    request.plan(crate::testing::folder(Bytes(4096))).unwrap()
}
