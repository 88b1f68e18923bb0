//! Requests and their plans, for tests.

use super::plan::plan;
use super::request::Request;
use super::settings::Settings;
use narrows_model::{Bytes, Plan, Target};
use narrows_study::{CheckRequest, plan_check};

/// As published.
pub(super) fn request() -> Request {
    Request { settings: Settings::default(), has_cuts: true, memory: None, free: None }
}

pub(super) fn planned(request: &Request) -> Plan {
    let folder: Target = "/data".parse().unwrap();
    let mut check = CheckRequest::new(folder.clone());
    (check.blocks, check.depths) = (Some(vec![Bytes(4096)]), Some(vec![1]));
    plan(request, &folder, plan_check(&check).unwrap()).unwrap()
}
