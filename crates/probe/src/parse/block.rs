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

/// Rules of `blkio.throttle.*_bps_device`: device (`major:minor`) and bytes per second.
///
/// # Source
/// The kernel's `Documentation/admin-guide/cgroup-v1/blkio-controller.rst`.
pub(crate) fn throttle_v1(bytes: &[u8]) -> Result<Vec<(String, u64)>, Malformed> {
    lines(bytes)
        .map(|(line_number, line)| {
            let mut parts = fields(line);
            let rule = parts.next().map(text).zip(parts.next().and_then(number));
            rule.ok_or_else(|| Malformed::new(line_number, "major:minor and a number", line))
        })
        .collect()
}

/// Rules of `io.max`: device and the smaller of its read and write limits in bytes per second; devices that are
/// limited in operations alone are left out.
///
/// # Source
/// The kernel's `Documentation/admin-guide/cgroup-v2.rst`, `io.max`.
pub(crate) fn throttle_v2(bytes: &[u8]) -> Result<Vec<(String, u64)>, Malformed> {
    let mut rules = Vec::new();
    for (line_number, line) in lines(bytes) {
        let mut parts = fields(line);
        let device = parts.next().filter(|device| device.contains(&b':'));
        let device = device.ok_or_else(|| Malformed::new(line_number, "major:minor", line))?;
        let mut tightest: Option<u64> = None;
        for value in parts.filter_map(|part| part.strip_prefix(b"rbps=").or(part.strip_prefix(b"wbps="))) {
            let limit = super::cgroup::limit(value).map_err(|bad| Malformed { line: line_number, ..bad })?;
            tightest = [tightest, limit].into_iter().flatten().min();
        }
        rules.extend(tightest.map(|limit| (text(device), limit)));
    }
    Ok(rules)
}
