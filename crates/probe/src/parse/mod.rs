//! Readers of the kernel's texts, one file each: bytes in, values or the bad line out.
//!
//! Every one of them ends on any input, with a value or with [`Malformed`]; none of them opens a file.

pub(crate) mod block;
pub(crate) mod cgroup;
pub(crate) mod cpu_list;
pub(crate) mod cpuinfo;
pub(crate) mod diskstats;
pub(crate) mod meminfo;
pub(crate) mod mountinfo;
pub(crate) mod mountstats;
pub(crate) mod net_dev;
pub(crate) mod pid_io;
pub(crate) mod pid_stat;
pub(crate) mod proc_stat;
pub(crate) mod trace_format;

#[cfg(test)]
mod tests;

/// A line that is not what the kernel documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// What was expected, and what was found.
    pub(crate) reason: String,
}

impl Malformed {
    pub(crate) fn new(line: usize, expected: &str, found: &[u8]) -> Self {
        const SHOWN_BYTES: usize = 80;
        let found = &found[..found.len().min(SHOWN_BYTES)];
        Self { line, reason: format!("expected {expected}, found {:?}", text(found)) }
    }
}

/// Lines that are not empty, with their numbers from 1.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    bytes
        .split(|&byte| byte == b'\n')
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.is_empty())
}

/// What white space separates.
pub(crate) fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// A decimal number without a sign; `None` also above 2^64.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The field as text; bytes that are no UTF-8 are replaced.
pub(crate) fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}
