//! Lists of CPUs such as `0-3,8`.

use super::{Malformed, number};

/// How many CPUs the list names.
pub(crate) fn count(bytes: &[u8]) -> Result<u32, Malformed> {
    let list = bytes.trim_ascii();
    list.split(|&byte| byte == b',').try_fold(0_u32, |count, range| {
        let width = width(range).ok_or_else(|| Malformed::new(1, "a list such as `0-3,8`", list))?;
        Ok(count.saturating_add(narrows_model::units::saturate_u32(width)))
    })
}

fn width(range: &[u8]) -> Option<u64> {
    let mut ends = range.splitn(2, |&byte| byte == b'-').map(number);
    let first = ends.next()??;
    let last = ends.next().unwrap_or(Some(first))?;
    last.checked_sub(first)?.checked_add(1)
}
