//! Requests of records that have them as words and numbers.

use super::MIB;
use super::request::{BonnieFiles, Edition, Request};
use crate::client_hosts::SuiteHosts;
use narrows_model::Bytes;
use narrows_model::plan::SuiteSource;
use narrows_model::units::saturate_u32;

/// The request of such a record, without what its output does not depend on.
pub(super) fn request(options: &SuiteSource) -> Option<Request> {
    let (number, text) = (|name: &str| options.number(name), |name: &str| options.text(name));
    Some(Request {
        edition: Edition::named(&text("edition")?)?,
        file_mib: Some(number("file_bytes")? / MIB),
        chunk: Bytes(number("chunk_bytes")?),
        seeks: number("seeks")?,
        seekers: number("seekers"),
        files: BonnieFiles {
            thousands: number("file_thousands")?,
            max: Bytes(number("file_bytes_max")?),
            min: Bytes(number("file_bytes_min")?),
            folders: number("folders")?,
            chunk: Bytes(number("file_chunk_bytes")?),
        },
        char_mib: None,
        syncs_each: text("sync")? == "each write",
        direct: text("access")? == "direct",
        runs: saturate_u32(number("runs")?),
        processes: saturate_u32(number("processes")?),
        name: Some(text("name")?),
        csv_alone: text("output")? == "csv",
        hosts: SuiteHosts::default(),
        ram_mib: None,
        has_cuts: options.has_cuts(),
        memory: number("memory_bytes").map(Bytes),
        free: None,
    })
}
