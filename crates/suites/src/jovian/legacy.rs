//! Requests of records that have them as words and numbers.

use super::request::{CacheFlush, PUBLISHED_UNIT, Request};
use crate::client_hosts::SuiteHosts;
use narrows_model::plan::SuiteSource;
use narrows_model::units::saturate_u32;
use narrows_model::workload::Acknowledgement;
use narrows_model::{Bytes, Nanos};

/// The request of such a record, without what its output does not depend on.
pub(super) fn request(options: &SuiteSource) -> Option<Request> {
    let (number, text) = (|name: &str| options.number(name), |name: &str| options.text(name));
    let is_late = text("acknowledgement")? == "late";
    let is_one_machine = text("servers").is_some_and(|servers| servers == "one_machine");
    Some(Request {
        labels: Vec::new(),
        disks: Vec::new(),
        endpoints: is_one_machine.then(|| ("127.0.0.1".to_owned(), 0)).into_iter().collect(),
        node_disks: 1,
        hosts: SuiteHosts::default(),
        unit: number("unit_bytes").map_or(PUBLISHED_UNIT, Bytes),
        bytes: Some(Bytes(number("client_bytes")?)),
        depth: 1,
        peer_depth: None,
        acknowledgement: if is_late { Acknowledgement::Late } else { Acknowledgement::Early },
        flush: match (text("flush")?.as_str(), number("flush_bytes")) {
            ("dummy", Some(bytes)) => CacheFlush::Dummy(Bytes(bytes)),
            ("drop", _) => CacheFlush::Drop,
            _ => CacheFlush::None,
        },
        trials: saturate_u32(number("trials")?),
        engine: None,
        cut_ns: options.has_cuts().then(|| Nanos::from_millis(1000)),
        memory: number("memory_bytes").map(Bytes),
    })
}
