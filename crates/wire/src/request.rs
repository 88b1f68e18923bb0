//! Requests of a framed data connection, as a server reads them.
//!
//! A request is a fixed header of 24 bytes, little-endian: kind (1 byte), three zero bytes, tag, object and length
//! (4 bytes each), offset (8 bytes). A write's payload of `length` bytes follows. Hot path: no allocation.

use crate::error::{Error, Result};
use crate::open::Credits;

/// Bytes of a request's header.
pub const HEADER_BYTES: usize = 24;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Send a range of an object.
    Read,
    /// Store a range of an object.
    Write,
    /// Make an object's writes durable.
    Sync,
    /// Remove an object.
    Remove,
}

impl RequestKind {
    pub(crate) fn code(self) -> u8 {
        match self {
            RequestKind::Read => 1,
            RequestKind::Write => 2,
            RequestKind::Sync => 3,
            RequestKind::Remove => 4,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [RequestKind::Read, RequestKind::Write, RequestKind::Sync, RequestKind::Remove]
            .into_iter()
            .find(|kind| kind.code() == code)
    }
}

/// One request, without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader {
    /// What it asks for.
    pub kind: RequestKind,
    /// The client's number; comes back in the reply.
    pub tag: u32,
    /// Index into the objects of the connection.
    pub object: u32,
    /// Bytes to read or write; zero for what moves none.
    pub length_bytes: u32,
    /// Where in the object.
    pub offset_bytes: u64,
}

impl RequestHeader {
    /// The header as it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        out[0] = self.kind.code();
        out[4..8].copy_from_slice(&self.tag.to_le_bytes());
        out[8..12].copy_from_slice(&self.object.to_le_bytes());
        out[12..16].copy_from_slice(&self.length_bytes.to_le_bytes());
        out[16..24].copy_from_slice(&self.offset_bytes.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind = RequestKind::from_code(bytes[0]).filter(|_| bytes[1..4] == [0; 3]);
        let Some(kind) = kind else {
            return Err(Error::protocol(format!("the client sent a request of unknown kind {}", bytes[0])));
        };
        let offset_bytes = u64::from(word(16)) | u64::from(word(20)) << 32;
        Ok(Self { kind, tag: word(4), object: word(8), length_bytes: word(12), offset_bytes })
    }

    fn payload_bytes(&self) -> u32 {
        if self.kind == RequestKind::Write { self.length_bytes } else { 0 }
    }
}

/// What was agreed on when the connection was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Objects that may be named.
    pub objects: u32,
    /// Largest length of a request.
    pub block_bytes: u32,
    /// Most that may be in flight.
    pub credits: Credits,
}

/// What was found in the bytes of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPiece<'a> {
    /// A request began. A write's payload follows in pieces.
    Request(RequestHeader),
    /// A part of the payload of the write that began last.
    Payload {
        /// The bytes.
        bytes: &'a [u8],
        /// Where in the payload they belong.
        at_bytes: u32,
        /// Whether the payload is complete with them.
        last: bool,
    },
}

/// Reads requests out of bytes that arrive in any portions, and enforces the client's credits.
#[derive(Debug, Clone)]
pub struct RequestDecoder {
    limits: RequestLimits,
    in_flight: Credits,
    payload: Option<RequestPayload>,
}

#[derive(Debug, Clone, Copy)]
struct RequestPayload {
    done_bytes: u32,
    total_bytes: u32,
}

impl RequestDecoder {
    /// A decoder for a connection with these limits.
    #[must_use]
    pub fn new(limits: RequestLimits) -> Self {
        Self { limits, in_flight: Credits { requests: 0, bytes: 0 }, payload: None }
    }

    /// The next piece, taken off the front of `input`; `None` until more bytes arrive, with what is left kept by the
    /// caller (less than a header).
    ///
    /// # Errors
    /// `Protocol` when the client breaks the protocol: an unknown kind or object, a length above what was agreed, or
    /// more in flight than its credits. The connection is then to be closed.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<RequestPiece<'a>>> {
        if let Some(payload) = self.payload {
            let left = usize::try_from(payload.total_bytes - payload.done_bytes).unwrap_or(usize::MAX);
            let (bytes, rest) = input.split_at(input.len().min(left));
            if bytes.is_empty() {
                return Ok(None);
            }
            *input = rest;
            let (at_bytes, last) = self.payload_arrived(bytes.len());
            return Ok(Some(RequestPiece::Payload { bytes, at_bytes, last }));
        }
        let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let header = RequestHeader::decode(header)?;
        self.admit(&header)?;
        *input = rest;
        if header.payload_bytes() > 0 {
            self.payload = Some(RequestPayload { done_bytes: 0, total_bytes: header.payload_bytes() });
        }
        Ok(Some(RequestPiece::Request(header)))
    }

    /// Bytes of the current write's payload that have not arrived; zero between requests. A caller may read up to that
    /// many straight to their place and report it with [`RequestDecoder::payload_arrived`].
    #[must_use]
    pub fn payload_left_bytes(&self) -> u32 {
        self.payload.map_or(0, |payload| payload.total_bytes - payload.done_bytes)
    }

    /// Records that `length_bytes` of the current payload arrived, and returns where they belong and whether they
    /// complete it. More than is left counts as what is left.
    pub fn payload_arrived(&mut self, length_bytes: usize) -> (u32, bool) {
        let Some(payload) = &mut self.payload else { return (0, true) };
        let at_bytes = payload.done_bytes;
        let arrived = u32::try_from(length_bytes).unwrap_or(u32::MAX);
        payload.done_bytes = at_bytes.saturating_add(arrived).min(payload.total_bytes);
        let last = payload.done_bytes == payload.total_bytes;
        if last {
            self.payload = None;
        }
        (at_bytes, last)
    }

    /// Notes that requests were answered, so that the client may send as many more.
    pub fn answered(&mut self, answered: Credits) {
        self.in_flight.requests = self.in_flight.requests.saturating_sub(answered.requests);
        self.in_flight.bytes = self.in_flight.bytes.saturating_sub(answered.bytes);
    }

    /// What is in flight.
    #[must_use]
    pub fn in_flight(&self) -> Credits {
        self.in_flight
    }

    fn admit(&mut self, header: &RequestHeader) -> Result<()> {
        let RequestLimits { objects, block_bytes, credits } = self.limits;
        if header.object >= objects {
            let message = format!("the client named object {} of {objects}", header.object);
            return Err(Error::protocol(message));
        }
        if header.length_bytes > block_bytes {
            let message =
                format!("the client requested {} bytes where {block_bytes} were agreed", header.length_bytes);
            return Err(Error::protocol(message));
        }
        let requests = self.in_flight.requests + 1;
        let bytes = self.in_flight.bytes + u64::from(header.length_bytes);
        if requests > credits.requests || bytes > credits.bytes {
            let message = format!(
                "the client has {requests} requests of {bytes} bytes in flight where {} of {} were granted",
                credits.requests, credits.bytes
            );
            return Err(Error::protocol(message));
        }
        self.in_flight = Credits { requests, bytes };
        Ok(())
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
