//! Which events are of one request, and how long it was in the queue and at the device.
//!
//! Events name no request, only its device, kind and first sector. A request that was merged with others is issued as one, from
//! the first of their sectors on: those that are within it belong to it. One that was requeued is at the device from its last issue
//! on. What has no partner is counted or left out, never guessed.

use std::collections::BTreeMap;

use narrows_model::counters::{BlockTimes, RequestTimes};
use narrows_model::units::Nanos;

use super::event::{BlockEvent, BlockRequestKind, Step};

/// More requests than the queues of any machine have: a bound for what never completes.
const PENDING_MAX: usize = if cfg!(test) { 256 } else { 65_536 };

/// A request in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RequestKey {
    device: usize,
    kind: BlockRequestKind,
    sector: u64,
}

/// A request in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedRequest {
    queued_ns: u64,
    /// It is issued once a flush is done. Later events of it do not say so.
    flushes_first: bool,
}

/// A request that the device has.
#[derive(Debug, Clone, Copy)]
struct IssuedRequest {
    queued_ns: Option<u64>,
    issued_ns: u64,
    /// The first sector after it.
    end_sector: u64,
}

/// Flushes of one device, which have no sector by which they could be distinguished.
#[derive(Debug, Clone, Copy, Default)]
struct FlushState {
    /// The flush that the device has.
    issued: Option<IssuedRequest>,
    /// Another one was issued before its completion was seen: either was missed, or several hardware queues have one each. Which
    /// of them completes next is not known.
    is_ambiguous: bool,
    /// When the first of those came that wait for the next flush.
    wanted_ns: Option<u64>,
    /// When the device completed the last one.
    completed_ns: u64,
}

/// Requests in progress, and the sums of those that completed.
#[derive(Debug)]
pub(super) struct RequestPairing {
    /// The kernel's numbers of devices and their partitions, with the index of the device.
    numbers: BTreeMap<u32, usize>,
    queued: BTreeMap<RequestKey, QueuedRequest>,
    issued: BTreeMap<RequestKey, IssuedRequest>,
    flushes: Vec<FlushState>,
    sums: Vec<BlockTimes>,
}

impl RequestPairing {
    /// For devices with these names, each with the kernel's numbers of itself and of its partitions.
    pub(super) fn new(devices: &[(String, Vec<u32>)]) -> Self {
        let numbers = devices.iter().enumerate();
        let numbers = numbers.flat_map(|(index, (_, all))| all.iter().map(move |number| (*number, index)));
        Self {
            numbers: numbers.collect(),
            queued: BTreeMap::new(),
            issued: BTreeMap::new(),
            flushes: vec![FlushState::default(); devices.len()],
            sums: devices.iter().map(|(name, _)| BlockTimes::of_device(name.as_str())).collect(),
        }
    }

    /// The sums by device, in the order of the devices.
    pub(super) fn sums(&self) -> &[BlockTimes] {
        &self.sums
    }

    /// Forgets all requests in progress: events are missing from here on.
    pub(super) fn forget_pending(&mut self) {
        self.queued.clear();
        self.issued.clear();
        self.flushes.fill(FlushState::default());
    }

    /// Takes one event; events come in the order of time.
    pub(super) fn take(&mut self, event: &BlockEvent) {
        let Some(device) = self.numbers.get(&event.device_number).copied() else { return };
        if self.queued.len() + self.issued.len() >= PENDING_MAX {
            self.forget_pending();
        }
        let key = RequestKey { device, kind: event.kind, sector: event.sector };
        match (event.step, event.kind) {
            (Step::Queued, BlockRequestKind::FlushWait) => {
                if let Some(sums) = self.sums.get_mut(device) {
                    sums.flush_request_count += 1;
                }
                self.want_flush(device, event.at_ns);
            }
            // Its flush is what is issued and completed.
            (_, BlockRequestKind::FlushWait) => {}
            (_, BlockRequestKind::Flush) => self.flush(device, event),
            (Step::Queued, _) => {
                if event.flushes_first {
                    self.want_flush(device, event.at_ns);
                }
                let flushes_first = event.flushes_first;
                self.queued.insert(key, QueuedRequest { queued_ns: event.at_ns, flushes_first });
            }
            (Step::Issued, _) => self.issue(key, event),
            (Step::Requeued, _) => {
                if let Some(queued_ns) = self.issued.remove(&key).and_then(|request| request.queued_ns) {
                    self.queued.insert(key, QueuedRequest { queued_ns, flushes_first: false });
                }
            }
            (Step::Completed, _) => self.complete(key, event),
        }
    }

    fn want_flush(&mut self, device: usize, at_ns: u64) {
        if let Some(flush) = self.flushes.get_mut(device) {
            flush.wanted_ns.get_or_insert(at_ns);
        }
    }

    /// A flush came to the device, was given back, or is done.
    fn flush(&mut self, device: usize, event: &BlockEvent) {
        let Some((flush, sums)) = self.flushes.get_mut(device).zip(self.sums.get_mut(device)) else { return };
        match event.step {
            Step::Queued => {}
            Step::Issued => {
                flush.is_ambiguous = flush.issued.is_some();
                let queued_ns = flush.wanted_ns.take();
                flush.issued = Some(IssuedRequest { queued_ns, issued_ns: event.at_ns, end_sector: 0 });
            }
            Step::Requeued => {
                flush.wanted_ns = flush.issued.take().and_then(|request| request.queued_ns);
            }
            Step::Completed => {
                flush.completed_ns = event.at_ns;
                match flush.issued.take().filter(|_| !flush.is_ambiguous) {
                    Some(request) => add(&mut sums.flush, &request, event.at_ns),
                    None => sums.unpaired_count += 1,
                }
            }
        }
    }

    fn issue(&mut self, key: RequestKey, event: &BlockEvent) {
        let end_sector = key.sector.saturating_add(event.sector_count);
        let wanted =
            self.take_queued(key, end_sector).map(|request| self.wait_begins_ns(key.device, request));
        // Issued again, of which no event of a requeue was seen.
        let again = self.issued.remove(&key).and_then(|request| request.queued_ns);
        // A request that came into the queue since then is another one.
        let queued_ns = wanted.or(again);
        self.issued.insert(key, IssuedRequest { queued_ns, issued_ns: event.at_ns, end_sector });
    }

    /// Since when a request waits for the device alone: not for the flush before it.
    fn wait_begins_ns(&self, device: usize, request: QueuedRequest) -> u64 {
        let flush = self.flushes.get(device).filter(|_| request.flushes_first);
        request.queued_ns.max(flush.map_or(0, |flush| flush.completed_ns))
    }

    /// The request that is issued: by its own sector, else the first of those that were merged into it.
    fn take_queued(&mut self, key: RequestKey, end_sector: u64) -> Option<QueuedRequest> {
        let own = self.queued.remove(&key);
        let last = RequestKey { sector: end_sector, ..key };
        let merged: Vec<RequestKey> = self.queued.range(key..last).map(|(key, _)| *key).collect();
        let others = merged.iter().filter_map(|key| self.queued.remove(key)).min();
        own.or(others)
    }

    fn complete(&mut self, key: RequestKey, event: &BlockEvent) {
        let Some(sums) = self.sums.get_mut(key.device) else { return };
        let Some(request) = self.issued.remove(&key) else {
            // A request with a flush completes again without sectors, once the flush is done.
            sums.unpaired_count += u64::from(event.sector_count > 0);
            return;
        };
        let completed = key.sector.saturating_add(event.sector_count);
        if event.sector_count > 0 && completed < request.end_sector {
            // The rest is at the device still, and completes by its own first sector.
            self.issued.insert(RequestKey { sector: completed, ..key }, request);
            return;
        }
        let sums = if event.kind == BlockRequestKind::Read { &mut sums.read } else { &mut sums.write };
        add(sums, &request, event.at_ns);
    }
}

fn add(sums: &mut RequestTimes, request: &IssuedRequest, completed_ns: u64) {
    let span = |from_ns: u64, to_ns: u64| Nanos(to_ns.saturating_sub(from_ns));
    sums.served_count += 1;
    sums.device_ns = sums.device_ns.saturating_add(span(request.issued_ns, completed_ns));
    if let Some(queued_ns) = request.queued_ns {
        sums.queued_count += 1;
        sums.queue_ns = sums.queue_ns.saturating_add(span(queued_ns, request.issued_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BlockRequestKind::{Flush, FlushWait, Read, Write};
    use Step::{Completed, Issued, Queued, Requeued};

    const DISK: u32 = 8 << 20;
    const PARTITION: u32 = DISK | 1;
    const FOREIGN: u32 = 9 << 20;

    fn event(at_ns: u64, step: Step, kind: BlockRequestKind, sector: u64, sector_count: u64) -> BlockEvent {
        BlockEvent { at_ns, step, device_number: DISK, sector, sector_count, kind, flushes_first: false }
    }

    fn paired(events: &[BlockEvent]) -> BlockTimes {
        let mut pairing = RequestPairing::new(&[("sda".to_owned(), vec![DISK, PARTITION])]);
        for event in events {
            pairing.take(event);
        }
        pairing.sums()[0].clone()
    }

    /// Count, time at the device, count of those whose time in the queue is known, and that.
    fn figures(times: RequestTimes) -> [u64; 4] {
        [times.served_count, times.device_ns.0, times.queued_count, times.queue_ns.0]
    }

    #[test]
    fn a_request_is_in_the_queue_until_its_issue_and_at_the_device_until_its_completion() {
        let sums = paired(&[
            event(100, Queued, Read, 64, 8),
            event(110, Queued, Write, 64, 8),
            event(130, Issued, Read, 64, 8),
            event(150, Issued, Write, 64, 8),
            event(430, Completed, Read, 64, 8),
            event(950, Completed, Write, 64, 8),
        ]);
        assert_eq!(figures(sums.read), [1, 300, 1, 30]);
        assert_eq!(figures(sums.write), [1, 800, 1, 40]);
        assert_eq!((figures(sums.flush), sums.unpaired_count), ([0; 4], 0));
    }

    #[test]
    fn requests_that_were_merged_are_one_whose_wait_begins_with_its_own_or_the_first_of_them() {
        let behind = paired(&[
            event(100, Queued, Write, 64, 8),
            event(105, Queued, Write, 72, 8),
            event(130, Issued, Write, 64, 16),
            event(230, Completed, Write, 64, 16),
        ]);
        assert_eq!(figures(behind.write), [1, 100, 1, 30]);
        let in_front = paired(&[
            event(100, Queued, Write, 72, 8),
            event(130, Issued, Write, 64, 16),
            event(230, Completed, Write, 64, 16),
            // Nothing is left of what was merged: the next request at its sector is another one.
            event(300, Issued, Write, 72, 8),
            event(310, Completed, Write, 72, 8),
        ]);
        assert_eq!(figures(in_front.write), [2, 110, 1, 30]);
    }

    #[test]
    fn a_request_that_was_requeued_is_in_the_queue_until_its_last_issue() {
        let words = [event(110, Issued, Read, 64, 8), event(120, Requeued, Read, 64, 8)];
        for requeued in [&words[..], &words[..1]] {
            let mut events = vec![event(100, Queued, Read, 64, 8)];
            events.extend_from_slice(requeued);
            events.extend([event(150, Issued, Read, 64, 8), event(170, Completed, Read, 64, 8)]);
            assert_eq!(figures(paired(&events).read), [1, 20, 1, 50]);
        }
    }

    #[test]
    fn a_request_without_its_start_counts_at_the_device_and_one_without_its_issue_not_at_all() {
        let sums = paired(&[
            event(130, Issued, Read, 64, 8),
            event(150, Completed, Read, 64, 8),
            event(160, Completed, Read, 512, 8),
            event(170, Completed, Write, 640, 0),
        ]);
        assert_eq!((figures(sums.read), sums.unpaired_count), ([1, 20, 0, 0], 1));
    }

    #[test]
    fn a_request_without_its_completion_is_replaced_by_the_next_one_at_its_sector() {
        let sums = paired(&[
            event(100, Queued, Read, 64, 8),
            event(110, Issued, Read, 64, 8),
            event(900, Queued, Read, 64, 8),
            event(910, Requeued, Read, 99, 8),
            event(920, Issued, Read, 64, 8),
            event(930, Completed, Read, 64, 8),
        ]);
        assert_eq!(figures(sums.read), [1, 10, 1, 20]);
    }

    #[test]
    fn what_completes_in_parts_is_at_the_device_until_its_last_part() {
        let sums = paired(&[
            event(110, Issued, Read, 64, 16),
            event(120, Completed, Read, 64, 8),
            event(140, Completed, Read, 72, 8),
        ]);
        assert_eq!(figures(sums.read), [1, 30, 0, 0]);
    }

    #[test]
    fn requests_of_partitions_are_the_disks_and_those_of_other_devices_are_left_out() {
        let queued = BlockEvent { device_number: PARTITION, ..event(100, Queued, Read, 64, 8) };
        let mut events = vec![queued, event(130, Issued, Read, 64, 8), event(150, Completed, Read, 64, 8)];
        let foreign = events.iter().map(|event| BlockEvent { device_number: FOREIGN, ..*event });
        events.extend(foreign.collect::<Vec<_>>());
        assert_eq!(figures(paired(&events).read), [1, 20, 1, 30]);
    }

    #[test]
    fn a_flush_waits_from_the_first_that_wants_it_and_a_write_behind_it_from_its_end() {
        let sums = paired(&[
            event(100, Queued, FlushWait, 0, 0),
            event(105, Queued, FlushWait, 0, 0),
            BlockEvent { flushes_first: true, ..event(107, Queued, Write, 64, 8) },
            event(110, Issued, Flush, 0, 0),
            // The kernel names no sector, in its own ways.
            event(510, Completed, Flush, u64::MAX, 0),
            event(511, Completed, FlushWait, 0, 0),
            event(520, Issued, Write, 64, 8),
            event(560, Completed, Write, 64, 8),
        ]);
        assert_eq!(figures(sums.flush), [1, 400, 1, 10]);
        assert_eq!((figures(sums.write), sums.unpaired_count), ([1, 40, 1, 10], 0));
    }

    #[test]
    fn a_flush_that_was_requeued_is_at_the_device_from_its_last_issue_on() {
        let sums = paired(&[
            event(90, Queued, FlushWait, 0, 0),
            event(100, Issued, Flush, 0, 0),
            event(110, Requeued, Flush, 0, 0),
            event(120, Issued, Flush, 0, 0),
            event(220, Completed, Flush, u64::MAX, 0),
        ]);
        assert_eq!((figures(sums.flush), sums.unpaired_count), ([1, 100, 1, 30], 0));
        assert_eq!((sums.flush_request_count, sums.write.served_count), (1, 0));
    }

    #[test]
    fn a_completion_that_was_missed_costs_the_next_flush_and_no_more() {
        let sums = paired(&[
            event(100, Issued, Flush, 0, 0),
            event(200, Issued, Flush, 0, 0),
            event(230, Completed, Flush, u64::MAX, 0),
            event(300, Issued, Flush, 0, 0),
            event(340, Completed, Flush, u64::MAX, 0),
        ]);
        assert_eq!((figures(sums.flush), sums.unpaired_count), ([1, 40, 0, 0], 1));
    }

    #[test]
    fn requests_that_never_complete_are_forgotten_at_a_bound() {
        let mut pairing = RequestPairing::new(&[("sda".to_owned(), vec![DISK])]);
        for index in 0..3 * PENDING_MAX as u64 {
            pairing.take(&event(index, Queued, Read, index * 8, 8));
            assert!(pairing.queued.len() <= PENDING_MAX);
        }
        pairing.forget_pending();
        assert!(pairing.queued.is_empty());
    }
}
