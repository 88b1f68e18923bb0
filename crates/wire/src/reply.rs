//! Replies of a framed data connection, as a client reads them.
//!
//! A reply is a fixed header of 16 bytes, little-endian: kind (1 byte, that of its request), three zero bytes, tag,
//! status (the system's error number, 0 for success) and length (4 bytes each). A read's payload of `length` bytes
//! follows. A server that ends the conversation sends kind 255 with text as payload. Hot path: no allocation.

use crate::error::{Error, ErrorKind, Refusal, Result};
use crate::request::RequestKind;

/// Bytes of a reply's header.
pub const HEADER_BYTES: usize = 16;

const FAREWELL: u8 = 255;
const FAREWELL_BYTES_MAX: usize = 400;

/// One reply, without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHeader {
    /// What was asked for.
    pub kind: RequestKind,
    /// The request's number.
    pub tag: u32,
    /// The system's error number; 0 for success.
    pub status: u32,
    /// Bytes read or written; zero after a failure.
    pub length_bytes: u32,
}

impl ReplyHeader {
    /// The header as it is sent.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        encode_header(self.kind.code(), self.tag, self.status, self.length_bytes)
    }
}

/// The bytes with which a server ends a framed conversation and says why.
#[must_use]
pub fn encode_farewell(text: &str) -> Vec<u8> {
    let mut end = text.len().min(FAREWELL_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let length = u32::try_from(end).unwrap_or(0);
    let mut out = encode_header(FAREWELL, 0, 0, length).to_vec();
    out.extend_from_slice(&text.as_bytes()[..end]);
    out
}

fn encode_header(kind: u8, tag: u32, status: u32, length: u32) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    out[0] = kind;
    out[4..8].copy_from_slice(&tag.to_le_bytes());
    out[8..12].copy_from_slice(&status.to_le_bytes());
    out[12..16].copy_from_slice(&length.to_le_bytes());
    out
}

/// What was found in the bytes of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyPiece<'a> {
    /// A reply without payload, or one whose payload follows in pieces.
    Reply {
        /// The reply.
        header: ReplyHeader,
        /// Whether it is complete.
        complete: bool,
    },
    /// A part of the payload of the read whose reply began last.
    Payload {
        /// The bytes.
        bytes: &'a [u8],
        /// The tag that [`ReplyDecoder::sent`] gave its request.
        tag: u32,
        /// Where in the payload they belong.
        at_bytes: u32,
        /// Whether the reply is complete with them.
        last: bool,
    },
}

/// Reads replies out of bytes that arrive in any portions, and checks them against the requests.
///
/// Tags on the wire are indices of a fixed table, so that a reply is checked without a search.
#[derive(Debug, Clone)]
pub struct ReplyDecoder {
    pending: Vec<Option<PendingRequest>>,
    free: Vec<u32>,
    payload: Option<ReplyPayload>,
    ended: Option<Error>,
}

#[derive(Debug, Clone, Copy)]
struct PendingRequest {
    kind: RequestKind,
    length_bytes: u32,
}

#[derive(Debug, Clone, Copy)]
struct ReplyPayload {
    tag: u32,
    done_bytes: u32,
    total_bytes: u32,
}

impl ReplyDecoder {
    /// A decoder for up to `requests` in flight.
    #[must_use]
    pub fn new(requests: u32) -> Self {
        Self {
            pending: vec![None; usize::try_from(requests).unwrap_or(0)],
            free: (0..requests).rev().collect(),
            payload: None,
            ended: None,
        }
    }

    /// Requests that may still be sent before one is answered.
    #[must_use]
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Requests sent and not yet answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.pending.len() - self.free.len()
    }

    /// Notes a request and gives the tag that it must be sent with; `None` when no more may be in flight.
    ///
    /// # Shape
    /// A tag is below the number of requests that may be in flight, and is used again once its reply is complete.
    pub fn sent(&mut self, kind: RequestKind, length_bytes: u32) -> Option<u32> {
        let tag = self.free.pop()?;
        self.pending[index(tag)] = Some(PendingRequest { kind, length_bytes });
        Some(tag)
    }

    /// The next piece, taken off the front of `input`; `None` until more bytes arrive, with what is left kept by the
    /// caller.
    ///
    /// # Errors
    /// `Protocol` when the server answers what was not asked or sends more than was asked for, `Refused` when it ends
    /// the conversation. The connection is then to be closed.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<ReplyPiece<'a>>> {
        if let Some(error) = &self.ended {
            return Err(error.clone());
        }
        if let Some(payload) = self.payload {
            let (bytes, rest) =
                input.split_at(input.len().min(index(payload.total_bytes - payload.done_bytes)));
            if bytes.is_empty() {
                return Ok(None);
            }
            *input = rest;
            let (tag, at_bytes, last) = self.payload_arrived(bytes.len());
            return Ok(Some(ReplyPiece::Payload { bytes, tag, at_bytes, last }));
        }
        let Some((bytes, rest)) = input.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let piece = if bytes[0] == FAREWELL { farewell(bytes, rest) } else { self.reply(bytes).map(Some) };
        match piece {
            Ok(Some(piece)) => {
                *input = rest;
                Ok(Some(piece))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                self.ended = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Where the next bytes of payload belong: the request's tag, the place in its payload, and how many are missing;
    /// `None` between replies. A caller may read them straight there and report it with
    /// [`ReplyDecoder::payload_arrived`].
    #[must_use]
    pub fn payload_wanted(&self) -> Option<(u32, u32, u32)> {
        self.payload
            .map(|payload| (payload.tag, payload.done_bytes, payload.total_bytes - payload.done_bytes))
    }

    /// Records that `length_bytes` of the current payload arrived, and returns the request's tag, where they belong and
    /// whether they complete it. More than is left counts as what is left.
    pub fn payload_arrived(&mut self, length_bytes: usize) -> (u32, u32, bool) {
        let Some(payload) = &mut self.payload else { return (0, 0, true) };
        let (tag, at_bytes) = (payload.tag, payload.done_bytes);
        let arrived = u32::try_from(length_bytes).unwrap_or(u32::MAX);
        payload.done_bytes = at_bytes.saturating_add(arrived).min(payload.total_bytes);
        let last = payload.done_bytes == payload.total_bytes;
        if last {
            self.payload = None;
            self.free.push(tag);
        }
        (tag, at_bytes, last)
    }

    fn reply<'a>(&mut self, bytes: &[u8; HEADER_BYTES]) -> Result<ReplyPiece<'a>> {
        let (tag, status, length_bytes) = (word(bytes, 4), word(bytes, 8), word(bytes, 12));
        let Some(asked) = self.pending.get_mut(index(tag)).and_then(Option::take) else {
            return Err(Error::protocol(format!("the server answered request {tag}, which was not sent")));
        };
        if bytes[0] != asked.kind.code() || bytes[1..4] != [0; 3] {
            return Err(Error::protocol(format!(
                "the server answered request {tag} as one of kind {}",
                bytes[0]
            )));
        }
        if length_bytes > asked.length_bytes || (status != 0 && length_bytes != 0) {
            let message = format!(
                "the server answered {length_bytes} bytes with status {status} where {} were requested",
                asked.length_bytes
            );
            return Err(Error::protocol(message));
        }
        let complete = asked.kind != RequestKind::Read || length_bytes == 0;
        if complete {
            self.free.push(tag);
        } else {
            self.payload = Some(ReplyPayload { tag, done_bytes: 0, total_bytes: length_bytes });
        }
        let header = ReplyHeader { kind: asked.kind, tag, status, length_bytes };
        Ok(ReplyPiece::Reply { header, complete })
    }
}

fn farewell<'a>(bytes: &[u8; HEADER_BYTES], rest: &[u8]) -> Result<Option<ReplyPiece<'a>>> {
    let length = index(word(bytes, 12));
    if length > FAREWELL_BYTES_MAX {
        return Err(Error::protocol(format!("the server ended with a text of {length} bytes")));
    }
    let Some(text) = rest.get(..length) else { return Ok(None) };
    let text: String = String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).collect();
    Err(Error::new(ErrorKind::Refused(Refusal::Ended), text))
}

fn word(bytes: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn index(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
