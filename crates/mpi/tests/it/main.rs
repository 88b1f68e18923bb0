//! Jobs of real ranks, started by `mpirun` on this machine: more of them than processors, on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

mod collective;
mod figures;
mod job;
mod lost;
mod mpiio;
mod noncontig;
mod runs;
mod tiles;
