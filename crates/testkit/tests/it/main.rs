//! Tests of the statistics of tests against independent implementations, properties and nominal rates of alarms.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod coverage;
mod known_answers;
mod properties;
