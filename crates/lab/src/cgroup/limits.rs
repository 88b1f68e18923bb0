//! The limits of a group as what must be written into which of the kernel's files.
//!
//! Sources: Linux `Documentation/scheduler/sched-bwc.rst`, `admin-guide/cgroup-v1/blkio-controller.rst` and
//! `admin-guide/cgroup-v2.rst`.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use super::{ControllerGroup, Version};
use crate::device::BlockDevice;
use crate::error::{Error, LabErrorKind, Result};

/// The kernel's default period, over which a quota is dealt out.
const PERIOD_US: u32 = 100_000;
/// The kernel refuses a quota below a millisecond.
const QUOTA_MIN_US: f64 = 1000.0;
/// More than any machine has: above it the figure is a mistake.
const CPUS_MAX: f64 = 10_000.0;

/// A limit of CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuQuota {
    /// CPU seconds a second, as in "0.3 CPUs"; at least 0.01.
    pub cpus: f64,
}

/// A limit of direct and synchronous I/O on the device under a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlkioThrottle {
    /// Any path on the file system whose device is limited.
    pub path: PathBuf,
    /// Limit of reading; `None` limits nothing.
    pub read_bytes_per_s: Option<u64>,
    /// Limit of writing; `None` limits nothing.
    pub write_bytes_per_s: Option<u64>,
    /// Limit of reads, whatever their size; `None` limits nothing.
    pub read_ops_per_s: Option<u64>,
    /// Limit of writes, whatever their size; `None` limits nothing.
    pub write_ops_per_s: Option<u64>,
}

/// One file of the group, and what is written into it.
pub(super) type Setting = (&'static str, String);

/// Writes the settings in their order.
pub(super) fn set(group: &ControllerGroup, settings: &[Setting]) -> Result<()> {
    settings.iter().try_for_each(|(file, value)| {
        let path = group.folder.join(file);
        let target = || format!("'{value}' into {}", path.display());
        fs::write(&path, value).map_err(|source| Error::os("write", target(), source))
    })
}

impl CpuQuota {
    pub(super) fn settings(self, version: Version) -> Result<Vec<Setting>> {
        let quota_us = self.cpus * f64::from(PERIOD_US);
        if !(QUOTA_MIN_US..=CPUS_MAX * f64::from(PERIOD_US)).contains(&quota_us) {
            let allowed = "a quota is between 0.01 and 10000 CPUs";
            return Err(Error::new(
                LabErrorKind::Invalid,
                "limit to",
                format!("{} CPUs", self.cpus),
                allowed,
            ));
        }
        Ok(match version {
            Version::V1 => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", format!("{quota_us:.0}")),
            ],
            Version::V2 => vec![("cpu.max", format!("{quota_us:.0} {PERIOD_US}"))],
        })
    }
}

impl BlkioThrottle {
    pub(super) fn settings(&self, version: Version, device: &BlockDevice) -> Result<Vec<Setting>> {
        if self.limits().iter().any(|(_, _, limit)| *limit == Some(0)) {
            let target = self.path.display().to_string();
            return Err(Error::new(
                LabErrorKind::Invalid,
                "throttle",
                target,
                "0 a second would stop everything",
            ));
        }
        let number = format!("{}:{}", device.major, device.minor);
        Ok(match version {
            // 0 is how v1 takes a limit away.
            Version::V1 => self
                .limits()
                .into_iter()
                .map(|(file, _, limit)| (file, format!("{number} {}", limit.unwrap_or(0))))
                .collect(),
            Version::V2 => vec![("io.max", self.io_max(&number))],
        })
    }

    /// Each limit with its file of v1 and its key of v2.
    fn limits(&self) -> [(&'static str, &'static str, Option<u64>); 4] {
        [
            ("blkio.throttle.read_bps_device", "rbps", self.read_bytes_per_s),
            ("blkio.throttle.write_bps_device", "wbps", self.write_bytes_per_s),
            ("blkio.throttle.read_iops_device", "riops", self.read_ops_per_s),
            ("blkio.throttle.write_iops_device", "wiops", self.write_ops_per_s),
        ]
    }

    fn io_max(&self, number: &str) -> String {
        let mut line = number.to_owned();
        for (_, key, limit) in self.limits() {
            // Writing to a string cannot fail.
            let _infallible = match limit {
                Some(limit) => write!(line, " {key}={limit}"),
                None => write!(line, " {key}=max"),
            };
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle(read_bytes_per_s: Option<u64>, write_bytes_per_s: Option<u64>) -> BlkioThrottle {
        BlkioThrottle {
            path: PathBuf::from("/"),
            read_bytes_per_s,
            write_bytes_per_s,
            ..BlkioThrottle::default()
        }
    }

    fn disk() -> BlockDevice {
        BlockDevice { name: "vda".to_owned(), major: 254, minor: 0 }
    }

    #[test]
    fn cpu_quota_is_quota_and_period_in_microseconds() {
        let quota = CpuQuota { cpus: 0.3 };
        let v1 = [("cpu.cfs_period_us", "100000".to_owned()), ("cpu.cfs_quota_us", "30000".to_owned())];
        assert_eq!(quota.settings(Version::V1).unwrap(), v1);
        assert_eq!(quota.settings(Version::V2).unwrap(), [("cpu.max", "30000 100000".to_owned())]);
    }

    #[test]
    fn a_quota_the_kernel_cannot_contain_is_refused() {
        for cpus in [0.0, -1.0, 0.001, f64::NAN, f64::INFINITY] {
            assert_eq!(
                CpuQuota { cpus }.settings(Version::V1).unwrap_err().kind(),
                LabErrorKind::Invalid,
                "{cpus}"
            );
        }
    }

    #[test]
    fn throttle_names_the_device_by_number_and_lifts_what_is_not_limited() {
        let v1 = throttle(Some(20), None).settings(Version::V1, &disk()).unwrap();
        assert_eq!(v1[0], ("blkio.throttle.read_bps_device", "254:0 20".to_owned()));
        assert_eq!(v1[1], ("blkio.throttle.write_bps_device", "254:0 0".to_owned()));
        let v2 = throttle(None, Some(30)).settings(Version::V2, &disk()).unwrap();
        assert_eq!(v2, [("io.max", "254:0 rbps=max wbps=30 riops=max wiops=max".to_owned())]);
    }

    #[test]
    fn operations_have_limits_of_their_own() {
        let limit = BlkioThrottle { read_ops_per_s: Some(400), ..throttle(None, None) };
        let v1 = limit.settings(Version::V1, &disk()).unwrap();
        assert!(v1.contains(&("blkio.throttle.read_iops_device", "254:0 400".to_owned())), "{v1:?}");
        let v2 = limit.settings(Version::V2, &disk()).unwrap();
        assert_eq!(v2, [("io.max", "254:0 rbps=max wbps=max riops=400 wiops=max".to_owned())]);
    }

    #[test]
    fn a_throttle_of_zero_is_refused() {
        assert!(throttle(Some(0), None).settings(Version::V2, &disk()).is_err());
    }
}
