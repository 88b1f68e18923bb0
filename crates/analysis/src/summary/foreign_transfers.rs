//! Bytes that devices and network interfaces of the path moved for others than the cell.
//!
//! What the cell itself moved is taken at its most, so that what remains is the least that others moved: read-ahead and the
//! writes of a page cache or a journal are never theirs.

use super::ticks::{TICK_NS, TICKS_MIN};
use super::{Machines, bytes};
use crate::collect::{CellData, RoleDelta};
use narrows_model::counters::{DiskCounters, NicCounters, TcpCounters};
use narrows_model::summary::{ForeignResource, ForeignTransfer, ForeignTransferProgram};
use narrows_model::units::{BytesPerSec, ratio};
use narrows_model::workload::Access;
use narrows_model::{Bytes, Nanos};

/// From this share of what a resource moved on, others are looked at.
const FOREIGN_MIN_RATIO: f64 = 0.10;
/// Less is what the services of any system move: logs, journals, and broadcasts.
const FOREIGN_MIN_BYTES_PER_S: f64 = 1024.0 * 1024.0;
/// A program is named from this on.
const NAMED_MIN_BYTES_PER_S: f64 = 0.1 * FOREIGN_MIN_BYTES_PER_S;
/// The most that a segment has of headers: Ethernet 14, IPv6 40, TCP with options 60.
const HEADER_BYTES: f64 = 114.0;
/// The payload of a segment that is sent again is on the wire twice; the usual size, since loads of jumbo frames lose few.
const SEGMENT_BYTES: f64 = 1514.0;
/// An interface that moved less than this share of the load's bytes is not the load's.
const TRANSFERS_MIN_RATIO: f64 = 0.9;

/// The devices and interfaces that moved much for others; empty where none did, or the cell's own share is not known.
pub(super) fn of_cell(data: &CellData, machines: &Machines<'_>) -> Vec<ForeignTransfer> {
    let disk = bytes::disk(data, machines).and_then(|(delta, disk)| at_disk(data, delta, &disk));
    let interfaces = data.deltas.iter().filter_map(at_interface);
    disk.into_iter().chain(interfaces).filter(is_much).collect()
}

fn is_much(transfer: &ForeignTransfer) -> bool {
    let foreign = transfer.foreign_bytes_per_s.0;
    foreign >= FOREIGN_MIN_BYTES_PER_S && foreign >= transfer.total_bytes_per_s.0 * FOREIGN_MIN_RATIO
}

/// What others moved at the device under the cell; `None` for loads that read and write, that read through
/// the page cache, or that read back what they wrote.
fn at_disk(data: &CellData, delta: &RoleDelta, disk: &DiskCounters) -> Option<ForeignTransfer> {
    let load = &data.cell.workload;
    let writes = load.op.moves_towards_device();
    let is_mixed = data.kinds.iter().any(|kind| kind.counts.op.moves_towards_device() != writes);
    if is_mixed || data.verification.is_some() || is_short(delta.elapsed) {
        return None;
    }
    let own = match load.access {
        _ if writes => OwnTransfer::Writes,
        Access::Direct => OwnTransfer::DirectReads(bytes::application(data)),
        // What is read ahead by several readers at once can be more than twice what they asked for.
        Access::Buffered => return None,
    };
    disk_transfer(own, delta, disk)
}

/// What a load itself moves at its device.
#[derive(Debug, Clone, Copy)]
enum OwnTransfer {
    /// These reads, past the page cache.
    DirectReads(Bytes),
    /// Writes, with those of a journal and of file-system tables.
    Writes,
}

/// What is not the load's own: beside reads past the page cache all that is not theirs; beside writes what was read.
fn disk_transfer(own: OwnTransfer, delta: &RoleDelta, disk: &DiskCounters) -> Option<ForeignTransfer> {
    let (read, written) = (disk.read_bytes.as_f64(), disk.write_bytes.as_f64());
    let foreign = match own {
        OwnTransfer::DirectReads(own) => (read - own.as_f64()).max(0.0) + written,
        OwnTransfer::Writes => read,
    };
    let per_s = |bytes: f64| ratio(bytes, delta.elapsed.as_secs_f64()).map(BytesPerSec);
    let programs = delta.foreign.iter().flat_map(|foreign| &foreign.device_programs).filter_map(|program| {
        let bytes_per_s = per_s(program.device_bytes.as_f64())?;
        Some(ForeignTransferProgram { name: program.name.clone(), pid: program.pid, bytes_per_s })
    });
    Some(ForeignTransfer {
        role: delta.role,
        resource: ForeignResource::Disk,
        name: disk.name.clone(),
        total_bytes_per_s: per_s(read + written)?,
        foreign_bytes_per_s: per_s(foreign)?,
        programs: programs.filter(|program| program.bytes_per_s.0 >= NAMED_MIN_BYTES_PER_S).collect(),
    })
}

/// What others moved at the interface that the load's connections use: the one that moved the least of those that moved as
/// much as the connections.
fn at_interface(delta: &RoleDelta) -> Option<ForeignTransfer> {
    let tcp = delta.tcp.as_ref()?;
    let tcp_s = if tcp.elapsed.0 > 0 { tcp.elapsed } else { delta.elapsed };
    if is_short(delta.elapsed) || is_short(tcp_s) {
        return None;
    }
    let (payload, most) = own_bytes(&tcp.counted)?;
    let (payload, most) = (ratio(payload, tcp_s.as_secs_f64())?, ratio(most, tcp_s.as_secs_f64())?);
    let rate = |nic: &NicCounters| {
        let moved = nic.receive_bytes.saturating_add(nic.send_bytes).as_f64();
        ratio(moved, delta.elapsed.as_secs_f64())
    };
    let transfers = |rate: &f64| *rate >= payload * TRANSFERS_MIN_RATIO;
    let rates = delta.nics.iter().filter_map(|nic| Some((nic, rate(nic).filter(transfers)?)));
    let (nic, total) = rates.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(ForeignTransfer {
        role: delta.role,
        resource: ForeignResource::Interface,
        name: nic.name.clone(),
        total_bytes_per_s: BytesPerSec(total),
        foreign_bytes_per_s: BytesPerSec((total - most).max(0.0)),
        programs: Vec::new(),
    })
}

/// Payload of the connections that leave the host, and the most that it was on the wire; `None` without any.
fn own_bytes(tcp: &TcpCounters) -> Option<(f64, f64)> {
    let all = tcp.acked_bytes.saturating_add(tcp.received_bytes);
    let payload = Bytes(all.0.saturating_sub(tcp.loopback_bytes.0)).as_f64();
    let segments = tcp.segments_out_count.saturating_add(tcp.segments_in_count) as f64;
    // Offloads may count several segments as one: at least as many as the payload needs.
    let segments = segments.max(2.0 * payload / SEGMENT_BYTES);
    (payload > 0.0)
        .then_some((payload, payload + segments * HEADER_BYTES + tcp.retransmit_count as f64 * SEGMENT_BYTES))
}

/// Whether a window is too short: readings lag behind each other.
fn is_short(elapsed: Nanos) -> bool {
    elapsed.0 < TICKS_MIN * TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_model::Role;
    use narrows_model::counters::{CounterSample, ForeignCpu, ForeignDeviceProgram};
    use narrows_model::trial::CounterPair;

    /// What was counted in a second, with these connections.
    fn delta(tcp: Option<TcpCounters>) -> RoleDelta {
        let sample = CounterSample::unread(Role::Client, Nanos(1));
        let after = CounterSample { tcp, ..sample.clone() };
        let delta = RoleDelta::new(&CounterPair { before: sample, after });
        RoleDelta { elapsed: Nanos(1_000_000_000), ..delta }
    }

    fn nic(name: &str, receive_bytes: u64) -> NicCounters {
        NicCounters {
            name: name.to_owned(),
            receive_bytes: Bytes(receive_bytes),
            receive_packet_count: 0,
            receive_drop_count: 0,
            send_bytes: Bytes(1_000_000),
            send_packet_count: 0,
            send_drop_count: 0,
        }
    }

    fn with_connections(received: u64, loopback: u64, nics: Vec<NicCounters>) -> RoleDelta {
        let counted = TcpCounters {
            received_bytes: Bytes(received),
            loopback_bytes: Bytes(loopback),
            ..TcpCounters::default()
        };
        RoleDelta { nics, ..delta(Some(counted)) }
    }

    #[test]
    fn traffic_of_others_on_the_loads_own_interface_is_what_its_connections_do_not_explain() {
        let found = at_interface(&with_connections(50_000_000, 0, vec![nic("eth0", 100_000_000)])).unwrap();
        assert!(is_much(&found));
        let foreign = found.foreign_bytes_per_s.0;
        assert!((40e6..50e6).contains(&foreign), "at the least, headers being the load's: {foreign}");
    }

    #[test]
    fn headers_a_bridge_and_another_interface_are_no_traffic_of_others() {
        let own = 100_000_000;
        let headers = nic("eth0", own + own / 16);
        assert!(!is_much(&at_interface(&with_connections(own, 0, vec![headers.clone()])).unwrap()));
        // The sum of a bridge and its port would be twice the load.
        let bridged = vec![headers.clone(), nic("br0", own + own / 18)];
        assert!(!is_much(&at_interface(&with_connections(own, 0, bridged)).unwrap()));
        let beside = vec![nic("eth1", 3 * own), headers];
        assert!(!is_much(&at_interface(&with_connections(own, 0, beside)).unwrap()));
        assert!(at_interface(&with_connections(own, 0, vec![nic("eth1", 1000)])).is_none());
    }

    #[test]
    fn connections_within_one_host_use_no_interface() {
        let delta = with_connections(50_000_000, 50_000_000, vec![nic("eth0", 100_000_000)]);
        assert!(at_interface(&delta).is_none());
    }

    /// 40 MB read and `written` in a second, beside what the load itself moved.
    fn disk(own: OwnTransfer, written: u64) -> ForeignTransfer {
        let program = ForeignDeviceProgram { name: "dd".to_owned(), pid: 7, device_bytes: Bytes(20_000_000) };
        let foreign = Some(ForeignCpu { device_programs: vec![program], ..ForeignCpu::default() });
        let counted = DiskCounters {
            name: "vdb".to_owned(),
            read_count: 0,
            read_bytes: Bytes(40_000_000),
            read_ns: Nanos(0),
            write_count: 0,
            write_bytes: Bytes(written),
            write_ns: Nanos(0),
            flush_count: 0,
            flush_ns: Nanos(0),
            busy_ns: Nanos(0),
            queue_ns: Nanos(0),
        };
        disk_transfer(own, &RoleDelta { foreign, ..delta(None) }, &counted).unwrap()
    }

    #[test]
    fn beside_reads_past_the_page_cache_all_else_at_the_device_is_of_others_who_are_named() {
        let found = disk(OwnTransfer::DirectReads(Bytes(20_000_000)), 5_000_000);
        assert!((found.foreign_bytes_per_s.0 - 25e6).abs() < 1.0 && is_much(&found));
        assert_eq!((found.programs[0].name.as_str(), found.programs[0].pid), ("dd", 7));
        assert!(!is_much(&disk(OwnTransfer::DirectReads(Bytes(40_000_000)), 0)));
    }

    #[test]
    fn what_is_written_beside_writes_is_the_loads_own_as_a_journal_is() {
        let found = disk(OwnTransfer::Writes, 90_000_000);
        assert!((found.foreign_bytes_per_s.0 - 40e6).abs() < 1.0, "what was read: {found:?}");
    }
}
