//! When a request to a delayed disk is done: its bytes cross the bus that all disks share, then its disk serves it.
//!
//! Pure: times are passed in. A request is admitted once and its end is known from then on, because requests are
//! served in order of arrival and none is cut short.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// What a disk is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
    Flush,
}

/// How long a disk serves one request of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceTimes {
    pub(crate) read: Duration,
    pub(crate) write: Duration,
    pub(crate) flush: Duration,
}

/// The disks, each with its places for requests, and the bus in front of all.
#[derive(Debug)]
pub(crate) struct Timing {
    times: ServiceTimes,
    /// When each place of each disk is free again, the first to be free on top.
    disks: Vec<BinaryHeap<Reverse<u64>>>,
    bus: Option<Bus>,
}

#[derive(Debug)]
struct Bus {
    bytes_per_s: u64,
    free_ns: u64,
}

impl Timing {
    /// So many disks that each serve `at_once` requests at a time, behind a bus of that rate (0: none).
    pub(crate) fn new(times: ServiceTimes, disk_count: usize, at_once: usize, bytes_per_s: u64) -> Self {
        let places: BinaryHeap<Reverse<u64>> = std::iter::repeat_n(Reverse(0), at_once.max(1)).collect();
        let bus = (bytes_per_s > 0).then_some(Bus { bytes_per_s, free_ns: 0 });
        Self { times, disks: vec![places; disk_count], bus }
    }

    /// When a request that arrives now is done; a disk that is not there serves nothing, at once.
    pub(crate) fn admit(&mut self, now_ns: u64, disk_index: usize, operation: Operation, bytes: u64) -> u64 {
        let service = match operation {
            Operation::Read => self.times.read,
            Operation::Write => self.times.write,
            Operation::Flush => self.times.flush,
        };
        let service_ns = u64::try_from(service.as_nanos()).unwrap_or(u64::MAX);
        let arrived_ns = self.bus.as_mut().map_or(now_ns, |bus| bus.transfer(now_ns, bytes));
        let Some(mut free) = self.disks.get_mut(disk_index).and_then(BinaryHeap::peek_mut) else {
            return arrived_ns;
        };
        free.0 = free.0.max(arrived_ns).saturating_add(service_ns);
        free.0
    }
}

impl Bus {
    /// When bytes that come to the bus now are across.
    fn transfer(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let transfer_ns = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_s);
        let transfer_ns = u64::try_from(transfer_ns).unwrap_or(u64::MAX);
        self.free_ns = self.free_ns.max(now_ns).saturating_add(transfer_ns);
        self.free_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: ServiceTimes = ServiceTimes {
        read: Duration::from_nanos(50),
        write: Duration::ZERO,
        flush: Duration::from_nanos(30),
    };

    #[test]
    fn as_many_requests_as_places_end_together_and_the_next_one_waits_for_a_place() {
        let mut timing = Timing::new(TIMES, 1, 3, 0);
        let ends: Vec<u64> = (0..7).map(|_| timing.admit(100, 0, Operation::Read, 4096)).collect();
        assert_eq!(ends, [150, 150, 150, 200, 200, 200, 250]);
    }

    #[test]
    fn each_operation_has_its_own_time_and_a_rested_disk_owes_nothing() {
        let mut timing = Timing::new(TIMES, 1, 1, 0);
        assert_eq!(timing.admit(10, 0, Operation::Write, 4096), 10);
        assert_eq!(timing.admit(10, 0, Operation::Flush, 0), 40);
        assert_eq!(timing.admit(1000, 0, Operation::Read, 4096), 1050);
    }

    #[test]
    fn disks_do_not_wait_for_each_other_but_for_their_bus() {
        let mut apart = Timing::new(TIMES, 2, 1, 0);
        assert_eq!([0, 1].map(|disk| apart.admit(0, disk, Operation::Read, 100)), [50, 50]);
        // 100 bytes take 100 ns at 1 GB/s, and then 50 ns at the disk.
        let mut shared = Timing::new(TIMES, 2, 1, 1_000_000_000);
        assert_eq!([0, 1].map(|disk| shared.admit(0, disk, Operation::Read, 100)), [150, 250]);
        assert_eq!(shared.admit(200, 0, Operation::Flush, 0), 230, "a flush carries nothing");
    }

    #[test]
    fn absurd_figures_end_at_the_end_of_time() {
        let times = ServiceTimes { read: Duration::MAX, ..TIMES };
        let mut timing = Timing::new(times, 1, 0, 1);
        assert_eq!(timing.admit(u64::MAX, 0, Operation::Read, u64::MAX), u64::MAX);
        assert_eq!(timing.admit(7, 5, Operation::Read, 0), u64::MAX);
    }
}
