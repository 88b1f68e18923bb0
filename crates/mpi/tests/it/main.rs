//! Jobs of real ranks, started by the launcher of their MPI library on this machine: more of them than processors, on
//! loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod collective;
mod figures;
mod job;
mod launcher;
mod lost;
mod mpiio;
mod noncontig;
mod runs;
mod tiles;
mod unlike;
