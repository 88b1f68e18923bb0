//! What is in flight in each slot of a stripe: how many parts are out, and how far the whole has come.
//!
//! Pure. Hot path: no allocation.

use super::layout::StripeLayout;
use crate::request::{Errno, IoCompletion, IoRequest, Slot};
use narrows_model::Op;
use narrows_model::units::saturate_u32;

/// The request of a slot.
#[derive(Debug, Clone, Copy)]
struct StripedRequest {
    request: IoRequest,
    parts_out: u32,
    /// Bytes that were moved without a gap from the request's start on, as far as it is known.
    end_bytes: u64,
    /// The failed part that comes first, by its position in the request.
    failed: Option<(u64, Errno)>,
}

/// The requests of all slots.
#[derive(Debug)]
pub(super) struct StripedRequests {
    layout: StripeLayout,
    slots: Vec<StripedRequest>,
    in_flight: usize,
}

impl StripedRequests {
    pub(super) fn new(layout: StripeLayout, depth: u32) -> Self {
        let request =
            IoRequest { tag: 0, op: Op::Sync, object: 0, offset_bytes: 0, length_bytes: 0, slot: Slot(0) };
        let idle = StripedRequest { request, parts_out: 0, end_bytes: 0, failed: None };
        Self { layout, slots: vec![idle; depth as usize], in_flight: 0 }
    }

    /// Requests in flight.
    pub(super) fn len(&self) -> usize {
        self.in_flight
    }

    /// Whether a request in this slot can be taken.
    pub(super) fn is_free(&self, slot: Slot) -> bool {
        self.slots.get(slot.0 as usize).is_some_and(|flight| flight.parts_out == 0)
    }

    /// The request that is or was last in `slot`.
    pub(super) fn request(&self, slot: Slot) -> Option<IoRequest> {
        self.slots.get(slot.0 as usize).map(|flight| flight.request)
    }

    /// Records that `request` is sent in `parts_out` parts, at least one.
    pub(super) fn start(&mut self, request: IoRequest, parts_out: u32) {
        if let Some(flight) = self.slots.get_mut(request.slot.0 as usize) {
            let end_bytes = u64::from(request.length_bytes);
            *flight = StripedRequest { request, parts_out, end_bytes, failed: None };
            self.in_flight += 1;
        }
    }

    /// Notes that the part of `slot` on `member` is done; the request's completion if it was the last one.
    pub(super) fn part_done(
        &mut self,
        member: usize,
        slot: Slot,
        result: Result<u32, Errno>,
    ) -> Option<IoCompletion> {
        let flight = self.slots.get_mut(slot.0 as usize).filter(|flight| flight.parts_out > 0)?;
        let IoRequest { tag, offset_bytes, length_bytes, .. } = flight.request;
        let share = self.layout.share(member, offset_bytes, u64::from(length_bytes));
        let position =
            |done: u64| self.layout.position(member, share.offset_bytes + done).saturating_sub(offset_bytes);
        match result {
            Ok(done) if u64::from(done) < share.length_bytes => {
                flight.end_bytes = flight.end_bytes.min(position(u64::from(done)));
            }
            Ok(_) => {}
            Err(errno) => {
                let at = if share.length_bytes == 0 { member as u64 } else { position(0) };
                if flight.failed.is_none_or(|(earlier, _)| at < earlier) {
                    flight.failed = Some((at, errno));
                }
            }
        }
        flight.parts_out -= 1;
        if flight.parts_out > 0 {
            return None;
        }
        self.in_flight -= 1;
        let result = match flight.failed {
            Some((_, errno)) => Err(errno),
            None => Ok(saturate_u32(flight.end_bytes)),
        };
        Some(IoCompletion { tag, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIO: Errno = Errno(5);
    const ENOSPC: Errno = Errno(28);

    /// A request of `length_bytes` over three members with units of 4 bytes.
    fn flights(length_bytes: u32, parts: u32) -> StripedRequests {
        let mut flights = StripedRequests::new(StripeLayout::new(4, 3), 2);
        let request =
            IoRequest { tag: 9, op: Op::Read, object: 0, offset_bytes: 8, length_bytes, slot: Slot(1) };
        flights.start(request, parts);
        flights
    }

    #[test]
    fn a_request_is_done_with_its_last_part() {
        let mut flights = flights(12, 3);
        assert!(!flights.is_free(Slot(1)) && flights.is_free(Slot(0)) && !flights.is_free(Slot(2)));
        assert_eq!(flights.part_done(2, Slot(1), Ok(4)), None);
        assert_eq!(flights.part_done(0, Slot(1), Ok(4)), None);
        assert_eq!(flights.part_done(1, Slot(1), Ok(4)), Some(IoCompletion { tag: 9, result: Ok(12) }));
        assert!(flights.is_free(Slot(1)) && flights.len() == 0);
        assert_eq!(flights.part_done(1, Slot(1), Ok(4)), None, "a part that nobody waits for");
    }

    #[test]
    fn what_counts_of_short_parts_is_what_was_moved_without_a_gap() {
        // From byte 8 on: member 2 has the first four bytes, then member 0, then member 1.
        let mut flights = flights(12, 3);
        flights.part_done(1, Slot(1), Ok(0));
        flights.part_done(0, Slot(1), Ok(3));
        assert_eq!(flights.part_done(2, Slot(1), Ok(4)).map(|done| done.result), Some(Ok(7)));
    }

    #[test]
    fn of_several_failed_parts_the_one_that_is_first_is_reported() {
        let mut flights = flights(12, 3);
        flights.part_done(1, Slot(1), Err(EIO));
        flights.part_done(2, Slot(1), Err(ENOSPC));
        assert_eq!(flights.part_done(0, Slot(1), Ok(1)).map(|done| done.result), Some(Err(ENOSPC)));
    }

    #[test]
    fn a_request_without_bytes_is_done_when_all_members_are() {
        let mut flights = flights(0, 2);
        assert_eq!(flights.part_done(0, Slot(1), Err(EIO)), None);
        assert_eq!(flights.part_done(1, Slot(1), Ok(0)).map(|done| done.result), Some(Err(EIO)));
    }
}
