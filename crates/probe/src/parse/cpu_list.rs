//! Lists of CPUs such as `0-3,8`.

use super::{Malformed, number};

/// As many as Linux can be built for on any machine.
const CPUS_MAX: u32 = 8192;

/// How many CPUs the list names.
pub(crate) fn count(bytes: &[u8]) -> Result<u32, Malformed> {
    let list = bytes.trim_ascii();
    list.split(|&byte| byte == b',').try_fold(0_u32, |count, range| {
        let width = width(range).ok_or_else(|| Malformed::new(1, "a list such as `0-3,8`", list))?;
        Ok(count.saturating_add(narrows_model::units::saturate_u32(width)))
    })
}

/// The CPUs that the list names, in its order.
pub(crate) fn numbers(bytes: &[u8]) -> Result<Vec<u32>, Malformed> {
    let list = bytes.trim_ascii();
    let malformed = || Malformed::new(1, "a list such as `0-3,8`", list);
    let mut all = Vec::new();
    for range in list.split(|&byte| byte == b',') {
        let mut ends = range.splitn(2, |&byte| byte == b'-').map(number);
        let first = ends.next().flatten().and_then(|end| u32::try_from(end).ok()).ok_or_else(malformed)?;
        let last = ends.next().unwrap_or(Some(u64::from(first))).and_then(|end| u32::try_from(end).ok());
        let last = last.filter(|last| *last < CPUS_MAX).ok_or_else(malformed)?;
        all.extend(first..=last);
    }
    Ok(all)
}

fn width(range: &[u8]) -> Option<u64> {
    let mut ends = range.splitn(2, |&byte| byte == b'-').map(number);
    let first = ends.next()??;
    let last = ends.next().unwrap_or(Some(first))?;
    last.checked_sub(first)?.checked_add(1)
}
