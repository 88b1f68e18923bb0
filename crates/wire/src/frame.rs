//! Frames: a length, a kind and a payload, over any stream of bytes.
//!
//! Used by the hello, the control channel and the pipes between a process and its clients. A frame is the payload's
//! length as an unsigned 32-bit little-endian number, one byte of kind, and the payload. What a kind means is not
//! known here.

use crate::error::{Error, ErrorKind, Result};

/// Bytes before the payload: the length and the kind.
pub const HEADER_BYTES: usize = 5;

/// Largest payload of a control or process frame, unless a reader declares less: a histogram or an inventory is
/// below 1 MiB.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What the payload is; the conversation decides.
    pub kind: u8,
    /// The content.
    pub payload: Vec<u8>,
}

/// Appends a frame to `out`.
///
/// # Errors
/// `TooLarge` when the payload is above [`PAYLOAD_BYTES_MAX`]; `out` is unchanged then.
pub fn encode(kind: u8, payload: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let length = u32::try_from(payload.len()).ok().filter(|_| payload.len() <= PAYLOAD_BYTES_MAX);
    let Some(length) = length else {
        let message =
            format!("a message of {} bytes is above the limit of {PAYLOAD_BYTES_MAX}", payload.len());
        return Err(Error::new(ErrorKind::TooLarge, message));
    };
    out.reserve(HEADER_BYTES + payload.len());
    out.extend_from_slice(&length.to_le_bytes());
    out.push(kind);
    out.extend_from_slice(payload);
    Ok(())
}

/// Finds frames in bytes that arrive in any portions.
///
/// Memory is bounded by what has arrived: nothing is allocated by a length that a peer merely claims.
#[derive(Debug, Clone)]
pub struct Decoder {
    buffer: Vec<u8>,
    start: usize,
    payload_bytes_max: usize,
    broken: Option<Error>,
}

impl Decoder {
    /// A decoder that takes payloads of up to `payload_bytes_max`.
    #[must_use]
    pub fn new(payload_bytes_max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            payload_bytes_max: payload_bytes_max.min(PAYLOAD_BYTES_MAX),
            broken: None,
        }
    }

    /// Takes bytes that have arrived; call [`Decoder::next`] until it has none before the next portion.
    ///
    /// # Cost
    /// One copy. After a breach of the protocol the bytes are dropped.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame; `None` until more bytes arrive.
    ///
    /// # Errors
    /// `Protocol` when a frame claims a payload above the limit, as soon as its length has arrived, and from then on.
    #[allow(clippy::should_implement_trait, reason = "a decoder is not an iterator: None means `not yet`")]
    pub fn next(&mut self) -> Result<Option<Frame>> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let waiting = &self.buffer[self.start..];
        let Some((length, rest)) = waiting.split_first_chunk::<4>() else { return Ok(None) };
        let claimed = u32::from_le_bytes(*length);
        let length = usize::try_from(claimed).unwrap_or(usize::MAX);
        if length > self.payload_bytes_max {
            return Err(self.oversized_frame(claimed));
        }
        let Some((kind, rest)) = rest.split_first() else { return Ok(None) };
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let frame = Frame { kind: *kind, payload: payload.to_vec() };
        self.start += HEADER_BYTES + length;
        Ok(Some(frame))
    }

    /// Bytes that have arrived and belong to no frame yet.
    #[must_use]
    pub fn waiting_bytes(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Ends the decoder and returns the bytes that came after the last frame: the conversation continues in another
    /// form.
    #[must_use]
    pub fn into_rest(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }

    fn oversized_frame(&mut self, claimed: u32) -> Error {
        let error = Error::protocol(format!(
            "the peer announced a message of {claimed} bytes where at most {} are allowed: it does not speak narrows' protocol",
            self.payload_bytes_max
        ));
        self.broken = Some(error.clone());
        self.buffer = Vec::new();
        self.start = 0;
        error
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
