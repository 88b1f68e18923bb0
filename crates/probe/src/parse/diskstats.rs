//! `/proc/diskstats`: counters of block devices and partitions.

use narrows_model::counters::DiskCounters;
use narrows_model::units::{Bytes, Nanos};

use super::{Malformed, fields, lines, number, text};

/// The file counts in these, whatever the device's own sector is.
const SECTOR_BYTES: u64 = 512;

/// Counters after the name on kernels before 4.18; later ones append discards and flushes.
const BASE_COUNT: usize = 11;

/// Counters of partitions on kernels before 2.6.25: no times, so nothing that could be used.
const ANCIENT_PARTITION_COUNT: usize = 4;

/// Counters read; further ones that newer kernels may append are passed over.
const READ_COUNT: usize = 17;

/// One entry for each device that `wanted` names, in the kernel's order.
///
/// # Source
/// The kernel's `Documentation/admin-guide/iostats.rst`: 11 counters, 15 from 4.18, 17 from 5.5.
pub(crate) fn parse(
    bytes: &[u8],
    mut wanted: impl FnMut(&[u8]) -> bool,
) -> Result<Vec<DiskCounters>, Malformed> {
    let mut disks = Vec::new();
    for (line_number, line) in lines(bytes) {
        let Some(name) = fields(line).nth(2) else {
            return Err(Malformed::new(line_number, "a major, a minor and a name", line));
        };
        if wanted(name) {
            disks.extend(device(line_number, line, name)?);
        }
    }
    Ok(disks)
}

fn device(line_number: usize, line: &[u8], name: &[u8]) -> Result<Option<DiskCounters>, Malformed> {
    let mut counts = [0_u64; READ_COUNT];
    let mut found = 0;
    for (slot, field) in counts.iter_mut().zip(fields(line).skip(3)) {
        *slot = number(field).ok_or_else(|| Malformed::new(line_number, "a counter", field))?;
        found += 1;
    }
    if found == ANCIENT_PARTITION_COUNT {
        return Ok(None);
    }
    if found < BASE_COUNT {
        return Err(Malformed::new(line_number, "11 counters or more", line));
    }
    Ok(Some(DiskCounters {
        name: text(name),
        read_count: counts[0],
        read_bytes: sectors(counts[2]),
        read_ns: Nanos::from_millis(counts[3]),
        write_count: counts[4],
        write_bytes: sectors(counts[6]),
        write_ns: Nanos::from_millis(counts[7]),
        flush_count: counts[15],
        flush_ns: Nanos::from_millis(counts[16]),
        busy_ns: Nanos::from_millis(counts[9]),
        queue_ns: Nanos::from_millis(counts[10]),
    }))
}

fn sectors(count: u64) -> Bytes {
    Bytes(count.saturating_mul(SECTOR_BYTES))
}
