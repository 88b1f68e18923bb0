//! Requests and their plans, for tests.

use super::request::Request;
use crate::suite::Suite;
use narrows_model::{Bytes, Plan};

/// Little of everything, by two ranks.
pub(super) fn request() -> Request {
    Request {
        bytes_easy: Bytes(1 << 20),
        transfer_easy: Bytes(64 << 10),
        segments_hard: 10,
        items: 100,
        typed_shift: None,
        host_ranks: None,
        ranks: Some(2),
        has_cuts: true,
        memory: None,
        free: None,
    }
}

pub(super) fn planned(request: &Request) -> Plan {
    request.plan(crate::testing::folder(Bytes(64 << 10))).unwrap()
}
