//! Requests and their plans, for tests.

use super::request::Request;
use super::settings::PostmarkSettings;
use crate::suite::Suite;
use narrows_model::{Bytes, Plan};

/// As published.
pub(super) fn request() -> Request {
    Request {
        settings: PostmarkSettings::default(),
        has_cuts: true,
        memory: None,
        free: None,
        rooms: Vec::new(),
    }
}

pub(super) fn planned(request: &Request) -> Plan {
    request.plan(crate::testing::folder(Bytes(4096))).unwrap()
}
