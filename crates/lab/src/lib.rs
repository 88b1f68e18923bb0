//! Real hosts, links and limits on one machine, for tests: network namespaces joined by a bridge, token-bucket
//! rates, wires and disks with a delay, CPU quotas, device throttles, guarded processes, and counters read
//! independently of the product's own code.
//!
//! It needs root and a Linux kernel, and it is a development crate: nothing that ships depends on it. It
//! deliberately knows nothing of what is tested with it, starts no storage server, and never touches a
//! namespace, link, cgroup, mount or process that it did not make. All hosts of a lab share this machine's CPUs, page
//! cache and `/proc/stat`.
//!
//! The library forbids unsafe code. The binary `delaywire` of this package needs one unsafe call (`TUNSETIFF`)
//! and keeps it in its module `tap`.
#![forbid(unsafe_code)]

mod available;
mod cgroup;
mod claim;
pub mod clock;
pub mod counters;
mod device;
mod disks;
mod error;
mod host;
mod lab;
mod link;
mod locate;
mod machine_ticks;
pub mod mounts;
pub mod pattern;
mod process;
mod rate;
mod termination;
mod tool;

pub use available::{available, disks_available};
pub use cgroup::{BlkioThrottle, Cgroup, CpuQuota, pin_to_cpus};
pub use device::{BlockDevice, device_under};
pub use disks::{DiskPlan, LabDisks};
pub use error::{Error, LabErrorKind, Result};
pub use host::Host;
pub use lab::Lab;
pub use locate::{OPEN_MPI_INTERFACE, labcat_bin, labexporter_bin, narrows_bin, narrows_mpi_bin, slurm_mpi};
pub use machine_ticks::MachineTicks;
pub use process::{LabProcess, died_of};
pub use rate::{link_bits_per_s, payload_bytes_per_s};
