//! Tests of the importers on outputs that other tools really printed, one module a tool; and of the suites on records as the
//! program of their time wrote them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod import_any_bytes;
mod import_auto;
mod import_bonnie;
mod import_cut;
mod import_ioperf;
mod import_iozone;
mod import_mdtest;
mod import_postmark;
mod outputs;
mod records;
