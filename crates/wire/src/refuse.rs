//! The frame with which either side says why it ends a conversation.
//!
//! Its form is the same in every version of the protocol, so that sides of different versions understand it: the
//! magic, the sender's version, one byte of reason, and text for people.

use crate::error::{Error, ErrorKind, Refusal, Result};
use crate::frame::{self, Frame};
use crate::greeting::{MAGIC, VERSION};

/// Kind of the frame.
pub const KIND: u8 = 5;

/// Longest text that is sent or shown.
const TEXT_BYTES_MAX: usize = 400;

const REASONS: [(u8, ErrorKind); 10] = [
    (0, ErrorKind::Version),
    (1, ErrorKind::Token),
    (2, ErrorKind::Refused(Refusal::Protocol)),
    (3, ErrorKind::Refused(Refusal::Unsupported)),
    (4, ErrorKind::Refused(Refusal::NotFound)),
    (5, ErrorKind::Refused(Refusal::Permission)),
    (6, ErrorKind::Refused(Refusal::NoSpace)),
    (7, ErrorKind::Refused(Refusal::Busy)),
    (8, ErrorKind::Refused(Refusal::Ended)),
    (9, ErrorKind::Refused(Refusal::Io)),
];

/// The bytes that report `error` to the peer. The message is sent: it must contain no secret.
#[must_use]
pub fn encode(error: &Error) -> Vec<u8> {
    let kind = match error.kind() {
        ErrorKind::Protocol | ErrorKind::TooLarge => ErrorKind::Refused(Refusal::Protocol),
        other => other,
    };
    let code = REASONS.iter().find(|(_, known)| *known == kind).map_or(2, |(code, _)| *code);
    let text = error.to_string();
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let payload = [&MAGIC[..], &VERSION.to_le_bytes(), &[code], &text.as_bytes()[..end]].concat();
    let mut out = Vec::new();
    // The payload is far below the limit, so that encoding cannot fail.
    let _ = frame::encode(KIND, &payload, &mut out);
    out
}

/// The error that a frame reports.
///
/// # Errors
/// Always: what the peer said, or that it is no frame of this kind. `Ok` passes any other frame through.
pub fn check(frame: Frame) -> Result<Frame> {
    if frame.kind != KIND {
        return Ok(frame);
    }
    let body = frame.payload.strip_prefix(&MAGIC[..]).and_then(|rest| rest.split_first_chunk::<2>());
    let Some((_, [code, text @ ..])) = body else {
        return Err(Error::protocol("the peer ended the connection with a message that is not narrows'"));
    };
    let kind = REASONS.iter().find(|(known, _)| known == code).map_or(ErrorKind::Protocol, |(_, kind)| *kind);
    let text: String =
        String::from_utf8_lossy(text).chars().filter(|c| !c.is_control()).take(TEXT_BYTES_MAX).collect();
    Err(Error::new(kind, text))
}
