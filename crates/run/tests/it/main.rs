//! Tests of whole plans: on real files, on no target, and of whole objects.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests, outside of test functions"
)]

mod execute;
mod objects;
mod support;
