//! A control group with limits of CPU and device throughput, on cgroup v1 and v2 alike.
//!
//! It limits what is put into it and reads what that used; it never moves a process that is already running.

mod limits;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use limits::{BlkioThrottle, CpuQuota};

use crate::clock::{Deadline, pause};
use crate::device::device_under;
use crate::error::{Error, LabErrorKind, Result};
use tree::Hierarchy;

/// How long a group whose last process was just killed may take to become empty.
const EMPTYING: Duration = Duration::from_secs(2);

/// The wrapper's exit code when it could not enter: like env(1), which uses it for its own failures.
const ENTER_SCRIPT: &str = r#"while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; done
shift; exec "$@""#;

/// A control group of a [`crate::Lab`]; a cheap handle.
#[derive(Debug, Clone)]
pub struct Cgroup {
    name: String,
    cpu: ControllerGroup,
    accounting: ControllerGroup,
    io: Option<ControllerGroup>,
}

/// The group's folder under one controller, and which files that controller has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControllerGroup {
    folder: PathBuf,
    version: Version,
}

/// The two interfaces of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Cgroup {
    /// Makes the group in the hierarchies of CPU, CPU accounting and, where there is one, devices.
    pub(crate) fn make(name: &str) -> Result<Self> {
        let mounts = tree::mounts()?;
        let hierarchy = |v1: &str, v2: &str| tree::find(&mounts, v1, v2);
        let missing = |what: &str| {
            let detail = "neither a v1 hierarchy nor a v2 controller is mounted";
            Error::new(LabErrorKind::Refused, "find the cgroup controller", what, detail)
        };
        let cpu = hierarchy("cpu", "cpu").ok_or_else(|| missing("cpu"))?;
        let accounting = hierarchy("cpuacct", "cpu").ok_or_else(|| missing("cpuacct"))?;
        let io = hierarchy("blkio", "io");
        let made = Self {
            name: name.to_owned(),
            cpu: cpu.group(name),
            accounting: accounting.group(name),
            io: io.as_ref().map(|io| io.group(name)),
        };
        for hierarchy in [Some(cpu), Some(accounting), io].into_iter().flatten() {
            if let Err(refused) = hierarchy.make(name) {
                let _rest = made.remove();
                return Err(refused);
            }
        }
        Ok(made)
    }

    /// Its name under every controller.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Limits the CPU time of all its processes together; replaces an earlier limit.
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] for a quota that the kernel cannot represent, else the kernel's error.
    pub fn limit_cpu(&self, quota: CpuQuota) -> Result<()> {
        limits::set(&self.cpu, &quota.settings(self.cpu.version)?)
    }

    /// Limits what its processes together read and write on the device under a path.
    ///
    /// On v1 only direct and synchronous requests are charged to the group that makes them; buffered writes
    /// are written back by the kernel outside of it.
    ///
    /// # Errors
    /// [`LabErrorKind::Refused`] without the controller, [`LabErrorKind::Invalid`] when the path is on no block device.
    pub fn limit_io(&self, throttle: &BlkioThrottle) -> Result<()> {
        let Some(io) = &self.io else {
            return Err(Error::new(
                LabErrorKind::Refused,
                "throttle in",
                &self.name,
                "no blkio or io controller here",
            ));
        };
        let device = device_under(&throttle.path)?;
        limits::set(io, &throttle.settings(io.version, &device)?)
    }

    /// CPU time that its processes have used, all together, since it was made.
    ///
    /// # Units
    /// Nanoseconds (v2 counts in microseconds).
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] when the counter is unreadable.
    pub fn cpu_usage_ns(&self) -> Result<u64> {
        match self.accounting.version {
            Version::V1 => number(&self.accounting.folder.join("cpuacct.usage"), None),
            Version::V2 => Ok(number(&self.accounting.folder.join("cpu.stat"), Some("usage_usec"))? * 1000),
        }
    }

    /// Time for which its processes were kept from running by the quota, summed over CPUs.
    ///
    /// # Units
    /// Nanoseconds (v2 counts in microseconds).
    ///
    /// # Errors
    /// [`LabErrorKind::Invalid`] when the counter is unreadable.
    pub fn throttled_ns(&self) -> Result<u64> {
        let stat = self.cpu.folder.join("cpu.stat");
        match self.cpu.version {
            Version::V1 => number(&stat, Some("throttled_time")),
            Version::V2 => Ok(number(&stat, Some("throttled_usec"))? * 1000),
        }
    }

    /// Wraps a command so that its process is in the group before the program starts.
    ///
    /// A shell writes its own id into the group and replaces itself by the program, so the process id is the program's.
    /// Call it before standard input or output is set: these, and a cleared environment, cannot be preserved;
    /// arguments, variables and the working folder are.
    pub fn enter(&self, command: &mut Command) {
        let mut wrapped = Command::new("sh");
        wrapped.args(["-c", ENTER_SCRIPT, "sh"]).args(self.folders()).arg("--");
        wrap(command, wrapped);
    }

    /// Its folders under the controllers, each once.
    #[must_use]
    pub fn folders(&self) -> Vec<&Path> {
        let groups = [Some(&self.cpu), Some(&self.accounting), self.io.as_ref()];
        let mut folders: Vec<&Path> =
            groups.into_iter().flatten().map(|group| group.folder.as_path()).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        let listed = |folder: &&Path| fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let text: Vec<String> = self.folders().iter().map(listed).collect();
        text.iter().flat_map(|pids| pids.lines()).filter_map(|pid| pid.parse().ok()).collect()
    }

    pub(crate) fn remove(&self) -> Result<()> {
        // Every folder is tried before the first failure is returned.
        let outcomes: Vec<Result<()>> = self.folders().into_iter().map(remove_when_empty).collect();
        outcomes.into_iter().collect()
    }
}

/// Wraps a command so that its program runs on these CPUs alone, through `taskset`.
///
/// The notes of [`Cgroup::enter`] apply here too.
///
/// # Panics
/// When no CPU is named.
pub fn pin_to_cpus(command: &mut Command, cpus: &[u32]) {
    assert!(!cpus.is_empty(), "a process needs at least one CPU to run on");
    let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
    let mut wrapped = Command::new("taskset");
    wrapped.args(["-c", &list.join(",")]);
    wrap(command, wrapped);
}

/// Puts `command` behind the words of `wrapper`.
fn wrap(command: &mut Command, mut wrapper: Command) {
    wrapper.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapper.env(name, value),
            None => wrapper.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrapper.current_dir(folder);
    }
    *command = wrapper;
}

/// A group cannot be removed before the kernel has taken its last process out, which raises no event on v1.
fn remove_when_empty(folder: &Path) -> Result<()> {
    let deadline = Deadline::after(EMPTYING);
    loop {
        match fs::remove_dir(folder) {
            Ok(()) => return Ok(()),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(source) if deadline.is_over() => {
                return Err(Error::os("remove cgroup", folder.display().to_string(), source));
            }
            Err(_busy) => pause(),
        }
    }
}

/// The number in a counter file, or after `key` at the start of one of its lines.
fn number(file: &Path, key: Option<&str>) -> Result<u64> {
    let target = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|source| Error::os("read", &target, source))?;
    let value = match key {
        None => Some(text.trim()),
        Some(key) => text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')),
    };
    value
        .and_then(|value| value.trim().parse().ok())
        .ok_or_else(|| Error::new(LabErrorKind::Invalid, "read", target, format!("no number for {key:?}")))
}

impl Hierarchy {
    fn group(&self, name: &str) -> ControllerGroup {
        ControllerGroup { folder: self.root.join(name), version: self.version }
    }
}

#[cfg(test)]
mod tests;
