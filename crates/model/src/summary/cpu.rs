//! CPU that the roles of a cell used, and programs that are no part of the path.

use crate::counters::{ForeignMemoryProgram, Role};
use crate::units::BytesPerSec;
#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// On what a CPU figure rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CpuBasis {
    /// The whole machine.
    Host,
    /// The role's processes.
    Process,
    /// The load's own threads, each by its clock: in windows of few of the ticks that count the others.
    Thread,
    /// The role's control group.
    Cgroup,
    /// The whole machine, as its `node_exporter` reports it: whatever else runs there is included.
    Exporter,
}

/// CPU that one role used in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct RoleCpu {
    /// On what the figures rest.
    pub basis: CpuBasis,
    /// CPUs that the role may use: min of online, affinity, quota.
    pub capacity_cpus: f64,
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in kernel mode.
    pub system_s: f64,
    /// Seconds in soft interrupts, machine-wide; `None` where unknown.
    pub softirq_s: Option<f64>,
    /// Seconds throttled by the quota; `None` without one.
    pub throttled_s: Option<f64>,
    /// Share of the quota's periods in which it ran out; `None` without one.
    #[serde(default)]
    pub throttled_period_ratio: Option<f64>,
    /// Busy share of the capacity over the cell.
    pub busy_ratio: f64,
    /// 99th percentile of the busy share over 2 s samples; `None` in cells too short for it.
    pub busy_ratio_p99: Option<f64>,
    /// CPU seconds an operation.
    pub service_demand_s_per_op: Option<f64>,
    /// Seconds of the kernel's threads that poll for submissions (`io_uring`), which spin whatever the load is: in no other
    /// figure here. `None` where there was none, or it could not be read.
    #[serde(default)]
    pub polling_s: Option<f64>,
    /// How long its threads waited for a CPU; `None` where it is not known.
    #[serde(default)]
    pub waiting: Option<CpuWaiting>,
}

/// How a role's threads waited for a CPU: of the client those of the load, on average; of others the busiest one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CpuWaiting {
    /// Share of the time in which a thread was runnable and waited for a CPU, without the time that a quota throttled it.
    pub waiting_ratio: f64,
    /// Share of the time in which it was runnable: on a CPU, or waiting for one.
    pub runnable_ratio: f64,
}

/// CPU that programs which are no part of the path used on a machine of it while a cell was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignLoad {
    /// Roles of the path on that machine.
    pub roles: Vec<Role>,
    /// CPUs online there.
    pub machine_cpus: f64,
    /// CPUs that were busy there, with everything.
    pub busy_cpus: f64,
    /// CPUs that the other programs used.
    pub used_cpus: f64,
    /// CPUs that a hypervisor took from that machine (steal).
    #[serde(default)]
    pub stolen_cpus: f64,
    /// The busiest of them.
    pub programs: Vec<ForeignProgramLoad>,
}

/// How much tasks on a machine of the path waited for memory while a cell was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct MemoryStall {
    /// The role whose machine it is.
    pub role: Role,
    /// Share of the time in which at least one task of the machine waited for memory.
    pub some_ratio: f64,
    /// Share of the time in which all tasks there that were not idle waited for it.
    pub full_ratio: f64,
    /// Share of the time in which a task of the role's own control group waited for it; `None` where it is not known.
    pub own_ratio: Option<f64>,
    /// Programs with the most memory that are no part of the path, the largest first.
    pub programs: Vec<ForeignMemoryProgram>,
}

/// The process that serves a file system of the path (FUSE), while a cell was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct DaemonLoad {
    /// Its name as the kernel has it.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// CPUs that it used, with its descendants.
    pub used_cpus: f64,
    /// Its busiest thread: the share of the time in which it was on a CPU or waited for one.
    pub busiest: CpuWaiting,
}

/// A device or an interface of the path that moved bytes which are not the cell's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignTransfer {
    /// Role of the path on whose machine it is.
    pub role: Role,
    /// What it is.
    pub resource: ForeignResource,
    /// Its kernel name.
    pub name: String,
    /// All that it moved, in both directions.
    pub total_bytes_per_s: BytesPerSec,
    /// The least of it that is not the cell's.
    pub foreign_bytes_per_s: BytesPerSec,
    /// Programs that moved the most bytes to and from devices, the busiest first; empty where they are not known.
    pub programs: Vec<ForeignTransferProgram>,
}

/// A kind of resource that programs of others use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ForeignResource {
    /// A block device.
    Disk,
    /// A network interface.
    Interface,
}

/// What one program moved which is no part of the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignTransferProgram {
    /// Its name as the kernel has it.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// To and from all devices.
    pub bytes_per_s: BytesPerSec,
}

/// CPU that one program used which is no part of the path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct ForeignProgramLoad {
    /// Its name as the kernel has it.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// CPUs that it used.
    pub used_cpus: f64,
}
