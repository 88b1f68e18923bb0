//! What a remote shell writes to its output before the program there does: nothing, unless a login script prints.

use crate::client_process::MESSAGE;
use narrows_wire::frame;
use std::io::{Error, Read, Result};

/// Characters of it that are shown.
const SHOWN_CHARACTERS: usize = 60;
/// Bytes that are kept for that: a character has four at most.
const KEPT_BYTES: usize = 4 * SHOWN_CHARACTERS;

/// A stream whose first bytes are kept, and which breaks where they begin no message.
pub(super) struct ShellOutput<R> {
    stream: R,
    first: Vec<u8>,
}

impl<R> ShellOutput<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, first: Vec::new() }
    }

    /// The first characters in quotes, those that cannot be printed escaped, where they begin no message.
    pub(super) fn if_no_message(&self) -> Option<String> {
        let begins = match self.first.get(..frame::HEADER_BYTES) {
            Some([length @ .., kind]) => {
                let length_bytes = length.iter().rev().fold(0, |all, byte| (all << 8) | usize::from(*byte));
                *kind == MESSAGE && length_bytes <= frame::PAYLOAD_BYTES_MAX
            }
            // All that came.
            _ => self.first.is_empty(),
        };
        let text = String::from_utf8_lossy(&self.first);
        let shown: String = text.trim().chars().take(SHOWN_CHARACTERS).collect();
        (!begins).then(|| format!("{shown:?}"))
    }
}

impl<R: Read> Read for ShellOutput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.stream.read(buffer)?;
        let missing = KEPT_BYTES.saturating_sub(self.first.len());
        self.first.extend(buffer.iter().take(count.min(missing)));
        let is_whole = self.first.len() >= frame::HEADER_BYTES;
        if is_whole && self.if_no_message().is_some() {
            return Err(Error::other("what came first is no message"));
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: &[u8]) -> (Option<String>, bool) {
        let mut stream = ShellOutput::new(bytes);
        let ended =
            std::iter::repeat_with(|| stream.read(&mut [0; 4096])).find(|read| !matches!(read, Ok(1..)));
        (stream.if_no_message(), matches!(ended, Some(Ok(_))))
    }

    #[test]
    fn a_banner_is_shown_in_one_short_line_whatever_it_is() {
        assert_eq!(said(b"\n\x1b[1mWelcome\x1b[0m,\ttoday \"b\"\nis\n").0.unwrap(), {
            r#""\u{1b}[1mWelcome\u{1b}[0m,\ttoday \"b\"\nis""#
        });
        assert_eq!(said(b"hi\n"), (Some("\"hi\"".to_owned()), true));
        let (long, read) = said("ä".repeat(500).as_bytes());
        assert_eq!((long.unwrap().chars().count(), read), (SHOWN_CHARACTERS + 2, false));
        // With the first bytes of a message behind it, a short one would be the length of a long message.
        assert!(!said(b"hi\n\0\x02\0\0\x01{").1);
    }

    #[test]
    fn messages_and_nothing_are_no_banner() {
        let mut bytes = Vec::new();
        frame::encode(MESSAGE, b"{}", &mut bytes).unwrap();
        assert_eq!(said(&bytes), (None, true));
        assert_eq!(said(&bytes.repeat(1000)), (None, true));
        assert_eq!(said(b""), (None, true));
    }
}
