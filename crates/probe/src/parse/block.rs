//! The small files of a block device, and the throttling rules of its control groups.

use super::{Malformed, fields, lines, number, text};

/// The scheduler in brackets, or the only one.
pub(crate) fn active_scheduler(bytes: &[u8]) -> Option<String> {
    let mut names = fields(bytes);
    let bracketed = fields(bytes).find_map(|name| name.strip_prefix(b"[")?.strip_suffix(b"]"));
    bracketed.or_else(|| names.next().filter(|_| names.next().is_none())).map(text)
}

/// `0` or `1`.
pub(crate) fn flag(bytes: &[u8]) -> Result<bool, Malformed> {
    match bytes.trim_ascii() {
        b"0" => Ok(false),
        b"1" => Ok(true),
        other => Err(Malformed::new(1, "0 or 1", other)),
    }
}

/// A lone number.
pub(crate) fn count(bytes: &[u8]) -> Result<u64, Malformed> {
    number(bytes.trim_ascii()).ok_or_else(|| Malformed::new(1, "a number", bytes))
}

/// What a limit of a control group counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThrottleKind {
    ReadBytes,
    WriteBytes,
    ReadOps,
    WriteOps,
}

/// A limit that a control group sets on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceThrottle {
    /// `major:minor`.
    pub(crate) device: String,
    pub(crate) kind: ThrottleKind,
    pub(crate) limit_per_s: u64,
}

/// Rules of `blkio.throttle.*_device`: device (`major:minor`) and limit per second.
///
/// # Source
/// The kernel's `Documentation/admin-guide/cgroup-v1/blkio-controller.rst`.
pub(crate) fn throttle_v1(bytes: &[u8], kind: ThrottleKind) -> Result<Vec<DeviceThrottle>, Malformed> {
    lines(bytes)
        .map(|(line_number, line)| {
            let mut parts = fields(line);
            let rule = parts.next().map(text).zip(parts.next().and_then(number));
            let (device, limit_per_s) =
                rule.ok_or_else(|| Malformed::new(line_number, "major:minor and a number", line))?;
            Ok(DeviceThrottle { device, kind, limit_per_s })
        })
        .collect()
}

/// The keys of `io.max`.
const IO_MAX_KEYS: [(&[u8], ThrottleKind); 4] = [
    (b"rbps=", ThrottleKind::ReadBytes),
    (b"wbps=", ThrottleKind::WriteBytes),
    (b"riops=", ThrottleKind::ReadOps),
    (b"wiops=", ThrottleKind::WriteOps),
];

/// Rules of `io.max`: each limit of a device that is not `max`.
///
/// # Source
/// The kernel's `Documentation/admin-guide/cgroup-v2.rst`, `io.max`.
pub(crate) fn throttle_v2(bytes: &[u8]) -> Result<Vec<DeviceThrottle>, Malformed> {
    let mut rules = Vec::new();
    for (line_number, line) in lines(bytes) {
        let mut parts = fields(line);
        let device = parts.next().filter(|device| device.contains(&b':'));
        let device = device.ok_or_else(|| Malformed::new(line_number, "major:minor", line))?;
        for part in parts {
            let known = IO_MAX_KEYS.iter().find_map(|(key, kind)| Some((part.strip_prefix(*key)?, *kind)));
            let Some((value, kind)) = known else { continue };
            let limit = super::cgroup::limit(value).map_err(|bad| Malformed { line: line_number, ..bad })?;
            rules.extend(limit.map(|limit_per_s| DeviceThrottle { device: text(device), kind, limit_per_s }));
        }
    }
    Ok(rules)
}
