//! The kernel's counters of disks and interfaces, parsed here independently of the product's own readers, so that tests
//! can compare the two.
//!
//! Cumulative figures as the kernel keeps them: no rates, no differences, no units beyond bytes.

use std::fs;

use crate::error::{Error, LabErrorKind, Result};

/// `/proc/diskstats` counts in units of 512 bytes whatever the device's own sector is.
const DISKSTATS_SECTOR_BYTES: u64 = 512;

/// What one block device has done since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskStats {
    /// Reads completed.
    pub reads_count: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes_count: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests in flight now.
    pub in_flight_count: u64,
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Flush requests completed; 0 where the kernel (before 5.5) does not count them.
    pub flushes_count: u64,
}

/// What one interface has transferred since it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetDev {
    /// Bytes received, with Ethernet headers.
    pub received_bytes: u64,
    /// Packets received.
    pub received_count: u64,
    /// Received packets dropped.
    pub received_dropped_count: u64,
    /// Bytes sent, with Ethernet headers.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_count: u64,
    /// Packets dropped before they were sent.
    pub sent_dropped_count: u64,
}

/// The counters of a block device, by its kernel name (`vda`).
///
/// # Errors
/// [`LabErrorKind::Missing`] when `/proc/diskstats` has no such device, [`LabErrorKind::Invalid`] when its line is unreadable.
///
/// # Source
/// Linux `Documentation/admin-guide/iostats.rst`.
pub fn diskstats(device_name: &str) -> Result<DiskStats> {
    parse_diskstats(&read("/proc/diskstats")?, device_name)
}

/// The counters of an interface of the caller's own network namespace; a host's are in
/// [`Host::net_dev`](crate::Host::net_dev).
///
/// # Errors
/// [`LabErrorKind::Missing`] when there is no such interface, [`LabErrorKind::Invalid`] when its line is unreadable.
pub fn net_dev(interface: &str) -> Result<NetDev> {
    parse_net_dev(&read("/proc/self/net/dev")?, interface)
}

/// Writes back all dirty pages and drops the clean ones, of the whole machine.
///
/// # Errors
/// The kernel's answer when it is not allowed.
///
/// # Cost
/// As long as writing back takes; everything else on this machine reads from the device afterwards.
pub fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    let switch = "/proc/sys/vm/drop_caches";
    fs::write(switch, "3").map_err(|source| Error::os("drop the page cache through", switch, source))
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|source| Error::os("read", path, source))
}

fn parse_diskstats(text: &str, device_name: &str) -> Result<DiskStats> {
    let fields = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| fields.get(2) == Some(&device_name))
        .ok_or_else(|| {
            Error::new(LabErrorKind::Missing, "find device", device_name, "not in /proc/diskstats")
        })?;
    // Fields are numbered as in the kernel's document, whose first follows the three of the name.
    let field = |number: usize| number_at(&fields, number + 2, device_name);
    Ok(DiskStats {
        reads_count: field(1)?,
        read_bytes: field(3)? * DISKSTATS_SECTOR_BYTES,
        writes_count: field(5)?,
        written_bytes: field(7)? * DISKSTATS_SECTOR_BYTES,
        in_flight_count: field(9)?,
        busy_ms: field(10)?,
        flushes_count: if fields.len() > 18 { field(16)? } else { 0 },
    })
}

pub(crate) fn parse_net_dev(text: &str, interface: &str) -> Result<NetDev> {
    let numbers = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == interface)
        .map(|(_, numbers)| numbers.split_whitespace().collect::<Vec<_>>())
        .ok_or_else(|| {
            Error::new(LabErrorKind::Missing, "find interface", interface, "not in /proc/net/dev")
        })?;
    let column = |index: usize| number_at(&numbers, index, interface);
    Ok(NetDev {
        received_bytes: column(0)?,
        received_count: column(1)?,
        received_dropped_count: column(3)?,
        sent_bytes: column(8)?,
        sent_count: column(9)?,
        sent_dropped_count: column(11)?,
    })
}

fn number_at(fields: &[&str], index: usize, target: &str) -> Result<u64> {
    fields.get(index).and_then(|field| field.parse().ok()).ok_or_else(|| {
        Error::new(
            LabErrorKind::Invalid,
            "read the counters of",
            target,
            format!("no number in column {}", index + 1),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISKS: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254       0 vda 72064 24996 5124594 33374 9767 \
                         28347 1678376 4631 2 20076 38299 3612 15 165288 275 390 18\n";
    const INTERFACES: &str = "Inter-|   Receive                            |  Transmit\n face |bytes    packets \
                              errs drop fifo frame compressed multicast|bytes packets errs drop\n    lo: 10 1 0 \
                              0 0 0 0 0 10 1 0 0 0 0 0 0\n  eth0:123456 78 1 2 3 4 5 6 987654 32 7 8 9 10 11 12\n";

    #[test]
    fn diskstats_columns_are_those_of_the_kernel_document() {
        let expected = DiskStats {
            reads_count: 72064,
            read_bytes: 5_124_594 * 512,
            writes_count: 9767,
            written_bytes: 1_678_376 * 512,
            in_flight_count: 2,
            busy_ms: 20076,
            flushes_count: 390,
        };
        assert_eq!(parse_diskstats(DISKS, "vda").unwrap(), expected);
    }

    #[test]
    fn an_old_kernels_short_line_has_no_flushes() {
        let stats = parse_diskstats(DISKS, "loop0").unwrap();
        assert_eq!(stats, DiskStats::default());
    }

    #[test]
    fn an_unknown_device_is_missing() {
        assert_eq!(parse_diskstats(DISKS, "vd").unwrap_err().kind(), LabErrorKind::Missing);
    }

    #[test]
    fn net_dev_reads_an_interface_whose_number_touches_the_colon() {
        let expected = NetDev {
            received_bytes: 123_456,
            received_count: 78,
            received_dropped_count: 2,
            sent_bytes: 987_654,
            sent_count: 32,
            sent_dropped_count: 8,
        };
        assert_eq!(parse_net_dev(INTERFACES, "eth0").unwrap(), expected);
    }

    #[test]
    fn a_cut_line_is_an_error_that_names_the_column() {
        let error = parse_net_dev("eth0: 1 2 3\n", "eth0").unwrap_err();
        assert_eq!(error.kind(), LabErrorKind::Invalid);
        assert!(error.to_string().contains("column 4"), "{error}");
    }

    #[test]
    fn the_loopback_interface_is_always_there() {
        assert!(net_dev("lo").is_ok());
    }
}
