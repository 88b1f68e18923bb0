//! `/proc/meminfo`: memory of the whole machine.

use narrows_model::units::Bytes;

use super::{Malformed, fields, lines, number};

/// What is used of the file, `None` where the kernel has no such line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: Option<Bytes>,
    /// Since kernel 3.14.
    pub(crate) available: Option<Bytes>,
    pub(crate) cached: Option<Bytes>,
    pub(crate) dirty: Option<Bytes>,
    pub(crate) writeback: Option<Bytes>,
}

/// The lines that are used; others are passed over.
pub(crate) fn parse(bytes: &[u8]) -> Result<Memory, Malformed> {
    let mut memory = Memory::default();
    for (line_number, line) in lines(bytes) {
        let mut parts = fields(line);
        let slot = match parts.next() {
            Some(b"MemTotal:") => &mut memory.total,
            Some(b"MemAvailable:") => &mut memory.available,
            Some(b"Cached:") => &mut memory.cached,
            Some(b"Dirty:") => &mut memory.dirty,
            Some(b"Writeback:") => &mut memory.writeback,
            _ => continue,
        };
        let kib = parts.next().and_then(number).filter(|_| parts.next() == Some(b"kB"));
        let kib = kib.ok_or_else(|| Malformed::new(line_number, "a number and `kB`", line))?;
        *slot = Some(Bytes(kib.saturating_mul(1024)));
    }
    Ok(memory)
}
