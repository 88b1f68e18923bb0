//! Tests of inventory and counters against trees of real machines and against this one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod block_device;
mod host_facts;
mod machine_counters;
mod oracle;
mod path_facts;
mod support;
