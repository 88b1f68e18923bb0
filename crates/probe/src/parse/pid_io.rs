//! `/proc/[pid]/io`: what one process moved to and from block devices.

/// Bytes that the process had devices read, and wrote or will have written, without those that were dropped before; those of
/// children that ended and were waited for included. `None` without both lines.
///
/// # Source
/// proc(5), `/proc/[pid]/io`: `read_bytes`, `write_bytes` and `cancelled_write_bytes`. Writes through the page cache count
/// when the page becomes dirty.
pub(crate) fn device_bytes(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        line.trim().parse::<u64>().ok()
    };
    let written = value("write_bytes")?.saturating_sub(value("cancelled_write_bytes").unwrap_or(0));
    Some(value("read_bytes")?.saturating_add(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_devices_are_read_and_not_those_of_calls() {
        let text = b"rchar: 9000\nwchar: 8000\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 12288\n\
            cancelled_write_bytes: 8192\n";
        assert_eq!(device_bytes(text), Some(8192));
        assert_eq!(device_bytes(b"rchar: 1\nread_bytes: 5\n"), None);
        assert_eq!(device_bytes(b"read_bytes: -5\nwrite_bytes: 1\n"), None);
    }
}
