//! `/proc/[pid]/stat`: CPU time of one process and of its children that ended.
//!
//! Not `/proc/[pid]/schedstat`: it is finer than a clock tick but covers only the first thread, and a load generator's
//! work is mostly in the others.

use super::{Malformed, fields, number};

/// What is used of the line, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PidStat {
    pub(crate) parent_pid: u64,
    /// Whether it is a thread of the kernel (`PF_KTHREAD`).
    pub(crate) is_kernel_thread: bool,
    /// User mode, all threads.
    pub(crate) user: u64,
    /// Kernel mode, all threads.
    pub(crate) system: u64,
    /// User mode of children that ended and were waited for.
    pub(crate) children_user: u64,
    /// Kernel mode of those children.
    pub(crate) children_system: u64,
    /// When it started, since boot: with its number this is unique.
    pub(crate) started: u64,
    /// Pages in memory; 0 where the line ends before it.
    pub(crate) resident_pages: u64,
}

/// `include/linux/sched.h`.
const PF_KTHREAD: u64 = 0x0020_0000;

/// The name in parentheses as it is, with bytes that are no UTF-8 replaced.
pub(crate) fn name(bytes: &[u8]) -> String {
    let start = bytes.iter().position(|&byte| byte == b'(').map_or(0, |at| at + 1);
    let end = bytes.iter().rposition(|&byte| byte == b')').unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(start..end).unwrap_or_default()).into_owned()
}

/// The one line of the file; the name in parentheses may contain anything, even parentheses and newlines.
///
/// # Source
/// proc(5), `/proc/[pid]/stat`: fields 4, 9, 14 to 17, 22 and 24.
pub(crate) fn parse(bytes: &[u8]) -> Result<PidStat, Malformed> {
    let end = bytes.iter().rposition(|&byte| byte == b')');
    let end = end.ok_or_else(|| Malformed::new(1, "a name in parentheses", bytes))?;
    let rest = &bytes[end + 1..];
    // Field 3 of the manual page is the first after the name.
    let field = |manual_number: usize| {
        let found = fields(rest).nth(manual_number - 3);
        // The children's times are printed signed; a negative one would be a fault of the kernel, and is none.
        let value = found.and_then(|field| number(field.strip_prefix(b"-").map_or(field, |_| &b"0"[..])));
        value.ok_or_else(|| {
            Malformed::new(1, &format!("a number as field {manual_number}"), found.unwrap_or_default())
        })
    };
    Ok(PidStat {
        parent_pid: field(4)?,
        is_kernel_thread: field(9)? & PF_KTHREAD != 0,
        user: field(14)?,
        system: field(15)?,
        children_user: field(16)?,
        children_system: field(17)?,
        started: field(22)?,
        resident_pages: field(24).unwrap_or(0),
    })
}
