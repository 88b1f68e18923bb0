//! Tests that need a feature for tests alone: the counting allocator, and calls that the kernel refuses.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod counting_alloc;
mod denied_calls;
