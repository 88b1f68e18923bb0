//! Tests of the statistics against independent implementations, properties and nominal coverage.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod coverage;
mod known_answers;
mod properties;
