//! Jobs of real ranks, started by `mpirun` on this machine: more of them than processors, on loopback.

mod collective;
mod job;
mod lost;
mod runs;
