//! Requests of records that have them as words and numbers.

use super::request::{FlushCall, Request, RowKind};
use crate::client_hosts::SuiteHosts;
use narrows_model::Bytes;
use narrows_model::plan::SuiteSource;
use narrows_model::units::saturate_u32;

/// The request of such a record, without what its output does not depend on.
pub(super) fn request(options: &SuiteSource) -> Option<Request> {
    let (number, text) = (|name: &str| options.number(name), |name: &str| options.text(name));
    Some(Request {
        buffer_kb: number("buffer_bytes")? / 1024,
        count: number("count")?,
        passes: saturate_u32(number("passes")?),
        processes: saturate_u32(number("processes")?),
        rows: RowKind::ALL.to_vec(),
        flush: FlushCall::named(&text("flush")?)?,
        tag: Some(text("tag")?),
        csv: text("output")? == "csv",
        hosts: SuiteHosts::default(),
        has_rows: true,
        typed_processes: None,
        ranks: None,
        link: None,
        has_cuts: options.has_cuts(),
        memory: number("memory_bytes").map(Bytes),
        free: None,
    })
}
