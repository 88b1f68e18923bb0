//! Requests on their way into a socket that is not waited for.
//!
//! Hot path: no allocation below the depth it was made for; headers and payloads leave in one vectored write.

use super::blocks::index;
use crate::request::Slot;
use crate::socket::{DataSocket, WaitMode};
use narrows_sys::buffer::AlignedBuffer;
use narrows_wire::request::HEADER_BYTES;
use std::collections::VecDeque;
use std::io::{self, IoSlice};

/// Parts of one vectored write: a header and a payload for 64 requests, below the kernel's limit of 1024.
const PARTS_MAX: usize = 128;

/// Requests on their way into the socket.
#[derive(Debug)]
pub(super) struct SendQueue {
    parts: VecDeque<OutgoingRequest>,
    /// Bytes of the first part that have left.
    done_bytes: usize,
}

/// One request: its header, and the slot with its payload.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutgoingRequest {
    pub(super) header: [u8; HEADER_BYTES],
    pub(super) slot: Slot,
    pub(super) payload_bytes: usize,
}

impl SendQueue {
    /// None yet, with room for `depth`.
    pub(super) fn with_capacity(depth: u32) -> Self {
        Self { parts: VecDeque::with_capacity(index(depth)), done_bytes: 0 }
    }

    /// Requests that have not left wholly.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Adds a request at the end.
    pub(super) fn push(&mut self, part: OutgoingRequest) {
        self.parts.push_back(part);
    }

    /// Sends what the socket takes at once of the first `count` requests, and returns how many were sent completely.
    pub(super) fn send(
        &mut self,
        socket: &DataSocket,
        blocks: &[AlignedBuffer],
        count: usize,
    ) -> io::Result<usize> {
        let mut gone = 0;
        while gone < count {
            let mut slices = [IoSlice::new(&[]); PARTS_MAX];
            let mut used = 0;
            for part in self.parts.iter().take((count - gone).min(PARTS_MAX / 2)) {
                let skip = if used == 0 { self.done_bytes } else { 0 };
                let payload = &blocks[index(part.slot.0)][..part.payload_bytes];
                let pieces =
                    [&part.header[skip.min(HEADER_BYTES)..], &payload[skip.saturating_sub(HEADER_BYTES)..]];
                for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
                    slices[used] = IoSlice::new(piece);
                    used += 1;
                }
            }
            match socket.send(&slices[..used], WaitMode::Never) {
                Ok(sent) => gone += self.remove_sent(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(gone)
    }

    fn remove_sent(&mut self, sent_bytes: usize) -> usize {
        self.done_bytes += sent_bytes;
        let mut gone = 0;
        while let Some(part) = self.parts.front() {
            let whole = HEADER_BYTES + part.payload_bytes;
            if self.done_bytes < whole {
                break;
            }
            self.done_bytes -= whole;
            self.parts.pop_front();
            gone += 1;
        }
        gone
    }
}
