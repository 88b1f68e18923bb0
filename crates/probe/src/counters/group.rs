//! CPU time and limits of the control group of a role.
//!
//! Time is that of the group and its descendants. Throttling is read where it happens: at the ancestor with the
//! tightest quota, or at the group itself when there is none. The group at the root of a hierarchy is the whole machine.

use narrows_model::counters::CgroupCpu;
use narrows_model::units::Nanos;

use super::counter_file::CounterFile;
use crate::cgroup::{self, ControlGroup};
use crate::error::{ProbeErrorKind, Result};
use crate::parse::cgroup as text;
use crate::parse::{Malformed, number};
use crate::root::Root;

const NANOS_PER_MICRO: u64 = 1_000;

/// Open files of a group.
#[derive(Debug)]
pub(super) struct GroupCounters {
    path: String,
    version: u8,
    /// `None` where the group with the limits is not the one whose time is accounted: version 1 may have `cpu` and `cpuacct` in
    /// hierarchies of their own, in which a process is in different groups.
    usage: Option<CounterFile>,
    throttling: Option<CounterFile>,
    quota_cpus: Option<f64>,
}

impl GroupCounters {
    /// The group of `pid`, or of this process; `None` where none counts CPU time.
    ///
    /// The quota is read here, once.
    pub(super) fn open(root: &Root, pid: Option<u32>) -> Result<Option<Self>> {
        let pid = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let limits = cgroup::find(root, &pid, "cpu")?;
        let Some(account) = cgroup::find(root, &pid, "cpuacct")?.or_else(|| limits.clone()) else {
            return Ok(None);
        };
        let file = if account.version == 1 { "cpuacct.usage" } else { "cpu.stat" };
        let Some(usage) = open_optional(root, &format!("{}/{file}", account.folder()))? else {
            return Ok(None);
        };
        let (quota_cpus, throttling) = match &limits {
            Some(group) => limits_of(root, group)?,
            None => (None, None),
        };
        let is_other = limits.as_ref().is_some_and(|group| group.path != account.path);
        let usage = Some(usage).filter(|_| !is_other);
        let version = account.version;
        let path = limits.map_or(account.path, |group| group.path);
        Ok(Some(Self { path, version, usage, throttling, quota_cpus }))
    }

    pub(super) fn read(&self, buffer: &mut Vec<u8>) -> Result<CgroupCpu> {
        let usage_ns = match &self.usage {
            Some(usage) => usage.parse(buffer, if self.version == 1 { usage_v1 } else { usage_v2 })?,
            None => 0,
        };
        let mut cpu = CgroupCpu {
            path: self.path.clone(),
            usage_ns: Nanos(usage_ns),
            throttled_ns: Nanos(0),
            throttled_count: 0,
            period_count: 0,
            quota_cpus: self.quota_cpus,
        };
        if let Some(source) = &self.throttling {
            throttling(source.refresh(buffer)?, &mut cpu);
        }
        Ok(cpu)
    }
}

fn limits_of(root: &Root, group: &ControlGroup) -> Result<(Option<f64>, Option<CounterFile>)> {
    let tightest = cgroup::cpu_quota(root, group)?;
    let folder = tightest.as_ref().map_or_else(|| group.folder(), |(_, folder)| folder.clone());
    let source = open_optional(root, &format!("{folder}/cpu.stat"))?;
    Ok((tightest.map(|(cpus, _)| cpus), source))
}

fn open_optional(root: &Root, path: &str) -> Result<Option<CounterFile>> {
    match CounterFile::open(root, path) {
        Err(error) if error.kind() == ProbeErrorKind::Missing => Ok(None),
        outcome => outcome.map(Some),
    }
}

fn usage_v1(bytes: &[u8]) -> std::result::Result<u64, Malformed> {
    number(bytes.trim_ascii()).ok_or_else(|| Malformed::new(1, "a number of nanoseconds", bytes))
}

fn usage_v2(bytes: &[u8]) -> std::result::Result<u64, Malformed> {
    let micros = text::keyed(bytes, "usage_usec");
    let micros = micros.ok_or_else(|| Malformed::new(1, "a line `usage_usec`", bytes))?;
    Ok(micros.saturating_mul(NANOS_PER_MICRO))
}

/// `throttled_time` of version 1 is in nanoseconds, `throttled_usec` of version 2 in microseconds.
fn throttling(bytes: &[u8], cpu: &mut CgroupCpu) {
    cpu.period_count = text::keyed(bytes, "nr_periods").unwrap_or(0);
    cpu.throttled_count = text::keyed(bytes, "nr_throttled").unwrap_or(0);
    let micros = || text::keyed(bytes, "throttled_usec").map(|micros| micros.saturating_mul(NANOS_PER_MICRO));
    cpu.throttled_ns = Nanos(text::keyed(bytes, "throttled_time").or_else(micros).unwrap_or(0));
}
