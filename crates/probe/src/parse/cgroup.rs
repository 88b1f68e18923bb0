//! `/proc/[pid]/cgroup` and the small files of a control group.

use super::{Malformed, fields, lines, number, text};

/// The process's place in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Membership {
    /// Controllers of a version 1 hierarchy; empty for version 2.
    pub(crate) controllers: Vec<String>,
    /// The group's path, as seen from this control group namespace.
    pub(crate) path: String,
}

/// One entry a hierarchy.
///
/// # Source
/// cgroups(7), `/proc/[pid]/cgroup`: `hierarchy-id:controllers:path`.
pub(crate) fn parse(bytes: &[u8]) -> Result<Vec<Membership>, Malformed> {
    lines(bytes).map(|(line_number, line)| membership(line_number, line)).collect()
}

fn membership(line_number: usize, line: &[u8]) -> Result<Membership, Malformed> {
    let mut parts = line.splitn(3, |&byte| byte == b':');
    let (Some(_), Some(controllers), Some(path)) =
        (parts.next().and_then(number), parts.next(), parts.next())
    else {
        return Err(Malformed::new(line_number, "id:controllers:path", line));
    };
    let controllers = controllers.split(|&byte| byte == b',').filter(|name| !name.is_empty()).map(text);
    Ok(Membership { controllers: controllers.collect(), path: text(path) })
}

/// The number after `key` in a file of `key number` lines such as `cpu.stat`; `None` where there is none.
pub(crate) fn keyed(bytes: &[u8], key: &str) -> Option<u64> {
    lines(bytes).find_map(|(_, line)| {
        let mut parts = fields(line);
        (parts.next()? == key.as_bytes()).then(|| parts.next().and_then(number))?
    })
}

/// A limit: `max`, or a negative number in version 1, is no limit.
///
/// # Shape
/// `Ok(None)` without a limit; an error for anything but a number.
pub(crate) fn limit(field: &[u8]) -> Result<Option<u64>, Malformed> {
    match field {
        b"max" => Ok(None),
        field if field.strip_prefix(b"-").and_then(number).is_some() => Ok(None),
        field => number(field).map(Some).ok_or_else(|| Malformed::new(1, "a number or `max`", field)),
    }
}

/// CPUs that `cpu.max` (`quota period`, both in microseconds) allows; `None` without a quota.
pub(crate) fn cpu_max(bytes: &[u8]) -> Result<Option<f64>, Malformed> {
    let mut parts = fields(bytes);
    let quota = limit(parts.next().unwrap_or_default())?;
    let period = limit(parts.next().unwrap_or_default())?;
    Ok(quota_cpus(quota, period))
}

/// `quota / period`; `None` without either.
pub(crate) fn quota_cpus(quota_us: Option<u64>, period_us: Option<u64>) -> Option<f64> {
    narrows_model::units::ratio(quota_us? as f64, period_us? as f64)
}
