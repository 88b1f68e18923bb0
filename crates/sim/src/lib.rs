//! A pure discrete-event simulator of storage paths: a declared machine and a plan give the events of a run.
//!
//! The machine is a network of first-come-first-served stations: client CPU, network in each direction, server CPU,
//! device. [`simulate()`] runs a whole plan in virtual time; [`Machine`] returns the due time of one request for an
//! engine that runs in real time. Both use the same stations and the same service times, so they agree. The same
//! profile, plan and seed always give the same events.
//!
//! How a [`narrows_model::sim_profile::SimProfile`] is read:
//! * A station's `parallel` servers each take `per_op_ns + bytes / bytes_per_s` for a request, so a device's most is
//!   `parallel` times one server's rate.
//! * The CPU laws (`generator`, `client_cpu`, `server_cpu`) state CPU time; the CPUs serve them, `parallel` of these
//!   laws has no meaning. A CPU count that is not whole is rounded up to servers, each slowed so that together they
//!   give the declared CPU time; what is lost to slowing is throttled time. A kernel lets a service run at full speed until
//!   the quota has run out; the periods in which it does are counted as the kernel counts them.
//! * `device_ops_per_s` delays a request until its turn, and costs nothing while the device is asked for less.
//! * The round-trip time delays every request and fills nothing.
//! * The hit ratios apply whatever cache state a workload asks for. A failing request uses its fixed times, moves no
//!   bytes and does not reach the device; only cuts that reach the storage meet faults.
//!
//! Deliberately absent: a real clock, files, threads, packet loss, congestion windows, write-behind caches (every
//! write of the whole path reaches the device, early acknowledged or not), and flushes (the sync policy changes
//! nothing).
#![forbid(unsafe_code)]

pub mod builtin;
pub mod error;
pub mod facts;
pub mod machine;
pub mod simulate;

mod check;
mod flight;
mod ledger;
mod limits;
mod random;
mod route;
mod station;
mod tally;
mod trial;

pub use builtin::{BUILTIN, BuiltinMachine, builtin};
pub use error::SimError;
pub use facts::inventory;
pub use machine::{DueCompletion, Machine, RequestOutcome};
pub use simulate::simulate;

#[cfg(test)]
mod tests;
